"""Silences that people add and end while the monitor runs: the table `_silences`."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import pyarrow as pa
from pydantic import AwareDatetime

from lake.spec.alert_vocabulary import SilenceEvent
from lake.spec.root_tables import SILENCES
from lake.tables.lake import Lake
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.controls.numbered_rows import append_numbered
from runtime.setting import Section, Setting

SILENCE_COLUMNS = ("silence_id", "change", "changed_at", "deployment", "metric", "until", "comment")

_APP_ID = "silences"
logger = logging.getLogger(__name__)


class Silence(Section):
    """Holds back alerts that fire, of a deployment, a metric or both, until an instant; all where neither is given.

    An alert that is over before the silence ends is not sent at all; any other is sent when the silence ends.
    """

    deployment: Annotated[str | None, Setting(default="every one")] = None
    """Deployment that is silenced."""
    metric: Annotated[str | None, Setting(default="every one")] = None
    """Metric or limit that is silenced: `errors`, `no_data` ..."""
    until: AwareDatetime
    """When the silence ends, with a zone: `2026-12-01T08:00:00Z`."""
    comment: str = ""
    """Why, for the `alerts` table."""

    def holds(self, change: AlertChange) -> bool:
        """Whether the change is of the silenced deployment and metric, at any time."""
        return self.deployment in (None, change.key.deployment) and self.metric in (None, change.key.metric)

    @property
    def reason(self) -> str:
        """The text for the `alerts` table."""
        return f"silenced until {self.until.isoformat()}" + (f": {self.comment}" if self.comment else "")


@dataclass(frozen=True)
class SilencedSpan:
    """A silence and when it began by the clock; None where that is not known, as of the configuration."""

    silence: Silence
    since: datetime | None


@dataclass(frozen=True)
class SilenceChange:
    """A row of the table: a person added a silence, or ended it before its time."""

    silence_id: int
    change: str
    changed_at: datetime
    deployment: str | None
    metric: str | None
    until: datetime
    comment: str | None
    who: str | None


class Silences:
    """The silences of the configuration and of the rows of the table so far; `every` has those that are over too.

    Rows may come in any order and more than once.
    """

    def __init__(self, configured: Sequence[Silence]) -> None:
        self._configured = tuple(configured)
        self._added: Mapping[int, Silence] = {}
        self._begun: dict[int, datetime] = {}

    @property
    def every(self) -> tuple[Silence, ...]:
        """All silences, one that was ended early with that time as its end."""
        return (*self._configured, *self._added.values())

    def add(self, rows: pa.Table) -> None:
        """Take in rows of `SILENCE_COLUMNS`."""
        self._added = _with_rows(self._added, rows)
        for row in rows.to_pylist():
            if row["change"] == SilenceEvent.ADDED and row["changed_at"] is not None:
                self._begun[row["silence_id"]] = row["changed_at"]

    def since(self, at: datetime) -> tuple[SilencedSpan, ...]:
        """Return the silences that were not over at `at`, with their beginnings."""
        spans = [SilencedSpan(one, None) for one in self._configured]
        spans += [SilencedSpan(one, self._begun.get(number)) for number, one in self._added.items()]
        return tuple(span for span in spans if at < span.silence.until)

    def at(self, now: datetime) -> tuple[Silence, ...]:
        """Return the silences that are not over."""
        return tuple(silence for silence in self.every if now < silence.until)


def silence_of(change: AlertChange, silences: Sequence[Silence]) -> Silence | None:
    """Return the silence that holds the change back for longest, None if there is none; it may be over."""
    return max((silence for silence in silences if silence.holds(change)), key=lambda s: s.until, default=None)


def read_silences(lake: Lake) -> dict[int, Silence]:
    """Return every silence that the table ever had, by its id; one that was ended early ends then."""
    return _with_rows({}, lake.table(SILENCES).read(SILENCE_COLUMNS))


def add_silence(lake: Lake, silence: Silence, now: datetime, who: str | None = None) -> int:
    """Write a silence and return its id; monitors hold back by it from their next look on."""
    return append_numbered(lake, SILENCES, _APP_ID, lambda number: _row(number, SilenceEvent.ADDED, silence, now, who))


def end_silence(lake: Lake, silence_id: int, now: datetime, who: str | None = None) -> None:
    """Write that a silence ends now; where it is over already that changes nothing. Raises KeyError for no silence."""
    silence = read_silences(lake)[silence_id]
    ended = silence.model_copy(update={"until": now, "comment": None})
    lake.table(SILENCES).append(SILENCES.rows([_row(silence_id, SilenceEvent.ENDED, ended, now, who)]))


def read_silence_changes(lake: Lake) -> list[SilenceChange]:
    """Return what people did with silences, as the table has it."""
    rows = lake.table(SILENCES).read((*SILENCE_COLUMNS, "who")).to_pylist()
    return [SilenceChange(**row) for row in rows if None not in (row["silence_id"], row["changed_at"], row["until"])]


def _row(silence_id: int, change: str, silence: Silence, now: datetime, who: str | None) -> dict[str, object]:
    return {"silence_id": silence_id, "change": change, "changed_at": now, "who": who} | dict(silence)


def _with_rows(known: Mapping[int, Silence], rows: pa.Table) -> dict[int, Silence]:
    found = dict(known)
    for row in rows.to_pylist():
        silence_id = row.pop("silence_id")
        if silence_id is None or row["until"] is None:
            logger.warning("A row of _silences without silence_id or until holds nothing back: %s", silence_id)
            continue
        silence = Silence(
            deployment=row["deployment"], metric=row["metric"], until=row["until"], comment=row["comment"] or ""
        )
        if silence_id not in found or silence.until < found[silence_id].until:
            found[silence_id] = silence
    return found
