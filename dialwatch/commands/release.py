"""The commands `dialwatch release ...`: mark that a deployment is another one from a time on."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from dialwatch.commands.options import ConfigOption, LakeOption, check_name, comment_of, settings_of, written_options
from dialwatch.times import moment_of

app = typer.Typer(no_args_is_help=True, help="Mark a release: metrics learn anew what is usual from it on.")


@app.command("mark")
def mark(
    deployment: Annotated[str, typer.Option(help="Deployment that was released, as DIAL names it.")],
    metric: Annotated[str | None, typer.Option(help="Metric that learns anew; every one by default.")] = None,
    at: Annotated[str | None, typer.Option(help="Since when: 2026-12-01T08:00:00Z; now by default.")] = None,
    comment: Annotated[str, typer.Option(help="What was released, or why the new level is accepted.")] = "",
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Compare from a time on with what follows it, and print the id that takes this back.

    An open alert of before ends, as nothing watches it any more; until the reference is learned nothing fires. A
    running monitor reads all scores again for it.
    """
    now = datetime.now(UTC)
    for option, name in (("--deployment", deployment), ("--metric", metric)):
        check_name(option, name, "give a name")
    comment = comment_of(comment)
    since = moment_of(at, "--at") if at is not None else now
    settings = settings_of(config, lake)
    from dialwatch.actions import releases

    releases.mark(settings, deployment, metric, since, comment, now, options=written_options(config, lake))


@app.command("list")
def show(lake: LakeOption = None, config: ConfigOption = None) -> None:
    """List the marks that hold, the latest release first."""
    settings = settings_of(config, lake)
    from dialwatch.actions import releases

    releases.show(settings)


@app.command("withdraw")
def withdraw(
    written_id: Annotated[str, typer.Argument(metavar="ID", help="As `dialwatch release list` has it.")],
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Take a mark back: scores are compared again with what was usual before it."""
    settings = settings_of(config, lake)
    from dialwatch.actions import releases

    releases.withdraw(settings, written_id, datetime.now(UTC))
