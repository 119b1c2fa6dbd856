"""Decorator of the metrics that compare an answer with reference answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from evaluator.metrics.cells import text, texts
from evaluator.metrics.decorator import Decorator, FunctionMetric, made_metric
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.scores import Score, Scores, score_rows
from lake.spec.vocabulary import UnscoredReason

if TYPE_CHECKING:
    import pandas as pd

Compare = Callable[[str, Sequence[str]], float]
"""From an answer and its references, of which there is at least one, to a value."""


def odd_cases(empty_answer: str = "0.0 with `no_answer`, null with it for a missing cell") -> OddCases:
    """What metrics against references give in the odd cases."""
    return OddCases(empty_answer=empty_answer, no_reference="null with `no_ground_truth`")


@dataclass(frozen=True)
class ReferenceMetric(FunctionMetric):
    """A metric whose function gives a comparison of an answer with its references; it is asked for one a frame.

    So a comparison may remember texts. No references are null with `no_ground_truth`, a missing answer is null with
    `no_answer`. An empty answer has a value, mostly 0.0, and the remark `no_answer`. Where `keeps_empty` is false, an
    empty reference is none.
    """

    keeps_empty: ClassVar[bool] = True
    needs = ("answer", "reference_answers")

    def comparer(self) -> Compare:
        """Return the comparison."""
        compare: Compare = self.bound()
        return compare

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row of `answer` and `reference_answers`."""
        compare = self.comparer()
        return score_rows(self, frame, lambda answer, references: self._score_row(answer, references, compare))

    def _score_row(self, answer_cell: object, references_cell: object, compare: Compare) -> Score:
        answer, references = text(answer_cell, "answer"), texts(references_cell, "reference_answers") or []
        if not self.keeps_empty:
            references = [reference for reference in references if reference]
        if not references:
            return Score(None, UnscoredReason.NO_GROUND_TRUTH)
        if answer is None:
            return Score(None, UnscoredReason.NO_ANSWER)
        return Score(compare(answer, references), None if answer.strip() else UnscoredReason.NO_ANSWER)


def reference_metric(about: Description | Callable[[Any], Description], **more: Any) -> Decorator:
    """Make a metric of a function that gives a comparison; see `ReferenceMetric`, and `made_metric` for the rest."""
    return made_metric(ReferenceMetric, about, **more)
