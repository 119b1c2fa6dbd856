"""Judges of a deployment over a period: what share of the answers they scored, and what that cost."""

from __future__ import annotations

from dataclasses import dataclass

from lake.spec.metric_names import quoted_name
from lake.spec.vocabulary import asks_llm
from monitor.detect.stats.judge_costs import of_each_judge
from monitor.detect.stats.sums import ROUGH_PER_UNIT
from monitor.pages.charts import Drawing, Point, TimeChart, draw
from monitor.pages.period import PagePeriod
from monitor.service.snapshot import DeploymentState


@dataclass(frozen=True)
class JudgeMetric:
    """A metric that asks a judge: its scored answers of the period, and how many answers there were."""

    metric: str
    judge: str
    scored: int
    answers: int

    @property
    def share(self) -> float | None:
        """Of the answers; None where there was none. Answers that lack a time may make more scores than answers."""
        return min(1.0, self.scored / self.answers) if self.answers else None


@dataclass(frozen=True)
class Judges:
    """Coverage by metric and costs by judge; the drawings are None where nothing is judged, or nothing was paid."""

    metrics: tuple[JudgeMetric, ...]
    costs: dict[str, float]
    coverage: Drawing | None
    cost: Drawing | None

    @property
    def total(self) -> float:
        """Cost of all judges."""
        return sum(self.costs.values())


def judges_of(state: DeploymentState, period: PagePeriod) -> Judges:
    """Return what judges did and cost."""
    answers = int((*state.requests.by_time.total(period.first, period.last), 0, 0)[1])
    metrics = [
        JudgeMetric(name, scores.judge or "", int(sum(scores.scored_by_time.total(period.first, period.last))), answers)
        for name, scores in state.scores.metrics.items()
        if asks_llm(scores.judge)
    ]
    paid = {
        label: round(sum(sums.total(period.first, period.last))) for label, sums in state.judge_costs.by_time.items()
    }
    costs = {judge: amount / ROUGH_PER_UNIT for judge, amount in of_each_judge(paid).items() if amount}
    most = max(metrics, key=lambda one: one.scored, default=None)
    return Judges(
        tuple(sorted(metrics, key=lambda one: (one.scored, one.metric))),
        costs,
        draw(_coverage(state, most.metric, period)) if most and most.scored else None,
        draw(_cost(state, period)) if costs else None,
    )


def _coverage(state: DeploymentState, metric: str, period: PagePeriod) -> TimeChart:
    slots = (period.first, period.last, period.slot_hours)
    answers = [row[1] if row else 0.0 for row in state.requests.by_time.by_slot(*slots).tolist()]
    scored = [sum(row) for row in state.scores.metrics[metric].scored_by_time.by_slot(*slots).tolist()]
    return TimeChart(
        key="coverage",
        name=f"Answers with a score of {quoted_name(metric)}",
        begin=period.begin,
        slot=period.slot,
        points=[
            Point(min(100.0, 100 * part / every) if every else None, number=int(every))
            for part, every in zip(scored, answers, strict=True)
        ],
        quantity="share scored",
        unit=" %",
        counted="answers",
        least_span=10.0,
        bounds=(0.0, 100.0),
        begins_at_zero=True,
        decimals=0,
    )


def _cost(state: DeploymentState, period: PagePeriod) -> TimeChart:
    slots = (period.first, period.last, period.slot_hours)
    rows = [sums.by_slot(*slots).sum(axis=1) for sums in state.judge_costs.by_time.values()]
    return TimeChart(
        key="cost",
        name="Cost of judges",
        begin=period.begin,
        slot=period.slot,
        points=[Point(float(value) / ROUGH_PER_UNIT) for value in sum(rows)],
        quantity="cost",
        is_bars=True,
        decimals=4,
    )
