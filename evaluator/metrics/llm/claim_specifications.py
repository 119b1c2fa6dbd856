"""Table of the metrics of claims: a specification each, from which `ClaimMetric` computes and documents it."""

from __future__ import annotations

from typing import Any

from evaluator.metrics.llm.claim_metric import ClaimMetric, ClaimSpecification, as_it_is
from evaluator.metrics.llm.claims import RowClaims
from evaluator.metrics.llm.verdicts import (
    all_supported,
    context_precision,
    contradicted_share,
    factual_f_beta_of_verdicts,
    macro_share,
    right_share,
    supported_share,
)
from evaluator.metrics.scores import Metric

_RAGCHECKER = "RAGChecker 0.1.9, arXiv 2408.08067"
_RANKED = "Σ over useful ranks i: useful contexts among the first i / i; / useful contexts; 0 if none is useful"
_PRECISIONS = (
    "without contexts ragas' older interface and deepeval say 0. ragas asks about each context in a call of its own, "
    "and adds 1e-10 to the denominator. RAGChecker's has no ranks: `context_precision_unranked`."
)


def _addressing_sentences(claims: RowClaims) -> dict[str, Any]:
    verdicts = claims.addressing_by_sentence
    return {"addressing": [number for number, verdict in verdicts.items() if verdict], "sentences": len(verdicts)}


def _useful_ranks(claims: RowClaims) -> dict[str, Any]:
    return {"useful": [rank for rank, is_useful in enumerate(claims.answer.useful) if is_useful]}


_ANSWER = (
    ClaimSpecification(
        "faithfulness_claims",
        supported_share,
        of=("grounded",),
        asks="Does what was retrieved support what the answer claims?",
        formula="claims of the answer that the contexts support / claims of the answer",
        source="RAGAS, arXiv 2309.15217; one call instead of two",
        reads=("answer", "contexts"),
        claims_of=("answer",),
        disagreement="without claims deepeval says 1, RAGChecker, aidial-rag-eval and TruLens 0, ragas none. An "
        "undecided claim is not supported; deepeval lets it pass.",
        aliases=("claims_faithfulness", "ctx_ans_inference", "ragas_faithfulness", "ragchecker_faithfulness"),
    ),
    ClaimSpecification(
        "faithful",
        all_supported,
        of=("grounded",),
        asks="Does what was retrieved support all that the answer claims?",
        formula="1 if the contexts support each claim of the answer, else 0, as with one of eight unsupported: "
        "`faithfulness_claims` is 0.88 then",
        source="the labels of FaithBench and SummEdits",
        reads=("answer", "contexts"),
        claims_of=("answer",),
        binary=True,
    ),
    ClaimSpecification(
        "contradicted_claims",
        contradicted_share,
        of=("grounded",),
        asks="How much of what the answer claims does what was retrieved deny?",
        formula="claims of the answer that the contexts contradict / claims of the answer; one not mentioned is not",
        source="dialwatch; the verdicts of natural language inference",
        reads=("answer", "contexts"),
        claims_of=("answer",),
        direction="down",
    ),
    ClaimSpecification(
        "groundedness",
        macro_share,
        of=("grounded_by_sentence",),
        asks="Does what was retrieved support the answer, sentence by sentence?",
        formula="mean over sentences that claim something: supported claims / claims",
        source="TruLens (groundedness): each sentence counts the same, those that claim nothing are left out",
        reads=("answer", "contexts"),
        claims_of=("answer",),
        disagreement="TruLens lets a judge grade each sentence from 0 to 3 in a call of its own, says 0 where no "
        "sentence claims anything, and counts an abstention as grounded.",
        aliases=("trulens_groundedness",),
    ),
    ClaimSpecification(
        "answer_relevance_sentences",
        supported_share,
        of=("addressing",),
        asks="How much of the answer addresses the question?",
        formula="sentences of the answer that help to answer the question / sentences of the answer; code and headings "
        "are none unless there is nothing else",
        source="deepeval 4.3 (AnswerRelevancy), with sentences for its statements; TruLens (answer relevance)",
        reads=("answer",),
        details=_addressing_sentences,
        disagreement="deepeval says 1 where there are no statements; TruLens gives one grade from 0 to 3. Questions "
        "made up from the answer are another metric: `answer_relevancy`.",
        aliases=("deepeval_answer_relevancy", "trulens_answer_relevance"),
    ),
    ClaimSpecification(
        "correctness_claims",
        right_share,
        of=("matrix.answer_in_reference", "grounded_or_undecided"),
        asks="Is what the answer claims right?",
        formula="right claims of the answer / right and wrong ones; a claim is right or wrong by the reference answer, "
        "where that says nothing of it by the contexts, and left out where they say nothing either",
        source="dialwatch; people do not mind a true claim that the reference answer lacks",
        reads=("answer", "reference"),
        claims_of=("answer",),
        disagreement="Cohere, RAGChecker and aidial-rag-eval count what the reference answer lacks as wrong: "
        "`claim_precision`.",
    ),
    ClaimSpecification(
        "claim_precision",
        supported_share,
        of=("matrix.answer_in_reference",),
        asks="Is what the answer claims in the reference answer?",
        formula="claims of the answer that the reference answer supports / claims of the answer",
        source="Cohere (correctness); RAGChecker (precision); aidial-rag-eval (gt_ans_inference)",
        reads=("answer", "reference"),
        claims_of=("answer",),
        aliases=("correctness", "gt_ans_inference", "ragchecker_precision"),
    ),
    ClaimSpecification(
        "coverage_claims",
        supported_share,
        of=("matrix.reference_in_answer",),
        asks="Does the answer say all that the reference answer says?",
        formula="claims of the reference answer that the answer states / claims of the reference answer",
        source="Cohere (coverage); RAGChecker (recall); aidial-rag-eval (ans_gt_inference)",
        reads=("answer", "reference"),
        claims_of=("reference",),
        aliases=("ans_gt_inference", "coverage", "ragchecker_recall"),
    ),
    ClaimSpecification(
        "claims_f1",
        as_it_is,
        of=("numbers.f1",),
        asks="Does the answer say what the reference answer says, and nothing else?",
        formula="2 P R / (P + R), P `claim_precision`, R `coverage_claims`; 0 if both are 0",
        source=_RAGCHECKER,
        reads=("answer", "reference"),
        claims_of=("answer", "reference"),
        aliases=("ragchecker_f1",),
    ),
    ClaimSpecification(
        "factual_correctness",
        factual_f_beta_of_verdicts,
        of=("matrix.answer_in_reference", "matrix.reference_in_answer"),
        asks="How many claims of the answer are right, how many wrong, and how many are left out?",
        formula="TP / (TP + (FP + FN) / 2); TP and FP: claims of the answer that the reference answer supports and "
        "does not, FN: claims of the reference answer that the answer does not state",
        source="ragas 0.4.3 (FactualCorrectness, the factual half of AnswerCorrectness)",
        reads=("answer", "reference"),
        claims_of=("answer", "reference"),
        disagreement="without claims on either side ragas' older interface says 0 and its newer one 1, here it is null "
        "with `no_claims`; with claims on one side only it is 0, in ragas' newer interface 1.",
        aliases=("ragas_factual_correctness",),
    ),
    ClaimSpecification(
        "hallucination",
        as_it_is,
        of=("numbers.hallucination",),
        asks="How much does the answer make up?",
        formula="claims that neither the contexts nor the reference answer support / claims of the answer; with "
        "`faithfulness_claims` and `self_knowledge` it adds up to 1",
        source=_RAGCHECKER,
        reads=("answer", "contexts", "reference"),
        claims_of=("answer",),
        direction="down",
        aliases=("ragchecker_hallucination",),
    ),
    ClaimSpecification(
        "self_knowledge",
        as_it_is,
        of=("numbers.self_knowledge",),
        asks="How much does the answer know that was not retrieved?",
        formula="claims that the reference answer supports and no context does / claims of the answer",
        source=_RAGCHECKER,
        reads=("answer", "contexts", "reference"),
        claims_of=("answer",),
        direction="none",
        aliases=("ragchecker_self_knowledge",),
    ),
)
_CONTEXTS = (
    ClaimSpecification(
        "context_relevance_share",
        supported_share,
        of=("answer.useful",),
        asks="How many of the contexts help to answer the question?",
        formula="contexts that help / contexts",
        source="TruLens (context relevance: mean over contexts), with yes and no for its grades from 0 to 3",
        reads=("contexts",),
        details=_useful_ranks,
        counts_contexts=True,
        aliases=("trulens_context_relevance",),
    ),
    ClaimSpecification(
        "context_precision_question",
        context_precision,
        of=("answer.useful",),
        asks="Do the contexts that help to answer the question stand above the others?",
        formula=_RANKED,
        source="ragas 0.4.3 (ContextPrecision), with the question in place of the reference answer",
        reads=("contexts",),
        details=_useful_ranks,
        counts_contexts=True,
        disagreement=_PRECISIONS,
    ),
    # A wrong answer makes wrong contexts useful: never compare it with `context_precision`.
    ClaimSpecification(
        "context_utilization",
        context_precision,
        of=("useful_for_answer",),
        asks="Do the contexts that support the answer stand above the others?",
        formula=f"{_RANKED}; useful is a context that supports a claim of the answer",
        source="ragas 0.4.3 (ContextUtilization)",
        reads=("answer", "contexts"),
        claims_of=("answer",),
        counts_contexts=True,
        disagreement=_PRECISIONS + " RAGChecker's context utilization is another: `context_utilization_claims`.",
        aliases=("ragas_context_utilization",),
    ),
    ClaimSpecification(
        "context_precision",
        context_precision,
        of=("useful_for_reference",),
        asks="Do the contexts that support the reference answer stand above the others?",
        formula=f"{_RANKED}; useful is a context that supports a claim of the reference answer",
        source="ragas 0.4.3 (ContextPrecision)",
        reads=("contexts", "reference"),
        claims_of=("reference",),
        counts_contexts=True,
        disagreement=_PRECISIONS,
        aliases=("ragas_context_precision",),
    ),
    ClaimSpecification(
        "context_precision_unranked",
        as_it_is,
        of=("numbers.context_precision",),
        asks="How many of the contexts support the reference answer?",
        formula="contexts that support a claim of the reference answer / contexts",
        source=_RAGCHECKER,
        reads=("contexts", "reference"),
        claims_of=("reference",),
        counts_contexts=True,
        aliases=("ragchecker_context_precision",),
    ),
    ClaimSpecification(
        "context_recall",
        as_it_is,
        of=("numbers.claim_recall",),
        asks="Was all retrieved that the reference answer says?",
        formula="claims of the reference answer that a context supports / claims of the reference answer",
        source="RAGAS (context recall); RAGChecker (claim recall)",
        reads=("contexts", "reference"),
        claims_of=("reference",),
        disagreement="ragas counts sentences of the reference answer, RAGChecker its claims; here it is claims.",
        aliases=("claim_recall", "ragas_context_recall", "ragchecker_claim_recall"),
    ),
    ClaimSpecification(
        "context_utilization_claims",
        as_it_is,
        of=("numbers.context_utilization",),
        asks="Did the answer use what it needed of what was retrieved?",
        formula="claims of the reference answer that a context supports and the answer states / those that a context "
        "supports; 0 with the remark `no_claim_retrieved` where there is none",
        source=_RAGCHECKER,
        reads=("answer", "contexts", "reference"),
        claims_of=("reference",),
        disagreement="ragas' context utilization is another: `context_utilization`.",
        aliases=("ragchecker_context_utilization",),
    ),
    ClaimSpecification(
        "noise_sensitivity_relevant",
        as_it_is,
        of=("noise.relevant",),
        asks="How much does the answer take that is wrong from contexts of use?",
        formula="claims that the reference answer does not support and a relevant context does / claims of the answer; "
        "relevant is a context that supports a claim of the reference answer",
        source="RAGChecker 0.1.9, arXiv 2408.08067; ragas 0.4.3 (NoiseSensitivity)",
        reads=("answer", "contexts", "reference"),
        claims_of=("answer", "reference"),
        direction="down",
        disagreement="a wrong claim that no context supports is no noise but `hallucination`; without claims "
        "RAGChecker says 0 and ragas raises an exception.",
        aliases=("noise_sensitivity", "ragas_noise_sensitivity", "ragchecker_noise_sensitivity_in_relevant"),
    ),
    ClaimSpecification(
        "noise_sensitivity_irrelevant",
        as_it_is,
        of=("noise.irrelevant",),
        asks="How much does the answer take that is wrong from contexts of no use?",
        formula="claims that the reference answer does not support, an irrelevant context does and no relevant one / "
        "claims of the answer",
        source="RAGChecker 0.1.9, arXiv 2408.08067; ragas 0.4.3 (NoiseSensitivity)",
        reads=("answer", "contexts", "reference"),
        claims_of=("answer", "reference"),
        direction="down",
        aliases=("ragas_noise_sensitivity_irrelevant", "ragchecker_noise_sensitivity_in_irrelevant"),
    ),
)

METRICS: tuple[Metric, ...] = tuple(ClaimMetric(one) for one in (*_ANSWER, *_CONTEXTS))
