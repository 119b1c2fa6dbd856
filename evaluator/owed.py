"""Scores that a judge owes: it had no budget, no time or no connection when it was asked, and is asked again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from evaluator.answers import ANSWER_COLUMNS, IS_ANSWER, answers
from evaluator.cases import CaseBook
from evaluator.identity import identity
from evaluator.judges.answer import TRANSIENT
from evaluator.judging import asks_judge
from evaluator.late_contexts import with_late_contexts
from evaluator.metrics import Metric
from evaluator.scores import ScoreCounts, Scorer, answers_at_once, held_score_ids
from evaluator.tables import DeploymentTables
from lake import PASSES, SCORES, Table

log = logging.getLogger(__name__)

AGE = timedelta(days=1)
"""Answers that are older are left to a backfill: their scores would be of the past."""

_AGAIN_AFTER = timedelta(minutes=10)
_MOST = 1_000
"""So many of one metric are taken up at a time."""

_COLUMNS = ["event_id", "date", "requested_at", "sampling_probability"]


class OwedScores:
    """Asks again for the scores that judges owe, when a process begins and then every ten minutes while there are any.

    A score that is owed is a row of `scores` without a value, whose reason says why. The score itself comes as a row of
    its own, with the probability of the first one, so that means stay without bias. What was paid is not paid again:
    the replies are kept. A judge that owes again is left alone until the next time.
    """

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self._due: dict[str, datetime | None] = {}

    def expect(self, deployment: str, counts: ScoreCounts, now: datetime) -> None:
        """Look again in ten minutes where a pass was left without scores, and tell of it."""
        if counts.owed:
            reasons = ", ".join(f"{counts.unscored[one]} {one}" for one in sorted(TRANSIENT) if counts.unscored[one])
            log.warning("a judge owes scores of deployment %r (%s); it is asked again for a day", deployment, reasons)
        if counts.owed and self._due.get(deployment) is None:
            self._due[deployment] = now + _AGAIN_AFTER

    def score(
        self,
        tables: DeploymentTables,
        metrics: Sequence[Metric],
        now: datetime,
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> ScoreCounts:
        """Score what is owed of the last day, if it is time. Raises LostRaceError like a pass over new answers."""
        counts = ScoreCounts()
        due = self._due.get(tables.deployment, now)
        if due is None or due > now:
            return counts
        owed = False
        for metric in filter(asks_judge, metrics):
            paid, is_left = self._score(tables, metric, now, is_stopping)
            counts.add(paid)
            owed |= is_left
        self._due[tables.deployment] = now + _AGAIN_AFTER if owed else None
        return counts

    def _score(
        self, tables: DeploymentTables, metric: Metric, now: datetime, is_stopping: Callable[[], bool]
    ) -> tuple[ScoreCounts, bool]:
        counts = ScoreCounts()
        passes = tables.scores.progress([PASSES]).get(PASSES, 0)
        recent = _recent(now)
        held = held_score_ids(tables.scores, [metric], recent)
        debts = _debts(tables, metric, recent, held)
        if not debts:
            return counts, False
        probabilities = {debt["event_id"]: debt["sampling_probability"] for debt in debts[:_MOST]}
        wanted = ds.field("event_id").isin(list(probabilities))
        dates = ds.field("date").isin(sorted({debt["date"] for debt in debts}))
        found = tables.logs.read(ANSWER_COLUMNS, IS_ANSWER & dates & wanted)
        cases, parts = CaseBook.read(tables), []
        for some in answers(found, answers_at_once([metric])):
            if is_stopping() or counts.owed:
                break
            some = with_late_contexts(tables, some)
            rows, of_some = self._scorer.owed_rows(tables, some, metric, cases, now, probabilities, held)
            parts.append(rows)
            counts.add(of_some)
        rows = pa.concat_tables([SCORES.schema.empty_table(), *parts])
        if rows.num_rows:
            tables.scores.append(rows, progress={PASSES: passes + 1})
        return counts, len(debts) > counts.total


def owed_probabilities(scores: Table, metrics: Sequence[Metric], where: ds.Expression) -> dict[str, float]:
    """Read the `event_id` of answers that judges owe, or owed, scores of, each with how likely it was in the sample."""
    names = [metric.name for metric in metrics if asks_judge(metric)]
    if not names:
        return {}
    is_owed = ds.field("reason").isin(sorted(TRANSIENT)) & ds.field("metric").isin(names)
    rows = scores.read(["event_id", "sampling_probability"], where & is_owed)
    return dict(zip(rows["event_id"].to_pylist(), rows["sampling_probability"].to_pylist(), strict=True))


def _recent(now: datetime) -> ds.Expression:
    since = pa.scalar(now - AGE, SCORES.schema.field("requested_at").type)
    return (ds.field("requested_at") > since) & (ds.field("date") >= pa.scalar((now - AGE).date()))


def _debts(
    tables: DeploymentTables, metric: Metric, where: ds.Expression, held: Collection[str]
) -> list[dict[str, Any]]:
    """Read the latest answers whose score is owed, latest first."""
    name, version = metric.name, metric.version
    of_metric = (ds.field("metric") == name) & (ds.field("metric_version") == version)
    rows = tables.scores.read(_COLUMNS, where & of_metric & ds.field("reason").isin(sorted(TRANSIENT)))
    latest = rows.sort_by([("requested_at", "descending")]).to_pylist()
    return [row for row in latest if identity(row["event_id"], name, version) not in held]
