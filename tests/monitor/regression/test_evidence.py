import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.regression.betting import BETS
from monitor.regression.evidence import Evidence

START = datetime(2026, 11, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
batches = st.lists(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0.1, 1)), min_size=1, max_size=5), min_size=1, max_size=12
)


@given(batches, st.floats(0.05, 0.95))
def test_evidence_of_a_fall_equals_the_plain_shiryaev_roberts_form(
    stream: list[list[tuple[float, float]]], m0: float
) -> None:
    """In logs and mirrored it is the mean over bets of R = (1 + R) * prod(1 + lambda * w * (m0 - x)), to 1e-9."""
    evidence = Evidence(1 - m0)
    plain = dict.fromkeys((bet / (1 - m0) for bet in BETS), 0.0)
    for batch in stream:
        values, weights = np.array(batch).T
        evidence.add(1 - values, weights, START)
        for bet in plain:
            plain[bet] = (1 + plain[bet]) * math.prod(1 + bet * w * (m0 - x) for x, w in batch)
    assert math.exp(evidence.log_value) == pytest.approx(sum(plain.values()) / len(plain), rel=1e-9)


@given(batches, st.randoms(use_true_random=False))
def test_the_order_within_a_batch_does_not_matter(stream: list[list[tuple[float, float]]], random: object) -> None:
    """Shuffling each batch changes the evidence by no more than rounding."""
    one, other = Evidence(0.4), Evidence(0.4)
    for batch in stream:
        one.add(*np.array(batch).T, START)
        other.add(*np.array(random.sample(batch, len(batch))).T, START)  # type: ignore[attr-defined]
    assert one.log_value == pytest.approx(other.log_value, abs=1e-9)


def test_the_start_of_a_rise_is_found_within_two_batches_on_median() -> None:
    """A rise from 0.3 to 0.6 after forty batches is dated within two batches of the truth, usually."""
    generator = np.random.default_rng(5)
    misses = []
    for _ in range(40):
        evidence = Evidence(0.4)
        for batch in range(48):
            mean = 0.3 if batch < 40 else 0.6
            evidence.add(generator.beta(4 * mean, 4 * (1 - mean), 8), np.ones(8), START + batch * HOUR)
        assert evidence.since is not None
        misses.append(abs(evidence.since - (START + 40 * HOUR)))
    assert sorted(misses)[20] <= 2 * HOUR


def test_a_level_without_room_for_a_bet_is_refused() -> None:
    """A level of 0 is an error that says so."""
    with pytest.raises(ValueError, match=r"level is 0\.0"):
        Evidence(0.0)
