"""Costs of judges, by judge."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake.spec.schemas import SCORES
from monitor.detect.stats.judge_costs import JUDGE_COST_COLUMNS, JudgeCosts, of_each_judge
from monitor.detect.stats.sums import PER_UNIT, ROUGH_PER_UNIT
from tests.monitor.conftest import NOW

LABELS = st.lists(st.sampled_from(["anna", "boris", "chen", "lexical"]), min_size=1, max_size=4, unique=True).map(
    "+".join
)
AMOUNTS = st.dictionaries(LABELS, st.integers(0, 10**15), max_size=6)


@given(amounts=AMOUNTS)
def test_the_parts_of_judges_are_all_that_was_paid(amounts: dict[str, int]) -> None:
    """To the last unit; parts of one amount differ by a unit at most, and kinds of metrics pay nothing for judges."""
    found = of_each_judge(amounts)
    assert sum(found.values()) == sum(amounts.values())
    assert found.get("lexical", 0) == amounts.get("lexical", 0)
    for label, amount in amounts.items():
        parts = of_each_judge({label: amount}).values()
        assert max(parts) - min(parts) <= 1


@given(amounts=AMOUNTS, more=AMOUNTS)
def test_no_part_goes_down(amounts: dict[str, int], more: dict[str, int]) -> None:
    """A counter of Prometheus only rises."""
    later = of_each_judge({name: amounts.get(name, 0) + more.get(name, 0) for name in amounts | more})
    assert all(later[name] >= amount for name, amount in of_each_judge(amounts).items())


def paid(costs: JudgeCosts, *rows: tuple[str | None, float | None, datetime | None]) -> JudgeCosts:
    given = [dict(zip(JUDGE_COST_COLUMNS, row, strict=True)) for row in rows]
    return costs.with_rows(SCORES.rows(given).select(JUDGE_COST_COLUMNS))


def test_costs_are_summed_by_who_judged_for_the_latest_two_days_and_over_time() -> None:
    """What several were asked together costs each of them the same; a row without a time counts in the sum alone."""
    day = timedelta(days=1)
    costs = paid(
        JudgeCosts(),
        ("strict", 0.25, NOW),
        ("strict", 0.5, NOW - day),
        ("strict", 1.0, NOW - 2 * day),
        ("lexical+strict+mild", 2.0, NOW),
        ("lexical", 0.0, NOW),
        (None, 4.0, NOW),
        ("strict", 8.0, None),
    )
    units = {"strict": 9.75, "lexical+strict+mild": 2.0, "lexical": 0.0, "": 4.0}
    assert costs.amounts == {judge: int(amount * PER_UNIT) for judge, amount in units.items()}
    assert [costs.on("strict", (NOW - ago * day).date()) for ago in range(3)] == [1.25, 0.5, 0.0]
    assert costs.on("mild", NOW.date()) == 1.0
    hour = int(NOW.timestamp()) // 3600
    assert costs.by_time.keys() == {"strict", "lexical+strict+mild", ""}
    assert costs.by_time["strict"].total(hour - 23, hour) == pytest.approx((0.25 * ROUGH_PER_UNIT,))
    assert costs.by_time["strict"].total(hour - 24, hour) == pytest.approx((0.75 * ROUGH_PER_UNIT,))
    more = paid(costs, ("strict", 0.25, NOW + day), ("mild", 1.0, NOW + day))
    assert [more.on("strict", (NOW - ago * day).date()) for ago in (-1, 0, 1)] == [0.25, 1.25, 0.0]
    assert more.amounts["strict"] == 10 * PER_UNIT
