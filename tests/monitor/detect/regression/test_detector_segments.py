from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from monitor.detect.regression import Detector, Observation, Reading, RegressionSettings, Scale

START = datetime(2026, 11, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
SETTINGS = RegressionSettings(false_alarm_every=300 * HOUR, reference_observations=100, reference_time=0 * HOUR)
LANGUAGES = ("en", "de", "ru")
SHARES, MEANS = (0.5, 0.3, 0.2), (0.9, 0.8, 0.6)
CHANGE = 120

Numbers = Callable[[int], Sequence[float]]
Batch = list[Observation]


def always(numbers: Sequence[float]) -> Numbers:
    return lambda _: numbers


def changing_to(numbers: Sequence[float], before: Sequence[float]) -> Numbers:
    return lambda hour: numbers if hour >= CHANGE else before


def hourly_batches(seed: int, hours: int, shares: Numbers, means: Numbers) -> Iterator[Batch]:
    """Twenty conversations an hour, rated 0 or 1, in three languages."""
    random = np.random.default_rng(seed)
    for hour in range(hours):
        languages = random.choice(3, 20, p=shares(hour))
        values = random.binomial(1, np.array(means(hour))[languages])
        at = START + hour * HOUR
        yield [
            Observation(at, float(value), 1.0, (("language", LANGUAGES[language]),))
            for value, language in zip(values, languages, strict=True)
        ]


def without_segments(batch: Batch) -> Batch:
    return [replace(one, segment=()) for one in batch]


def first(batches: Iterator[Batch]) -> tuple[int | None, Reading | None]:
    detector = Detector(SETTINGS)
    for hour, batch in enumerate(batches):
        if found := detector.update(batch):
            return hour, found
    return None, detector.reading


@pytest.mark.slow
def test_another_mix_of_traffic_is_no_regression_and_is_reported() -> None:
    """From 20 to 70 % in the worst language the mean falls by .13: no alarm, but one in every stream without segments.

    The mean's change is reported as mix.
    """
    for seed in range(4):
        shift = changing_to((0.15, 0.15, 0.7), SHARES)
        hour, reading = first(hourly_batches(seed, 240, shift, always(MEANS)))
        assert hour is None
        assert reading is not None
        assert reading.mix == pytest.approx(-0.13, abs=0.06)
        assert reading.within == pytest.approx(0.0, abs=0.08)
        hour, _ = first(map(without_segments, hourly_batches(seed, 240, shift, always(MEANS))))
        assert hour is not None
        assert hour >= CHANGE


@pytest.mark.slow
def test_a_fall_of_one_small_segment_is_found_and_named() -> None:
    """Russian, a fifth of the traffic, falls from .6 to .2: found, with its means before and after."""
    for seed in range(6):
        hour, found = first(hourly_batches(seed, 260, always(SHARES), changing_to((0.9, 0.8, 0.2), MEANS)))
        assert hour is not None
        assert found is not None
        assert CHANGE <= hour < CHANGE + 60
        assert found.most_worsened is not None
        assert found.most_worsened.name == "language ru"
        assert found.most_worsened.mean_before == pytest.approx(0.6, abs=0.12)
        assert found.most_worsened.mean_after is not None
        assert found.most_worsened.mean_after < 0.4


def test_a_fall_that_a_better_mix_hides_is_found() -> None:
    """All fall by .15 while easy traffic grows, so that the whole mean hardly moves: found, with both parts."""
    for seed in range(4):
        shares, means = changing_to((0.85, 0.1, 0.05), SHARES), changing_to((0.75, 0.65, 0.45), MEANS)
        hour, found = first(hourly_batches(seed, 300, shares, means))
        assert hour is not None
        assert found is not None
        assert found.within is not None
        assert found.mix is not None
        assert found.within < -0.05
        assert found.mix > 0.02
        assert found.drop == pytest.approx(-found.within - found.mix)


def test_classes_that_explain_nothing_change_nothing() -> None:
    """A stream whose languages are all alike has the very readings of one that knows of no language."""
    same = changing_to((0.6,) * 3, (0.8,) * 3)
    one, other = Detector(SETTINGS), Detector(SETTINGS)
    for hour, batch in enumerate(hourly_batches(1, 160, always(SHARES), same)):
        assert one.update(batch) == other.update(without_segments(batch))
        assert hour % 20 or one.reading == other.reading
    assert one.reading.segments == ()


def test_the_order_within_a_batch_changes_nothing() -> None:
    """Backwards it is the same to the last bit, segments and all."""
    one, other = Detector(SETTINGS), Detector(SETTINGS)
    random = np.random.default_rng(2)
    for votes in hourly_batches(2, 160, always(SHARES), changing_to((0.9, 0.5, 0.4), MEANS)):
        batch = [replace(vote, value=0.9 * vote.value + 0.1 * random.uniform()) for vote in votes]
        assert one.update(batch) == other.update(batch[::-1])
    assert one.reading == other.reading
    assert len(one.reading.segments) == 3


def test_a_new_class_is_said_to_be_not_watched_yet() -> None:
    """Conversations in a language that the reference has not seen are counted and raise nothing, however bad."""
    detector = Detector(SETTINGS)
    for batch in hourly_batches(3, CHANGE, always(SHARES), always(MEANS)):
        detector.update(batch)
    assert detector.reading.not_learned == 0
    french = [Observation(START + CHANGE * HOUR, 0.0, 1.0, (("language", "fr"),))] * 90
    assert detector.update(french) is None
    assert detector.reading.not_learned == 90
    assert detector.reading.segments[-1].name == "language fr"


def test_a_reading_in_the_metrics_own_values_has_its_segments_in_them_too() -> None:
    """On a scale from 5 (worst) to 1 (best) a fall by .4 is a rise by 1.6."""
    _, found = first(hourly_batches(1, 260, always(SHARES), changing_to((0.9, 0.8, 0.2), MEANS)))
    assert found is not None
    there = found.on(Scale(5.0, 1.0))
    assert there.within == pytest.approx(-4 * found.within)  # type: ignore[operator]
    assert there.mix == pytest.approx(-4 * found.mix)  # type: ignore[operator]
    assert there.most_worsened is not None
    assert there.most_worsened in there.segments
    assert there.most_worsened.mean_after == pytest.approx(5 - 4 * found.most_worsened.mean_after)  # type: ignore
