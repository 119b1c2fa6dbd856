"""Scores that a judge owes: it had no budget, no time or no connection when it was asked, and is asked again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Self

import pyarrow as pa
import pyarrow.dataset as ds

from evaluator.answers import ANSWER_COLUMNS, Answer, DeploymentTables, answers, identity, with_late_contexts
from evaluator.judge_binding import asks_judge
from evaluator.judges.answer import NOT_FOR_GOOD, TRANSIENT
from evaluator.metrics import Metric
from evaluator.scoring import ScoreCounts, Scorer, answers_at_once, held_score_ids
from lake import IS_ANSWER, SCORES, CaseBook, PassTransaction, Table

log = logging.getLogger(__name__)

AGE = timedelta(days=1)
"""Answers that are older are left to a backfill: their scores would be of the past."""

_AGAIN_AFTER = timedelta(minutes=10)
_MOST = 1_000
"""So many of one metric are taken up at a time."""
_ALWAYS = frozenset({"judge_budget", "judge_unpriced"})
"""Reasons that say nothing of the answer: no call was made."""

_COLUMNS = ["event_id", "date", "requested_at", "sampling_probability", "scored_at"]


@dataclass(frozen=True)
class _Debt:
    """A score that is owed, how often it was asked for again without success, and when it is asked for next."""

    event_id: str
    date: date
    sampling_probability: float
    due: datetime
    failures: int = 0

    def failed(self, now: datetime, reason: str | None) -> Self:
        """Give the debt after one more try."""
        if reason in _ALWAYS:
            return replace(self, due=now + _AGAIN_AFTER)
        return replace(self, due=now + _AGAIN_AFTER * 2 ** (self.failures + 1), failures=self.failures + 1)


class OwedScores:
    """Asks again for the scores that judges owe: after 10 minutes, then after 20, 40 and so on, for a day.

    After that the row of `scores` without a value, whose reason says why, is all that there is. Budgets make no gap
    grow. The score itself comes as a row of its own, with the probability of the first one, so that means stay without
    bias. What was paid is not paid again: the replies are kept.

    Those that failed least often come first, of these the latest. Where a judge owes one of some 50 again, the others
    wait until new answers were scored once more, and where it answers none of them, for ten minutes. Tries are counted
    in memory: a process that begins asks for all that is owed for ten minutes or more.
    """

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self._due: dict[str, datetime | None] = {}
        self._debts: dict[tuple[str, str, str], dict[str, _Debt]] = {}

    def expect(self, deployment: str, counts: ScoreCounts, now: datetime) -> None:
        """Look again in ten minutes where a pass was left without scores, and tell of it."""
        if counts.owed:
            reasons = ", ".join(f"{counts.unscored[one]} {one}" for one in sorted(TRANSIENT) if counts.unscored[one])
            log.warning("a judge owes scores of deployment %r (%s); it is asked again for a day", deployment, reasons)
        if counts.owed and deployment in self._due:
            self._due[deployment] = min(self._due[deployment] or now + _AGAIN_AFTER, now + _AGAIN_AFTER)

    def clock_was_set(self, by: timedelta) -> None:
        """Have all asked again after as long as was planned, although the clock shows another time now."""
        if by:
            self._due = {name: due and due + by for name, due in self._due.items()}
            for debts in self._debts.values():
                debts.update({one: replace(debt, due=debt.due + by) for one, debt in debts.items()})

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
        """Give what came of it, and when to look again."""
        counts = ScoreCounts()
        transaction = PassTransaction(tables.scores)
        recent = _recent(now)
        held = held_score_ids(tables.scores, [metric], recent)
        debts = self._known(tables, metric, _debts(tables, metric, recent, held))
        ready = sorted((debt for debt in debts.values() if debt.due <= now), key=lambda debt: debt.failures)[:_MOST]
        if not ready:
            return counts, min((debt.due for debt in debts.values()), default=None)
        found = _answers(tables, ready)
        cases, parts, at_once = (
            CaseBook.read(tables.truth, tables.logs),
            [SCORES.schema.empty_table()],
            answers_at_once([metric]),
        )
        begin, rest = 0, now
        while begin < len(ready) and not is_stopping() and not counts.owed:
            few = {debt.event_id: debt for debt in ready[begin : begin + at_once]}
            begin += at_once
            some = with_late_contexts(tables, [found[event_id] for event_id in few if event_id in found])
            probabilities = {debt.event_id: debt.sampling_probability for debt in few.values()}
            rows, of_some, owed = self._scorer.owed_rows(tables, some, metric, cases, now, probabilities, held)
            parts.append(rows)
            counts.add(of_some)
            given = set(rows["event_id"].to_pylist())
            for event_id in given:
                del debts[event_id]
            debts.update({one: few[one].failed(now, owed.get(one)) for one in few.keys() - given})
            rest = now if given and not counts.is_budget_spent else now + _AGAIN_AFTER
        if sum(part.num_rows for part in parts):
            transaction.append(pa.concat_tables(parts))
        return counts, min((max(debt.due, rest) for debt in debts.values()), default=None)

    def _known(self, tables: DeploymentTables, metric: Metric, found: Sequence[_Debt]) -> dict[str, _Debt]:
        one = tables.deployment, metric.name, metric.version
        before = self._debts.get(one, {})
        self._debts[one] = {debt.event_id: before.get(debt.event_id, debt) for debt in found}
        return self._debts[one]


def owed_probabilities(scores: Table, metrics: Sequence[Metric], where: ds.Expression) -> dict[str, float]:
    """Read the `event_id` of answers whose scores by judges may still come, each with how likely it was in the sample.

    Some have come since. Those of replies that were cut are among them.
    """
    names = [metric.name for metric in metrics if asks_judge(metric)]
    if not names:
        return {}
    is_owed = ds.field("reason").isin(sorted(NOT_FOR_GOOD)) & ds.field("metric").isin(names)
    rows = scores.read(["event_id", "sampling_probability"], where & is_owed)
    return dict(zip(rows["event_id"].to_pylist(), rows["sampling_probability"].to_pylist(), strict=True))


def _recent(now: datetime) -> ds.Expression:
    since = pa.scalar(now - AGE, SCORES.schema.field("requested_at").type)
    return (ds.field("requested_at") > since) & (ds.field("date") >= pa.scalar((now - AGE).date()))


def _debts(tables: DeploymentTables, metric: Metric, where: ds.Expression, held: Collection[str]) -> list[_Debt]:
    """Read the latest answers whose score is owed, latest first."""
    name, version = metric.name, metric.version
    of_metric = (ds.field("metric") == name) & (ds.field("metric_version") == version)
    rows = tables.scores.read(_COLUMNS, where & of_metric & ds.field("reason").isin(sorted(TRANSIENT)))
    latest = rows.sort_by([("requested_at", "descending")]).to_pylist()
    return [
        _Debt(row["event_id"], row["date"], row["sampling_probability"], row["scored_at"] + _AGAIN_AFTER)
        for row in latest
        if identity(row["event_id"], name, version) not in held
    ]


def _answers(tables: DeploymentTables, debts: Sequence[_Debt]) -> dict[str, Answer]:
    wanted = ds.field("event_id").isin([debt.event_id for debt in debts])
    dates = ds.field("date").isin(sorted({debt.date for debt in debts}))
    found = tables.logs.read(ANSWER_COLUMNS, IS_ANSWER & dates & wanted)
    return {answer.event_id: answer for some in answers(found) for answer in some}
