"""Features as numbers, one an answer."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.detect.causes.features import FeatureKind
from monitor.detect.causes.series import Series, series_of, shared_lines

DAYS = np.array([4, 4, 3, 3, 2, 2, 1, 1, 0, 0])
VALUES = ["a", "a", "a", "b", "a", "a", "a", "a", "c", "a"]


def made(values: list[object], kind: FeatureKind) -> dict[str | None, Series]:
    """By value; that of new values by `new`, that of values that have left by `gone`."""
    found = series_of(values, kind, DAYS, DAYS == 0, DAYS)  # type: ignore[arg-type]
    return {one.value or ("new" if one.is_new else "gone"): one for one in found}


def test_numbers_are_middle_ranks() -> None:
    (series,) = series_of([3.0, 1.0, 1.0, 2.0], FeatureKind.NUMBER, DAYS[:4], DAYS[:4] == 0, DAYS[:4])
    assert series.numbers.tolist() == [1.0, 0.375, 0.375, 0.75]


def test_a_category_is_compared_by_the_values_of_three_days_and_by_what_is_new() -> None:
    """New is what neither of the two days before has, which says nothing of the two oldest days."""
    found = made(VALUES, FeatureKind.CATEGORY)  # type: ignore[arg-type]
    assert found.keys() == {"a", "new"}
    assert found["a"].numbers.tolist() == [1, 1, 1, 0, 1, 1, 1, 1, 0, 1]
    assert found["new"].numbers.tolist() == [1, 1, 0, 1, 0, 0, 0, 0, 1, 0]
    assert found["new"].oldest_day == 2


@pytest.mark.parametrize(("kind", "share"), [(FeatureKind.SET, 0.5), (FeatureKind.MEMBERS, 1.0)])
def test_of_several_values_an_answer_has_shares_in_a_set_and_all_as_members(kind: FeatureKind, share: float) -> None:
    values = [(one, "x") if place % 2 == 0 else (one,) for place, one in enumerate(VALUES)]
    found = made(values, kind)  # type: ignore[arg-type]
    assert found["x"].numbers.tolist() == [share, 0] * 5
    assert found["new"].numbers.tolist() == [1, 1, 0, 1, 0, 0, 0, 0, share, 0]


def test_values_of_a_set_that_have_left_are_tested_by_what_each_day_loses_to_the_next() -> None:
    """The numbers show which answers have what is gone: a value of two days that the answers since do not have."""
    values = [("a", "b")] * 8 + [("a",)] * 2
    gone = made(values, FeatureKind.SET)["gone"]  # type: ignore[arg-type]
    assert gone.numbers.tolist() == [0.5] * 8 + [0.0] * 2
    assert gone.tested is not None
    assert gone.tested.tolist() == [0.0] * 6 + [0.5] * 2 + [0.0] * 2
    assert "gone" not in made([("a",)] * 8 + [("a", "c")] * 2, FeatureKind.SET)  # type: ignore[arg-type]


def test_values_that_are_all_the_same_have_no_series() -> None:
    assert series_of(["a"] * 10, FeatureKind.CATEGORY, DAYS, DAYS == 0, DAYS) == []


def test_of_a_text_the_lines_count_that_answers_share_for_days() -> None:
    """Dates do not, and a new line of the day after the onset does where no day before had lines of its own."""
    dated = [(("rule", f"day {day}") if day else ("other", "day 0")) for day in DAYS.tolist()]
    assert shared_lines(dated, DAYS) == ["rule"] * 8 + ["", ""]
    steady = [("rule",)] * 7 + [None] + [("rule", "new")] * 2
    assert shared_lines(steady, DAYS) == ["rule"] * 7 + [None] + ["rule new"] * 2
