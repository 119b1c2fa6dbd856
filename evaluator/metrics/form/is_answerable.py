"""Answerability: does the answer decline exactly where the reference answer says that there is none?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluator.metrics.cells import text, texts
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.form.refusal import refusal_in
from evaluator.metrics.metric import Metric, Score, ScoredBy, Scores, score_rows
from lake.spec.vocabulary import UnscoredReason

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class IsAnswerable:
    """1.0 if the answer declines where no reference answers, or answers where one does; else 0.0, higher is better.

    Both are read by the lexicon of `refusal`: a question has no answer where every reference answer declines, as in
    "The documents do not say." Blank reference answers are left out, and none other is null with `no_ground_truth`. An
    empty answer neither answers nor declines, and is 0.0 with `no_answer`.

    The details have both sides: `{"is_answerable": False, "declines": True}`.
    """

    name = "is_answerable"
    version = "1"
    needs = ("answer", "reference_answers")
    judge = ScoredBy.LEXICAL
    about = Description(
        asks="Does the answer decline exactly where there is no answer?",
        formula="1 if the answer declines and all reference answers do, or neither does, else 0; by the lexicon of "
        "`refusal`",
        source="unitxt (`is_answerable` of the RAG tasks, `is_answerable_label` of their references)",
        odd_cases=OddCases(
            empty_answer="0.0 with `no_answer`, null with it for a missing cell",
            no_reference="null with `no_ground_truth`",
        ),
        binary=True,
        disagreement="in unitxt a field of the system's reply and one of the data set say whether a question can be "
        "answered; a log has no such field, so here it is read from what they write.",
    )

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row of `answer` and `reference_answers`."""
        return score_rows(self, frame, _score_row)


def _score_row(answer_cell: object, references_cell: object) -> Score:
    answer, given = text(answer_cell, "answer"), texts(references_cell, "reference_answers")
    references = [reference for reference in given or [] if reference.strip()]
    if not references:
        return Score(None, UnscoredReason.NO_GROUND_TRUTH)
    if answer is None:
        return Score(None, UnscoredReason.NO_ANSWER)
    if not answer.strip():
        return Score(0.0, UnscoredReason.NO_ANSWER)
    is_answerable = any(refusal_in(reference) is None for reference in references)
    declines = refusal_in(answer) is not None
    return Score(float(declines != is_answerable), None, {"is_answerable": is_answerable, "declines": declines})


METRICS: tuple[Metric, ...] = (IsAnswerable(),)
