import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.regression.betting import BETS
from monitor.regression.evidence import ALL, Alarm, Bets, Evidence, Mixture, slack_of

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


def bets(values: Sequence[float], levels: Sequence[float], segments: Sequence[int], slack: float = 0.0) -> Bets:
    return Bets(np.array(values, float), np.ones(len(values)), np.array(levels, float), np.array(segments), slack)


@settings(max_examples=30)
@given(batches, st.floats(0.05, 0.95))
def test_the_mixture_of_one_segment_is_its_evidence(stream: list[list[tuple[float, float]]], level: float) -> None:
    """To the last bit, and so is the alarm's."""
    plain, mixture, alarm = Evidence(), Mixture(), Alarm(1e9)
    for batch in stream:
        values, weights = np.array(batch).T
        plain.add(values, weights, level)
        one = Bets(values, weights, np.full(len(values), level), np.zeros(len(values), dtype=np.intp))
        mixture.add(one, 1)
        alarm.add(one, 1)
        assert plain.log_value == mixture.log_value == alarm.log_evidence


def test_half_of_the_mixture_is_of_all_and_the_rest_of_each_segment() -> None:
    """Three batches, one without the second segment: `R_all / 2 + (R_0 + R_1) / 4`."""
    mixture, parts = Mixture(), {ALL: Evidence(), 0: Evidence(), 1: Evidence()}
    for numbers in ([0, 1, 1], [0, 0], [1, 0]):
        one = bets([0.9, 0.4, 0.7][: len(numbers)], [(0.4, 0.6)[n] for n in numbers], numbers)
        mixture.add(one, 2)
        for part, evidence in parts.items():
            one.on(part, evidence)
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
    slack = slack_of(bets([0.0] * len(numbers), of_each, numbers), np.array(levels), shares, level)
    for bet in BETS:
        growth = sum(math.log1p(bet * ((means[n] + slack) / levels[n] - 1.0)) for n in numbers)
        assert growth <= 1e-9


def test_a_batch_with_the_mix_of_the_reference_has_the_level_of_the_whole() -> None:
    """Nothing is lost there: the levels are lower by just the gap; and one without a segment gains nothing."""
    levels, shares = np.array([0.3, 0.3]), np.array([0.75, 0.25])
    same = bets([0] * 4, [0.3] * 4, [0, 0, 0, 1])
    assert slack_of(same, levels, shares, 0.26) == pytest.approx(0.04)
    assert slack_of(bets([0] * 3, [0.3] * 3, [0, 0, 0]), levels, shares, 0.26) == 0.0
    assert slack_of(same, levels, shares, 0.4) == 0.0


def test_a_changing_mix_with_means_right_at_their_levels_runs_as_long_as_promised() -> None:
    """Every batch has other shares; the mean of 80 runs to a false alarm is at least the promised 60 batches."""
    generator, promised, levels = np.random.default_rng(5), 60, np.array([0.1, 0.5])
    lengths = []
    for _ in range(80):
        mixture, length = Mixture(), 0
        while mixture.log_value < math.log(promised) and length < 200:
            numbers = generator.binomial(1, generator.uniform(), 8)
            values = generator.binomial(1, levels[numbers]).astype(float)
            mixture.add(Bets(values, np.ones(8), levels[numbers], numbers), 2)
            length += 1
        lengths.append(length)
    assert np.mean(lengths) >= promised


def test_segments_that_are_well_do_not_end_the_alarm_of_one_that_is_not() -> None:
    """A small segment that has fallen keeps it on for as long as it is bad, however good the large one is."""
    alarm, generator = Alarm(math.log(100)), np.random.default_rng(6)
    changes = []
    for number in range(200):
        numbers = np.array([0] * 20 + [1] * 2)
        means = np.where(numbers == 0, 0.02, 0.9 if 20 <= number < 150 else 0.3)
        one = Bets(generator.binomial(1, means).astype(float), np.ones(22), np.where(numbers == 0, 0.2, 0.4), numbers)
        if changed := alarm.add(one, 2):
            changes.append((number, changed))
    (begun, on), (ended, off) = changes
    assert (on, off) == ("on", "off")
    assert 20 <= begun < 50
    assert ended >= 150
