"""Metrics of the answer that are numbers of its claims and of the reference answer's, by a judge's verdicts on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evaluator.metrics.cells import text
from evaluator.metrics.llm.claim_metric import ClaimMetric, claim_metric, unanswered_reason
from evaluator.metrics.llm.claims import CUT, RowClaims, RowTexts, ask_claim_by_claim, prompts_claim_by_claim
from evaluator.metrics.llm.verdicts import (
    Judged,
    all_supported,
    answer_correctness,
    aspect_critique,
    contradicted_share,
    factual_f_beta_of_verdicts,
    macro_share,
    right_share,
    supported_share,
)
from evaluator.metrics.model_metric import MODELS_MEANING
from evaluator.metrics.options import option
from evaluator.metrics.scores import Score
from evaluator.metrics.text.models import cosine
from evaluator.models import DEFAULT_MODELS, Models, sentence_encoder
from lake.spec.texts.refusals import refusal_in
from lake.spec.vocabulary import UnscoredReason

if TYPE_CHECKING:
    from evaluator.judges.blocking_client import BoundJudge

_RAGCHECKER = "RAGChecker 0.1.9, arXiv 2408.08067"


@claim_metric(
    formula="claims of the answer that the contexts support / claims of the answer",
    source="RAGAS, arXiv 2309.15217; one call instead of two",
    reads=("answer", "contexts"),
    claims_of=("answer",),
    disagreement="without claims deepeval says 1, RAGChecker, aidial-rag-eval and TruLens 0, ragas none. An "
    "undecided claim is not supported; deepeval lets it pass.",
    aliases=("claims_faithfulness", "ctx_ans_inference", "ragas_faithfulness", "ragchecker_faithfulness"),
)
def faithfulness_claims(claims: RowClaims) -> Judged:
    """Does what was retrieved support what the answer claims?"""
    return supported_share(claims.grounded)


@claim_metric(
    formula="1 if the contexts support each claim of the answer, else 0, as with one of eight unsupported: "
    "`faithfulness_claims` is 0.88 then",
    source="the labels of FaithBench and SummEdits",
    reads=("answer", "contexts"),
    claims_of=("answer",),
    binary=True,
)
def faithful(claims: RowClaims) -> Judged:
    """Does what was retrieved support all that the answer claims?"""
    return all_supported(claims.grounded)


@claim_metric(
    formula="claims of the answer that the contexts contradict / claims of the answer; one not mentioned is not",
    source="dialwatch; the verdicts of natural language inference",
    reads=("answer", "contexts"),
    claims_of=("answer",),
    direction="down",
)
def contradicted_claims(claims: RowClaims) -> Judged:
    """How much of what the answer claims does what was retrieved deny?"""
    return contradicted_share(claims.grounded)


@claim_metric(
    formula="mean over sentences that claim something: supported claims / claims",
    source="TruLens (groundedness): each sentence counts the same, those that claim nothing are left out",
    reads=("answer", "contexts"),
    claims_of=("answer",),
    disagreement="TruLens lets a judge grade each sentence from 0 to 3 in a call of its own, says 0 where no "
    "sentence claims anything, and counts an abstention as grounded.",
    aliases=("trulens_groundedness",),
)
def groundedness(claims: RowClaims) -> Judged:
    """Does what was retrieved support the answer, sentence by sentence?"""
    return macro_share(claims.grounded_by_sentence)


@claim_metric(
    formula="sentences of the answer that help to answer the question / sentences of the answer; code, headings, "
    "rows of tables and bare list marks are none unless there is nothing else",
    source="deepeval 4.3 (AnswerRelevancy), with sentences for its statements; TruLens (answer relevance)",
    reads=("answer",),
    disagreement="deepeval says 1 where there are no statements; TruLens gives one grade from 0 to 3. Questions "
    "made up from the answer are another metric: `answer_relevancy`.",
    aliases=("deepeval_answer_relevancy", "trulens_answer_relevance"),
)
def answer_relevance_sentences(claims: RowClaims) -> tuple[Judged, dict[str, Any]]:
    """How much of the answer addresses the question?"""
    verdicts = claims.addressing_by_sentence
    addressing = [number for number, verdict in verdicts.items() if verdict]
    return supported_share(claims.addressing), {"addressing": addressing, "sentences": len(verdicts)}


@claim_metric(
    formula="right claims of the answer / right and wrong ones; a claim is right or wrong by the reference answer, "
    "where that says nothing of it by the contexts, and left out where they say nothing either",
    source="dialwatch; people do not mind a true claim that the reference answer lacks",
    reads=("answer", "reference"),
    claims_of=("answer",),
    disagreement="Cohere, RAGChecker and aidial-rag-eval count what the reference answer lacks as wrong: "
    "`claim_precision`.",
)
def correctness_claims(claims: RowClaims) -> Judged:
    """Is what the answer claims right?"""
    return right_share(claims.matrix.answer_in_reference, claims.grounded_or_undecided)


@claim_metric(
    formula="claims of the answer that the reference answer supports / claims of the answer",
    source="Cohere (correctness); RAGChecker (precision); aidial-rag-eval (gt_ans_inference)",
    reads=("answer", "reference"),
    claims_of=("answer",),
    aliases=("correctness", "gt_ans_inference", "ragchecker_precision"),
)
def claim_precision(claims: RowClaims) -> Judged:
    """Is what the answer claims in the reference answer?"""
    return supported_share(claims.matrix.answer_in_reference)


@claim_metric(
    formula="claims of the reference answer that the answer states / claims of the reference answer",
    source="Cohere (coverage); RAGChecker (recall); aidial-rag-eval (ans_gt_inference)",
    reads=("answer", "reference"),
    claims_of=("reference",),
    aliases=("ans_gt_inference", "coverage", "ragchecker_recall"),
)
def coverage_claims(claims: RowClaims) -> Judged:
    """Does the answer say all that the reference answer says?"""
    return supported_share(claims.matrix.reference_in_answer)


@claim_metric(
    formula="2 P R / (P + R), P `claim_precision`, R `coverage_claims`; 0 if both are 0",
    source=_RAGCHECKER,
    reads=("answer", "reference"),
    claims_of=("answer", "reference"),
    aliases=("ragchecker_f1",),
)
def claims_f1(claims: RowClaims) -> Judged:
    """Does the answer say what the reference answer says, and nothing else?"""
    return claims.numbers.f1


@claim_metric(
    formula="TP / (TP + (FP + FN) / 2); TP and FP: claims of the answer that the reference answer supports and "
    "does not, FN: claims of the reference answer that the answer does not state",
    source="ragas 0.4.3 (FactualCorrectness, the factual half of AnswerCorrectness)",
    reads=("answer", "reference"),
    claims_of=("answer", "reference"),
    disagreement="without claims on either side ragas' older interface says 0 and its newer one 1, here it is null "
    "with `no_claims`; with claims on one side only it is 0, in ragas' newer interface 1.",
    aliases=("ragas_factual_correctness",),
)
def factual_correctness(claims: RowClaims) -> Judged:
    """How many claims of the answer are right, how many wrong, and how many are left out?"""
    return factual_f_beta_of_verdicts(claims.matrix.answer_in_reference, claims.matrix.reference_in_answer)


@claim_metric(
    formula="claims that neither the contexts nor the reference answer support / claims of the answer; with "
    "`faithfulness_claims` and `self_knowledge` it adds up to 1",
    source=_RAGCHECKER,
    reads=("answer", "contexts", "reference"),
    claims_of=("answer",),
    direction="down",
    aliases=("ragchecker_hallucination",),
)
def hallucination(claims: RowClaims) -> Judged:
    """How much does the answer make up?"""
    return claims.numbers.hallucination


@claim_metric(
    formula="claims that the reference answer supports and no context does / claims of the answer",
    source=_RAGCHECKER,
    reads=("answer", "contexts", "reference"),
    claims_of=("answer",),
    direction="none",
    aliases=("ragchecker_self_knowledge",),
)
def self_knowledge(claims: RowClaims) -> Judged:
    """How much does the answer know that was not retrieved?"""
    return claims.numbers.self_knowledge


@dataclass(frozen=True)
class _EncodingMetric(ClaimMetric):
    def score_all(self, judge: BoundJudge, tasks: Sequence[RowTexts]) -> Iterator[Score]:
        """Embed all texts together, so that no judge is paid where there is no encoder, and ask."""
        models: Models = self.models  # type: ignore[attr-defined]  # an option of the function
        sentence_encoder(models).vectors([one for row in tasks for one in _sides(row)])
        return super().score_all(judge, tasks)


def _sides(row: RowTexts) -> list[str]:
    return [" ".join(row.answer), " ".join(row.reference)]


@claim_metric(
    formula="0.75 F + 0.25 cosine; F as in `factual_correctness`, the cosine as in `semantic_similarity`",
    source="ragas 0.4.3 (AnswerCorrectness)",
    reads=("answer", "reference"),
    claims_of=("answer", "reference"),
    kind=_EncodingMetric,
    listed=None,
    low=-0.25,
    disagreement="an answer without claims has the factual part 0, in ragas' newer interface 1.",
    aliases=("ragas_answer_correctness",),
)
def answer_correctness_claims(
    claims: RowClaims, *, models: Models = option(DEFAULT_MODELS, MODELS_MEANING)
) -> tuple[Judged, dict[str, Any]]:
    """Does the answer state the facts of the reference answer, and mean the same?

    Three parts of factual F1 and one part of semantic similarity; 0 to 1, or below by similarity, higher is better. The
    similarity is the cosine of the embeddings of answer and reference answer, by any sentence encoder; the details have
    both parts. Without a model use `factual_correctness`.
    """
    factual = factual_f_beta_of_verdicts(claims.matrix.answer_in_reference, claims.matrix.reference_in_answer)
    similarity = cosine(*sentence_encoder(models).vectors(_sides(claims.row)))
    return answer_correctness(factual, similarity), {"similarity": similarity}


@dataclass(frozen=True)
class _ApartMetric(ClaimMetric):
    @property
    def prompts(self) -> tuple[str, ...]:
        """Those of both steps."""
        return (*prompts_claim_by_claim(reasons=self.gives_reasons), CUT)

    def score_all(self, judge: BoundJudge, tasks: Sequence[RowTexts]) -> Iterator[Score]:
        """Ask about rows, together."""
        return map(self.row_score, ask_claim_by_claim(judge, tasks))


@claim_metric(
    formula="claims of the answer that the contexts support / claims of the answer",
    source="RAGAS, arXiv 2309.15217; a call a claim, as in aidial-rag-eval a call a sentence",
    reads=("answer", "contexts"),
    claims_of=("answer",),
    kind=_ApartMetric,
    listed=None,
    disagreement="the contexts are sent once for each claim; `faithfulness_claims` sends them once.",
)
def faithfulness_claims_apart(claims: RowClaims) -> Judged:
    """Does what was retrieved support what the answer claims, asked claim by claim?

    One call for the claims, which does not show the contexts, and one for each of them. `dialwatch judge calibrate
    --compare` says whether `faithfulness_claims`, which asks all at once, is as good on your labels.
    """
    return supported_share(claims.grounded)


@dataclass(frozen=True)
class _RefusalMetric(ClaimMetric):
    def read_row(self, *cells: object) -> RowTexts | Score:
        """Cut the texts of a row, unless it is plain whether the answer refuses."""
        answer = text(cells[2], "answer")
        if answer is None:
            return Score(None, UnscoredReason.NO_ANSWER)
        reason = unanswered_reason(answer)
        if reason == UnscoredReason.NO_ANSWER:
            return Score(0.0, reason)
        return Score(1.0, None, refusal_in(answer) or {}) if reason else super().read_row(*cells)


@claim_metric(
    formula="1 if the judge says so, or the lexicon of `refusal` of each clause of a short answer, else 0",
    source="aidial-rag-eval 0.7.0 (answer_refusal), where the judge reads the first three sentences",
    reads=(),
    empty_answer="0.0 with `no_answer`, null with it for a missing cell",
    kind=_RefusalMetric,
    listed=None,
    direction="none",
    binary=True,
)
def refusal_judged(claims: RowClaims) -> Judged:
    """Does the answer refuse, or say that the information is missing, in whichever words?

    An answer of at most three sentences whose clauses all refuse by the lexicon of `refusal` is 1.0 without a call.
    """
    return aspect_critique([claims.answer.refusal])
