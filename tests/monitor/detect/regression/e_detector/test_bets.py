import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.detect.regression.e_detector.bets import Bets, slack_of
from monitor.detect.regression.e_detector.betting import BETS


def bets(values: Sequence[float], levels: Sequence[float], segments: Sequence[int]) -> Bets:
    one = np.zeros(len(values), dtype=np.intp)
    return Bets(np.array(values, float), np.ones(len(values)), np.array(levels, float), np.array(segments), one)


@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=12),
    st.lists(st.floats(0.05, 0.9), min_size=3, max_size=3),
    st.lists(st.floats(0.01, 1), min_size=3, max_size=3),
    st.lists(st.floats(0, 1), min_size=3, max_size=3),
    st.floats(0, 1),
)
def test_what_all_segments_together_allow_keeps_the_mean_of_a_batch_at_most_1(
    numbers: list[int], levels: list[float], sizes: list[float], below: list[float], tightness: float
) -> None:
    """With any mix in the batch, and any means that are at most each level and together at most theirs.

    The values are 0 and 1, for which the mean of the product is the product of `1 + c * ((mu + slack) / level - 1)`.
    """
    means = np.array(levels) * below
    shares = np.array(sizes) / np.sum(sizes)
    # Anywhere from what the means are together, which is the tightest true level, to what their own levels are.
    level = float(shares @ means + tightness * (shares @ (np.array(levels) - means)))
    of_each = [levels[number] for number in numbers]
    found = slack_of(bets([0.0] * len(numbers), of_each, numbers), np.array(levels), shares, level)
    slack = 0.0 if found is None else float(found[0])
    for bet in BETS:
        growth = sum(math.log1p(bet * ((means[n] + slack) / levels[n] - 1.0)) for n in numbers)
        assert growth <= 1e-9


def test_a_batch_with_the_mix_of_the_reference_has_the_level_of_the_whole() -> None:
    """Nothing is lost there: the levels are lower by just the gap; and one without a segment gains nothing."""
    levels, shares = np.array([0.3, 0.3]), np.array([0.75, 0.25])
    same = bets([0] * 4, [0.3] * 4, [0, 0, 0, 1])
    assert slack_of(same, levels, shares, 0.26) == pytest.approx([0.04])
    assert slack_of(bets([0] * 3, [0.3] * 3, [0, 0, 0]), levels, shares, 0.26) == [0.0]
    assert slack_of(same, levels, shares, 0.4) is None
