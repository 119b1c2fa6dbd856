from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.regression.batches import Batches, Rows, Score, microseconds, observations

START = datetime(2026, 11, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


def score(at: datetime, value: float = 0.5, chat: str = "a", weight: float = 1.0) -> Score:
    return Score(at, chat, f"answer at {at}", value, weight)


def rows(*scores: Score) -> Rows:
    return Rows(
        np.array([microseconds(one.at) for one in scores]),
        pa.array([one.conversation for one in scores]).dictionary_encode(),
        pa.array([one.response for one in scores]).dictionary_encode(),
        np.array([one.value for one in scores]),
        np.array([one.weight for one in scores]),
        np.arange(len(scores)),
        tuple(one.segment for one in scores),
    )


def test_a_conversation_is_one_observation_with_the_weighted_mean_of_its_scores() -> None:
    """Three answers of one chat and one of another are two observations; a weight of 3 counts threefold."""
    scores = [score(START, 1.0, "a", 3), score(START, 0.0, "a", 1), score(START, 0.0, "b", 1)]
    (first, second), _ = observations(scores, START)
    assert (first.value, first.weight) == (0.75, 1.0)
    assert (second.value, second.weight) == (0.0, 0.5)


def test_no_single_weight_outvotes_a_batch() -> None:
    """A weight of 1000 beside weights of 1 counts as ten."""
    (first, second), scale = observations([score(START, chat="a", weight=1000), score(START, chat="b")], START)
    assert first.weight == 1.0
    assert second.weight == pytest.approx(0.1)
    assert scale == 10.0


def test_weights_are_relative_to_the_batch_before() -> None:
    """After weights of 4, a weight of 1 counts as a quarter and one of 8 as 1, whatever else the batch holds."""
    batches = Batches(HOUR, 0 * MINUTE)
    batches.add(rows(score(START, weight=4)))
    for chat, weight in (("a", 1), ("b", 8)):
        batches.add(rows(score(START + HOUR, chat=chat, weight=weight)))
    _, second = batches.close(START + 2 * HOUR)
    assert [o.weight for o in second.observations] == [0.25, 1.0]


@given(
    st.lists(st.tuples(st.integers(0, 4), st.floats(0, 1), st.floats(1, 1e6)), min_size=1, max_size=20),
    st.floats(0.5, 100),
    st.floats(1, 50),
)
def test_only_the_ratio_of_weights_matters(
    answers: list[tuple[int, float, float]], factor: float, scale: float
) -> None:
    """Weights that are all multiplied by one number, as at half the sampling, give the same observations."""
    one = [score(START + n * MINUTE, x, str(chat), w) for n, (chat, x, w) in enumerate(answers)]
    other = [score(START + n * MINUTE, x, str(chat), w * factor) for n, (chat, x, w) in enumerate(answers)]
    for given_scale, scaled in ((None, None), (scale, scale * factor)):
        (first, _), (second, _) = observations(one, START, given_scale), observations(other, START, scaled)
        for a, b in zip(first, second, strict=True):
            assert (a.value, a.weight) == pytest.approx((b.value, b.weight))
        assert all(0 < o.weight <= 1 for o in first)


def test_a_batch_closes_only_after_its_grace() -> None:
    """The batch from 0:00 to 1:00 with ten minutes of grace is open at 1:09 and closed at 1:10."""
    batches = Batches(HOUR, 10 * MINUTE)
    batches.add(rows(score(START + 30 * MINUTE)))
    assert list(batches.close(START + 69 * MINUTE)) == []
    (batch,) = batches.close(START + 70 * MINUTE)
    assert (batch.start, batch.end) == (START, START + HOUR)
    assert batch.observations[0].at == START + 30 * MINUTE


def test_a_late_score_joins_the_oldest_open_batch() -> None:
    """A score of 0:10 that comes after its batch was closed counts in the next one, as of its start."""
    batches = Batches(HOUR, 0 * MINUTE)
    batches.add(rows(score(START + 30 * MINUTE)))
    assert len(list(batches.close(START + HOUR))) == 1
    batches.add(rows(score(START + 10 * MINUTE, 0.2)))
    (late,) = batches.close(START + 2 * HOUR)
    assert late.start == START + HOUR
    assert [(o.at, o.value) for o in late.observations] == [(START + HOUR, 0.2)]


@given(st.lists(st.integers(0, 600), min_size=1, max_size=40), st.integers(1, 90))
def test_every_score_is_in_exactly_one_batch(minutes: list[int], step: int) -> None:
    """In whatever order they come, and however late, all scores come out, in batches that follow each other."""
    batches = Batches(HOUR, 10 * MINUTE)
    closed = []
    for n, minute in enumerate(minutes):
        batches.add(rows(score(START + minute * MINUTE, chat=str(n))))
        closed += batches.close(START + n * step * MINUTE)
    closed += batches.close(START + 1000 * HOUR)
    assert sum(len(batch.observations) for batch in closed) == len(minutes)
    assert [batch.start for batch in closed] == sorted({batch.start for batch in closed})


def test_a_conversation_is_of_the_class_of_its_first_score() -> None:
    """One that begins with an English question and goes on with a German one is English."""
    english, german = (("language", "en"),), (("language", "de"),)
    later = Score(START + 2 * MINUTE, "a", "answer 2", 0.5, 1.0, german)
    (one,), _ = observations([later, Score(START + MINUTE, "a", "answer 1", 0.5, 1.0, english)], START)
    assert one.segment == english
