import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.detect.regression.e_detector.alarm import Alarm, Mixture
from monitor.detect.regression.e_detector.bets import ALL, Bets
from monitor.detect.regression.e_detector.evidence import Evidence

batches = st.lists(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0.1, 1)), min_size=1, max_size=5), min_size=1, max_size=12
)


def bets(values: Sequence[float], levels: Sequence[float], segments: Sequence[int]) -> Bets:
    one = np.zeros(len(values), dtype=np.intp)
    return Bets(np.array(values, float), np.ones(len(values)), np.array(levels, float), np.array(segments), one)


def add(mixture: Mixture, bets: Bets, segments: int) -> None:
    mixture.advance_to(mixture.trajectories(bets, segments), 0)


@settings(max_examples=30)
@given(batches, st.floats(0.05, 0.95))
def test_the_mixture_of_one_segment_is_its_evidence(stream: list[list[tuple[float, float]]], level: float) -> None:
    """To the last bit, and so is the alarm's."""
    plain, mixture, alarm = Evidence(), Mixture(), Alarm(1e9)
    for batch in stream:
        values, weights = np.array(batch).T
        zeros = np.zeros(len(values), dtype=np.intp)
        plain.advance_to(plain.trajectory(values, weights, level, zeros, 1), 0)
        one = Bets(values, weights, np.full(len(values), level), zeros, zeros)
        add(mixture, one, 1)
        alarm.take(one, 1)
        assert plain.log_value == mixture.log_value == alarm.log_evidence


def test_half_of_the_mixture_is_of_all_and_the_rest_of_each_segment() -> None:
    """Three batches, one without the second segment: `R_all / 2 + (R_0 + R_1) / 4`."""
    mixture, parts = Mixture(), {ALL: Evidence(), 0: Evidence(), 1: Evidence()}
    for numbers in ([0, 1, 1], [0, 0], [1, 0]):
        one = bets([0.9, 0.4, 0.7][: len(numbers)], [(0.4, 0.6)[n] for n in numbers], numbers)
        add(mixture, one, 2)
        for part, evidence in parts.items():
            evidence.advance_to(evidence.trajectory(*one.on(part), 1), 0)
    plain = {part: math.exp(evidence.log_value) for part, evidence in parts.items()}
    assert math.exp(mixture.log_value) == pytest.approx(plain[ALL] / 2 + (plain[0] + plain[1]) / 4)


def test_a_changing_mix_with_means_right_at_their_levels_runs_as_long_as_promised() -> None:
    """Every batch has other shares; the mean of 80 runs to a false alarm is at least the promised 60 batches."""
    generator, promised, levels = np.random.default_rng(5), 60, np.array([0.1, 0.5])
    numbers, lengths = np.repeat(np.arange(200), 8), []
    for _ in range(80):
        segments = generator.binomial(1, generator.uniform(size=200)[numbers])
        values = generator.binomial(1, levels[segments]).astype(float)
        run = Bets(values, np.ones(len(numbers)), levels[segments], segments, numbers, 200)
        parts = Mixture().trajectories(run, 2).values()
        log_values = np.logaddexp.reduce([part.log_values(np.arange(200)) for part in parts])
        (alarms,) = np.nonzero(log_values >= math.log(promised))
        lengths.append(alarms[0] + 1 if len(alarms) else 200)
    assert np.mean(lengths) >= promised


def test_segments_that_are_well_do_not_end_the_alarm_of_one_that_is_not() -> None:
    """A small segment that has fallen keeps it on for as long as it is bad, however good the large one is."""
    generator, bad, batches = np.random.default_rng(6), range(20, 150), 200
    numbers, segments = np.repeat(np.arange(batches), 22), np.tile([0] * 20 + [1] * 2, batches)
    means = np.where(segments == 0, 0.02, np.where(np.isin(numbers, bad), 0.9, 0.3))
    levels = np.where(segments == 0, 0.2, 0.4)
    found = Bets(generator.binomial(1, means).astype(float), np.ones(len(means)), levels, segments, numbers, batches)
    for most in (1, batches):
        alarm, begin, changes = Alarm(math.log(100)), 0, []
        while begin < batches:
            taken, changed = alarm.take(found.between(begin, min(begin + most, batches)), 2)
            begin += taken
            if changed:
                changes.append((begin - 1, changed))
        (begun, on), (ended, off) = changes
        assert (on, off) == ("on", "off")
        assert 20 <= begun < 50
        assert ended >= 150
