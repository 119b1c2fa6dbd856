"""Metrics of what was retrieved that are numbers of a row's claims, and of which contexts are useful."""

from __future__ import annotations

from typing import Any

from evaluator.metrics.llm import verdicts
from evaluator.metrics.llm.claim_metric import claim_metric
from evaluator.metrics.llm.claims import RowClaims
from evaluator.metrics.llm.verdicts import Judged, supported_share

_RAGCHECKER = "RAGChecker 0.1.9, arXiv 2408.08067"
_RANKED = "Σ over useful ranks i: useful contexts among the first i / i; / useful contexts; 0 if none is useful"
_PRECISIONS = (
    "without contexts ragas' older interface and deepeval say 0. ragas asks about each context in a call of its own, "
    "and adds 1e-10 to the denominator. RAGChecker's has no ranks: `context_precision_unranked`."
)
_COUNTS = "each counts for itself"


def _useful_ranks(claims: RowClaims) -> dict[str, Any]:
    return {"useful": [rank for rank, is_useful in enumerate(claims.answer.useful) if is_useful]}


@claim_metric(
    formula="contexts that help / contexts",
    source="TruLens (context relevance: mean over contexts), with yes and no for its grades from 0 to 3",
    reads=("contexts",),
    duplicate_contexts=_COUNTS,
    aliases=("trulens_context_relevance",),
)
def context_relevance_share(claims: RowClaims) -> tuple[Judged, dict[str, Any]]:
    """How many of the contexts help to answer the question?"""
    return supported_share(claims.answer.useful), _useful_ranks(claims)


@claim_metric(
    formula=_RANKED,
    source="ragas 0.4.3 (ContextPrecision), with the question in place of the reference answer",
    reads=("contexts",),
    duplicate_contexts=_COUNTS,
    disagreement=_PRECISIONS,
)
def context_precision_question(claims: RowClaims) -> tuple[Judged, dict[str, Any]]:
    """Do the contexts that help to answer the question stand above the others?"""
    return verdicts.context_precision(claims.answer.useful), _useful_ranks(claims)


# A wrong answer makes wrong contexts useful: never compare it with `context_precision`.
@claim_metric(
    formula=f"{_RANKED}; useful is a context that supports a claim of the answer",
    source="ragas 0.4.3 (ContextUtilization)",
    reads=("answer", "contexts"),
    claims_of=("answer",),
    duplicate_contexts=_COUNTS,
    disagreement=_PRECISIONS + " RAGChecker's context utilization is another: `context_utilization_claims`.",
    aliases=("ragas_context_utilization",),
)
def context_utilization(claims: RowClaims) -> Judged:
    """Do the contexts that support the answer stand above the others?"""
    return verdicts.context_precision(claims.useful_for_answer)


@claim_metric(
    formula=f"{_RANKED}; useful is a context that supports a claim of the reference answer",
    source="ragas 0.4.3 (ContextPrecision)",
    reads=("contexts", "reference"),
    claims_of=("reference",),
    duplicate_contexts=_COUNTS,
    disagreement=_PRECISIONS,
    aliases=("ragas_context_precision",),
)
def context_precision(claims: RowClaims) -> Judged:
    """Do the contexts that support the reference answer stand above the others?"""
    return verdicts.context_precision(claims.useful_for_reference)


@claim_metric(
    formula="contexts that support a claim of the reference answer / contexts",
    source=_RAGCHECKER,
    reads=("contexts", "reference"),
    claims_of=("reference",),
    duplicate_contexts=_COUNTS,
    aliases=("ragchecker_context_precision",),
)
def context_precision_unranked(claims: RowClaims) -> Judged:
    """How many of the contexts support the reference answer?"""
    return claims.numbers.context_precision


@claim_metric(
    formula="claims of the reference answer that a context supports / claims of the reference answer",
    source="RAGAS (context recall); RAGChecker (claim recall)",
    reads=("contexts", "reference"),
    claims_of=("reference",),
    disagreement="ragas counts sentences of the reference answer, RAGChecker its claims; here it is claims.",
    aliases=("claim_recall", "ragas_context_recall", "ragchecker_claim_recall"),
)
def context_recall(claims: RowClaims) -> Judged:
    """Was all retrieved that the reference answer says?"""
    return claims.numbers.claim_recall


@claim_metric(
    formula="claims of the reference answer that a context supports and the answer states / those that a context "
    "supports; 0 with the remark `no_claim_retrieved` where there is none",
    source=_RAGCHECKER,
    reads=("answer", "contexts", "reference"),
    claims_of=("reference",),
    disagreement="ragas' context utilization is another: `context_utilization`.",
    aliases=("ragchecker_context_utilization",),
)
def context_utilization_claims(claims: RowClaims) -> Judged:
    """Did the answer use what it needed of what was retrieved?"""
    return claims.numbers.context_utilization


@claim_metric(
    formula="claims that the reference answer does not support and a relevant context does / claims of the answer; "
    "relevant is a context that supports a claim of the reference answer",
    source="RAGChecker 0.1.9, arXiv 2408.08067; ragas 0.4.3 (NoiseSensitivity)",
    reads=("answer", "contexts", "reference"),
    claims_of=("answer", "reference"),
    direction="down",
    disagreement="a wrong claim that no context supports is no noise but `hallucination`; without claims "
    "RAGChecker says 0 and ragas raises an exception.",
    aliases=("noise_sensitivity", "ragas_noise_sensitivity", "ragchecker_noise_sensitivity_in_relevant"),
)
def noise_sensitivity_relevant(claims: RowClaims) -> Judged:
    """How much does the answer take that is wrong from contexts of use?"""
    return claims.noise.relevant


@claim_metric(
    formula="claims that the reference answer does not support, an irrelevant context does and no relevant one / "
    "claims of the answer",
    source="RAGChecker 0.1.9, arXiv 2408.08067; ragas 0.4.3 (NoiseSensitivity)",
    reads=("answer", "contexts", "reference"),
    claims_of=("answer", "reference"),
    direction="down",
    aliases=("ragas_noise_sensitivity_irrelevant", "ragchecker_noise_sensitivity_in_irrelevant"),
)
def noise_sensitivity_irrelevant(claims: RowClaims) -> Judged:
    """How much does the answer take that is wrong from contexts of no use?"""
    return claims.noise.irrelevant
