"""Falls while the reference is learned."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from lake.spec.alert_vocabulary import Tier
from monitor.detect.regression import Detector, Observation, Reading, RegressionSettings, Status
from monitor.detect.regression.arrays import microseconds
from monitor.detect.regression.early_fall import EarlyFall, early_fall

MONDAY = datetime(2026, 11, 2, tzinfo=UTC)
HOUR = timedelta(hours=1)


def found(values: list[list[float]], settings: RegressionSettings | None = None) -> list[tuple[int, Reading]]:
    """What changes while these hours come, with the number of each."""
    detector = Detector(settings or RegressionSettings())
    read = []
    for hour, of_hour in enumerate(values):
        at = MONDAY + hour * HOUR
        reading = detector.update([Observation(at, value) for value in of_hour])
        if reading is not None:
            read.append((hour, reading))
    return read


def hours(seed: int, means: list[float], size: int = 1) -> list[list[float]]:
    generator = np.random.default_rng(seed)
    return [generator.binomial(1, mean, size).astype(float).tolist() for mean in means]


def test_a_fall_while_the_reference_is_learned_is_told_once_for_seven_days() -> None:
    """It is against what came before, not against a reference of both, and never a page."""
    begins, ends = found(hours(3, [0.95] * 100 + [0.75] * 350))
    hour, reading = begins
    assert (reading.status, reading.tier, reading.while_learning) == (Status.REGRESSED, Tier.WARN, True)
    assert hour == 199
    assert reading.reference_mean == pytest.approx(0.95, abs=0.03)
    assert reading.since_mean == pytest.approx(0.75, abs=0.06)
    assert reading.drop is not None
    assert reading.drop_lower is not None
    assert reading.drop_upper is not None
    assert 0.05 < reading.drop_lower < reading.drop < reading.drop_upper
    assert reading.drop == pytest.approx(reading.reference_mean - reading.since_mean)
    assert reading.since is not None
    assert abs(reading.since - MONDAY - 100 * HOUR) < 24 * HOUR
    hour, reading = ends
    assert (hour, reading.status, reading.while_learning) == (199 + 7 * 24, Status.WATCHING, True)


def test_what_falls_further_is_found_as_usual() -> None:
    """The warning of the evidence takes the place of the first one, with its start."""
    first, second, *_ = found(hours(1, [0.9] * 100 + [0.6] * 120 + [0.1] * 60))
    assert first[1].while_learning
    assert (second[1].status, second[1].while_learning) == (Status.REGRESSED, False)
    assert second[0] < 199 + 7 * 24
    assert second[1].since == first[1].since


@pytest.mark.slow
def test_steady_quality_is_told_to_at_most_one_stream_in_ten() -> None:
    told = [seed for seed in range(60) if any(one.while_learning for _, one in found(hours(seed, [0.8] * 120, 7)))]
    assert len(told) <= 6


def test_a_bad_night_after_a_good_day_is_no_fall() -> None:
    """Only like hours are compared, and weekends only with weekends."""
    night = [0.9 if 6 <= hour % 24 < 18 else 0.5 for hour in range(24 * 4)]
    weekend = [0.9 if hour < 5 * 24 else 0.4 for hour in range(24 * 6)]
    for means in (night, weekend):
        assert not [one for seed in range(5) for _, one in found(hours(seed, means, 6)) if one.while_learning]


def fallen(values: list[float], size: int, first: datetime = MONDAY, effect: float = 1.0) -> EarlyFall | None:
    """What is found in hours of so many conversations with these shares of right ones."""
    starts = np.array([microseconds(first + hour * HOUR) for hour in range(len(values))])
    right = np.array(values) * size
    return early_fall(starts, np.stack([np.full(len(values), float(size)), right, right], axis=1), 0.02, 0.0, effect)


def test_conversations_of_an_hour_that_are_alike_count_as_few() -> None:
    """A tenth of what came later failed: told where that is spread evenly, not where whole hours fail."""
    evenly = [1.0] * 60 + [0.9] * 60
    in_hours = [1.0] * 60 + [0.0 if hour in (4, 17, 30, 43, 49, 56) else 1.0 for hour in range(60)]
    assert fallen(evenly, 10) is not None
    assert fallen(in_hours, 10) is None
    assert fallen(evenly, 10, effect=10.0) is None


def test_weekends_are_not_compared_with_working_days() -> None:
    """A Friday and a Saturday, which is worse; and the same on a Monday and a Tuesday."""
    friday, days = MONDAY + 4 * 24 * HOUR, [0.95] * 24 + [0.7] * 24
    assert fallen(days, 20, friday) is None
    assert fallen(days, 20) is not None


def test_scores_that_are_all_the_same_have_not_fallen() -> None:
    assert found([[1.0]] * 450) == []
