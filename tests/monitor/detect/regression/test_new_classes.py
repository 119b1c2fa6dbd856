from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache

import numpy as np
import pytest

from lake.spec.alert_vocabulary import Tier
from monitor.detect.regression import Detector, Observation, Reading, RegressionSettings, Scale, Status

START = datetime(2026, 11, 2, tzinfo=UTC)
HOUR = timedelta(hours=1)
SETTINGS = RegressionSettings(reference_observations=100)
CAME, FELL = 10 * 24, 30 * 24
Batch = list[Observation]


def batches(seed: int, days: int, mean_of_new: float, mean_after: float = 0.8, fall: int = 10**6) -> Iterator[Batch]:
    """Twenty conversations an hour; from day 10 on a third of them are in Ukrainian. All fall at the hour `fall`."""
    random = np.random.default_rng(seed)
    for hour in range(days * 24):
        is_new = (random.uniform(size=20) < 1 / 3) & (hour >= CAME)
        means = np.where(is_new, mean_of_new, 0.8) if hour < fall else np.full(20, mean_after)
        languages = np.where(is_new, "uk", np.where(random.uniform(size=20) < 0.5, "en", "de")).tolist()
        values = random.binomial(1, means).tolist()
        at = START + hour * HOUR
        yield [
            Observation(at, float(value), 1.0, (("language", language),))
            for value, language in zip(values, languages, strict=True)
        ]


def found(detector: Detector, stream: Iterator[Batch]) -> list[Reading]:
    return [reading for batch in stream if (reading := detector.update(batch)) is not None]


@cache
def of_a_worse_class() -> tuple[list[Reading], Reading]:
    """What a detector finds in 40 days, and its last reading."""
    detector = Detector(SETTINGS)
    return found(detector, batches(1, 40, 0.5)), detector.reading


def test_a_new_class_that_is_worse_is_a_warning_that_names_it_and_ends_by_itself() -> None:
    """A week after it was told the stream is watched as before, and no page was sent."""
    (began, ended), last = of_a_worse_class()
    assert (began.status, began.tier, ended.status) == (Status.REGRESSED, Tier.WARN, Status.WATCHING)
    assert began.new_class is not None
    assert began.new_class.name == "language uk"
    assert began.new_class.share == pytest.approx(1 / 3, abs=0.1)
    assert began.new_class.mean == pytest.approx(0.5, abs=0.1)
    assert began.new_class.known_mean == pytest.approx(0.8, abs=0.03)
    assert began.since == START + CAME * HOUR
    assert ended.latest is not None
    assert began.latest is not None
    assert timedelta(days=7) <= ended.latest - began.latest < timedelta(days=7, hours=1)
    assert last.new_class is None


@pytest.mark.slow
def test_a_new_class_that_is_as_good_as_the_others_is_nothing() -> None:
    assert not any(found(Detector(SETTINGS), batches(seed, 30, 0.8)) for seed in range(4))


def test_a_fall_of_all_while_a_new_class_is_told_still_pages() -> None:
    *_, last = found(Detector(SETTINGS), batches(2, 20, 0.5, mean_after=0.3, fall=CAME + 48))
    assert (last.tier, last.new_class) == (Tier.PAGE, None)


def test_the_fall_of_a_new_class_that_was_learned_is_a_regression() -> None:
    """It counts against its own level: 0.5 was usual for it, and less is worse."""

    def fallen() -> Iterator[Batch]:
        for hour, batch in enumerate(batches(3, 36, 0.5)):
            worse = hour >= FELL
            yield [
                Observation(one.at, 0.0, 1.0, one.segment) if worse and ("language", "uk") in one.segment else one
                for one in batch
            ]

    began, ended, *others = found(Detector(SETTINGS), fallen())
    assert began.new_class is not None
    assert ended.status is Status.WATCHING
    assert {one.tier for one in others} <= {Tier.WARN, Tier.PAGE}
    assert others[0].since is not None
    assert abs(others[0].since - (START + FELL * HOUR)) < 6 * HOUR


def test_a_new_class_in_the_metrics_own_values() -> None:
    """On a scale from 5 (worst) to 1 (best)."""
    (began, _), _ = of_a_worse_class()
    shown = began.on(Scale(5.0, 1.0)).new_class
    assert shown is not None
    assert shown.mean == pytest.approx(3.0, abs=0.4)
    assert shown.known_mean == pytest.approx(1.8, abs=0.12)
