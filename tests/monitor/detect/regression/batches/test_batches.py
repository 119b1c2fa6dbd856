from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.detect.regression.arrays import microseconds, moment
from monitor.detect.regression.batches.batches import Batches, ClosedBatches, ScoreColumns
from monitor.detect.regression.batches.worst_answers import WorstByBatch, worst_of_each
from monitor.detect.regression.observations import Segment

START = datetime(2026, 11, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Score:
    at: datetime
    conversation: str
    value: float
    weight: float
    segment: Segment = ()
    question: str | None = None
    """None is another one for each score."""


def score(at: datetime, value: float = 0.5, chat: str = "a", weight: float = 1.0) -> Score:
    return Score(at, chat, value, weight)


def rows(*scores: Score) -> ScoreColumns:
    return ScoreColumns(
        np.array([microseconds(one.at) for one in scores]),
        pa.array([one.conversation for one in scores]).dictionary_encode(),
        pa.array(
            [one.question or f"{one.conversation} {one.at} {n}" for n, one in enumerate(scores)]
        ).dictionary_encode(),
        pa.array([f"answer at {one.at} {one.value}" for one in scores]).dictionary_encode(),
        np.array([one.value for one in scores]),
        np.array([one.weight for one in scores]),
        np.arange(len(scores)),
        tuple(one.segment for one in scores),
    )


def closed(*scores: Score, after: tuple[Score, ...] = ()) -> ClosedBatches:
    """The first batch, or after others the second."""
    batches = Batches(HOUR, 0 * MINUTE)
    if after:
        batches.add(rows(*after))
        assert batches.close(START + HOUR) is not None
    batches.add(rows(*scores))
    found = batches.close(START + 100 * HOUR)
    assert found is not None
    return found


def test_a_conversation_is_one_observation_with_the_weighted_mean_of_its_scores() -> None:
    """Three answers of one chat and one of another are two observations; a weight of 3 counts threefold."""
    found = closed(score(START, 1.0, "a", 3), score(START, 0.0, "a", 1), score(START, 0.0, "b", 1)).observations
    assert found.values.tolist() == [0.75, 0.0]
    assert found.weights.tolist() == [1.0, 0.25]


def test_conversations_count_alike_until_weights_differ() -> None:
    """From then on each counts by the sum of its weights, in whatever portions they come."""
    alike = score(START, chat="a", weight=2), score(START, chat="a", weight=2), score(START, chat="b", weight=2)
    assert closed(*alike).observations.weights.tolist() == [1.0, 1.0]
    differ = score(START + HOUR, chat="a", weight=2), score(START + HOUR, chat="b", weight=1)
    later = tuple(score(START + 2 * HOUR, chat=chat, weight=2) for chat in ("a", "a", "b"))
    assert closed(*alike, *differ, *later).observations.weights[-2:].tolist() == [1.0, 1.0]
    far = tuple(score(START + 2 * HOUR, chat=chat, weight=0.5) for chat in ("a", "a", "b"))
    weights = closed(*alike, *differ, *far).observations.weights[-2:]
    assert weights.tolist() == pytest.approx([0.5, 0.25])
    batches = Batches(HOUR, 0 * MINUTE)
    for portion in (alike, differ, far):
        batches.add(rows(*portion))
        found = batches.close(portion[0].at + HOUR)
    assert found is not None
    assert found.observations.weights.tolist() == pytest.approx(weights.tolist())


@pytest.mark.parametrize("rate", [0.3, 0.1, 0.02])
def test_the_mean_is_that_of_all_answers_whatever_the_sampling_rate(rate: float) -> None:
    """Flagged answers, which are bad, are all drawn; others with their conversation, often none in an hour."""
    generator = np.random.default_rng(3)
    hours, chats, turns = 400, 100, 4
    flagged = generator.random((hours, chats, turns)) < 0.05
    values = np.where(flagged, 0.2, 0.8)
    probability = np.where(flagged, 1.0, rate)
    drawn = np.argwhere(generator.random((hours, chats, 1)) < probability)
    found = closed(
        *(
            score(START + hour * HOUR, values[hour, chat, turn], f"{hour} {chat}", 1 / probability[hour, chat, turn])
            for hour, chat, turn in drawn.tolist()
        )
    )
    observations = found.observations
    mean = (observations.values * observations.weights).sum() / observations.weights.sum()
    assert mean == pytest.approx(values.mean(), abs=0.01)


def asked(question: str | None, at: datetime, value: float, chat: str, weight: float = 1.0) -> Score:
    return Score(at, chat, value, weight, (), question)


def test_the_same_question_counts_once_in_a_batch() -> None:
    """With its mean, in the conversation that asked it first; a load test is one observation."""
    load = [asked("same", START + n * MINUTE / 200, n % 2, f"load {n}") for n in range(10_000)]
    other = asked(None, START + MINUTE, 0.25, "person")
    found = closed(*load, other).observations
    assert sorted(found.values.tolist()) == [0.25, 0.5]


def test_a_greeting_joins_no_conversations() -> None:
    """What each asks besides is still its own; the greeting is in the first of them."""
    chats = [
        [asked("hello", START + n * MINUTE, 1.0, f"chat {n}"), asked(None, START + n * MINUTE, 0.5, f"chat {n}")]
        for n in range(5)
    ]
    found = closed(*(one for chat in chats for one in chat)).observations
    assert sorted(found.values.tolist()) == [0.5] * 4 + [0.75]


def test_the_same_question_in_another_batch_counts_again() -> None:
    """Batches know nothing of each other's questions."""
    for at in (START, START + HOUR):
        assert len(closed(asked("same", START, 0.5, "a"), asked("same", at, 0.5, "b")).observations) == (
            1 if at == START else 2
        )


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 4), st.integers(1, 3)), min_size=1, max_size=20
    ),
    st.randoms(use_true_random=False),
)
def test_portions_and_order_do_not_matter(found: list[tuple[int, int, int, int]], shuffle: Random) -> None:
    """The same questions of the same conversations give the same observations, however they come."""
    scores = [asked(f"q{q}", START + q * MINUTE, value / 4, f"c{chat}", weight) for q, chat, value, weight in found]
    whole = closed(*scores).observations.ordered()
    shuffle.shuffle(scores)
    batches = Batches(HOUR, 0 * MINUTE)
    for one in scores:
        batches.add(rows(one))
    again = batches.close(START + 100 * HOUR)
    assert again is not None
    ordered = again.observations.ordered()
    assert ordered.values.tolist() == pytest.approx(whole.values.tolist())
    assert ordered.weights.tolist() == pytest.approx(whole.weights.tolist())


def test_no_single_weight_outvotes_a_batch() -> None:
    """A weight of 10,000 beside weights of 1 counts as 300, in this batch and as the measure of the next."""
    odd = score(START, chat="a", weight=10_000), score(START, chat="b")
    assert closed(*odd).observations.weights.tolist() == pytest.approx([1.0, 1 / 300])
    assert closed(score(START + HOUR, weight=30), after=odd).observations.weights.tolist() == [0.1]


def test_a_batch_of_small_weights_alone_takes_a_tenth_of_the_measure() -> None:
    """That an hour had none of the answers that are seldom drawn must not cut those of the next."""
    begin = score(START, weight=50), score(START, chat="b")
    found = closed(*begin, score(START + HOUR), score(START + 2 * HOUR, weight=50)).observations
    assert found.weights.tolist() == pytest.approx([1.0, 0.02, 0.02, 1.0])
    found = closed(*begin, score(START + HOUR), score(START + 2 * HOUR, weight=9)).observations
    assert found.weights[-1] == pytest.approx(9 / 45)


def test_weights_are_relative_to_the_batch_before() -> None:
    """After weights of 4, a weight of 1 counts as a quarter and one of 8 as 1, whatever else the batch holds."""
    before = score(START, weight=4)
    second = closed(score(START + HOUR, chat="a"), score(START + HOUR, chat="b", weight=8), after=(before,))
    assert second.observations.weights.tolist() == [0.25, 1.0]
    both = closed(before, score(START + HOUR, chat="a"), score(START + HOUR, chat="b", weight=8))
    assert both.observations.weights.tolist() == [1.0, 0.25, 1.0]


@given(
    st.lists(st.tuples(st.integers(0, 4), st.floats(0, 1), st.floats(1, 1e6)), min_size=1, max_size=20),
    st.floats(0.5, 100),
    st.floats(1, 50),
)
def test_only_the_ratio_of_weights_matters(
    answers: list[tuple[int, float, float]], factor: float, scale: float
) -> None:
    """Weights that are all multiplied by one number, as at half the sampling, give the same observations."""
    one = [score(START + HOUR + n * MINUTE, x, str(chat), w) for n, (chat, x, w) in enumerate(answers)]
    other = [score(START + HOUR + n * MINUTE, x, str(chat), w * factor) for n, (chat, x, w) in enumerate(answers)]
    for first, second in (
        (closed(*one), closed(*other)),
        (
            closed(*one, after=(score(START, 1, "a", scale),)),
            closed(*other, after=(score(START, 1, "a", scale * factor),)),
        ),
    ):
        assert first.observations.values == pytest.approx(second.observations.values)
        assert first.observations.weights == pytest.approx(second.observations.weights)
        assert ((first.observations.weights > 0) & (first.observations.weights <= 1)).all()


def test_a_batch_closes_only_after_its_grace() -> None:
    """The batch from 0:00 to 1:00 with ten minutes of grace is open at 1:09 and closed at 1:10."""
    batches = Batches(HOUR, 10 * MINUTE)
    batches.add(rows(score(START + 30 * MINUTE)))
    assert batches.close(START + 69 * MINUTE) is None
    found = batches.close(START + 70 * MINUTE)
    assert found is not None
    assert list(map(moment, found.ends.tolist())) == [START + HOUR]
    assert moment(int(found.observations.at[0])) == START + 30 * MINUTE


def test_a_late_score_joins_the_oldest_open_batch() -> None:
    """A score of 0:10 that comes after its batch was closed counts in the next one, as of its start."""
    late = closed(score(START + 10 * MINUTE, 0.2), after=(score(START + 30 * MINUTE),))
    assert list(map(moment, late.ends.tolist())) == [START + 2 * HOUR]
    assert (moment(int(late.observations.at[0])), late.observations.values[0]) == (START + HOUR, 0.2)


@pytest.mark.parametrize("start", [datetime(1970, 1, 1, tzinfo=UTC), datetime(1969, 12, 31, 21, tzinfo=UTC), START])
def test_a_late_score_closes_no_batch_before_its_time(start: datetime) -> None:
    """Not even the first one of 1970, whose number is 0: it still takes in what comes in its hour."""
    batches = Batches(HOUR, 0 * MINUTE)
    batches.add(rows(score(start - HOUR), score(start)))
    assert batches.close(start) is not None
    batches.add(rows(score(start - 5 * HOUR, chat="late")))
    assert batches.close(start + 59 * MINUTE) is None
    found = batches.close(start + HOUR)
    assert found is not None
    assert found.observations.sizes.tolist() == [2]


def test_the_first_moment_of_the_calendar_is_a_time_like_any_other() -> None:
    """A clock that was never set says the year 1, before which no grace can reach."""
    batches, first = Batches(HOUR, 10 * MINUTE), datetime.min.replace(tzinfo=UTC)
    batches.add(rows(score(first)))
    assert batches.close(first) is None
    assert batches.close(START) is not None


@given(st.lists(st.integers(0, 600), min_size=1, max_size=40), st.integers(1, 90))
def test_every_score_is_in_exactly_one_batch(minutes: list[int], step: int) -> None:
    """In whatever order they come, and however late, all scores come out, in batches that follow each other."""
    batches = Batches(HOUR, 10 * MINUTE)
    found = []
    for n, minute in enumerate(minutes):
        batches.add(rows(score(START + minute * MINUTE, chat=str(n))))
        found.append(batches.close(START + n * step * MINUTE))
    found.append(batches.close(START + 1000 * HOUR))
    assert sum(len(one.observations) for one in found if one) == len(minutes)
    ends = [end for one in found if one for end in one.ends.tolist()]
    assert ends == sorted(set(ends))


def test_a_conversation_is_of_the_class_of_its_first_score() -> None:
    """One that begins with an English question and goes on with a German one is English."""
    english, german = (("language", "en"),), (("language", "de"),)
    later = Score(START + 2 * MINUTE, "a", 0.5, 1.0, german)
    found = closed(later, Score(START + MINUTE, "a", 0.5, 1.0, english)).observations
    assert [found.kinds[place] for place in found.segments] == [english]


def test_the_worst_answers_of_a_batch_are_kept_with_their_ids() -> None:
    """Of six the five worst, the later first among equals; of another batch its own."""
    values = (0.5, 0.1, 0.9, 0.1, 0.3, 0.2)
    scores = [score(START + n * MINUTE, value) for n, value in enumerate(values)]
    found = closed(*scores, score(START + HOUR, 0.4)).worst
    assert found.values.tolist() == [0.1, 0.1, 0.2, 0.3, 0.5, 0.4]
    assert found.responses.to_pylist()[:2] == [f"answer at {scores[n].at} 0.1" for n in (3, 1)]
    assert [answer for answer, _ in found.worst()] == [found.responses[n].as_py() for n in (0, 1, 2, 3, 5)]


@given(st.lists(st.lists(st.integers(0, 4), max_size=8), min_size=1, max_size=30), st.integers(0, 30))
def test_what_is_forgotten_would_never_be_among_the_worst(batches: list[list[int]], since: int) -> None:
    """From any batch on the worst five are the same whether the others were kept or not."""
    kept = every = WorstByBatch.empty()
    for number, values in enumerate(batches):
        at = np.array([number * 100 + n for n in range(len(values))], dtype=np.int64)
        ids = pa.array([f"{number} {n}" for n in range(len(values))], pa.string()).dictionary_encode()
        found = worst_of_each(np.full(len(values), number, dtype=np.int64), at, np.array(values, dtype=float), ids)
        every, kept = every.followed_by(found), kept.followed_by(found).of_latest()
    assert kept.where(kept.ends >= since).worst() == every.where(every.ends >= since).worst()
