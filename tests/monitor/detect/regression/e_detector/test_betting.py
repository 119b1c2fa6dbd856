import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.detect.regression import mean_interval
from monitor.detect.regression.e_detector.betting import BETS, log_capital, lower_bound

unit = st.floats(0, 1)
weight = st.floats(0.1, 1)
samples = st.lists(st.tuples(unit, weight), min_size=1, max_size=30)


@given(samples, st.floats(0.05, 0.95))
def test_log_capital_equals_the_plain_product(sample: list[tuple[float, float]], mean: float) -> None:
    """The capital in logs is the product of the pay-offs to 1e-9."""
    values, weights = np.array(sample).T
    for bet, log in zip(BETS, log_capital(values, weights, mean), strict=True):
        plain = math.prod(1 + bet * w * (x / mean - 1) for x, w in sample)
        assert math.exp(log) == pytest.approx(plain, rel=1e-9)


@given(samples)
def test_interval_holds_the_mean_within_the_unit_range(sample: list[tuple[float, float]]) -> None:
    """The interval surrounds the weighted mean and never leaves [0, 1]."""
    values, weights = np.array(sample).T
    interval = mean_interval(values, weights)
    assert 0 <= interval.lower <= interval.mean <= interval.upper <= 1
    assert interval.mean == pytest.approx(np.average(values, weights=weights))


@given(samples)
def test_the_mean_just_above_the_lower_bound_is_not_refuted(sample: list[tuple[float, float]]) -> None:
    """The lower bound is where the mixture of bets has made 1 / (1 - confidence), no higher."""
    values, weights = np.array(sample).T
    bound = lower_bound(values, weights, 0.95)
    assert np.exp(log_capital(values, weights, bound + 1e-6)).mean() < 20
    if bound > 1e-6:
        assert np.exp(log_capital(values, weights, bound - 1e-7)).mean() >= 20


@given(st.lists(st.tuples(st.sampled_from([0.0, 5e-324, 1e-200, 1.0]), st.sampled_from([5e-324, 1e-300, 1.0]))))
def test_numbers_near_the_smallest_that_there_are_have_a_bound(sample: list[tuple[float, float]]) -> None:
    """Where all that is bet is rounded to nothing the bound is as low as it can be, and nothing is raised."""
    values, weights = np.array([*sample, (1.0, 5e-324)]).T
    assert 0 <= lower_bound(values, weights, 0.95) <= 1
    assert lower_bound(np.ones(40), np.full(40, 5e-324), 0.95) == 0


@pytest.mark.parametrize("law", ["binary", "beta", "all one"])
def test_the_sequence_misses_the_true_mean_at_any_look_at_most_as_often_as_stated(law: str) -> None:
    """Looked at ten times while it grows, a 95 % sequence misses the truth in at most 5 % of 200 runs."""
    generator = np.random.default_rng(7)
    mean = 1.0 if law == "all one" else 0.7
    missed = 0
    for _ in range(200):
        draws = {
            "binary": generator.binomial(1, mean, 200).astype(float),
            "beta": generator.beta(2.1, 0.9, 200),
            "all one": np.ones(200),
        }[law]
        looks = [mean_interval(draws[:n], np.ones(n)) for n in range(20, 201, 20)]
        missed += any(not look.lower <= mean <= look.upper for look in looks)
    assert missed <= 10


def test_two_hundred_observations_pin_the_mean_to_a_tenth() -> None:
    """The interval is narrow enough to be of use: under 0.2 wide for 200 values of standard deviation 0.25."""
    values = np.random.default_rng(3).beta(1.7, 0.7, 200)
    interval = mean_interval(values, np.ones(200))
    assert interval.upper - interval.lower < 0.15
