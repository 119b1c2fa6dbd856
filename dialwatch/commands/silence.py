"""The commands `dialwatch silence ...`: hold alerts back for a while, without a restart of the monitor."""

from __future__ import annotations

from collections.abc import Iterator
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
from dialwatch.times import format_time, moment_after, moment_of

if TYPE_CHECKING:
    from dialwatch.config import Settings
    from lake.tables.lake import Lake
    from monitor.alerting.controls.silences import Silence

app = typer.Typer(no_args_is_help=True, help="Hold alerts back for a while; a running monitor takes it in by itself.")


@app.command("add")
def add(
    deployment: Annotated[str | None, typer.Option(help="Deployment to silence, as DIAL names it.")] = None,
    metric: Annotated[str | None, typer.Option(help="Metric or limit to silence: errors, no_data ...")] = None,
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
    from dialwatch.commands.alert_names import name_in_alerts
    from monitor.alerting.controls.silences import Silence, add_silence

    opened = open_filled(settings)
    silence = Silence(deployment=deployment, metric=name_in_alerts(metric, settings), until=end, comment=comment)
    for note in _notes(silence, settings, opened):
        typer.echo(f"note: {note}")
    silence_id = add_silence(opened, silence, now)
    typer.echo(f"silence {silence_id} holds back alerts of {_target(silence)} until {format_time(silence.until)}")
    typer.echo(f"to end it before: dialwatch silence end {silence_id}{written_options(config, lake)}")


@app.command("list")
def show(lake: LakeOption = None, config: ConfigOption = None) -> None:
    """List the silences that hold now, those of the configuration too; the one that ends first comes first."""
    settings, now = settings_of(config, lake), datetime.now(UTC)
    from monitor.alerting.controls.silences import read_silences
    from runtime.durations import duration

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


@app.command("end")
def end(
    written_id: Annotated[str, typer.Argument(metavar="ID", help="As `dialwatch silence list` has it.")],
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """End a silence before its time: what still fires is sent at the monitor's next look."""
    opened, now = open_filled(settings_of(config, lake)), datetime.now(UTC)
    from monitor.alerting.controls.silences import end_silence, read_silences

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


def _notes(silence: Silence, settings: Settings, lake: Lake) -> Iterator[str]:
    """Yield notes on what may be a mistake; the silence is added all the same."""
    from dialwatch.commands.alert_names import unknown_names

    yield from unknown_names(silence.deployment, silence.metric, settings, lake)
    for webhook in settings.monitor.webhooks:
        if webhook.format == "alertmanager":
            yield f"the Alertmanager {webhook.name!r} gets its alerts as before: it has silences of its own"


def _target(silence: Silence) -> str:
    if silence.metric is None:
        return silence.deployment or "everything"
    return f"{silence.metric} of {silence.deployment or 'every deployment'}"
