import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.detect.regression.arrays import Floats
from monitor.detect.regression.e_detector.betting import BETS
from monitor.detect.regression.e_detector.evidence import Evidence

batches = st.lists(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0.1, 1)), min_size=1, max_size=5), min_size=1, max_size=12
)


def add(evidence: Evidence, values: Floats, weights: Floats, level: float) -> None:
    evidence.advance_to(evidence.trajectory(values, weights, level, np.zeros(len(values), dtype=np.intp), 1), 0)


@given(batches, st.floats(0.05, 0.95))
def test_evidence_of_a_fall_equals_the_plain_shiryaev_roberts_form(
    stream: list[list[tuple[float, float]]], m0: float
) -> None:
    """In logs and mirrored it is the mean over bets of R = (1 + R) * prod(1 + lambda * w * (m0 - x)), to 1e-9."""
    evidence = Evidence()
    plain = dict.fromkeys((bet / (1 - m0) for bet in BETS), 0.0)
    for batch in stream:
        values, weights = np.array(batch).T
        add(evidence, 1 - values, weights, 1 - float(m0))
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
        add(evidence, 1 - values, weights, 1 - float(m0))
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
    numbers, lengths = np.repeat(np.arange(600), conversations), []
    for _ in range(300):
        values = generator.binomial(1, m0, len(numbers)).astype(np.float64)
        run = Evidence().trajectory(1.0 - values, np.ones(len(numbers)), 1 - m0, numbers, 600)
        (alarms,) = np.nonzero(run.log_values(np.arange(600)) >= math.log(promised))
        lengths.append(alarms[0] + 1 if len(alarms) else 600)
    assert np.mean(lengths) >= promised


@given(batches, st.randoms(use_true_random=False))
def test_the_order_within_a_batch_does_not_matter(stream: list[list[tuple[float, float]]], random: object) -> None:
    """Shuffling each batch changes the evidence by no more than rounding."""
    one, other = Evidence(), Evidence()
    for batch in stream:
        add(one, *np.array(batch).T, 0.4)
        add(other, *np.array(random.sample(batch, len(batch))).T, 0.4)  # type: ignore[attr-defined]
    assert one.log_value == pytest.approx(other.log_value, abs=1e-9)


def test_a_level_without_room_for_a_bet_is_refused() -> None:
    """A level of 0 is an error that says so."""
    with pytest.raises(ValueError, match=r"level is 0\.0"):
        add(Evidence(), np.ones(1), np.ones(1), 0.0)


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
                trajectory = evidence.trajectory(
                    values[part], np.ones(part.sum()), 0.45, numbers[part] - begin, end - begin
                )
                evidence.advance_to(trajectory, end - begin - 1)
            begin = end
        found.append(evidence.log_value)
    assert found[0] == found[1] == found[2]
