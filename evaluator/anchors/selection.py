"""Selection of anchors: by a hash of their ids, one a conversation; an anchor stays one as long as its row is there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from evaluator.metrics import Metric
from lake.spec.vocabulary import Draw
from lake.tables.table import Table
from runtime.identity import identity

_DAY = timedelta(days=1)
_SCORED = ("event_id", "date", "chat_id", "requested_at")


@dataclass(frozen=True, slots=True)
class ScoredAnswer:
    """An answer that a metric has scored, by its ids alone."""

    event_id: str
    date: date
    chat_id: str | None

    @property
    def conversation(self) -> str:
        """Its chat; without one it is a conversation of its own."""
        return f"chat {self.chat_id}" if self.chat_id else f"answer {self.event_id}"


@dataclass(frozen=True)
class AnchorRows:
    """Rows of `anchors` of one metric."""

    rows: Sequence[Mapping[str, Any]]

    @classmethod
    def read(cls, anchors: Table, metric: str) -> AnchorRows:
        """Read what there is."""
        columns = ["event_id", "date", "chat_id", "metric_version", "draw", "scored_at"]
        return cls(anchors.read(columns, ds.field("metric") == metric).to_pylist())

    def anchors(self, version: str | None = None) -> list[ScoredAnswer]:
        """Return the anchors, or those that this version has scored, each once, in a fixed order."""
        some = [row for row in self.rows if row["draw"] != Draw.COMPARED and version in (None, row["metric_version"])]
        found = {row["event_id"]: ScoredAnswer(row["event_id"], row["date"], row["chat_id"]) for row in some}
        return [found[event_id] for event_id in sorted(found)]

    def last_scored_at(self, version: str) -> datetime | None:
        """When this version last scored anchors."""
        return max((row["scored_at"] for row in self.rows if row["metric_version"] == version), default=None)

    def version_before(self, version: str) -> str | None:
        """Return the version that scored the anchors last, where this one has not scored any yet."""
        some = [row for row in self.rows if row["draw"] != Draw.COMPARED]
        if not some or any(row["metric_version"] == version for row in some):
            return None
        return str(max(some, key=lambda row: row["scored_at"])["metric_version"])


def select_anchors(
    scores: Table, metric: Metric, size: int, excluded: Collection[ScoredAnswer], oldest: date | None
) -> list[ScoredAnswer]:
    """Select up to `size` answers that this version has scored, of conversations other than those of `excluded`.

    `oldest` is the date of the oldest answer that is still there; None where there is none.
    """
    if oldest is None:
        return []
    there = _of_version(metric.name, metric.version) & (ds.field("date") >= pa.scalar(oldest))
    return _lowest(scores.read(_SCORED, there), size, excluded)


def select_of_last_day(
    scores: Table, metric: str, version: str, size: int, excluded: Collection[ScoredAnswer]
) -> list[ScoredAnswer]:
    """Select up to `size` answers of the last day that a version has scored."""
    rows = scores.read(_SCORED, _of_version(metric, version))
    newest = pc.max(rows["requested_at"]).as_py()
    if newest is None:
        return []
    last = pc.greater(rows["requested_at"], pa.scalar(newest - _DAY, rows["requested_at"].type))
    return _lowest(rows.filter(last), size, excluded)


def _of_version(metric: str, version: str) -> ds.Expression:
    return (ds.field("metric") == metric) & (ds.field("metric_version") == version) & ds.field("value").is_valid()


def _lowest(rows: pa.Table, size: int, excluded: Iterable[ScoredAnswer]) -> list[ScoredAnswer]:
    scored = [ScoredAnswer(row["event_id"], row["date"], row["chat_id"]) for row in rows.to_pylist()]
    taken, found = {one.conversation for one in excluded}, []
    for one in sorted(scored, key=lambda one: identity("anchor", one.event_id)):
        if one.conversation not in taken:
            taken.add(one.conversation)
            found.append(one)
        if len(found) == size:
            break
    return found
