"""Recovery of streams whose regression is still open."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from monitor.detect.regression import Detector, Reading, RegressionSettings, Status
from monitor.detect.regression.arrays import begins_of, microseconds
from monitor.detect.regression.observations import Observations

START = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
FALL, BACK = 20 * 24, 25 * 24


def read(seed: int, drop: float, hours: int, portion: int) -> list[Reading]:
    """Readings after portions of so many hours of a stream that falls after 20 days, and is back after 25."""
    generator = np.random.default_rng(seed)
    numbers = np.repeat(np.arange(hours), 20)
    means = np.where((numbers >= FALL) & (numbers < BACK), 0.8 - drop, 0.8)
    values = (generator.random(len(numbers)) < means).astype(float)
    at = microseconds(START) + numbers * (HOUR // timedelta(microseconds=1))
    none = np.zeros(len(numbers), dtype=np.intp)
    found = Observations(at, values, np.ones(len(values)), none, begins_of(numbers))
    detector = Detector(RegressionSettings())
    readings = []
    for begin in range(0, hours, portion):
        part = found.between(begin, min(hours, begin + portion))
        list(detector.changes(part, np.ones(part.batches, dtype=np.intp)))
        readings.append(detector.reading)
    return readings


@pytest.mark.slow
@pytest.mark.parametrize("drop", [0.2, 0.3])
def test_most_of_a_fall_is_gone_long_before_the_alert_ends(drop: float) -> None:
    """Within days of the repair, and never while it is as bad as before."""
    for seed in range(4):
        readings = read(seed, drop, BACK + 60, 1)
        assert readings[BACK - 1].status is Status.REGRESSED
        assert all(one.recovering_since is None for one in readings[:BACK])
        last = readings[-1]
        assert last.status is Status.WATCHING or last.recovering_since is not None
        if last.recovering_since is not None:
            assert last.recovering_since >= START + BACK * HOUR


def test_the_end_says_since_when_quality_is_back() -> None:
    """Near the repair, which is long before there is enough evidence for the end."""
    generator = np.random.default_rng(1)
    numbers = np.repeat(np.arange(40 * 24), 20)
    means = np.where((numbers >= FALL) & (numbers < BACK), 0.5, 0.8)
    values = (generator.random(len(numbers)) < means).astype(float)
    at = microseconds(START) + numbers * (HOUR // timedelta(microseconds=1))
    none = np.zeros(len(numbers), dtype=np.intp)
    found = Observations(at, values, np.ones(len(values)), none, begins_of(numbers))
    changes = list(Detector(RegressionSettings()).changes(found, np.ones(found.batches, dtype=np.intp)))
    place, end = next(one for one in changes if one[1].status is not Status.REGRESSED)
    assert end.recovering_since is not None
    assert abs(end.recovering_since - (START + BACK * HOUR)) <= 6 * HOUR
    assert START + place * HOUR > end.recovering_since


def test_one_that_falls_again_recovers_no_longer() -> None:
    """And an alert that is over leaves nothing of it."""
    assert read(1, 0.3, 60 * 24, 24)[-1].recovering_since is None


@pytest.mark.slow
@pytest.mark.parametrize("portion", [5, 24, 1000])
def test_portions_do_not_matter(portion: int) -> None:
    """To the last bit."""
    hours = BACK + 15
    assert read(2, 0.3, hours, portion)[-1] == read(2, 0.3, hours, 1)[-1]
