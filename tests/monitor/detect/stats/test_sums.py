from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from monitor.detect.stats.sums import PER_UNIT, exact_sum

PRICES = st.lists(st.floats(min_value=0, max_value=1e6), max_size=50)


@given(PRICES, st.integers(0, 50), st.randoms())
def test_sums_do_not_depend_on_order_or_pieces(prices, cut, random):
    """However rows are split and shuffled, their sum is the same to the last digit, so no counter ever shrinks."""
    shuffled = list(prices)
    random.shuffle(shuffled)
    in_pieces = exact_sum(np.array(shuffled[:cut])) + exact_sum(np.array(shuffled[cut:]))
    assert in_pieces == exact_sum(np.array(prices))


def test_small_prices_are_not_lost():
    """A millionth of a cent a call is still there after many calls."""
    assert exact_sum(np.full(1000, 1e-8)) / PER_UNIT == 1e-5


def test_what_is_not_a_number_counts_as_nothing():
    """Missing and infinite prices leave the sum alone."""
    assert exact_sum(np.array([np.nan, np.inf, -np.inf, 2.0])) == 2 * PER_UNIT


def test_an_amount_beyond_all_units_counts_as_nothing():
    """One absurd price of a deployment does not keep its other rows out of the sums."""
    assert exact_sum(np.array([1e300, -1e300, 2.0])) == 2 * PER_UNIT
