"""Pairs of answers to the same questions, and the words by which two texts differ."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.pages.compare.pairs import MOST_CHARACTERS, ComparedAnswer, different_words, pairs_of, question_key

words = st.lists(st.sampled_from(["a", "b", "30", "days", ".", "Ü"]), max_size=8).map(" ".join)


@given(words, words)
def test_what_is_not_marked_is_the_same_on_both_sides(one: str, other: str) -> None:
    old, new = different_words(one, other)

    def rest(text: str, places: list[tuple[int, int]]) -> list[str]:
        for begin, end in reversed(places):
            text = text[:begin] + " " * (end - begin) + text[end:]
        return text.split()

    assert rest(one, old) == rest(other, new)
    assert different_words(one, one) == ([], [])


def test_different_words_of_usual_texts_are_readable() -> None:
    """Words and runs of signs, each in one piece; white space is no difference."""
    one = "You get 30 days of leave per year... (always)"
    other = "You get  25 days\nof leave each year!! (always)"
    found = different_words(one, other)
    shown = [[text[begin:end] for begin, end in places] for text, places in zip((one, other), found, strict=True)]
    assert shown == [["30", "per", "..."], ["25", "each", "!!"]]


@pytest.mark.parametrize("pattern", [("!?", "?!!"), ("! ? ", "? ! ! "), ("a b ", "b a a ")])
def test_texts_of_two_signs_by_turns_are_compared_at_once(pattern: tuple[str, str]) -> None:
    """Whoever asks the application chooses its answers: none may hold a page up for minutes."""
    one, other = (part * (MOST_CHARACTERS // len(part)) for part in pattern)
    began = time.process_time()
    different_words(one, other)
    assert time.process_time() - began < 0.5


def answer(value: float, name: str = "") -> ComparedAnswer:
    return ComparedAnswer(value, question=name, answer=name, date=None)


def test_the_interval_is_that_of_95_percent_around_the_mean_of_the_differences() -> None:
    """Mean 0.1, standard deviation 0.1 * sqrt(2), of two pairs: 0.1 plus or minus 1.96 * 0.1."""
    found = pairs_of(
        [("a", answer(0.5)), ("b", answer(0.5))], [("a", answer(0.7)), ("b", answer(0.5))], lower_is_better=False
    )
    assert found is not None
    assert (found.lower, found.mean_difference, found.upper) == pytest.approx((-0.096, 0.1, 0.296))
    assert (found.before_mean, found.after_mean) == pytest.approx((0.5, 0.6))
    assert (found.better, found.worse, found.same, found.unpaired) == (1, 0, 1, 0)


def test_an_interval_is_no_wider_than_values_can_differ_and_is_not_said_of_few_pairs() -> None:
    """A share can fall by 1 at most; under ten pairs no interval means anything."""
    before = [(f"q{n}", answer(1.0)) for n in range(10)]
    after = [(f"q{n}", answer(float(n == 0))) for n in range(10)]
    found = pairs_of(before, after, lower_is_better=False, largest=1.0)
    assert found is not None
    assert (found.lower, found.is_enough) == (-1.0, True)
    assert found.upper < -0.5
    few = pairs_of(before[:9], after[:9], lower_is_better=False, largest=1.0)
    assert few is not None
    assert not few.is_enough


def test_worse_and_better_have_a_sign_test() -> None:
    """Six of six differ in one direction: 2 / 64; what is the same is no evidence."""
    before = [(f"q{n}", answer(0.5)) for n in range(8)]
    after = [(f"q{n}", answer(0.4 if n < 6 else 0.5)) for n in range(8)]
    found = pairs_of(before, after, lower_is_better=False)
    assert found is not None
    assert (found.worse, found.same, found.probability) == (6, 2, 2 / 64)


def test_one_pair_has_no_limits_and_no_pair_is_no_comparison() -> None:
    one = pairs_of(
        [("a", answer(0.5)), ("b", answer(1.0))], [("a", answer(0.7)), ("c", answer(1.0))], lower_is_better=True
    )
    assert one is not None
    assert (one.lower, one.upper, one.unpaired) == (-float("inf"), float("inf"), 2)
    assert one.mean_difference == pytest.approx(-0.2)
    assert pairs_of([("a", answer(0.5))], [("b", answer(0.5))], lower_is_better=False) is None


def test_of_several_answers_the_one_nearest_to_their_mean_is_shown() -> None:
    several = [("a", answer(0.0, "low")), ("a", answer(0.5, "near")), ("a", answer(1.0, "high"))]
    found = pairs_of(several, [("a", answer(0.5, "new"))], lower_is_better=False)
    assert found is not None
    assert [(pair.before.answer, pair.after.answer, pair.difference) for pair in found.pairs] == [("near", "new", 0.0)]


@pytest.mark.parametrize(("lower_is_better", "shown"), [(False, ("near", "low")), (True, ("near", "near"))])
def test_where_a_question_got_worse_the_worst_of_its_later_answers_is_shown(
    lower_is_better: bool, shown: tuple[str, str]
) -> None:
    """Most of them may be as good as before."""
    old = [("a", answer(0.9, "near")), ("a", answer(1.0, "high"))]
    new = [("a", answer(0.0, "low")), ("a", answer(0.8, "near")), ("a", answer(0.9, "high"))]
    found = pairs_of(old, new, lower_is_better=lower_is_better)
    assert found is not None
    assert [(pair.before.answer, pair.after.answer) for pair in found.pairs] == [shown]


def test_questions_are_paired_whatever_their_spelling_and_those_without_a_word_are_not() -> None:
    assert question_key(" WHERE - is it? ") == question_key("where is it") != question_key("who is it")
    assert question_key(None) == question_key("?!") == ""
