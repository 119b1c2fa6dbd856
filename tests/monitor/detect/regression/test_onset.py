from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from lake.spec.alert_vocabulary import OnsetKind
from monitor.detect.regression import Detector, Reading, RegressionSettings, Status
from monitor.detect.regression.arrays import begins_of, microseconds
from monitor.detect.regression.e_detector.change_point import BatchHistory
from monitor.detect.regression.observations import Observations

START = datetime(2026, 3, 1, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), 24
BEGAN = 20 * DAY + 14


def warned(seed: int, drop_at: Callable[[int], float], days: int = 35) -> list[Reading]:
    """Give the readings of the warnings of a stream: each hour 20 scores around 0.8, or less."""
    generator, hours = np.random.default_rng(seed), np.repeat(np.arange(days * DAY), 20)
    means = np.array([0.8 - (drop_at(hour) if hour >= BEGAN else 0.0) for hour in range(days * DAY)])[hours]
    at = microseconds(START) + hours * (HOUR // timedelta(microseconds=1))
    values, none = generator.beta(4 * means, 4 * (1 - means)), np.zeros(len(at), dtype=np.intp)
    found = Observations(at, values, np.ones(len(at)), none, begins_of(hours))
    changes = Detector(RegressionSettings()).changes(found, np.ones(days * DAY, dtype=np.intp))
    return [reading for _, reading in changes if reading.status is Status.REGRESSED]


def holds(reading: Reading) -> bool:
    assert reading.since_earliest is not None
    assert reading.since_latest is not None
    return reading.since_earliest <= START + BEGAN * HOUR <= reading.since_latest


def test_a_sudden_fall_is_told_as_sudden() -> None:
    """In 10 of 10 streams, and the interval holds its hour in 9."""
    first = [warned(seed, lambda _: 0.15, 24)[0] for seed in range(10)]
    assert {one.onset for one in first} == {OnsetKind.SUDDEN}
    assert sum(map(holds, first)) >= 9


def test_the_interval_of_a_slow_fall_holds_its_begin() -> None:
    """A fall over two weeks: in 8 of 10 streams."""
    first = [warned(seed, lambda hour: 0.3 * min(1.0, (hour - BEGAN) / (14 * DAY)))[0] for seed in range(10)]
    assert sum(map(holds, first)) >= 8
    assert OnsetKind.RECURRING not in {one.onset for one in first}


def test_a_fall_of_the_same_hour_each_day_is_told_with_its_hours() -> None:
    """Each warning may be of one day alone; the last of two weeks names the hours."""
    last = [warned(seed, lambda hour: 0.4 if hour % DAY == 14 else 0.0)[-1] for seed in range(4)]
    told = Counter((one.onset, one.onset_hours) for one in last)
    assert told[(OnsetKind.RECURRING, (14, 15))] >= 3


def test_two_falls_that_were_repaired_do_not_recur() -> None:
    """Two outages at the same hours, a week apart, are no fall of each day."""
    found = warned(3, lambda hour: 0.4 if hour - BEGAN in (0, 1, 2, 7 * DAY, 7 * DAY + 1, 7 * DAY + 2) else 0.0)
    assert len(found) >= 2
    assert {one.onset for one in found} == {OnsetKind.SUDDEN}


@given(
    st.lists(st.tuples(st.integers(1, 10**7), st.floats(0, 1), st.floats(1, 1000)), min_size=1, max_size=40),
    st.sampled_from([60_000_000, 900_000_000, 3_600_000_000, 86_400_000_000]),
    st.booleans(),
)
@example([(1, 0.0, 1.0), (1, 1.0, 1.0), (1533, 0.0, 1.0), (4, 0.0, 1.0)], 3_600_000_000, False)
def test_any_batches_have_an_onset_in_order_or_none(
    batches: list[tuple[int, float, float]], length: int, is_fall: bool
) -> None:
    """Whatever the pauses between them, centuries too."""
    starts = np.cumsum([pause for pause, _, _ in batches]) * length
    starts = starts[starts < 200_000_000_000_000_000]
    history = BatchHistory()
    for start, (_, value, weight) in zip(starts, batches, strict=False):
        one = np.array([0])
        history.add(np.array([value]), np.array([weight]), one, np.array([start]))
    found = (history.fall() if is_fall else history.rise()) if len(starts) else None
    assert found is None or found.earliest <= found.at <= found.latest
