"""What commands ask about alerts: deployments, metrics, times, and why."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches

import typer
from rich.text import Text

from dialwatch.commands.console import print_grid
from dialwatch.commands.lake import grid_of
from dialwatch.config import Settings
from evaluator.metrics import REGISTRY, UnknownMetricError
from lake import DISLIKES, Lake
from monitor.floors import FLOORS

_UNPRINTABLE = ("Cc", "Cs")
"""Control characters, which may tell a terminal anything, and bytes that are no UTF-8."""


def moment_of(text: str, option: str) -> datetime:
    """Give a time that was typed for an option, as ISO 8601 with a zone; raises BadParameter."""
    example = "2026-12-01T08:00:00Z or 2026-12-01T09:00:00+01:00"
    try:
        at = datetime.fromisoformat(text.strip())
        if at.tzinfo is not None:
            return at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise typer.BadParameter(f"{text!r} is no time: write it as {example}", param_hint=option) from None
    raise typer.BadParameter(f"{text!r} has no zone: write it as {example}", param_hint=option)


def comment_of(text: str) -> str:
    """Give what was typed for `--comment` on one line; raises BadParameter."""
    comment = " ".join(text.split())
    _check_text("--comment", comment)
    return comment


def check_name(option: str, name: str | None, advice: str) -> None:
    """Raise BadParameter for a name that is empty, with what to do, or that a terminal must not be shown."""
    if name is not None and not name.strip():
        raise typer.BadParameter(f"it is empty: {advice}", param_hint=option)
    _check_text(option, name or "")


def unknown_names(deployment: str | None, metric: str | None, settings: Settings, lake: Lake) -> Iterator[str]:
    """Say which of two names may not be as they were meant; they are taken all the same."""
    deployments = [name for name in lake.deployments() if name is not None]
    if deployment and deployment not in deployments:
        yield f"the lake has no deployment {deployment!r} yet{_similar(deployment, deployments)}"
    if metric and _name_in_alerts(metric, settings) is None:
        names = [*FLOORS, DISLIKES, *REGISTRY]
        yield f"no metric or floor of the name {metric!r} is known here{_similar(metric, names)}"


def name_in_alerts(metric: str | None, settings: Settings) -> str | None:
    """Give the name that alerts use for a metric, which may have others, and one that is not known as it is."""
    return metric and (_name_in_alerts(metric, settings) or metric)


def _name_in_alerts(metric: str, settings: Settings) -> str | None:
    if metric in (*FLOORS, DISLIKES):
        return metric
    try:
        return settings.evaluator.metric(metric).name
    except UnknownMetricError:
        return None


def written(at: datetime) -> str:
    """Give a time as people read it."""
    return f"{at.astimezone(UTC):%F %R} UTC"


def print_list(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a grid of names and of what people have written."""
    grid = grid_of(*columns)
    for cells in rows:
        # As text: rich would take a name in square brackets for a colour.
        grid.add_row(*map(Text, cells))
    print_grid(grid)


def _check_text(option: str, text: str) -> None:
    """Raise BadParameter for a text that a terminal must not be shown."""
    if any(unicodedata.category(character) in _UNPRINTABLE for character in text):
        raise typer.BadParameter(f"{text!r} holds a control character: leave it out", param_hint=option)


def _similar(name: str, known: Sequence[str]) -> str:
    close = get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
