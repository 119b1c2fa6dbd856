"""The answer as a whole, by a judge: does it address the question, does it refuse?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from evaluator.metrics.cells import text
from evaluator.metrics.description import Description
from evaluator.metrics.form.refusal import refusal_in
from evaluator.metrics.llm.claim_metric import ClaimMetric, odd_cases, silence_of
from evaluator.metrics.llm.claims import Findings, Row
from evaluator.metrics.llm.verdicts import Judged, aspect_critique, supported_share
from evaluator.metrics.metric import Score


@dataclass(frozen=True)
class AnswerRelevanceSentences(ClaimMetric):
    """Share of the answer's sentences that help to answer the question, 0 to 1, higher is better.

    It says nothing about truth. The details have the numbers of the sentences that do, from 1, and how many there are.
    """

    name = "answer_relevance_sentences"
    reads_contexts = False
    about = Description(
        asks="How much of the answer addresses the question?",
        formula="sentences of the answer that help to answer the question / sentences of the answer",
        source="deepeval 4.3 (AnswerRelevancy), with sentences for its statements; TruLens (answer relevance)",
        odd_cases=odd_cases(contexts=False),
        disagreement="deepeval says 1 where there are no statements; TruLens gives one grade from 0 to 3. Questions "
        "made up from the answer are another metric: `answer_relevancy`.",
        aliases=("deepeval_answer_relevancy", "trulens_answer_relevance"),
    )

    def judged(self, found: Findings) -> Judged:
        """Give the share."""
        return supported_share(found.answer.addresses)

    def details(self, found: Findings) -> dict[str, Any]:
        """Give which sentences address the question."""
        addressing = [number for number, addresses in enumerate(found.answer.addresses, 1) if addresses]
        return {"addressing": addressing, "sentences": len(found.row.answer)}


@dataclass(frozen=True)
class RefusalJudged(ClaimMetric):
    """1.0 if the answer declines or says that it lacks the information, else 0.0; no end is better.

    An answer of at most three sentences that refuses by the lexicon of `refusal` is 1.0 without a call.
    """

    name = "refusal_judged"
    reads_contexts = False
    reads_answer = False
    about = Description(
        asks="Does the answer refuse, or say that the information is missing, in whichever words?",
        formula="1 if the judge says so, or the lexicon of `refusal` of a short answer, else 0",
        source="aidial-rag-eval 0.7.0 (answer_refusal), where the judge reads the first three sentences",
        odd_cases=replace(
            odd_cases(contexts=False), empty_answer="0.0 with `no_answer`, null with it for a missing cell"
        ),
        direction="none",
        binary=True,
    )

    def read_row(self, *cells: object) -> Row | Score:
        """Cut the texts of a row, unless it is plain whether the answer refuses."""
        answer = text(cells[2], "answer")
        if answer is None:
            return Score(None, "no_answer")
        silence = silence_of(answer)
        if silence == "no_answer":
            return Score(0.0, silence)
        return Score(1.0, None, refusal_in(answer) or {}) if silence else super().read_row(*cells)

    def judged(self, found: Findings) -> Judged:
        """Give the judge's verdict."""
        return aspect_critique([found.answer.refusal])
