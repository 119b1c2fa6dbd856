"""Base of the metrics that compare an answer with reference answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluator.metrics.cells import text, texts
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.metric import Score, ScoredBy, Scores, score_rows
from lake.spec.vocabulary import UnscoredReason

if TYPE_CHECKING:
    import pandas as pd

Compare = Callable[[str, Sequence[str]], float]
"""From an answer and its references, of which there is at least one, to a value."""


def odd_cases(empty_answer: str = "0.0 with `no_answer`, null with it for a missing cell") -> OddCases:
    """What metrics against references give in the odd cases."""
    return OddCases(empty_answer=empty_answer, no_reference="null with `no_ground_truth`")


@dataclass(frozen=True)
class ReferenceMetric(ABC):
    """A number of an answer and its reference answers.

    No references are null with `no_ground_truth`, a missing answer is null with `no_answer`. An empty answer has a
    value, mostly 0.0, and the remark `no_answer`.
    """

    needs = ("answer", "reference_answers")
    judge = ScoredBy.LEXICAL

    @property
    @abstractmethod
    def name(self) -> str:
        """Name in the registry."""

    @property
    @abstractmethod
    def version(self) -> str:
        """Version of the arithmetic, with the options that change it."""

    @property
    @abstractmethod
    def about(self) -> Description:
        """What the documentation says of it."""

    @abstractmethod
    def comparer(self) -> Compare:
        """Give the comparison; it may remember texts, so use one a frame."""

    def references(self, given: Sequence[str]) -> Sequence[str]:
        """Give the references that an answer can be compared with."""
        return given

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row of `answer` and `reference_answers`."""
        compare = self.comparer()
        return score_rows(self, frame, lambda answer, references: self._score_row(answer, references, compare))

    def _score_row(self, answer_cell: object, references_cell: object, compare: Compare) -> Score:
        answer, given = text(answer_cell, "answer"), texts(references_cell, "reference_answers")
        references = self.references(given or [])
        if not references:
            return Score(None, UnscoredReason.NO_GROUND_TRUTH)
        if answer is None:
            return Score(None, UnscoredReason.NO_ANSWER)
        return Score(compare(answer, references), None if answer.strip() else UnscoredReason.NO_ANSWER)
