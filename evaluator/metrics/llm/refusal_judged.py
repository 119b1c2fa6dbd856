"""Refusal by a judge: does the answer decline, in whichever words?"""

from __future__ import annotations

from dataclasses import dataclass, replace

from evaluator.metrics.cells import text
from evaluator.metrics.description import Description
from evaluator.metrics.form.refusal import refusal_in
from evaluator.metrics.llm.claim_metric import ClaimMetric, ClaimSpecification, unanswered_reason
from evaluator.metrics.llm.claims import RowTexts
from evaluator.metrics.llm.verdicts import Judged, Verdict, aspect_critique
from evaluator.metrics.scores import Metric, Score
from lake.spec.vocabulary import UnscoredReason


def _refuses(verdict: Verdict) -> Judged:
    return aspect_critique([verdict])


_SPECIFICATION = ClaimSpecification(
    "refusal_judged",
    _refuses,
    of=("answer.refusal",),
    asks="Does the answer refuse, or say that the information is missing, in whichever words?",
    formula="1 if the judge says so, or the lexicon of `refusal` of each sentence of a short answer, else 0",
    source="aidial-rag-eval 0.7.0 (answer_refusal), where the judge reads the first three sentences",
    reads=(),
    direction="none",
    binary=True,
)


@dataclass(frozen=True)
class RefusalJudged(ClaimMetric):
    """1.0 if the answer declines or says that it lacks the information, else 0.0; no end is better.

    An answer of at most three sentences that all refuse by the lexicon of `refusal` is 1.0 without a call.
    """

    specification: ClaimSpecification = _SPECIFICATION

    @property
    def about(self) -> Description:
        """What the documentation says of it."""
        about = super().about
        empty_answer = "0.0 with `no_answer`, null with it for a missing cell"
        return replace(about, odd_cases=replace(about.odd_cases, empty_answer=empty_answer))

    def read_row(self, *cells: object) -> RowTexts | Score:
        """Cut the texts of a row, unless it is plain whether the answer refuses."""
        answer = text(cells[2], "answer")
        if answer is None:
            return Score(None, UnscoredReason.NO_ANSWER)
        reason = unanswered_reason(answer)
        if reason == UnscoredReason.NO_ANSWER:
            return Score(0.0, reason)
        return Score(1.0, None, refusal_in(answer) or {}) if reason else super().read_row(*cells)


METRICS: tuple[Metric, ...] = (RefusalJudged(),)
