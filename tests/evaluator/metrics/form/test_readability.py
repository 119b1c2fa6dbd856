"""Grades of readability, and what is counted for them."""

from __future__ import annotations

from typing import Any

import orjson
import pandas as pd
import pytest

from evaluator.metrics import compute
from evaluator.metrics.form import readability

SIMPLE = "The cat sat on the mat. It was a very sunny day, and the cat did not want to move at all."
HARD = (
    "Employees who work more than twenty hours a week are entitled to twenty-five days of paid vacation. Managers "
    "approve requests within five working days."
)
GERMAN = "Der Pass ist im Winter wegen des Schnees geschlossen, und das ist auch nicht zu ändern."


def scored(*answers: Any) -> pd.DataFrame:
    frame = pd.DataFrame({"answer": pd.Series(answers, dtype=object)})
    return compute(frame, ["readability", "readability_ari"], details=True)


def counts(answer: str) -> dict[str, int]:
    row = scored(answer).iloc[0]
    found: dict[str, int] = orjson.loads(row.readability_details) | orjson.loads(row.readability_ari_details)
    return found


@pytest.mark.parametrize(
    ("answer", "sentences", "words", "syllables"),
    [
        (SIMPLE, 2, 22, 23),
        (HARD, 2, 24, 38),
        (
            "The Col de l'Iseran is the highest paved pass of the Alps. It is closed in winter because of snow.",
            2,
            20,
            25,
        ),
        (
            "I think that the answer depends on the documents which were retrieved, and on the model that wrote it.",
            1,
            19,
            25,
        ),
    ],
)
def test_what_is_counted_is_what_textstat_counts(answer: str, sentences: int, words: int, syllables: int) -> None:
    """The numbers are those of textstat 0.7.3, which counts syllables by pyphen, too."""
    found = counts(answer)
    assert (found["sentences"], found["words"], found["syllables"]) == (sentences, words, syllables)


def test_the_formulas_are_those_of_their_papers() -> None:
    """By hand, from the numbers of sentences, words, syllables and characters."""
    row = scored(HARD).iloc[0]
    assert counts(HARD)["characters"] == 125
    assert row.readability == pytest.approx(0.39 * 24 / 2 + 11.8 * 38 / 24 - 15.59)
    assert row.readability_ari == pytest.approx(4.71 * 125 / 24 + 0.5 * 24 / 2 - 21.43)
    simple = scored(SIMPLE).iloc[0]
    assert simple.readability < row.readability
    assert simple.readability_ari < row.readability_ari


def test_code_addresses_and_marks_are_no_words() -> None:
    """An answer in Markdown reads as its prose does."""
    marked = f"## Leave\n\n- {HARD} [1] See https://example.com/a/very/long/address\n\n```\nx = [1, 2]\n```"
    plain = counts(f"Leave. {HARD} See")
    assert counts(marked) == plain


@pytest.mark.parametrize(
    ("answer", "reason", "details"),
    [
        (None, "no_answer", None),
        (" \n", "no_answer", None),
        ("Yes.", "too_short", None),
        ("42 + 1 = 43", "too_short", None),
        (GERMAN, "unknown_language", '{"language":"de"}'),
        ("xyz abc uvw rst", "unknown_language", None),
        (3, "unreadable_answer", None),
    ],
)
def test_without_english_there_is_no_grade(answer: Any, reason: str, details: str | None) -> None:
    """Both formulas were fitted to English; the details name the language where it is known."""
    row = scored(answer).iloc[0]
    assert (row.readability_reason, row.readability_ari_reason) == (reason, reason)
    assert pd.isna(row.readability)
    assert pd.isna(row.readability_ari)
    assert row.readability_details == details


@pytest.mark.parametrize(
    ("word", "count"),
    [("cat", 1), ("documents", 3), ("don't", 1), ("twenty-five", 3), ("3.14", 1), ("gpt4o", 2)],
)
def test_a_word_has_a_syllable_at_least(word: str, count: int) -> None:
    """A compound has those of its parts."""
    assert readability.syllables(word) == count


def test_a_megabyte_without_a_space_is_read_at_its_beginning() -> None:
    """No English word has more than 40 letters."""
    giant = "information" * 100_000
    assert readability.syllables(giant) == readability.syllables(giant[:40]) < 20


def test_what_is_kept_of_words_is_bounded() -> None:
    """pyphen itself would keep every word for ever."""
    scored(HARD)
    assert readability.syllables.cache_info().maxsize is not None
    assert not readability._hyphenation().hd.cache
