"""The commands `dialwatch silence ...`: hold alerts back for a while, without a restart of the monitor."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from dialwatch.commands.options import ConfigOption, LakeOption, check_name, comment_of, settings_of, written_options
from dialwatch.times import format_time, moment_after, moment_of

app = typer.Typer(no_args_is_help=True, help="Hold alerts back for a while; a running monitor takes it in by itself.")


@app.command("add")
def add(
    deployment: Annotated[str | None, typer.Option(help="Deployment to silence, as DIAL names it.")] = None,
    metric: Annotated[str | None, typer.Option(help="Metric or floor to silence: errors, no_data ...")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Silence every deployment and metric.")] = False,
    for_: Annotated[str | None, typer.Option("--for", help="How long from now: 30m, 8h, 2d.")] = None,
    until: Annotated[str | None, typer.Option(help="Until when, with a zone: 2026-12-01T08:00:00Z.")] = None,
    comment: Annotated[str, typer.Option(help="Why; it stands in the table alerts and on the pages.")] = "",
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Hold alerts back until a time, and print the id that ends it earlier.

    What still fires then is sent then; what is over by then is not. Alertmanagers have silences of their own.
    """
    now = datetime.now(UTC)
    _check_filters(deployment, metric, everything)
    end, comment = _end(for_, until, now), comment_of(comment)
    settings = settings_of(config, lake)
    from dialwatch.actions import silences

    silences.add(settings, deployment, metric, end, comment, now, options=written_options(config, lake))


@app.command("list")
def show(lake: LakeOption = None, config: ConfigOption = None) -> None:
    """List the silences that hold now, those of the configuration too; the one that ends first comes first."""
    settings = settings_of(config, lake)
    from dialwatch.actions import silences

    silences.show(settings, datetime.now(UTC))


@app.command("end")
def end(
    written_id: Annotated[str, typer.Argument(metavar="ID", help="As `dialwatch silence list` has it.")],
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """End a silence before its time: what still fires is sent at the monitor's next look."""
    settings = settings_of(config, lake)
    from dialwatch.actions import silences

    silences.end(settings, written_id, datetime.now(UTC))


def _check_filters(deployment: str | None, metric: str | None, everything: bool) -> None:
    for option, name in (("--deployment", deployment), ("--metric", metric)):
        check_name(option, name, "give a name, or leave the option out")
    if everything and (deployment or metric):
        raise typer.BadParameter(
            "it silences everything: leave it out, or leave out --deployment and --metric", param_hint="--all"
        )
    if not (everything or deployment or metric):
        raise typer.BadParameter("say what to silence: --deployment, --metric or both, or --all for everything")


def _end(for_: str | None, until: str | None, now: datetime) -> datetime:
    if (for_ is None) is (until is None):
        raise typer.BadParameter("say once when it ends: --for 8h, or --until 2026-12-01T08:00:00Z")
    if for_ is not None:
        return moment_after(for_, "--for", now)
    end = moment_of(until or "", "--until")
    if end <= now:
        raise typer.BadParameter(f"{until} is past, it is {format_time(now)}: give a later time", param_hint="--until")
    return end
