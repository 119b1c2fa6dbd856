import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.regression.alarm import Alarm, Mixture
from monitor.regression.bets import ALL, Bets, slack_of
from monitor.regression.betting import BETS
from monitor.regression.evidence import Evidence

batches = st.lists(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0.1, 1)), min_size=1, max_size=5), min_size=1, max_size=12
)


@given(batches, st.floats(0.05, 0.95))
def test_evidence_of_a_fall_equals_the_plain_shiryaev_roberts_form(
    stream: list[list[tuple[float, float]]], m0: float
) -> None:
    """In logs and mirrored it is the mean over bets of R = (1 + R) * prod(1 + lambda * w * (m0 - x)), to 1e-9."""
    evidence = Evidence()
    plain = dict.fromkeys((bet / (1 - m0) for bet in BETS), 0.0)
    for batch in stream:
        values, weights = np.array(batch).T
        evidence.add(1 - values, weights, 1 - float(m0))
        for bet in plain:
            plain[bet] = (1 + plain[bet]) * math.prod(1 + bet * w * (m0 - x) for x, w in batch)
    assert math.exp(evidence.log_value) == pytest.approx(sum(plain.values()) / len(plain), rel=1e-9)


@given(batches, st.fractions(Fraction(1, 20), Fraction(19, 20)))
def test_evidence_equals_the_recursion_in_exact_fractions(
    stream: list[list[tuple[float, float]]], m0: Fraction
) -> None:
    """In fractions, where nothing is rounded, the mean of R over the bets is the same number to 1e-9."""
    evidence = Evidence()
    plain = dict.fromkeys((Fraction(bet) / (1 - m0) for bet in BETS), Fraction(0))
    for batch in stream:
        values, weights = np.array(batch).T
        evidence.add(1 - values, weights, 1 - float(m0))
        for bet in plain:
            product = math.prod((1 + bet * Fraction(w) * (m0 - Fraction(x)) for x, w in batch), start=Fraction(1))
            plain[bet] = (1 + plain[bet]) * product
    assert evidence.log_value == pytest.approx(math.log(sum(plain.values()) / len(plain)), abs=1e-9)


@pytest.mark.parametrize("conversations", [1, 8])
def test_a_mean_exactly_at_the_level_runs_as_long_as_promised(conversations: int) -> None:
    """Scores of 0 and 1 whose mean is exactly m0, the worst law: 60 batches to a false alarm at the least, on average.

    Runs are cut at 600 batches, which can only shorten the mean.
    """
    generator, promised, m0 = np.random.default_rng(21), 60, 0.7
    lengths = []
    for _ in range(300):
        evidence, length = Evidence(), 0
        while evidence.log_value < math.log(promised) and length < 600:
            values = generator.binomial(1, m0, conversations).astype(np.float64)
            evidence.add(1.0 - values, np.ones(conversations), 1 - m0)
            length += 1
        lengths.append(length)
    assert np.mean(lengths) >= promised


@given(batches, st.randoms(use_true_random=False))
def test_the_order_within_a_batch_does_not_matter(stream: list[list[tuple[float, float]]], random: object) -> None:
    """Shuffling each batch changes the evidence by no more than rounding."""
    one, other = Evidence(), Evidence()
    for batch in stream:
        one.add(*np.array(batch).T, 0.4)
        other.add(*np.array(random.sample(batch, len(batch))).T, 0.4)  # type: ignore[attr-defined]
    assert one.log_value == pytest.approx(other.log_value, abs=1e-9)


def test_a_level_without_room_for_a_bet_is_refused() -> None:
    """A level of 0 is an error that says so."""
    with pytest.raises(ValueError, match=r"level is 0\.0"):
        Evidence().add(np.ones(1), np.ones(1), 0.0)


portions = st.lists(st.integers(1, 700), min_size=1, max_size=6)


@settings(max_examples=20)
@given(portions, portions, st.integers(0, 2**32 - 1))
def test_the_portions_in_which_batches_come_change_not_a_bit(one: list[int], other: list[int], seed: int) -> None:
    """Up to thousands of batches at once are what they are one by one or in any portions."""
    total, generator = min(sum(one), sum(other)), np.random.default_rng(seed)
    sizes = generator.integers(1, 4, total)
    numbers, values = np.repeat(np.arange(total), sizes), generator.uniform(0, 1, sizes.sum())
    found = []
    for cuts in (one, other, [1] * total):
        evidence, begin = Evidence(), 0
        for end in np.minimum(np.cumsum(cuts), total):
            part = (numbers >= begin) & (numbers < end)
            if end > begin:
                course = evidence.course(values[part], np.ones(part.sum()), 0.45, numbers[part] - begin, end - begin)
                evidence.go(course, end - begin - 1)
            begin = end
        found.append(evidence.log_value)
    assert found[0] == found[1] == found[2]


def bets(values: Sequence[float], levels: Sequence[float], segments: Sequence[int]) -> Bets:
    one = np.zeros(len(values), dtype=np.intp)
    return Bets(np.array(values, float), np.ones(len(values)), np.array(levels, float), np.array(segments), one)


def add(mixture: Mixture, bets: Bets, segments: int) -> None:
    mixture.go(mixture.courses(bets, segments), 0)


@settings(max_examples=30)
@given(batches, st.floats(0.05, 0.95))
def test_the_mixture_of_one_segment_is_its_evidence(stream: list[list[tuple[float, float]]], level: float) -> None:
    """To the last bit, and so is the alarm's."""
    plain, mixture, alarm = Evidence(), Mixture(), Alarm(1e9)
    for batch in stream:
        values, weights = np.array(batch).T
        plain.add(values, weights, level)
        zeros = np.zeros(len(values), dtype=np.intp)
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
            values, weights, levels, _ = one.on(part)
            if len(values):
                evidence.add(values, weights, levels)
    plain = {part: math.exp(evidence.log_value) for part, evidence in parts.items()}
    assert math.exp(mixture.log_value) == pytest.approx(plain[ALL] / 2 + (plain[0] + plain[1]) / 4)


@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=12),
    st.lists(st.floats(0.05, 0.9), min_size=3, max_size=3),
    st.lists(st.floats(0.01, 1), min_size=3, max_size=3),
    st.lists(st.floats(0, 1), min_size=3, max_size=3),
    st.floats(0, 1),
)
def test_what_all_segments_together_allow_keeps_the_mean_of_a_batch_at_most_1(
    numbers: list[int], levels: list[float], sizes: list[float], below: list[float], tightness: float
) -> None:
    """With any mix in the batch, and any means that are at most each level and together at most theirs.

    The values are 0 and 1, for which the mean of the product is the product of `1 + c * ((mu + slack) / level - 1)`.
    """
    means = np.array(levels) * below
    shares = np.array(sizes) / np.sum(sizes)
    # Anywhere from what the means are together, which is the tightest true level, to what their own levels are.
    level = float(shares @ means + tightness * (shares @ (np.array(levels) - means)))
    of_each = [levels[number] for number in numbers]
    found = slack_of(bets([0.0] * len(numbers), of_each, numbers), np.array(levels), shares, level)
    slack = 0.0 if found is None else float(found[0])
    for bet in BETS:
        growth = sum(math.log1p(bet * ((means[n] + slack) / levels[n] - 1.0)) for n in numbers)
        assert growth <= 1e-9


def test_a_batch_with_the_mix_of_the_reference_has_the_level_of_the_whole() -> None:
    """Nothing is lost there: the levels are lower by just the gap; and one without a segment gains nothing."""
    levels, shares = np.array([0.3, 0.3]), np.array([0.75, 0.25])
    same = bets([0] * 4, [0.3] * 4, [0, 0, 0, 1])
    assert slack_of(same, levels, shares, 0.26) == pytest.approx([0.04])
    assert slack_of(bets([0] * 3, [0.3] * 3, [0, 0, 0]), levels, shares, 0.26) == [0.0]
    assert slack_of(same, levels, shares, 0.4) is None


def test_a_changing_mix_with_means_right_at_their_levels_runs_as_long_as_promised() -> None:
    """Every batch has other shares; the mean of 80 runs to a false alarm is at least the promised 60 batches."""
    generator, promised, levels = np.random.default_rng(5), 60, np.array([0.1, 0.5])
    lengths = []
    for _ in range(80):
        mixture, length = Mixture(), 0
        while mixture.log_value < math.log(promised) and length < 200:
            numbers = generator.binomial(1, generator.uniform(), 8)
            values = generator.binomial(1, levels[numbers]).astype(float)
            add(mixture, Bets(values, np.ones(8), levels[numbers], numbers, np.zeros(8, dtype=np.intp)), 2)
            length += 1
        lengths.append(length)
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
