import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from monitor.detect.regression import RegressionSettings, mean_interval
from monitor.detect.regression.arrays import microseconds
from monitor.detect.regression.reference import Reference

START = datetime(2026, 11, 1, tzinfo=UTC)
SETTINGS = RegressionSettings(reference_observations=50, reference_time=timedelta(0))


def add(reference: Reference, values: np.ndarray, hour: int = 0) -> None:
    start = np.array([microseconds(START + hour * timedelta(hours=1))])
    reference.add(values, np.ones(len(values)), np.zeros(len(values), dtype=np.intp), start)


def test_worse_conversations_never_change_a_complete_reference() -> None:
    """At the next look the whole is lower: mean and interval stay those of before."""
    reference = Reference(SETTINGS)
    add(reference, np.tile([0.7, 0.9], 25))
    before = reference.mean, reference.interval
    add(reference, np.full(150, 0.4), 1)
    assert reference.observations == 200
    assert (reference.mean, reference.interval) == before


def test_more_of_the_same_raises_the_lower_end() -> None:
    """With twice the conversations the interval is narrower."""
    reference = Reference(SETTINGS)
    add(reference, np.tile([0.7, 0.9], 25))
    first = reference.interval
    add(reference, np.tile([0.7, 0.9], 25), 1)
    assert reference.interval is not None
    assert first is not None
    assert first.lower < reference.interval.lower < 0.8
    assert reference.mean == pytest.approx(0.8)


def test_the_bound_is_that_of_the_values_and_never_above_it() -> None:
    """Kept to a 1024th, values give the lower end of the exact interval or one less than a 1024th below it."""
    values, reference = np.random.default_rng(3).beta(4, 1, 50), Reference(SETTINGS)
    add(reference, values)
    exact = mean_interval(values, np.ones(50))
    assert reference.interval is not None
    assert exact.lower - 1 / 1024 <= reference.interval.lower <= exact.lower
    assert reference.mean == pytest.approx(values.mean())


def test_a_busy_stream_completes_its_reference_after_a_day() -> None:
    """Where the first day has more conversations than the largest reference, it is complete with the day."""
    reference = Reference(RegressionSettings(reference_observations=10, reference_time=timedelta(days=1)))
    for hour in range(25):
        assert reference.interval is None
        add(reference, np.tile([0.7, 0.9], 60), hour)
    assert reference.interval is not None
    assert reference.observations == 3000


def test_days_that_differ_make_the_first_of_them_less_sure() -> None:
    """With a spread between days a later look at more days is believed, although its mean is lower."""
    reference = Reference(SETTINGS)
    add(reference, np.tile([0.7, 0.9], 25))
    first = reference.interval
    add(reference, np.tile([0.6, 0.8], 25), 24 * 9)
    assert reference.interval == first
    reference.spread = 0.1
    assert reference.interval is not None
    assert reference.mean == pytest.approx(0.75)
    assert first is not None
    assert reference.interval.lower < first.lower - 2 * 0.1 / math.sqrt(9.1)
