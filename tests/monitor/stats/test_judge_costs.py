"""Costs of judges, by judge."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from monitor.stats.judge_costs import of_each_judge

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
