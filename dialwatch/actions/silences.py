"""Silences in the lake: added, listed and ended."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import typer

from dialwatch.actions.alert_names import name_in_alerts, unknown_names
from dialwatch.actions.console import print_list
from dialwatch.actions.open_lake import open_filled
from dialwatch.config import Settings
from dialwatch.times import format_time
from lake.tables.lake import Lake
from monitor.alerting.controls.silences import Silence, add_silence, end_silence, read_silences
from monitor.pages.filters import duration


def add(
    settings: Settings,
    deployment: str | None,
    metric: str | None,
    until: datetime,
    comment: str,
    now: datetime,
    *,
    options: str,
) -> None:
    """Add a silence and print how it is ended; `options` are those of this command that name the lake."""
    opened = open_filled(settings)
    metric = name_in_alerts(metric, settings)
    silence = Silence(deployment=deployment, metric=metric, until=until, comment=comment)
    for note in _notes(silence, settings, opened):
        typer.echo(f"note: {note}")
    silence_id = add_silence(opened, silence, now)
    typer.echo(f"silence {silence_id} holds back alerts of {_target(silence)} until {format_time(until)}")
    typer.echo(f"to end it before: dialwatch silence end {silence_id}{options}")


def show(settings: Settings, now: datetime) -> None:
    """List the silences that hold now, those of the configuration too; the one that ends first comes first."""
    added = [(str(number), silence) for number, silence in read_silences(open_filled(settings)).items()]
    holding = [one for one in (*added, *(("config", s) for s in settings.monitor.silences)) if now < one[1].until]
    if not holding:
        typer.echo("nothing is silenced")
        return
    rows = []
    for silence_id, silence in sorted(holding, key=lambda one: one[1].until):
        names = silence.deployment or "(every)", silence.metric or "(every)"
        rows.append((silence_id, *names, format_time(silence.until), duration(silence.until - now), silence.comment))
    print_list(("id", "deployment", "metric", "until", "left", "comment"), rows)


def end(settings: Settings, written_id: str, now: datetime) -> None:
    """End a silence before its time; raises BadParameter where there is none of this id."""
    opened = open_filled(settings)
    silences = {str(number): (number, silence) for number, silence in read_silences(opened).items()}
    if written_id not in silences:
        holding = ", ".join(number for number, (_, one) in silences.items() if now < one.until) or "none"
        raise typer.BadParameter(
            f"there is no silence {written_id!r}; those that hold and can be ended: {holding}", param_hint="ID"
        )
    silence_id, silence = silences[written_id]
    if silence.until <= now:
        typer.echo(f"silence {silence_id} was over already, at {format_time(silence.until)}")
        return
    end_silence(opened, silence_id, now)
    typer.echo(f"silence {silence_id} of {_target(silence)} is over; what still fires is sent")


def _notes(silence: Silence, settings: Settings, lake: Lake) -> Iterator[str]:
    """Give notes on what may be a mistake; the silence is added all the same."""
    yield from unknown_names(silence.deployment, silence.metric, settings, lake)
    for webhook in settings.monitor.webhooks:
        if webhook.format == "alertmanager":
            yield f"the Alertmanager {webhook.name!r} gets its alerts as before: it has silences of its own"


def _target(silence: Silence) -> str:
    if silence.metric is None:
        return silence.deployment or "everything"
    return f"{silence.metric} of {silence.deployment or 'every deployment'}"
