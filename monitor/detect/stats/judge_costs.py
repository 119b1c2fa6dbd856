"""Costs of one deployment's judges, from its rows of `scores` and `anchors`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lake.spec.vocabulary import llms_of
from monitor.detect.stats.period_sums import PeriodSums
from monitor.detect.stats.sums import PER_UNIT, add_counts, exact_sum, floats, rough_amounts

JUDGE_COST_COLUMNS = ("judge", "cost", "scored_at")


@dataclass(frozen=True)
class JudgeCosts:
    """Sums of `cost` over rows of `scores` and `anchors`, those of backfills too.

    `amounts` is by who judged as rows have it, such as `lexical+strict`, in 10^-12 units of the evaluator's currency;
    `days` is the same for the latest two days (UTC) on which rows with a cost were made, `by_time` that of periods, in
    1 / ROUGH_PER_UNIT, by when rows were made.
    """

    amounts: dict[str, int] = field(default_factory=dict)
    days: Mapping[tuple[str, date], int] = field(default_factory=dict)
    by_time: Mapping[str, PeriodSums] = field(default_factory=dict)

    def on(self, judge: str, day: date) -> float:
        """Price of a judge's calls on one of the latest two days."""
        of_day = {label: amount for (label, paid_on), amount in self.days.items() if paid_on == day}
        return of_each_judge(of_day).get(judge, 0) / PER_UNIT

    def with_rows(self, rows: pa.Table) -> JudgeCosts:
        """Add rows (columns JUDGE_COST_COLUMNS)."""
        return JudgeCosts(
            add_counts(self.amounts, _amounts(rows)),
            _latest_days(self.days, _amounts_a_day(rows)),
            _over_time(self.by_time, rows),
        )


def budgets_left(budgets: Mapping[str, float], costs: Collection[JudgeCosts], day: date) -> dict[str, float]:
    """Return what is left of the judges' budgets of one of the latest two days."""
    return {judge: budget - sum(one.on(judge, day) for one in costs) for judge, budget in budgets.items()}


def of_each_judge(amounts: Mapping[str, int]) -> dict[str, int]:
    """Return the amounts by judge, from those by all who judged a row; the sum stays the same.

    What several judges were asked together is taken to have cost each of them the same, but for a unit. Rows that name
    no judge stay under what they have, such as `lexical`.
    """
    found: dict[str, int] = {}
    for label, amount in amounts.items():
        judges = llms_of(label) or [label]
        for place, name in enumerate(judges):
            found[name] = found.get(name, 0) + (amount + place) // len(judges)
    return dict(sorted(found.items()))


def _amounts(rows: pa.Table) -> dict[str, int]:
    """Sum up what was paid; one that costs nothing, as what asks no judge, is there with 0."""
    judges = pc.fill_null(rows["judge"], "")
    costs = floats(rows["cost"])
    return {name: exact_sum(costs[np.asarray(pc.equal(judges, name))]) for name in judges.unique().to_pylist()}


def _amounts_a_day(rows: pa.Table) -> dict[tuple[str, date], int]:
    costly = rows.filter(pc.and_(pc.greater(rows["cost"], 0), pc.is_valid(rows["scored_at"])))
    days = costly["scored_at"].cast(pa.date32())
    paid: dict[tuple[str, date], int] = {}
    for day in days.unique().to_pylist():
        of_day = _amounts(costly.filter(pc.equal(days, day)))
        paid |= {(judge, day): amount for judge, amount in of_day.items()}
    return paid


def _over_time(old: Mapping[str, PeriodSums], rows: pa.Table) -> dict[str, PeriodSums]:
    costly = rows.filter(pc.and_(pc.greater(rows["cost"], 0), pc.is_valid(rows["scored_at"])))
    judges = pc.fill_null(costly["judge"], "")
    found = dict(old)
    for judge in judges.unique().to_pylist():
        mine = costly.filter(pc.equal(judges, judge))
        costs = rough_amounts(floats(mine["cost"]))
        found[judge] = found.get(judge, PeriodSums()).with_values(mine["scored_at"], costs)
    return found


def _latest_days(
    old: Mapping[tuple[str, date], int], new: Mapping[tuple[str, date], int]
) -> dict[tuple[str, date], int]:
    latest = sorted({day for _, day in (*old, *new)})[-2:]
    return {key: old.get(key, 0) + new.get(key, 0) for key in sorted({*old, *new}) if key[1] in latest}
