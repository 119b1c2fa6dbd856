"""What was retrieved, by a judge: was it of use for the question, the answer, the reference answer?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evaluator.metrics.description import Description
from evaluator.metrics.llm.claim_metric import ClaimMetric, odd_cases
from evaluator.metrics.llm.claims import Findings
from evaluator.metrics.llm.verdicts import (
    Judged,
    NoiseSensitivity,
    claim_numbers,
    context_precision,
    noise_sensitivity,
    supported_share,
)

_RANKED = "Σ over useful ranks i: useful contexts among the first i / i; / useful contexts; 0 if none is useful"
_RAGCHECKER = "RAGChecker 0.1.9, arXiv 2408.08067"
_PRECISIONS = (
    "without contexts ragas' older interface and deepeval say 0. ragas asks about each context in a call of its own, "
    "and adds 1e-10 to the denominator. RAGChecker's has no ranks: `context_precision_unranked`."
)


@dataclass(frozen=True)
class _OfQuestion(ClaimMetric):
    reads_answer = False

    def details(self, found: Findings) -> dict[str, Any]:
        """Give the ranks of the useful contexts, from 0."""
        return {"useful": [rank for rank, is_useful in enumerate(found.answer.useful) if is_useful]}


@dataclass(frozen=True)
class ContextRelevanceShare(_OfQuestion):
    """Share of the contexts that hold anything that helps to answer the question, 0 to 1, higher is better."""

    name = "context_relevance_share"
    about = Description(
        asks="How many of the contexts help to answer the question?",
        formula="contexts that help / contexts",
        source="TruLens (context relevance: mean over contexts), with yes and no for its grades from 0 to 3",
        odd_cases=odd_cases(counts_contexts=True, answer=False),
        aliases=("trulens_context_relevance",),
    )

    def judged(self, found: Findings) -> Judged:
        """Give the share."""
        return supported_share(found.answer.useful)


@dataclass(frozen=True)
class ContextPrecisionQuestion(_OfQuestion):
    """Do the contexts that help to answer the question stand above the others? 0 to 1, higher is better."""

    name = "context_precision_question"
    about = Description(
        asks="Do the contexts that help to answer the question stand above the others?",
        formula=_RANKED,
        source="ragas 0.4.3 (ContextPrecision), with the question in place of the reference answer",
        odd_cases=odd_cases(counts_contexts=True, answer=False),
        disagreement=_PRECISIONS,
    )

    def judged(self, found: Findings) -> Judged:
        """Give the ranked precision."""
        return context_precision(found.answer.useful)


@dataclass(frozen=True)
class ContextUtilization(ClaimMetric):
    """Do the contexts that the answer was made from stand above the others? 0 to 1, higher is better.

    A wrong answer makes wrong contexts useful: never compare it with `context_precision`.
    """

    name = "context_utilization"
    shares_of = ("answer",)
    about = Description(
        asks="Do the contexts that support the answer stand above the others?",
        formula=f"{_RANKED}; useful is a context that supports a claim of the answer",
        source="ragas 0.4.3 (ContextUtilization)",
        odd_cases=odd_cases(counts_contexts=True),
        disagreement=_PRECISIONS + " RAGChecker's context utilization is another: `context_utilization_claims`.",
        aliases=("ragas_context_utilization",),
    )

    def judged(self, found: Findings) -> Judged:
        """Give the ranked precision."""
        return context_precision(found.useful_for_answer)


@dataclass(frozen=True)
class ContextPrecision(ClaimMetric):
    """Do the contexts that the reference answer could be made from stand above the others? 0 to 1, higher is better."""

    name = "context_precision"
    reads_answer = False
    reads_reference = True
    shares_of = ("reference",)
    about = Description(
        asks="Do the contexts that support the reference answer stand above the others?",
        formula=f"{_RANKED}; useful is a context that supports a claim of the reference answer",
        source="ragas 0.4.3 (ContextPrecision)",
        odd_cases=odd_cases(counts_contexts=True, answer=False, reference=True),
        disagreement=_PRECISIONS,
        aliases=("ragas_context_precision",),
    )

    def judged(self, found: Findings) -> Judged:
        """Give the ranked precision."""
        return context_precision(found.useful_for_reference)


@dataclass(frozen=True)
class ContextPrecisionUnranked(ClaimMetric):
    """Share of the contexts that support a claim of the reference answer, 0 to 1, higher is better."""

    name = "context_precision_unranked"
    reads_answer = False
    reads_reference = True
    shares_of = ("reference",)
    about = Description(
        asks="How many of the contexts support the reference answer?",
        formula="contexts that support a claim of the reference answer / contexts",
        source=_RAGCHECKER,
        odd_cases=odd_cases(counts_contexts=True, answer=False, reference=True),
        aliases=("ragchecker_context_precision",),
    )

    def judged(self, found: Findings) -> Judged:
        """Give the share."""
        return claim_numbers(found.matrix).context_precision


@dataclass(frozen=True)
class ContextRecall(ClaimMetric):
    """Share of the reference answer's claims that the contexts support, 0 to 1, higher is better."""

    name = "context_recall"
    reads_answer = False
    reads_reference = True
    shares_of = ("reference",)
    about = Description(
        asks="Was all retrieved that the reference answer says?",
        formula="claims of the reference answer that a context supports / claims of the reference answer",
        source="RAGAS (context recall); RAGChecker (claim recall)",
        odd_cases=odd_cases(answer=False, reference=True),
        disagreement="ragas counts sentences of the reference answer, RAGChecker its claims; here it is claims.",
        aliases=("claim_recall", "ragas_context_recall", "ragchecker_claim_recall"),
    )

    def judged(self, found: Findings) -> Judged:
        """Give the share."""
        return claim_numbers(found.matrix).claim_recall


@dataclass(frozen=True)
class ContextUtilizationClaims(ClaimMetric):
    """Share of the reference answer's claims in the contexts that the answer states, 0 to 1, higher is better."""

    name = "context_utilization_claims"
    reads_reference = True
    shares_of = ("reference",)
    about = Description(
        asks="Did the answer use what it needed of what was retrieved?",
        formula="claims of the reference answer that a context supports and the answer states / those that a context "
        "supports; 0 with the remark `no_claim_retrieved` where there is none",
        source=_RAGCHECKER,
        odd_cases=odd_cases(reference=True),
        disagreement="ragas' context utilization is another: `context_utilization`.",
        aliases=("ragchecker_context_utilization",),
    )

    def judged(self, found: Findings) -> Judged:
        """Give the share."""
        return claim_numbers(found.matrix).context_utilization


@dataclass(frozen=True)
class NoiseSensitivityRelevant(ClaimMetric):
    """Share of the answer's claims that are wrong and stand in a context of use, 0 to 1, lower is better."""

    name = "noise_sensitivity_relevant"
    reads_reference = True
    shares_of = ("answer", "reference")
    about = Description(
        asks="How much does the answer take that is wrong from contexts of use?",
        formula="claims that the reference answer does not support and a relevant context does / claims of the answer; "
        "relevant is a context that supports a claim of the reference answer",
        source="RAGChecker 0.1.9, arXiv 2408.08067; ragas 0.4.3 (NoiseSensitivity)",
        odd_cases=odd_cases(reference=True),
        direction="down",
        disagreement="a wrong claim that no context supports is no noise but `hallucination`; without claims "
        "RAGChecker says 0 and ragas raises an exception.",
        aliases=("noise_sensitivity", "ragas_noise_sensitivity", "ragchecker_noise_sensitivity_in_relevant"),
    )

    def judged(self, found: Findings) -> Judged:
        """Give the share."""
        return _noise(found).relevant


@dataclass(frozen=True)
class NoiseSensitivityIrrelevant(ClaimMetric):
    """Share of the answer's claims that are wrong and stand only in contexts of no use, 0 to 1, lower is better."""

    name = "noise_sensitivity_irrelevant"
    reads_reference = True
    shares_of = ("answer", "reference")
    about = Description(
        asks="How much does the answer take that is wrong from contexts of no use?",
        formula="claims that the reference answer does not support, an irrelevant context does and no relevant one / "
        "claims of the answer",
        source="RAGChecker 0.1.9, arXiv 2408.08067; ragas 0.4.3 (NoiseSensitivity)",
        odd_cases=odd_cases(reference=True),
        direction="down",
        aliases=("ragas_noise_sensitivity_irrelevant", "ragchecker_noise_sensitivity_in_irrelevant"),
    )

    def judged(self, found: Findings) -> Judged:
        """Give the share."""
        return _noise(found).irrelevant


def _noise(found: Findings) -> NoiseSensitivity:
    matrix = found.matrix
    return noise_sensitivity(matrix.answer_in_reference, matrix.answer_in_contexts, matrix.reference_in_contexts)
