"""Claims of the answer: does what was retrieved support them, and the reference answer?"""

from __future__ import annotations

from dataclasses import dataclass

from evaluator.metrics.description import Description
from evaluator.metrics.llm.claim_metric import ClaimMetric, odd_cases
from evaluator.metrics.llm.claims import Findings
from evaluator.metrics.llm.verdicts import (
    Judged,
    claim_numbers,
    factual_f_beta_of_verdicts,
    macro_share,
    supported_share,
)

_RAGCHECKER = "RAGChecker 0.1.9, arXiv 2408.08067"


@dataclass(frozen=True)
class FaithfulnessClaims(ClaimMetric):
    """Share of the answer's claims that the contexts support, 0 to 1, higher is better."""

    name = "faithfulness_claims"
    shares_of = ("answer",)
    about = Description(
        asks="Does what was retrieved support what the answer claims?",
        formula="claims of the answer that the contexts support / claims of the answer",
        source="RAGAS, arXiv 2309.15217; one call instead of two",
        odd_cases=odd_cases(),
        disagreement="without claims deepeval says 1, RAGChecker, aidial-rag-eval and TruLens 0, ragas none. An "
        "undecided claim is not supported; deepeval lets it pass.",
        aliases=("claims_faithfulness", "ctx_ans_inference", "ragas_faithfulness", "ragchecker_faithfulness"),
    )

    def judged(self, found: Findings) -> Judged:
        """Give the supported share."""
        return supported_share(found.grounded)


@dataclass(frozen=True)
class Groundedness(ClaimMetric):
    """Mean over the answer's sentences of the share of their claims that the contexts support, 0 to 1."""

    name = "groundedness"
    shares_of = ("answer",)
    about = Description(
        asks="Does what was retrieved support the answer, sentence by sentence?",
        formula="mean over sentences that claim something: supported claims / claims",
        source="TruLens (groundedness): each sentence counts the same, those that claim nothing are left out",
        odd_cases=odd_cases(),
        disagreement="TruLens lets a judge grade each sentence from 0 to 3 in a call of its own, says 0 where no "
        "sentence claims anything, and counts an abstention as grounded.",
        aliases=("trulens_groundedness",),
    )

    def judged(self, found: Findings) -> Judged:
        """Give the mean of the sentences' shares."""
        verdicts = list(zip(found.answer.facts, found.grounded, strict=True))
        return macro_share(
            [
                [verdict for fact, verdict in verdicts if fact.sentence == number]
                for number in range(1, len(found.row.answer) + 1)
            ]
        )


@dataclass(frozen=True)
class CorrectnessClaims(ClaimMetric):
    """Share of the answer's claims that the reference answer supports, 0 to 1, higher is better."""

    name = "correctness_claims"
    reads_contexts = False
    reads_reference = True
    shares_of = ("answer",)
    about = Description(
        asks="Is what the answer claims right, by the reference answer?",
        formula="claims of the answer that the reference answer supports / claims of the answer",
        source="Cohere (correctness); RAGChecker (precision); aidial-rag-eval (gt_ans_inference)",
        odd_cases=odd_cases(contexts=False, reference=True),
        aliases=("correctness", "gt_ans_inference", "ragchecker_precision"),
    )

    def judged(self, found: Findings) -> Judged:
        """Give the precision of the claims."""
        return supported_share(found.matrix.answer_in_reference)


@dataclass(frozen=True)
class CoverageClaims(ClaimMetric):
    """Share of the reference answer's claims that the answer states, 0 to 1, higher is better."""

    name = "coverage_claims"
    reads_contexts = False
    reads_reference = True
    shares_of = ("reference",)
    about = Description(
        asks="Does the answer say all that the reference answer says?",
        formula="claims of the reference answer that the answer states / claims of the reference answer",
        source="Cohere (coverage); RAGChecker (recall); aidial-rag-eval (ans_gt_inference)",
        odd_cases=odd_cases(contexts=False, reference=True),
        aliases=("ans_gt_inference", "coverage", "ragchecker_recall"),
    )

    def judged(self, found: Findings) -> Judged:
        """Give the recall of the claims."""
        return supported_share(found.matrix.reference_in_answer)


@dataclass(frozen=True)
class ClaimsF1(ClaimMetric):
    """Harmonic mean of correctness and coverage of the claims, 0 to 1, higher is better."""

    name = "claims_f1"
    reads_contexts = False
    reads_reference = True
    shares_of = ("answer", "reference")
    about = Description(
        asks="Does the answer say what the reference answer says, and nothing else?",
        formula="2 P R / (P + R), P `correctness_claims`, R `coverage_claims`; 0 if both are 0",
        source=_RAGCHECKER,
        odd_cases=odd_cases(contexts=False, reference=True),
        aliases=("ragchecker_f1",),
    )

    def judged(self, found: Findings) -> Judged:
        """Give the harmonic mean."""
        return claim_numbers(found.matrix).f1


@dataclass(frozen=True)
class FactualCorrectness(ClaimMetric):
    """F1 of right, wrong and left out claims, 0 to 1, higher is better."""

    name = "factual_correctness"
    reads_contexts = False
    reads_reference = True
    shares_of = ("answer", "reference")
    about = Description(
        asks="How many claims of the answer are right, how many wrong, and how many are left out?",
        formula="TP / (TP + (FP + FN) / 2); TP and FP: claims of the answer that the reference answer supports and "
        "does not, FN: claims of the reference answer that the answer does not state",
        source="ragas 0.4.3 (FactualCorrectness, the factual half of AnswerCorrectness)",
        odd_cases=odd_cases(contexts=False, reference=True),
        disagreement="without claims on either side ragas' older interface says 0 and its newer one 1, here it is null "
        "with `no_claims`; with claims on one side only it is 0, in ragas' newer interface 1.",
        aliases=("ragas_factual_correctness",),
    )

    def judged(self, found: Findings) -> Judged:
        """Give the F1."""
        return factual_f_beta_of_verdicts(found.matrix.answer_in_reference, found.matrix.reference_in_answer)


@dataclass(frozen=True)
class Hallucination(ClaimMetric):
    """Share of the answer's claims that neither contexts nor reference answer support, 0 to 1, lower is better."""

    name = "hallucination"
    reads_reference = True
    shares_of = ("answer",)
    about = Description(
        asks="How much does the answer make up?",
        formula="claims that neither the contexts nor the reference answer support / claims of the answer; with "
        "`faithfulness_claims` and `self_knowledge` it adds up to 1",
        source=_RAGCHECKER,
        odd_cases=odd_cases(reference=True),
        direction="down",
        aliases=("ragchecker_hallucination",),
    )

    def judged(self, found: Findings) -> Judged:
        """Give the share of claims out of nowhere."""
        return claim_numbers(found.matrix).hallucination


@dataclass(frozen=True)
class SelfKnowledge(ClaimMetric):
    """Share of the answer's claims that the reference answer supports and no context does, 0 to 1."""

    name = "self_knowledge"
    reads_reference = True
    shares_of = ("answer",)
    about = Description(
        asks="How much does the answer know that was not retrieved?",
        formula="claims that the reference answer supports and no context does / claims of the answer",
        source=_RAGCHECKER,
        odd_cases=odd_cases(reference=True),
        direction="none",
        aliases=("ragchecker_self_knowledge",),
    )

    def judged(self, found: Findings) -> Judged:
        """Give the share of right claims out of nowhere."""
        return claim_numbers(found.matrix).self_knowledge
