from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from monitor.detect.regression import Detector, Observation, Reading, RegressionSettings, Status
from monitor.detect.regression.arrays import microseconds
from monitor.detect.regression.observations import Observations

START = datetime(2026, 11, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
SETTINGS = RegressionSettings(false_alarm_every=100 * HOUR, reference_observations=60, reference_time=0 * HOUR)

Law = Callable[[np.random.Generator, float], NDArray[np.float64]]


def scores(generator: np.random.Generator, mean: float) -> NDArray[np.float64]:
    return generator.beta(4 * mean, 4 * (1 - mean), 6)


def binary(generator: np.random.Generator, mean: float) -> NDArray[np.float64]:
    return generator.binomial(1, mean, 6).astype(np.float64)


def batch(number: int, values: NDArray[np.float64]) -> list[Observation]:
    return [Observation(START + number * HOUR, float(value)) for value in values]


def changes(detector: Detector, number: int, batches: list[NDArray[np.float64]]) -> list[tuple[int, Reading]]:
    """What changes while these batches come, the first of which has this number, with the number of each."""
    sizes = [len(values) for values in batches]
    at = np.repeat([microseconds(START + (number + n) * HOUR) for n in range(len(batches))], sizes)
    begins = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    of_one = np.zeros(len(at), dtype=np.intp)
    found = Observations(at, np.concatenate(batches), np.ones(len(at)), of_one, begins)
    return [
        (number + place, reading) for place, reading in detector.changes(found, np.ones(len(batches), dtype=np.intp))
    ]


def learned(values: NDArray[np.float64], chosen: RegressionSettings = SETTINGS) -> Detector:
    detector = Detector(chosen)
    detector.update(batch(0, values))
    return detector


@pytest.mark.parametrize("law", [scores, binary])
def test_steady_quality_raises_no_more_false_alarms_than_promised(law: Law) -> None:
    """Where one alarm in 100 batches is allowed, 50 steady streams of 100 batches raise far fewer than 50."""
    generator = np.random.default_rng(11)
    alarms = 0
    for _ in range(50):
        detector = learned(np.concatenate([law(generator, 0.7) for _ in range(10)]))
        alarms += len(changes(detector, 1, [law(generator, 0.7) for _ in range(100)]))
    assert alarms <= 10


@pytest.mark.slow
def test_quality_right_at_the_baseline_still_keeps_the_promise() -> None:
    """In the worst case, a mean exactly at the baseline, the mean run length is at least the promised 100 batches."""
    generator = np.random.default_rng(12)
    lengths = []
    for _ in range(60):
        detector = learned(scores(generator, 0.7).repeat(10))
        baseline = detector.reading.baseline
        assert baseline is not None
        alarms = changes(detector, 1, [binary(generator, baseline) for _ in range(400)])
        lengths.append(alarms[0][0] if alarms else 400)
    assert np.mean(lengths) >= 100


def test_a_drop_of_a_third_is_found_within_a_few_batches_and_dated() -> None:
    """A fall from 0.8 to 0.5 at batch 30 fires by batch 42 in every stream, and is dated within three batches."""
    for seed in range(20):
        generator = np.random.default_rng(seed)
        detector = learned(np.concatenate([scores(generator, 0.8) for _ in range(10)]))
        found = None
        for number in range(1, 43):
            found = detector.update(batch(number, scores(generator, 0.8 if number < 30 else 0.5)))
            if found:
                break
        assert found is not None
        assert found.status is Status.REGRESSED
        assert found.since is not None
        assert abs(found.since - (START + 30 * HOUR)) <= 3 * HOUR
        assert found.log_evidence >= found.log_threshold
        assert found.since_lower is not None
        assert found.since_upper is not None
        assert found.since_lower <= 0.5 <= found.since_upper


def test_the_end_of_a_long_regression_is_seen_as_soon_as_its_start() -> None:
    """After two hundred bad batches the resolve comes within 20 batches of the recovery, and the watch goes on."""
    generator = np.random.default_rng(4)
    detector = learned(np.concatenate([scores(generator, 0.8) for _ in range(10)]))
    votes = [scores(generator, 0.4 if 20 <= number < 220 else 0.8) for number in range(1, 301)]
    (fired, firing), (paged, page), (ended, resolved) = changes(detector, 1, votes)
    assert (firing.tier, page.tier, resolved.tier) == ("warn", "page", None)
    assert fired < paged < 40
    assert 20 <= fired < 30
    assert 220 <= ended < 240
    assert resolved.status is Status.WATCHING
    assert resolved.since == firing.since
    assert resolved.since_mean is not None
    assert resolved.since_mean > 0.7
    assert detector.reading.since is None
    assert detector.reading.log_evidence < detector.reading.log_threshold


def test_a_reference_that_nothing_can_be_worse_than_never_fires_and_says_so() -> None:
    """With a reference of all zeros no score is a drop: hundreds of batches, no alarm, and `can_fire` is False."""
    detector = learned(np.zeros(60), SETTINGS.model_copy(update={"tolerance": 0.0}))
    assert not detector.reading.can_fire
    assert all(detector.update(batch(n, np.zeros(6))) is None for n in range(1, 500))


def test_a_perfect_reference_stays_quiet_while_perfect_and_fires_when_it_is_not() -> None:
    """A stream whose every score is 1.0 raises no alarm until scores of 0 come."""
    detector = learned(np.ones(60))
    assert all(detector.update(batch(n, np.ones(6))) is None for n in range(1, 300))
    assert any(detector.update(batch(n, np.array([1, 1, 0, 0, 0, 0.0]))) for n in range(300, 305))


def test_a_page_needs_the_evidence_of_the_whole_fleet() -> None:
    """Of a thousand streams one pages at a thousand times the evidence at which it would page alone, so later."""
    paged = {}
    for streams in (1, 1000):
        generator = np.random.default_rng(3)
        detector = learned(np.concatenate([scores(generator, 0.8) for _ in range(10)]))
        for number in range(1, 60):
            found = detector.update(batch(number, scores(generator, 0.5)), streams)
            if found and found.tier == "page":
                paged[streams] = number
                assert found.log_evidence >= found.log_page_threshold
                assert np.exp(found.log_page_threshold) == pytest.approx(365 * 24 * streams)
                assert found.false_alarm_every == SETTINGS.page_every
                break
            if found:
                assert found.false_alarm_every == SETTINGS.false_alarm_every != SETTINGS.page_every
    assert paged[1] < paged[1000]


def test_an_improvement_is_reported_and_never_fires() -> None:
    """A rise from 0.6 to 0.9 makes no transition; the reading says improved while it lasts, and not after it."""
    generator = np.random.default_rng(8)
    detector = learned(np.concatenate([scores(generator, 0.6) for _ in range(10)]))
    assert not any(detector.update(batch(n, scores(generator, 0.9))) for n in range(1, 30))
    assert detector.reading.improved
    for number in range(30, 60):
        detector.update(batch(number, scores(generator, 0.6)))
    assert not detector.reading.improved


@pytest.mark.slow
def test_the_change_is_dated_with_an_interval_and_a_size() -> None:
    """In 19 of 20 streams or more the interval of the start holds the truth, and that of the drop does too."""
    held = sized = 0
    for seed in range(40):
        generator = np.random.default_rng(seed)
        detector = learned(np.concatenate([scores(generator, 0.8) for _ in range(10)]))
        batches = [scores(generator, 0.8 if number < 50 else 0.55) for number in range(1, 100)]
        for _, found in changes(detector, 1, batches)[:1]:
            assert found.since_earliest <= found.since <= found.since_latest  # type: ignore[operator]
            held += found.since_earliest <= START + 50 * HOUR <= found.since_latest  # type: ignore[operator]
            sized += found.drop_lower <= 0.25 <= found.drop_upper  # type: ignore[operator]
    assert held >= 36
    assert sized >= 38


def test_the_reference_grows_and_never_swallows_a_slow_fall() -> None:
    """With more conversations the baseline only rises: a fall of 0.01 a batch during growth is found all the same."""
    generator = np.random.default_rng(2)
    detector = learned(np.concatenate([scores(generator, 0.8) for _ in range(10)]))
    first = detector.reading.baseline
    for number in range(1, 100):
        assert detector.update(batch(number, scores(generator, 0.8))) is None
    grown = detector.reading
    assert grown.reference_observations > 600
    assert grown.baseline > first  # type: ignore[operator]
    found = None
    for number in range(100, 150):
        found = found or detector.update(batch(number, scores(generator, 0.8 - 0.01 * (number - 100))))
    assert found is not None
    assert found.baseline >= grown.baseline  # type: ignore[operator]


def test_a_reference_has_a_day_and_a_night_in_it() -> None:
    """Many conversations within an hour do not complete a reference that must be a day long; its length is shown."""
    detector = Detector(SETTINGS.model_copy(update={"reference_time": 24 * HOUR}))
    generator = np.random.default_rng(2)
    for number in range(24):
        detector.update(batch(number, scores(generator, 0.8)))
        assert detector.status is Status.LEARNING
    assert detector.reading.learning_left == HOUR
    detector.update(batch(24, scores(generator, 0.8)))
    assert detector.status is Status.WATCHING
    assert detector.reading.learning_left is None


@pytest.mark.slow
@pytest.mark.parametrize("law", [scores, binary])
def test_the_predicted_delay_is_about_the_one_that_comes(law: Law) -> None:
    """The median of real delays of a drop of 0.1 is at most twice the predicted one, and that at most 4 times it."""
    predicted, real = [], []
    for seed in range(25):
        generator = np.random.default_rng(seed)
        detector = Detector(SETTINGS)
        changes(detector, 0, [law(generator, 0.8) for _ in range(200)])
        delay = detector.reading.delay
        if delay is None or detector.status is not Status.WATCHING:
            continue
        predicted.append(delay / HOUR)
        alarms = changes(detector, 200, [law(generator, 0.7) for _ in range(800)])
        real.append(alarms[0][0] - 199 if alarms else 801)
    assert len(predicted) > 20
    assert np.median(real) / 2 <= np.median(predicted) <= 4 * np.median(real)


@pytest.mark.slow
def test_the_predicted_delay_of_a_small_drop_is_about_the_one_that_comes() -> None:
    """So it is for a drop of 0.05; in conversations it is the delay times those of an hour."""
    predicted, real = [], []
    for seed in range(15):
        generator = np.random.default_rng(seed)
        detector = Detector(SETTINGS)
        changes(detector, 0, [scores(generator, 0.8) for _ in range(400)])
        reading = detector.reading
        if reading.small_delay is None or reading.small_conversations is None:
            continue
        predicted.append(reading.small_delay / HOUR)
        assert np.isclose(reading.small_conversations, predicted[-1] * len(scores(generator, 0.8)), rtol=0.01)
        alarms = changes(detector, 400, [scores(generator, 0.75) for _ in range(2000)])
        real.append(alarms[0][0] - 399 if alarms else 2001)
    assert len(predicted) > 12
    assert np.median(real) / 2 <= np.median(predicted) <= 4 * np.median(real)


def test_the_delay_of_a_small_drop_fits_the_smallest_that_is_seen_within_a_week() -> None:
    """At any traffic a drop of 0.05 takes longer than a week exactly where the smallest one of a week is larger."""
    within = []
    for size in range(1, 7):
        generator = np.random.default_rng(size)
        detector = Detector(SETTINGS)
        changes(detector, 0, [scores(generator, 0.8)[:size] for _ in range(600)])
        reading = detector.reading
        assert reading.status is Status.WATCHING
        within.append(reading.small_delay is not None and reading.small_delay <= timedelta(days=7))
        assert within[-1] is (reading.smallest_drop is not None and reading.smallest_drop <= 0.05)
    assert {True, False} == set(within)


@pytest.mark.slow
@settings(max_examples=6)
@given(st.lists(st.integers(1, 200), min_size=1, max_size=8), st.integers(0, 2**32 - 1))
def test_batches_at_once_are_what_they_are_one_by_one(portions: list[int], seed: int) -> None:
    """Through alarms, pages, ends and improvements: the same changes and readings in any portions."""
    generator = np.random.default_rng(seed)
    means = np.repeat(generator.choice([0.3, 0.5, 0.8, 0.9], 12), generator.integers(5, 50, 12))
    votes = [generator.beta(4 * mean, 4 * (1 - mean), generator.integers(1, 9)) for mean in [0.8] * 40 + list(means)]
    whole, parts, single = Detector(SETTINGS), Detector(SETTINGS), Detector(SETTINGS)
    expected = changes(whole, 0, votes)
    edges = [*(edge for edge in np.cumsum([0, *portions]).tolist() if edge < len(votes)), len(votes)]
    assert [one for a, b in pairwise(edges) for one in changes(parts, a, votes[a:b])] == expected
    found = [(number, single.update(batch(number, values))) for number, values in enumerate(votes)]
    assert [(number, reading) for number, reading in found if reading] == expected
    assert whole.reading == parts.reading == single.reading


def test_learning_says_how_much_is_missing() -> None:
    """Until the reference is complete the status is learning, with the count so far and the count needed."""
    detector = Detector(SETTINGS)
    assert detector.reading.mean is None
    detector.update(batch(0, np.full(40, 0.5)))
    reading = detector.reading
    assert (reading.status, reading.reference_observations, reading.reference_needed) == (Status.LEARNING, 40, 60)
    assert reading.mean == pytest.approx(0.5)
    assert reading.baseline is None
    detector.update([])
    detector.update(batch(1, np.full(20, 0.5)))
    assert detector.status is Status.WATCHING


@pytest.mark.parametrize(("value", "weight"), [(1.1, 1.0), (float("nan"), 1.0), (0.5, 0.0), (0.5, 1.5)])
def test_an_observation_outside_its_range_is_refused(value: float, weight: float) -> None:
    """Bets are only safe on bounded values: anything else is an error that names the value."""
    with pytest.raises(ValueError, match="must be within"):
        Observation(START, value, weight)
