"""Context present: did anything come back that an answer can stand on?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluator.metrics.cells import texts
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.metric import Metric, Score, ScoredBy, Scores, score_rows

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ContextPresent:
    """1.0 if at least one context came back, of text or an image, else 0.0, also where the cell is missing."""

    name = "context_present"
    version = "2"
    needs = ("contexts",)
    judge = ScoredBy.LEXICAL
    about = Description(
        asks="Did anything come back that an answer can stand on?",
        formula="1 if there is a context, also one without text, else 0",
        source="dialwatch",
        odd_cases=OddCases(no_contexts="0.0, for a missing cell too", duplicate_contexts="no difference"),
        binary=True,
    )

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row of `contexts`."""
        return score_rows(self, frame, _score_row)


def _score_row(cell: object) -> Score:
    return Score(float(bool(texts(cell, "contexts"))))


METRICS: tuple[Metric, ...] = (ContextPresent(),)
