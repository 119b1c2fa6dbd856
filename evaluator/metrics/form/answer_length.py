"""Answer length: number of words or characters of the answer."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from evaluator.metrics.cells import text
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.language.words import words
from evaluator.metrics.metric import Metric, Score, ScoredBy, Scores, score_rows
from evaluator.metrics.options import option
from lake.spec.vocabulary import UnscoredReason

if TYPE_CHECKING:
    import pandas as pd

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
    judge = ScoredBy.LEXICAL
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
            return Score(None, UnscoredReason.NO_ANSWER)
        length = len(words(answer)) if self.unit == "words" else len(answer.strip())
        return Score(float(length), None if answer.strip() else UnscoredReason.NO_ANSWER)


METRICS: tuple[Metric, ...] = (
    AnswerLength(),
    AnswerLength("characters"),
)
