import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.detect.regression.segments.mix import decompose, shares_and_means

scores = st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1), st.floats(0.1, 1)), min_size=1, max_size=30)
NAMES = ("a", "b", "c", "other")


@given(scores, scores)
def test_the_two_parts_add_up_to_the_change_of_the_mean(
    before: list[tuple[int, float, float]], after: list[tuple[int, float, float]]
) -> None:
    """Whatever the scores, and whichever segments are missing before or after: within + mix is the difference."""
    means, found = [], []
    for side in (before, after):
        numbers, values, weights = (np.array(column) for column in zip(*side, strict=True))
        means.append(np.average(values, weights=weights))
        found.append(shares_and_means(numbers, values, weights, len(NAMES)))
    parts = decompose(NAMES, *found)
    assert parts.within + parts.mix == pytest.approx(means[1] - means[0], abs=1e-12)


def test_a_change_of_shares_alone_is_mix_and_one_of_means_alone_is_within() -> None:
    """Means of .9 and .5 whose shares go from .5 to .75 and .25; and shares of .5 where one mean falls by .2."""
    even, means = np.array([0.5, 0.5]), np.array([0.9, 0.5])
    shifted = decompose(("a", "b"), (even, means), (np.array([0.25, 0.75]), means))
    assert (shifted.within, shifted.mix) == (0.0, pytest.approx(-0.1))
    assert shifted.most_worsened is None
    fallen = decompose(("a", "b"), (even, means), (even, np.array([0.9, 0.3])))
    assert (fallen.within, fallen.mix) == (pytest.approx(-0.1), 0.0)
    assert fallen.most_worsened is not None
    assert fallen.most_worsened.name == "b"


def test_a_segment_that_is_new_is_all_mix() -> None:
    """It has no mean before that it could have fallen from."""
    parts = decompose(
        ("a", "b"), (np.array([1.0, 0.0]), np.array([0.8, np.nan])), (np.array([0.5, 0.5]), np.array([0.8, 0.2]))
    )
    assert (parts.within, parts.mix) == (0.0, pytest.approx(-0.3))
    assert parts.segments[1].mean_before is None
