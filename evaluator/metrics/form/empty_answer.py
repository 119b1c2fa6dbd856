"""Empty answer: is there anything to be seen in the answer?"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluator.metrics.cells import text
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.metric import Metric, Score, ScoredBy, Scores, score_rows
from lake.spec.vocabulary import UnscoredReason

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class EmptyAnswer:
    """1.0 if the answer has nothing that can be seen, else 0.0; lower is better."""

    name = "empty_answer"
    version = "1"
    needs = ("answer",)
    judge = ScoredBy.LEXICAL
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
        return Score(None, UnscoredReason.NO_ANSWER)
    # Unicode's categories C and Z: control, format, surrogate and unassigned characters, and all spaces.
    return Score(float(all(unicodedata.category(character)[0] in "CZ" for character in answer)))


METRICS: tuple[Metric, ...] = (EmptyAnswer(),)
