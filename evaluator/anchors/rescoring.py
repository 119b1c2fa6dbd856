"""Scheduled scoring of the anchors, each time in one commit."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from evaluator.anchors.selection import (
    AnchorRows,
    ScoredAnswer,
    select_anchors,
    select_of_last_day,
)
from evaluator.anchors.settings import AnchorSettings
from evaluator.answers import ANSWER_COLUMNS, DeploymentTables, LoggedAnswer, answers, with_late_contexts
from evaluator.metrics import Metric
from evaluator.metrics.scores import Redrawable
from evaluator.scoring import Scorer
from lake.spec.alert_vocabulary import AlertEvent, AlertVerdict
from lake.spec.schemas import ANCHORS
from lake.spec.vocabulary import FIRST_DRAWS, Draw, can_drift
from lake.tables.pass_transaction import PassTransaction
from runtime.identity import identity

_AT_ONCE = 50
_PORTION, _MOST_PORTIONS = 66, 24
"""Anchors that are scored together; fewer than 50 say nothing of their judge, and some may fail."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_COPIED = tuple(name for name in ANCHORS.schema.names if name != "draw")
logger = logging.getLogger(__name__)


@dataclass(frozen=True, order=True)
class _Due:
    """When which of the portions of anchors is to be scored; all of them where there is one portion."""

    at: datetime
    portion: int = 0
    portions: int = 1


class Rescoring:
    """Scores the anchors of every metric that a judge or a model gives, once in each `every` and after an alert.

    That is one which does not say yet whether the judge has changed: then all of them at once. Else they are scored in
    portions that are spread over each `every`, so that judges have an even load. When a deployment's portions are due
    is decided by the hash of its name, so that not all fall due at once. Its metrics have one time: what
    several of them ask is then one call.

    The anchors of a metric are drawn, as soon as there are scores, by the hash of their ids from the answers that it
    has scored, and stay. They are references to rows: one whose answer is gone from the log is dropped, and another
    one is drawn in its place. The first two scorings of an anchor are what the others are compared with; they are made
    at once. A new version of a metric scores the anchors of the one before, and, once, as many answers of that one's
    last day.

    All rows of a scoring are one commit, so that after a crash it is made again as a whole, and no second time; a
    judge that keeps its replies is not asked again. Metrics without a judge (`lexical`) cannot drift and have no
    anchors. What cannot be scored is tried again when the next scoring is due.
    """

    def __init__(self, settings: AnchorSettings, scorer: Scorer) -> None:
        self._settings = settings
        self._scorer = scorer
        self._done: dict[tuple[str, str, str], datetime] = {}

    def run(
        self,
        tables: DeploymentTables,
        metrics: Sequence[Metric],
        now: datetime,
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> int:
        """Do what is due of one deployment, and return the number of rows that were written.

        Nothing is written once `is_stopping` says so. Raises LostRaceError where another evaluator, or an erasure, was
        there first.
        """
        judged = [metric for metric in metrics if can_drift(metric.judge)] if self._settings.size else []
        asked, written = _undecided(tables, now) if judged else {}, 0
        for metric in judged:
            one = tables.deployment, metric.name, metric.version
            due = max(self._due(tables.deployment, now), _Due(asked.get((metric.name, metric.version), _EPOCH)))
            if is_stopping() or self._done.get(one, _EPOCH) >= due.at:
                continue
            written += self._rescore(tables, metric, due, now, is_stopping)
            if not is_stopping():
                self._done[one] = now
        return written

    def _due(self, deployment: str, now: datetime) -> _Due:
        portions = min(max(1, self._settings.size // _PORTION), _MOST_PORTIONS)
        step = timedelta(seconds=self._settings.every / portions)
        # Whole seconds, as draws are.
        part = int(self._settings.every * int(identity("anchors", deployment)[:8], 16) / 2**32)
        first = _EPOCH + timedelta(seconds=part)
        number = (now - first) // step
        return _Due(first + number * step, number % portions, portions)

    def _rescore(
        self,
        tables: DeploymentTables,
        metric: Metric,
        due: _Due,
        now: datetime,
        is_stopping: Callable[[], bool],
    ) -> int:
        # Before the look at any other table: an erasure that takes rows from one moves this one.
        transaction = PassTransaction(tables.anchors)
        held = AnchorRows.read(tables.anchors, metric.name)
        if (held.last_scored_at(metric.version) or _EPOCH) >= due.at:
            return 0
        anchors, cases = self._anchors(tables, metric, held), tables.cases()
        scored = {one.event_id for one in held.anchors(metric.version)}
        old = [answer for answer in anchors if answer.event_id in scored][due.portion :: due.portions]
        new = [answer for answer in anchors if answer.event_id not in scored]
        both = self._compared(tables, metric, held)
        parts = [_old_scores(tables, metric, held, both)]
        draws = [(int(due.at.timestamp()), old), *((draw, new) for draw in FIRST_DRAWS), (Draw.COMPARED, both)]
        for draw, some in draws:
            for begin in range(0, len(some), _AT_ONCE):
                if is_stopping():
                    return 0
                few = with_late_contexts(tables, some[begin : begin + _AT_ONCE])
                rows, _ = self._scorer.rows(tables, few, [_of_draw(metric, draw)], cases, now)
                parts.append(_as_anchors(rows, draw))
        rows = pa.concat_tables(parts)
        if rows.num_rows:
            transaction.append(rows)
            text = "scored anchors of metric %r of deployment %r again: %d rows"
            logger.info(
                text,
                metric.name,
                tables.deployment,
                rows.num_rows,
                extra={"deployment": tables.deployment, "metric": metric.name},
            )
        return int(rows.num_rows)

    def _anchors(self, tables: DeploymentTables, metric: Metric, held: AnchorRows) -> list[LoggedAnswer]:
        """Return those that are still there, and others in the place of those that are not."""
        before = held.anchors()
        there = _answers(tables, before)
        missing = self._settings.size - len(there)
        if missing <= 0:
            return there
        # Scores may be kept for longer than the answers.
        first = pc.min(tables.logs.read(["date"])["date"]).as_py()
        return there + _answers(tables, select_anchors(tables.scores, metric, missing, before, first))

    def _compared(self, tables: DeploymentTables, metric: Metric, held: AnchorRows) -> list[LoggedAnswer]:
        version = held.version_before(metric.version)
        if version is None:
            return []
        size = self._settings.size
        return _answers(tables, select_of_last_day(tables.scores, metric.name, version, size, held.anchors()))


def _undecided(tables: DeploymentTables, now: datetime) -> dict[tuple[str, str], datetime]:
    """When each metric version got an alert that is open and does not say whether the judge has changed."""
    columns = ["metric", "metric_version", "change", "verdict", "changed_at"]
    rows = tables.alerts.read(columns, ds.field("change").isin([AlertEvent.FIRING, AlertEvent.RESOLVED])).to_pylist()
    last = {(row["metric"], row["metric_version"]): row for row in sorted(rows, key=lambda row: row["changed_at"])}
    return {
        one: row["changed_at"]
        for one, row in last.items()
        if (row["change"], row["verdict"]) == (AlertEvent.FIRING, AlertVerdict.UNDECIDED) and row["changed_at"] <= now
    }


def _of_draw(metric: Metric, draw: int) -> Metric:
    return metric.fresh(draw) if draw > 0 and isinstance(metric, Redrawable) else metric


def _answers(tables: DeploymentTables, scored: Collection[ScoredAnswer]) -> list[LoggedAnswer]:
    ids, days = {one.event_id for one in scored}, {one.date for one in scored}
    if not ids:
        return []
    where = ds.field("date").isin(sorted(days)) & ds.field("event_id").isin(sorted(ids))
    found = [one for some in answers(tables.logs.read(ANSWER_COLUMNS, where)) for one in some]
    return sorted(found, key=lambda answer: answer.event_id)


def _old_scores(
    tables: DeploymentTables, metric: Metric, held: AnchorRows, compared: Sequence[LoggedAnswer]
) -> pa.Table:
    """Return what the version before said of the answers that both score; what that did cost stands in `scores`."""
    version = held.version_before(metric.version)
    of_version = (ds.field("metric") == metric.name) & (ds.field("metric_version") == version)
    if version is None or not compared:
        return ANCHORS.schema.empty_table()
    ids = sorted(answer.event_id for answer in compared)
    copied = _as_anchors(tables.scores.read(_COPIED, of_version & ds.field("event_id").isin(ids)), Draw.COMPARED)
    place = ANCHORS.schema.get_field_index("cost")
    return copied.set_column(place, ANCHORS.schema.field(place), pa.repeat(pa.scalar(0.0), copied.num_rows))


def _as_anchors(scores: pa.Table, draw: int) -> pa.Table:
    number = pa.repeat(pa.scalar(draw, pa.int64()), scores.num_rows)
    rows = scores.select(_COPIED).append_column("draw", number).select(ANCHORS.schema.names)
    return rows.cast(ANCHORS.schema)
