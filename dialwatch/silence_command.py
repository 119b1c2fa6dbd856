"""`dialwatch silence`: hold alerts back for a while, without a restart of the monitor."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from dialwatch.config import Settings
from dialwatch.lake_commands import ConfigOption, LakeOption, grid_of, open_filled, settings_of
from evaluator.metrics import REGISTRY, UnknownMetricError
from lake import DISLIKES, Lake, reads_seconds
from monitor.floors import FLOORS
from monitor.notify import Silence
from monitor.silences import add_silence, end_silence, read_silences
from monitor.wording import duration

app = typer.Typer(no_args_is_help=True, help="Hold alerts back for a while; a running monitor takes it in by itself.")

_seconds = reads_seconds("smhd")
_UNPRINTABLE = ("Cc", "Cs")
"""Control characters, which may tell a terminal anything, and bytes that are no UTF-8."""


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

    What still fires then is told then; what is over by then is not. Alertmanagers have silences of their own.
    """
    now = datetime.now(UTC)
    _check_filters(deployment, metric, everything)
    end, comment = _end(for_, until, now), " ".join(comment.split())
    for option, text in (("--deployment", deployment), ("--metric", metric), ("--comment", comment)):
        _check_text(option, text or "")
    settings = settings_of(config, lake)
    opened = open_filled(settings)
    metric = metric and (_name_in_alerts(metric, settings) or metric)
    silence = Silence(deployment=deployment, metric=metric, until=end, comment=comment)
    for note in _notes(silence, settings, opened):
        typer.echo(f"note: {note}")
    silence_id = add_silence(opened, silence, now)
    typer.echo(f"silence {silence_id} holds back alerts of {_what(silence)} until {_written(end)}")
    typer.echo(f"to end it before: dialwatch silence end {silence_id}")


@app.command("list")
def show(lake: LakeOption = None, config: ConfigOption = None) -> None:
    """List the silences that hold now, those of the configuration too; the one that ends first comes first."""
    settings, now = settings_of(config, lake), datetime.now(UTC)
    added = [(str(number), silence) for number, silence in read_silences(open_filled(settings)).items()]
    holding = [one for one in (*added, *(("config", s) for s in settings.monitor.silences)) if now < one[1].until]
    if not holding:
        typer.echo("nothing is silenced")
        return
    grid = grid_of("id", "deployment", "metric", "until", "left", "comment")
    for silence_id, silence in sorted(holding, key=lambda one: one[1].until):
        cells = (silence_id, silence.deployment or "(every)", silence.metric or "(every)", _written(silence.until))
        # As text: rich would take a name in square brackets for a colour.
        grid.add_row(*(Text(cell) for cell in (*cells, duration(silence.until - now), silence.comment)))
    Console().print(grid)


@app.command("end")
def end(
    written_id: Annotated[str, typer.Argument(metavar="ID", help="As `dialwatch silence list` has it.")],
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """End a silence before its time: what still fires is told at the monitor's next look."""
    opened, now = open_filled(settings_of(config, lake)), datetime.now(UTC)
    silences = {str(number): (number, silence) for number, silence in read_silences(opened).items()}
    if written_id not in silences:
        holding = ", ".join(number for number, (_, one) in silences.items() if now < one.until) or "none"
        raise typer.BadParameter(
            f"there is no silence {written_id!r}; those that hold and can be ended: {holding}", param_hint="ID"
        )
    silence_id, silence = silences[written_id]
    if silence.until <= now:
        typer.echo(f"silence {silence_id} was over already, at {_written(silence.until)}")
        return
    end_silence(opened, silence_id, now)
    typer.echo(f"silence {silence_id} of {_what(silence)} is over; what still fires is told")


def _check_filters(deployment: str | None, metric: str | None, everything: bool) -> None:
    for option, value in (("--deployment", deployment), ("--metric", metric)):
        if value is not None and not value.strip():
            raise typer.BadParameter("it is empty: give a name, or leave the option out", param_hint=option)
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
        return _after(for_, now)
    end = _moment(until or "")
    if end <= now:
        raise typer.BadParameter(f"{until} is past, it is {_written(now)}: give a later time", param_hint="--until")
    return end


def _after(text: str, now: datetime) -> datetime:
    seconds = _seconds(text)
    try:
        # Who says `--for 8` does not mean the seconds that a bare number has in the configuration.
        if isinstance(seconds, float) and seconds > 0 and text.strip()[-1].isalpha():
            return now + timedelta(seconds=seconds)
    except OverflowError:
        pass
    raise typer.BadParameter(f"{text!r} is no such time: write it as 30m, 8h or 2d", param_hint="--for")


def _moment(text: str) -> datetime:
    example = "2026-12-01T08:00:00Z or 2026-12-01T09:00:00+01:00"
    try:
        at = datetime.fromisoformat(text.strip())
        if at.tzinfo is not None:
            return at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise typer.BadParameter(f"{text!r} is no time: write it as {example}", param_hint="--until") from None
    raise typer.BadParameter(f"{text!r} has no zone: write it as {example}", param_hint="--until")


def _check_text(option: str, text: str) -> None:
    if any(unicodedata.category(character) in _UNPRINTABLE for character in text):
        raise typer.BadParameter(f"{text!r} holds a control character: leave it out", param_hint=option)


def _notes(silence: Silence, settings: Settings, lake: Lake) -> Iterator[str]:
    """What may not be as it was meant; the silence is taken all the same."""
    deployments = [name for name in lake.deployments() if name is not None]
    if silence.deployment and silence.deployment not in deployments:
        yield f"the lake has no deployment {silence.deployment!r} yet{_similar(silence.deployment, deployments)}"
    if silence.metric and _name_in_alerts(silence.metric, settings) is None:
        names = [*FLOORS, DISLIKES, *REGISTRY]
        yield f"no metric or floor of the name {silence.metric!r} is known here{_similar(silence.metric, names)}"
    for webhook in settings.monitor.webhooks:
        if webhook.format == "alertmanager":
            yield f"the Alertmanager {webhook.name!r} is told as before: it has silences of its own"


def _name_in_alerts(metric: str, settings: Settings) -> str | None:
    if metric in (*FLOORS, DISLIKES):
        return metric
    try:
        return settings.evaluator.metric(metric).name
    except UnknownMetricError:
        return None


def _similar(name: str, known: Sequence[str]) -> str:
    close = get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _what(silence: Silence) -> str:
    if silence.metric is None:
        return silence.deployment or "everything"
    return f"{silence.metric} of {silence.deployment or 'every deployment'}"


def _written(at: datetime) -> str:
    return f"{at.astimezone(UTC):%F %R} UTC"
