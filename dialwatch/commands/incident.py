"""The commands `dialwatch incidents ...`: alerts of a deployment that overlap, and who looks after them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from dialwatch.commands.options import (
    ConfigOption,
    LakeOption,
    account,
    check_name,
    comment_of,
    settings_of,
    written_options,
)

app = typer.Typer(no_args_is_help=True, help="Incidents: alerts of a deployment that overlap in time.")


@app.command("list")
def show(
    deployment: Annotated[str | None, typer.Option(help="Only of this deployment, as DIAL names it.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also those that are over.")] = False,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """List the incidents that are open, the newest first."""
    check_name("--deployment", deployment, "give a name, or leave the option out")
    settings = settings_of(config, lake)
    from dialwatch.actions import incidents

    incidents.show(settings, deployment, everything=everything)


@app.command("show")
def show_one(
    written_id: Annotated[
        str, typer.Argument(metavar="ID", help="As `dialwatch incidents list` has it, or its beginning.")
    ],
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Print what is known of an incident: what fell since when, how sure that is, and the worst answers since."""
    settings = settings_of(config, lake)
    from dialwatch.actions import incidents

    incidents.show_one(settings, written_id, options=written_options(config, lake))


@app.command("acknowledge")
def acknowledge(
    written_id: Annotated[
        str, typer.Argument(metavar="ID", help="As `dialwatch incidents list` has it, or its beginning.")
    ],
    comment: Annotated[str, typer.Option(help="What you do about it; it stands on the incident's page.")] = "",
    who: Annotated[str | None, typer.Option(help="Who looks after it; by default your name on this machine.")] = None,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Record that somebody looks after an incident, until receivers are told something new of it."""
    check_name("--who", who, "give a name, or leave the option out")
    comment = comment_of(comment)
    settings = settings_of(config, lake)
    from dialwatch.actions import incidents

    incidents.acknowledge(settings, written_id, who or account(), comment, datetime.now(UTC))
