"""Falls while the reference is learned."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from lake.spec.vocabulary import Tier
from monitor.detect.regression import Detector, Observation, Reading, RegressionSettings, Status

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


def test_steady_quality_is_told_to_at_most_one_stream_in_ten() -> None:
    told = [seed for seed in range(60) if any(one.while_learning for _, one in found(hours(seed, [0.8] * 120, 7)))]
    assert len(told) <= 6


def test_a_bad_night_after_a_good_day_is_no_fall() -> None:
    """Only like hours are compared, and weekends only with weekends."""
    night = [0.9 if 6 <= hour % 24 < 18 else 0.5 for hour in range(24 * 4)]
    weekend = [0.9 if hour < 5 * 24 else 0.4 for hour in range(24 * 6)]
    for means in (night, weekend):
        assert not [one for seed in range(5) for _, one in found(hours(seed, means, 5)) if one.while_learning]


def test_hours_in_which_all_fails_are_no_fall() -> None:
    """The conversations of an hour that are alike count as few."""
    means = [1.0] * 120 + [0.0 if hour % 30 == 0 else 1.0 for hour in range(120)]
    assert not [one for _, one in found(hours(1, means, 10)) if one.while_learning]


def test_scores_that_are_all_the_same_have_not_fallen() -> None:
    assert found([[1.0]] * 450) == []
