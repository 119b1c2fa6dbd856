from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from monitor.detect.regression.arrays import microseconds
from monitor.detect.regression.e_detector.change_point import BatchHistory

START = datetime(2026, 11, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def history(means: list[float], seed: int = 5) -> BatchHistory:
    generator, made = np.random.default_rng(seed), BatchHistory()
    numbers = np.repeat(np.arange(len(means)), 8)
    of_each = np.array(means)[numbers]
    starts = np.array([microseconds(START + hour * HOUR) for hour in range(len(means))])
    made.add(generator.beta(4 * of_each, 4 * (1 - of_each)), np.ones(len(numbers)), numbers, starts)
    return made


@pytest.mark.parametrize(("before", "after"), [(0.3, 0.6), (0.8, 0.6)])
def test_a_change_is_dated_and_its_interval_holds_the_truth(before: float, after: float) -> None:
    """Of 200 changes after 40 batches nine tenths or more are within the 95 % interval, half within two batches."""
    misses, held = [], 0
    for seed in range(200):
        made = history([before] * 40 + [after] * 10, seed)
        found = made.rise() if after > before else made.fall()
        assert found is not None
        misses.append(abs(found.at - (START + 40 * HOUR)))
        held += found.earliest <= START + 40 * HOUR <= found.latest
    assert sorted(misses)[100] <= 2 * HOUR
    assert held >= 180


def test_a_change_of_the_other_direction_is_not_found() -> None:
    """Where the mean jumps up at one batch and is steady otherwise, the fall is not dated there."""
    values, made = [0.2] * 10 + [0.8] * 10, BatchHistory()
    starts = np.array([microseconds(START + hour * HOUR) for hour in range(20)])
    made.add(np.array(values), np.ones(20), np.arange(20), starts)
    assert made.fall() is None
    found = made.rise()
    assert found is not None
    assert found.at == found.earliest == found.latest == START + 10 * HOUR


def test_nothing_to_compare_is_no_change() -> None:
    """No batch and a single batch have no change point."""
    assert history([]).fall() is None
    assert history([0.5]).fall() is None


def test_a_weight_too_small_to_be_seen_beside_the_others_is_bearable() -> None:
    """A last batch of almost no weight, which a sum of all weights loses, leaves the change where it was."""
    made, weights = BatchHistory(), np.full(21, 0.7)
    weights[-1] = 1e-17
    starts = np.array([microseconds(START + hour * HOUR) for hour in range(21)])
    made.add(np.array([0.8] * 10 + [0.2] * 11), weights, np.arange(21), starts)
    found = made.fall()
    assert found is not None
    assert found.at == START + 10 * HOUR


@pytest.mark.parametrize(("may_recur", "hours"), [(True, (14, 15)), (False, None)])
def test_a_fall_of_one_hour_of_each_day_is_told_with_it_where_changes_may_recur(
    may_recur: bool, hours: tuple[int, int] | None
) -> None:
    generator, made = np.random.default_rng(1), BatchHistory(may_recur=may_recur)
    number = np.arange(16 * 24)
    values = generator.normal(np.where((number >= 5 * 24) & (number % 24 == 14), 0.3, 0.8), 0.02)
    made.add(values, np.ones(len(number)), number, np.array([microseconds(START + hour * HOUR) for hour in range(384)]))
    found = made.fall()
    assert found is not None
    assert found.hours == hours
