"""Marks of releases in the lake: set, listed and withdrawn."""

from __future__ import annotations

from datetime import datetime

import typer

from dialwatch.actions.alert_names import name_in_alerts, unknown_names
from dialwatch.actions.console import print_list
from dialwatch.actions.open_lake import open_filled
from dialwatch.config import Settings
from dialwatch.times import format_time
from monitor.alerting.controls.releases import mark_release, read_releases, withdraw_release
from monitor.detect.regression import Release


def mark(
    settings: Settings,
    deployment: str,
    metric: str | None,
    since: datetime,
    comment: str,
    now: datetime,
    *,
    options: str,
) -> None:
    """Mark a release and print how that is taken back; `options` are those of this command that name the lake."""
    opened = open_filled(settings)
    metric = name_in_alerts(metric, settings)
    for note in unknown_names(deployment, metric, settings, opened):
        typer.echo(f"note: {note}")
    release = Release(deployment, metric, since, comment)
    release_id = mark_release(opened, release, now)
    typer.echo(f"release {release_id}: {_target(release)} learns anew what is usual, from {format_time(release.at)} on")
    typer.echo(f"to take it back: dialwatch release withdraw {release_id}{options}")


def show(settings: Settings) -> None:
    """List the marks that hold, the latest release first."""
    valid = read_releases(open_filled(settings)).valid
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


def withdraw(settings: Settings, written_id: str, now: datetime) -> None:
    """Take a mark back; raises BadParameter where there is none of this id."""
    opened = open_filled(settings)
    valid = {str(number): (number, one) for number, one in read_releases(opened).valid.items()}
    if written_id not in valid:
        raise typer.BadParameter(
            f"no release {written_id!r} is marked; these are: {', '.join(valid) or 'none'}", param_hint="ID"
        )
    release_id, release = valid[written_id]
    withdraw_release(opened, release_id, now)
    typer.echo(f"release {release_id} is taken back: {_target(release)} is compared with what was usual before")


def _target(release: Release) -> str:
    return f"{release.metric or 'every metric'} of {release.deployment}"
