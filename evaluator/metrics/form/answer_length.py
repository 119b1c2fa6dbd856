"""The form of an answer: how long it is, and whether it is there at all."""

from __future__ import annotations

import math
import unicodedata
from dataclasses import dataclass, field
from typing import Literal

import pandas as pd

from evaluator.metrics.cells import text
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.language.words import words
from evaluator.metrics.metric import Score, Scores, score_rows
from evaluator.metrics.options import option

LengthUnit = Literal["words", "characters"]


@dataclass(frozen=True)
class AnswerLength:
    """Number of words or characters of the answer, 0 or more; neither end is better.

    A word is a run of letters and digits; of scripts without spaces see `split_unspaced`. Characters are those of
    the answer without its outer white space.
    """

    unit: LengthUnit = field(
        default="words", metadata=option("`words`, or `characters` (metric name `answer_length_characters`)")
    )

    version = "1"
    needs = ("answer",)
    judge = "lexical"
    about = Description(
        asks="How long is the answer?",
        formula="number of words: runs of letters and digits between spaces and marks, or of characters without outer "
        "white space; Chinese counts characters, other scripts without spaces overlapping "
        "pairs of letters",
        source="dialwatch",
        odd_cases=OddCases(empty_answer="0 with `no_answer`, null with it for a missing cell"),
        high=math.inf,
        direction="none",
    )

    @property
    def name(self) -> str:
        """Name in the registry, with the unit where that is not words."""
        return "answer_length" if self.unit == "words" else f"answer_length_{self.unit}"

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row of `answer`."""
        return score_rows(self, frame, self._score_row)

    def _score_row(self, cell: object) -> Score:
        answer = text(cell, "answer")
        if answer is None:
            return Score(None, "no_answer")
        length = len(words(answer)) if self.unit == "words" else len(answer.strip())
        return Score(float(length), None if answer.strip() else "no_answer")


@dataclass(frozen=True)
class EmptyAnswer:
    """1.0 if the answer has nothing that can be seen, else 0.0; lower is better."""

    name = "empty_answer"
    version = "1"
    needs = ("answer",)
    judge = "lexical"
    about = Description(
        asks="Was there no answer?",
        formula="1 if the answer has no visible character (only white space, control and format characters), else 0",
        source="dialwatch",
        odd_cases=OddCases(empty_answer="1.0; null with `no_answer` for a missing cell"),
        direction="down",
        binary=True,
    )

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row of `answer`."""
        return score_rows(self, frame, _is_empty)


def _is_empty(cell: object) -> Score:
    answer = text(cell, "answer")
    if answer is None:
        return Score(None, "no_answer")
    # Unicode's categories C and Z: control, format, surrogate and unassigned characters, and all spaces.
    return Score(float(all(unicodedata.category(character)[0] in "CZ" for character in answer)))
