import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.detect.regression import Scale

ends = st.tuples(st.integers(-100, 100), st.integers(1, 100)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(ends, st.floats(0, 1), st.sampled_from(["up", "down"]))
def test_a_value_comes_back_and_the_better_end_is_one(ends: tuple[int, int], share: float, direction: str) -> None:
    """Mapped to quality and back a value is the same to rounding; the better end is 1, the worse 0."""
    scale = Scale.of(direction, *map(float, ends))
    assert scale is not None
    value = ends[0] + share * (ends[1] - ends[0])
    assert scale.value(scale.quality(value)) == pytest.approx(value, abs=1e-9)
    assert [scale.quality(end) for end in (ends if direction == "up" else ends[::-1])] == [0.0, 1.0]
    assert scale.is_reversed is (direction == "down")


def test_rows_of_earlier_versions_are_up_from_0_to_1() -> None:
    """Null columns mean what every metric was taken for before there were such columns; values stay to the bit."""
    scale = Scale.of(None, None, None)
    assert scale == Scale(0.0, 1.0)
    assert scale.quality(0.1 + 0.2) == scale.value(0.1 + 0.2) == 0.1 + 0.2


@pytest.mark.parametrize(
    ("direction", "low", "high"),
    [("none", 0, 1), ("down", 0, math.inf), ("up", -math.inf, 0), ("up", 1, 1), ("up", math.nan, 1), ("odd", 0, 1)],
)
def test_what_cannot_be_watched_has_no_scale(direction: str, low: float, high: float) -> None:
    """No better end, or no two ends."""
    assert Scale.of(direction, low, high) is None
