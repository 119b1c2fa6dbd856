import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.sampling import Sampling, SamplingSettings, is_sampled

PROBABILITIES = st.floats(0, 1)


@given(conversation=st.text(), lower=PROBABILITIES, higher=PROBABILITIES, salt=st.text())
def test_a_larger_sample_holds_the_smaller_one(conversation: str, lower: float, higher: float, salt: str) -> None:
    """Nothing is sampled with probability 0, all with 1, and what is decided once stays."""
    lower, higher = sorted((lower, higher))
    assert is_sampled(conversation, lower, salt) <= is_sampled(conversation, higher, salt)
    assert not is_sampled(conversation, 0, salt)
    assert is_sampled(conversation, 1, salt)


@pytest.mark.parametrize("probability", [0.01, 0.1, 0.5, 0.9])
def test_the_share_is_the_probability(probability: float) -> None:
    """Of 20,000 conversations, within four standard errors."""
    share = sum(is_sampled(f"conversations/{i}", probability) for i in range(20_000)) / 20_000
    assert abs(share - probability) < 4 * (probability * (1 - probability) / 20_000) ** 0.5


def test_samples_of_other_salts_are_independent() -> None:
    """A tenth of a tenth is a hundredth; salt and id are kept apart."""
    both = sum(is_sampled(f"{i}", 0.1, "a") and is_sampled(f"{i}", 0.1, "b") for i in range(20_000))
    assert abs(both - 200) < 4 * 200**0.5
    assert any(is_sampled(f"a{i}", 0.5, "") != is_sampled(f"{i}", 0.5, "a") for i in range(20))


def test_the_weighted_mean_is_that_of_all() -> None:
    """Scores that go with the probability of being sampled bias the plain mean, and not the weighted one."""
    chance = random.Random(1)
    rows = [(f"{i}", 0.05 if chance.random() < 0.8 else 0.5) for i in range(40_000)]
    scores = {name: 0.9 if probability < 0.1 else 0.4 for name, probability in rows}
    truth = sum(scores.values()) / len(rows)
    taken = [(scores[name], 1 / probability) for name, probability in rows if is_sampled(name, probability)]
    weighted = sum(score * weight for score, weight in taken) / sum(weight for _, weight in taken)
    assert weighted == pytest.approx(truth, abs=0.01)
    assert abs(sum(score for score, _ in taken) / len(taken) - truth) > 0.1


@pytest.mark.integration
def test_another_process_decides_the_same() -> None:
    """Python's own hash would not."""
    program = "from evaluator.sampling import is_sampled; print([is_sampled(f'{i}', 0.5) for i in range(64)])"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == str([is_sampled(f"{i}", 0.5) for i in range(64)])


@pytest.mark.parametrize("probability", [-0.1, 1.1, float("nan")])
def test_no_probability_is_refused(probability: float) -> None:
    """A percentage, say."""
    with pytest.raises(ValueError, match="between 0 and 1"):
        is_sampled("a", probability)


def test_what_may_be_flagged_may_be_in_the_sample() -> None:
    """Whether an answer is flagged is known later: no conversation is left out before."""
    settings = SamplingSettings(rate=0.001, flagged_rate=1.0)
    assert all(Sampling(settings).may_have(f"chat-{number}") for number in range(50))
    assert not any(Sampling(SamplingSettings(rate=0.001)).may_have(f"chat-{number}") for number in range(50))
