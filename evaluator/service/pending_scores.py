"""Retries of pending scores: a judge that had no budget, no time or no connection is asked again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Self

import pyarrow as pa
import pyarrow.dataset as ds

from evaluator.answers import ANSWER_COLUMNS, DeploymentTables, LoggedAnswer, answers, with_late_contexts
from evaluator.answers.conversations import with_conversations
from evaluator.judge_binding import asks_judge
from evaluator.judges.exchange import NOT_FOR_GOOD, TRANSIENT, Reason
from evaluator.metrics import Metric, is_of_conversations
from evaluator.scoring import ScoreCounts, Scorer, answers_at_once, held_score_ids
from lake.queries.answer_rows import IS_ANSWER
from lake.spec.schemas import SCORES
from lake.tables.pass_transaction import PassTransaction
from lake.tables.table import Table
from runtime.identity import identity

logger = logging.getLogger(__name__)

AGE = timedelta(days=1)
"""Answers that are older are left to a backfill: their scores would be of the past."""

_AGAIN_AFTER = timedelta(minutes=10)
_MOST = 1_000
"""So many of one metric are taken up at a time."""
_ALWAYS = frozenset({Reason.BUDGET, Reason.UNPRICED})
"""Reasons that say nothing of the answer: no call was made."""

_COLUMNS = ["event_id", "date", "requested_at", "sampling_probability", "scored_at"]


@dataclass(frozen=True)
class PendingScore:
    """A score that its judge did not give: how often it was retried without success, and when it is retried next."""

    event_id: str
    date: date
    sampling_probability: float
    due: datetime
    failures: int = 0

    def failed(self, now: datetime, reason: str | None) -> Self:
        """Return the score after one more try without success, and when it is retried next."""
        if reason in _ALWAYS:
            return replace(self, due=now + _AGAIN_AFTER)
        return replace(self, due=now + _AGAIN_AFTER * 2 ** (self.failures + 1), failures=self.failures + 1)


class JudgeRetries:
    """Asks judges again for pending scores: after 10 minutes, then after 20, 40 and so on, for a day.

    After that the row of `scores` without a value, whose reason says why, is all that there is. Budgets make no gap
    grow. The score itself comes as a row of its own, with the probability of the first one, so that means stay without
    bias. What was paid is not paid again: the replies are kept.

    Those that failed least often come first, of these the latest. Where one of some 50 fails again, the others wait
    until new answers were scored once more, and where the judge answers none of them, for ten minutes. Tries are
    counted in memory: a process that begins retries all that have been pending for ten minutes or more.
    """

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self._due: dict[str, datetime | None] = {}
        self._pending: dict[tuple[str, str, str], dict[str, PendingScore]] = {}

    def plan(self, deployment: str, counts: ScoreCounts, now: datetime) -> None:
        """Plan a retry in ten minutes where a pass left pending scores, and log it."""
        if counts.pending:
            reasons = ", ".join(f"{counts.unscored[one]} {one}" for one in sorted(TRANSIENT) if counts.unscored[one])
            logger.warning(
                "scores of deployment %r are pending (%s): their judge is asked again for a day", deployment, reasons
            )
        if counts.pending and deployment in self._due:
            self._due[deployment] = min(self._due[deployment] or now + _AGAIN_AFTER, now + _AGAIN_AFTER)

    def clock_was_set(self, by: timedelta) -> None:
        """Have all asked again after as long as was planned, although the clock shows another time now."""
        if by:
            self._due = {name: due and due + by for name, due in self._due.items()}
            for pending in self._pending.values():
                pending.update({one: replace(score, due=score.due + by) for one, score in pending.items()})

    def score(
        self,
        tables: DeploymentTables,
        metrics: Sequence[Metric],
        now: datetime,
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> ScoreCounts:
        """Score what is pending of the last day, if it is time. Raises LostRaceError like a pass over new answers."""
        counts = ScoreCounts()
        due = self._due.get(tables.deployment, now)
        if due is None or due > now:
            return counts
        nexts: list[datetime] = []
        for metric in filter(asks_judge, metrics):
            paid, at = self._score(tables, metric, now, is_stopping)
            counts.add(paid)
            nexts += [] if at is None else [at]
        self._due[tables.deployment] = min(nexts, default=None)
        return counts

    def _score(
        self, tables: DeploymentTables, metric: Metric, now: datetime, is_stopping: Callable[[], bool]
    ) -> tuple[ScoreCounts, datetime | None]:
        """Return what came of it, and when to look again."""
        counts = ScoreCounts()
        transaction = PassTransaction(tables.scores)
        recent = _recent(now)
        held = held_score_ids(tables.scores, [metric], recent)
        pending = self._with_tries(tables, metric, _pending(tables, metric, recent, held))
        ready = sorted((one for one in pending.values() if one.due <= now), key=lambda one: one.failures)[:_MOST]
        if not ready:
            return counts, min((one.due for one in pending.values()), default=None)
        found = _answers(tables, ready)
        cases, parts, at_once = (
            tables.cases(),
            [SCORES.schema.empty_table()],
            answers_at_once([metric]),
        )
        begin, rest = 0, now
        while begin < len(ready) and not is_stopping() and not counts.pending:
            few = {one.event_id: one for one in ready[begin : begin + at_once]}
            begin += at_once
            some = _whole(tables, metric, [found[event_id] for event_id in few if event_id in found])
            probabilities = {one.event_id: one.sampling_probability for one in few.values()}
            rows, of_some, reasons = self._scorer.retried_rows(
                tables, some, metric, cases, now, probabilities, held, is_stopping
            )
            parts.append(rows)
            counts.add(of_some)
            given = set(rows["event_id"].to_pylist())
            for event_id in given:
                del pending[event_id]
            pending.update({one: few[one].failed(now, reasons.get(one)) for one in few.keys() - given})
            rest = now if given and not counts.is_budget_spent else now + _AGAIN_AFTER
        if sum(part.num_rows for part in parts):
            transaction.append(pa.concat_tables(parts))
        return counts, min((max(one.due, rest) for one in pending.values()), default=None)

    def _with_tries(
        self, tables: DeploymentTables, metric: Metric, found: Sequence[PendingScore]
    ) -> dict[str, PendingScore]:
        """Return what is pending by `event_id`, with the tries that are known of it."""
        one = tables.deployment, metric.name, metric.version
        before = self._pending.get(one, {})
        self._pending[one] = {score.event_id: before.get(score.event_id, score) for score in found}
        return self._pending[one]


def pending_probabilities(scores: Table, metrics: Sequence[Metric], where: ds.Expression) -> dict[str, float]:
    """Read the `event_id` of answers whose scores by judges may still come, with their probability in the sample.

    Some have come since. Those of replies that were cut are among them.
    """
    names = [metric.name for metric in metrics if asks_judge(metric)]
    if not names:
        return {}
    is_pending = ds.field("reason").isin(sorted(NOT_FOR_GOOD)) & ds.field("metric").isin(names)
    rows = scores.read(["event_id", "sampling_probability"], where & is_pending)
    return dict(zip(rows["event_id"].to_pylist(), rows["sampling_probability"].to_pylist(), strict=True))


def _recent(now: datetime) -> ds.Expression:
    since = pa.scalar(now - AGE, SCORES.schema.field("requested_at").type)
    return (ds.field("requested_at") > since) & (ds.field("date") >= pa.scalar((now - AGE).date()))


def _pending(
    tables: DeploymentTables, metric: Metric, where: ds.Expression, held: Collection[str]
) -> list[PendingScore]:
    """Read what is pending, latest first."""
    name, version = metric.name, metric.version
    of_metric = (ds.field("metric") == name) & (ds.field("metric_version") == version)
    rows = tables.scores.read(_COLUMNS, where & of_metric & ds.field("reason").isin(sorted(TRANSIENT)))
    latest = rows.sort_by([("requested_at", "descending")]).to_pylist()
    return [
        PendingScore(row["event_id"], row["date"], row["sampling_probability"], row["scored_at"] + _AGAIN_AFTER)
        for row in latest
        if identity(row["event_id"], name, version) not in held
    ]


def _whole(tables: DeploymentTables, metric: Metric, some: Sequence[LoggedAnswer]) -> list[LoggedAnswer]:
    """Return answers with all that the metric reads."""
    late = with_late_contexts(tables, some)
    return with_conversations(tables.logs, late) if is_of_conversations(metric) else late


def _answers(tables: DeploymentTables, pending: Sequence[PendingScore]) -> dict[str, LoggedAnswer]:
    wanted = ds.field("event_id").isin([one.event_id for one in pending])
    dates = ds.field("date").isin(sorted({one.date for one in pending}))
    found = tables.logs.read(ANSWER_COLUMNS, IS_ANSWER & dates & wanted)
    return {answer.event_id: answer for some in answers(found) for answer in some}
