"""Costs of judges, by judge and by deployment: what was spent today and this month, and what is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from lake.spec.root_tables import JUDGE_BUDGETS
from lake.spec.vocabulary import asks_llm
from lake.tables.lake import Lake
from monitor.detect.stats.judge_costs import JudgeCosts, of_each_judge
from monitor.detect.stats.sums import ROUGH_PER_UNIT
from monitor.service.snapshot import Snapshot

_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True)
class JudgeBudget:
    """A judge: what its calls cost by rows of scores and anchors, and its limit of the day.

    `reserved` is what evaluators have taken of the limit for calls that they made or may make; None where they took
    nothing today. `left` is the limit less the larger of both. Those are None without a limit.
    """

    judge: str
    today: float
    month: float
    limit: float | None = None
    reserved: float | None = None

    @property
    def left(self) -> float | None:
        """What may still be spent today; 0 where more was."""
        return None if self.limit is None else max(0.0, self.limit - max(self.today, self.reserved or 0.0))


@dataclass(frozen=True)
class DeploymentCosts:
    """What a judge cost for a deployment."""

    deployment: str
    judge: str
    today: float
    month: float


@dataclass(frozen=True)
class JudgeBudgetData:
    """A judge, as in JudgeBudget."""

    judge: str
    today: float
    month: float
    limit: float | None
    reserved: float | None
    left: float | None


@dataclass(frozen=True)
class JudgeCostsData:
    """What judges cost on `day` (UTC) until now, and in its month. `currency` is a word of the settings.

    `judges` are all deployments together; null for who may not see all. `deployments` are those with the largest costs
    of the month first.
    """

    day: date
    currency: str
    judges: Sequence[JudgeBudgetData] | None
    deployments: Sequence[DeploymentCosts]


def has_judges(snapshot: Snapshot | None, limits: Mapping[str, float]) -> bool:
    """Whether a judge is known: one has a limit, scored answers, or cost something."""
    states = snapshot.deployments.values() if snapshot else ()
    return bool(limits) or any(
        any(state.judge_costs.amounts.values()) or any(asks_llm(one.judge) for one in state.scores.metrics.values())
        for state in states
    )


def deployment_costs(snapshot: Snapshot) -> list[DeploymentCosts]:
    """Return what judges cost in the month of the snapshot, for each deployment that they cost something for."""
    found = []
    for name, state in snapshot.deployments.items():
        today, month = _paid(state.judge_costs, snapshot.taken_at.date())
        found += [DeploymentCosts(name, judge, today.get(judge, 0.0), paid) for judge, paid in month.items() if paid]
    return sorted(found, key=lambda one: (-one.month, one.deployment, one.judge))


def judge_budgets(
    costs: Sequence[DeploymentCosts], limits: Mapping[str, float], reserved: Mapping[str, float]
) -> list[JudgeBudget]:
    """Return each judge that has a limit or cost something this month, by its name."""
    names = sorted({*limits, *reserved, *(one.judge for one in costs)})
    return [
        JudgeBudget(
            name,
            sum(one.today for one in costs if one.judge == name),
            sum(one.month for one in costs if one.judge == name),
            limits.get(name),
            reserved.get(name),
        )
        for name in names
    ]


def reserved_on(lake: Lake, day: date) -> dict[str, float]:
    """Read what evaluators have reserved of each judge's budgets of a day, less what they gave back."""
    rows = lake.table(JUDGE_BUDGETS).read(["judge", "amount"], ds.field("date") == pa.scalar(day))
    sums = rows.group_by("judge").aggregate([("amount", "sum")])
    kept = sums.filter(pc.is_valid(sums["judge"]))
    return dict(zip(kept["judge"].to_pylist(), kept["amount_sum"].to_pylist(), strict=True))


def data_of(
    day: date, currency: str, judges: Sequence[JudgeBudget] | None, deployments: Sequence[DeploymentCosts]
) -> JudgeCostsData:
    """Return the same for JSON."""
    shown = None
    if judges is not None:
        shown = [JudgeBudgetData(o.judge, o.today, o.month, o.limit, o.reserved, o.left) for o in judges]
    return JudgeCostsData(day, currency, shown, deployments)


def _paid(costs: JudgeCosts, day: date) -> tuple[dict[str, float], dict[str, float]]:
    """Return what each judge cost on a day, and in its month until then."""
    last = (day - _EPOCH).days
    return _between(costs, last, last), _between(costs, last - day.day + 1, last)


def _between(costs: JudgeCosts, first: int, last: int) -> dict[str, float]:
    amounts = {label: round(sum(sums.days.total(first, last))) for label, sums in costs.by_time.items()}
    return {judge: amount / ROUGH_PER_UNIT for judge, amount in of_each_judge(amounts).items()}
