import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.metrics.llm.verdicts import Judged, answer_relevancy

NUMBERS = st.floats(-9, 9).filter(lambda number: number == 0 or abs(number) > 1e-3)
VECTORS = st.lists(st.lists(NUMBERS, min_size=3, max_size=3).filter(any), min_size=2, max_size=5)
COMMITTED = [False, False, False]
THREE = [[1, 0], [0, 1], [1, 1]]


def test_worked_example() -> None:
    """Cosines 1, 0 and .7071 have the mean .569."""
    assert answer_relevancy([1, 0], THREE, COMMITTED).value == pytest.approx(0.5690355937288492, abs=1e-12)


def test_a_question_that_is_the_same_is_no_more_than_one() -> None:
    """Rounding does not lift the value out of its range."""
    assert answer_relevancy([0.1, 0.6], [[0.1, 0.6]], [False]) == Judged.known(1.0)


def test_only_an_answer_that_all_call_evasive_is_zero() -> None:
    """One reply that finds the answer committed is enough."""
    assert answer_relevancy([1, 0], THREE, [True, True, True]) == Judged.known(0.0)
    assert answer_relevancy([1, 0], THREE, [True, True, False]) == answer_relevancy([1, 0], THREE, COMMITTED)


def test_no_question_came_back() -> None:
    """The judge failed, whatever it says of the answer."""
    failed = Judged(None, "judge_failed", -1.0, 1.0)
    assert answer_relevancy([1, 0], [], []) == failed
    assert answer_relevancy([1, 0], [None, None], [True, True]) == failed


def test_a_missing_question_or_verdict_makes_bounds() -> None:
    """A question that did not come back is as near as any; an open verdict matters where no other is a no."""
    found = answer_relevancy([1, 0], [[1, 0], None], [False, None])
    assert (found.value, found.low, found.high) == (None, 0.0, 1.0)
    open_verdict = answer_relevancy([1, 0], [[1, 0], [1, 0]], [True, None])
    assert (open_verdict.value, open_verdict.low, open_verdict.high) == (None, 0.0, 1.0)
    assert answer_relevancy([1, 0], [[1, 0], None], [True, True]) == Judged.known(0.0)


@pytest.mark.parametrize("vector", [[0, 0], [math.nan, 1], [math.inf, 1], [1e300, 1e300], [1e-300, 0]])
def test_a_vector_without_a_direction_is_null(vector: list[float]) -> None:
    """It has no cosine with anything, on either side."""
    assert answer_relevancy(vector, [[1e10, 1e10]], [False]) == Judged.nothing("zero_vector")
    assert answer_relevancy([1e10, 1e10], [[1, 1], vector], [False, True]) == Judged.nothing("zero_vector")


def test_vectors_and_verdicts_that_do_not_fit_are_an_error() -> None:
    """Two encoders were mixed, or verdicts lost."""
    with pytest.raises(ValueError, match="vector has 3 numbers, the question's 2"):
        answer_relevancy([1, 0], [[1, 0, 0]], [False])
    with pytest.raises(ValueError, match="2 questions were made up, but 1 have"):
        answer_relevancy([1, 0], [[1, 0], None], [False])


@given(VECTORS, st.randoms(use_true_random=False))
def test_neither_length_nor_order_makes_a_difference(vectors: list[list[float]], random: Any) -> None:
    """A cosine is of directions, a mean of no order; the value is -1 to 1, and 1 of the question itself."""
    question, *generated = vectors
    committed = [False] * len(generated)
    value = answer_relevancy(question, generated, committed).value
    longer = [[number * 3 for number in vector] for vector in random.sample(generated, len(generated))]
    assert value is not None
    assert -1 <= value <= 1
    assert answer_relevancy(question, longer, committed).value == pytest.approx(value, abs=1e-9)
    assert answer_relevancy(question, [question], [False]).value == pytest.approx(1, abs=1e-12)


@given(VECTORS, st.data())
def test_the_bounds_enclose_the_value(vectors: list[list[float]], data: st.DataObject) -> None:
    """Whatever the missing questions and verdicts are."""
    question, *generated = vectors
    size = len(generated)
    evasive = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    lost = data.draw(st.lists(st.booleans(), min_size=2 * size, max_size=2 * size))
    whole = answer_relevancy(question, generated, evasive).value
    found = answer_relevancy(
        question,
        [None if gone else vector for vector, gone in zip(generated, lost[:size], strict=True)],
        [None if gone else verdict for verdict, gone in zip(evasive, lost[size:], strict=True)],
    )
    assert whole is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low - 1e-12 <= whole <= found.high + 1e-12
