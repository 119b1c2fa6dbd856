"""The commands `dialwatch release ...`: mark that a deployment is another one from a time on."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from dialwatch.commands.console import print_list
from dialwatch.commands.options import (
    ConfigOption,
    LakeOption,
    check_name,
    comment_of,
    open_filled,
    settings_of,
    written_options,
)
from dialwatch.times import format_time, moment_of

if TYPE_CHECKING:
    from monitor.detect.regression import Release

app = typer.Typer(
    no_args_is_help=True, help="Accept a new level that was meant: metrics learn anew what is usual from a time on."
)


@app.command("mark")
def mark(
    deployment: Annotated[str, typer.Option(help="Deployment whose new level is accepted, as DIAL names it.")],
    metric: Annotated[str | None, typer.Option(help="Metric that learns anew; every one by default.")] = None,
    at: Annotated[str | None, typer.Option(help="Since when: 2026-12-01T08:00:00Z; now by default.")] = None,
    comment: Annotated[str, typer.Option(help="What was released, or why the new level is accepted.")] = "",
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Compare from a time on with what follows it, and print the id that takes this back.

    An open alert of before ends. Until the new level is learned it is compared with the one of before: a fall is a
    warning, never urgent. A running monitor reads all scores again for it.
    """
    now = datetime.now(UTC)
    for option, name in (("--deployment", deployment), ("--metric", metric)):
        check_name(option, name, "give a name")
    comment = comment_of(comment)
    since = moment_of(at, "--at") if at is not None else now
    settings = settings_of(config, lake)
    from dialwatch.commands.alert_names import name_in_alerts, unknown_names
    from monitor.alerting.controls.releases import mark_release
    from monitor.detect.regression import Release

    opened = open_filled(settings)
    metric = name_in_alerts(metric, settings)
    for note in unknown_names(deployment, metric, settings, opened):
        typer.echo(f"note: {note}")
    release = Release(deployment, metric, since, comment)
    release_id = mark_release(opened, release, now)
    typer.echo(f"release {release_id}: {_target(release)} learns anew what is usual, from {format_time(release.at)} on")
    typer.echo(f"to take it back: dialwatch release withdraw {release_id}{written_options(config, lake)}")


@app.command("list")
def show(lake: LakeOption = None, config: ConfigOption = None) -> None:
    """List the marks that hold, the latest release first."""
    opened = open_filled(settings_of(config, lake))
    from monitor.alerting.controls.releases import read_releases

    valid = read_releases(opened).valid
    if not valid:
        typer.echo("no release is marked")
        return
    latest_first = sorted(valid.items(), key=lambda pair: (pair[1].at, pair[0]), reverse=True)
    print_list(
        ("id", "deployment", "metric", "since", "comment"),
        (
            (str(number), one.deployment, one.metric or "(every)", format_time(one.at), one.comment)
            for number, one in latest_first
        ),
    )


@app.command("withdraw")
def withdraw(
    written_id: Annotated[str, typer.Argument(metavar="ID", help="As `dialwatch release list` has it.")],
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Take a mark back: scores are compared again with what was usual before it."""
    opened = open_filled(settings_of(config, lake))
    from monitor.alerting.controls.releases import read_releases, withdraw_release

    valid = {str(number): (number, one) for number, one in read_releases(opened).valid.items()}
    if written_id not in valid:
        raise typer.BadParameter(
            f"no release {written_id!r} is marked; these are: {', '.join(valid) or 'none'}", param_hint="ID"
        )
    release_id, release = valid[written_id]
    withdraw_release(opened, release_id, datetime.now(UTC))
    typer.echo(f"release {release_id} is taken back: {_target(release)} is compared with what was usual before")


def _target(release: Release) -> str:
    return f"{release.metric or 'every metric'} of {release.deployment}"
