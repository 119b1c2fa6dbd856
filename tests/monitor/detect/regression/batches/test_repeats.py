"""Questions that are asked again in a day: how much they count, in whatever portions their scores come."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.detect.regression.arrays import microseconds
from monitor.detect.regression.batches.batches import Batches, ScoreColumns
from monitor.detect.regression.observations import Observations

START = datetime(2026, 11, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Asked:
    hour: int
    question: str
    value: float
    chat: str | None = None


def rows(asked: Sequence[Asked]) -> ScoreColumns:
    names = [f"{one.chat or number}-{one.hour}" for number, one in enumerate(asked)]
    return ScoreColumns(
        np.array([microseconds(START + one.hour * HOUR) + number for number, one in enumerate(asked)]),
        pa.array(names).dictionary_encode(),
        pa.array([one.question for one in asked]).dictionary_encode(),
        pa.array([f"answer {number}" for number in range(len(asked))]).dictionary_encode(),
        np.array([one.value for one in asked]),
        np.ones(len(asked)),
        np.zeros(len(asked), dtype=np.intp),
        ((),),
    )


def observed(asked: Sequence[Asked], hours: Sequence[int] = ()) -> list[Observations]:
    """Their observations, with the batches closed after each of these hours, and all at the end."""
    batches = Batches(HOUR, timedelta(0))
    batches.add(rows(asked))
    closed = [batches.close(START + hour * HOUR) for hour in (*hours, 10_000)]
    return [one.observations for one in closed if one is not None]


def weights(asked: Sequence[Asked]) -> list[float]:
    (found,) = observed(asked)
    return [round(weight, 9) for weight in found.weights.tolist()]


def test_a_question_whose_answer_is_kept_counts_ever_less_until_the_next_day() -> None:
    """By the hours in which it was asked, whoever asked, and in however many chats; days are those of UTC."""
    hours = [0, 1, 5, 23, 24, 25, 48]
    asked = [Asked(hour, "same", 1.0, chat) for hour in hours for chat in ("a", "b")]
    assert weights(asked) == [round(1 / k, 9) for k in (1, 2, 3, 4, 1, 2, 1)]


def test_a_batch_shorter_than_an_hour_is_a_part_of_one() -> None:
    """Four quarters of an hour in which a question was asked make it count as one hour does, not as four."""
    batches = Batches(HOUR // 4, timedelta(0))
    asked = [Asked(0, "same", 1.0), Asked(0, "same", 1.0), Asked(1, "same", 1.0)]
    given = rows(asked)
    given.at[1] += microseconds(START + HOUR // 4) - microseconds(START)
    batches.add(given)
    closed = batches.close(START + 10 * HOUR)
    assert closed is not None
    assert closed.observations.weights.tolist() == pytest.approx([1, 1 / 1.25, 1 / 1.5])


def test_other_questions_count_whole() -> None:
    assert weights([Asked(hour, f"{hour}", hour % 2) for hour in range(30)]) == [1.0] * 30


def hourly(generator: np.random.Generator, days: int, kept: float) -> list[Asked]:
    """Ten questions, each asked every hour; the share of them whose answer is kept for the day."""
    asked = []
    for day in range(days):
        of_day = generator.random(10) < 0.7
        for hour in range(24):
            right = np.where(np.arange(10) < 10 * kept, of_day, generator.random(10) < 0.7)
            asked += [Asked(day * 24 + hour, f"question {n}", float(right[n])) for n in range(10)]
    return asked


@pytest.mark.parametrize(("kept", "correlation"), [(0.0, 0.0), (0.5, 0.5), (1.0, 1.0)])
def test_how_much_a_repeat_counts_follows_from_how_alike_the_scores_were(kept: float, correlation: float) -> None:
    """Answers that are made anew count nearly whole after some days, kept ones do not."""
    of_last = weights(hourly(np.random.default_rng(3), 12, kept))[-10:]
    found = (1 / of_last[0] - 1) / 23
    assert of_last == [of_last[0]] * 10
    assert found == pytest.approx(correlation, abs=0.08)


def test_an_application_that_begins_to_keep_answers_is_seen_in_weeks() -> None:
    generator = np.random.default_rng(5)
    fresh = hourly(generator, 60, 0.0)
    kept = [Asked(60 * 24 + one.hour, one.question, one.value) for one in hourly(generator, 60, 1.0)]
    before, after = (1 / weights(asked)[-1] - 1 for asked in (fresh, fresh + kept))
    assert before < 0.05 * 23
    assert after > 0.7 * 23


def test_no_weight_depends_on_a_score_that_it_weighs() -> None:
    asked = hourly(np.random.default_rng(7), 3, 0.3)
    other = [one if one.hour < 70 else Asked(one.hour, one.question, 1.0 - one.value) for one in asked]
    until = [sum(one.hour <= hour for one in asked) for hour in (70, 71)]
    assert weights(asked)[: until[0]] == weights(other)[: until[0]]
    assert weights(asked)[: until[1]] != weights(other)[: until[1]]


def test_in_a_conversation_the_new_question_counts_more() -> None:
    """The second time the known one counts half, so the mean is nearer to that of the new one."""
    asked = [Asked(0, "known", 1.0, "a"), Asked(1, "known", 1.0, "b"), Asked(1, "new", 0.0, "b")]
    (found,) = observed(asked)
    assert found.values.tolist() == pytest.approx([1.0, 1 / 3])
    assert found.weights.tolist() == pytest.approx([1.0, 0.75])


def test_after_ten_thousand_questions_of_a_day_new_ones_are_not_known_again() -> None:
    """Those of the batch in which the number is reached still are; the next day begins anew."""
    first = [Asked(0, f"early {number}", 1.0) for number in range(2_000)]
    again = [Asked(hour, name, 1.0) for hour in (1, 2) for name in ("early 0", "late")]
    next_day = [Asked(hour, "late", 1.0) for hour in (24, 25)]
    *of_day, tomorrow, once_more = weights([*first, *again, *next_day])[2_000:]
    assert sorted(of_day) == [round(1 / 3, 9), 0.5, 1.0, 1.0]
    assert (tomorrow, once_more) == (1.0, 0.5)
    assert weights([*first[:-1], *again])[-1] == 0.5


ASKED = st.builds(
    Asked, st.integers(0, 60), st.sampled_from("abcde"), st.sampled_from([0.0, 0.1, 0.7, 1.0]), st.sampled_from("xyz")
)


@given(st.lists(ASKED, min_size=1, max_size=60), st.sets(st.integers(1, 61)))
def test_the_portions_in_which_batches_are_closed_do_not_matter(asked: list[Asked], hours: set[int]) -> None:
    at_once, parts = observed(asked), observed(asked, sorted(hours))
    for name in ("at", "values", "weights"):
        together = np.concatenate([getattr(part, name) for part in parts])
        assert together.tolist() == getattr(at_once[0], name).tolist()
