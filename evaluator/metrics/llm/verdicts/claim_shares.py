"""Shares of claims that are supported, of one text and of two that are compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.metrics.llm.verdicts.judged import UNDECIDED, Judged, Verdict, flag, flags, negated, share
from lake.spec.vocabulary import UnscoredReason


def supported_share(verdicts: Sequence[Verdict], *, undecided_passes: bool = False) -> Judged:
    """Share of one text's claims that another text supports, 0 to 1, from a verdict a claim.

    Gives: claims faithfulness (claims of the answer, in the contexts), correctness (claims of the answer, in the
        reference), coverage (claims of the reference, in the answer), context recall (claims of the reference, in the
        contexts).
    Formula: claims that are supported / claims
    Source: RAGAS, arXiv 2309.15217 (faithfulness, context recall); Cohere (correctness, coverage); RAGChecker
        (precision, recall); aidial-rag-eval (inference)
    On nothing: no claims: null with `no_claims`
    Missing verdicts: null with `judge_failed`; the bounds count them as not supported and as supported
    Packages: without claims ragas and this one have no number, deepeval says 1 in some metrics and 0 in others,
        RAGChecker, aidial-rag-eval and TruLens say 0. An undecided verdict is not supported here and in RAGChecker and
        aidial-rag-eval; deepeval lets it pass in faithfulness and answer relevancy (`undecided_passes=True`).
    """
    return share([flag(verdict, undecided_passes=undecided_passes) for verdict in verdicts])


def all_supported(verdicts: Sequence[Verdict]) -> Judged:
    """Whether all of a text's claims are supported: 1 or 0, from a verdict a claim.

    Formula: 1 if each claim is supported, else 0
    Source: FaithBench and SummEdits, whose labels say whether a whole text is faithful
    On nothing: no claims: null with `no_claims`
    Missing verdicts: null with `judge_failed`, unless a claim that is not supported decides
    Packages: none has it; they give the share, or let a judge give one label
    """
    if not verdicts:
        return Judged.nothing(UnscoredReason.NO_CLAIMS)
    supported = flags(verdicts)
    return Judged.between(float(all(one is True for one in supported)), float(False not in supported))


def contradicted_share(verdicts: Sequence[Verdict]) -> Judged:
    """Share of a text's claims that another text denies, 0 to 1, from a verdict a claim.

    Formula: claims that are contradicted / claims; one that is undecided is not
    Source: dialwatch
    On nothing: no claims: null with `no_claims`
    Missing verdicts: null with `judge_failed`; the bounds count them as not contradicted and as contradicted
    Packages: RAGChecker and aidial-rag-eval know the verdict and count it as not supported
    """
    return share([negated(flag(verdict, undecided_passes=True)) for verdict in verdicts])


def right_share(of_reference: Sequence[Verdict], of_contexts: Sequence[Verdict]) -> Judged:
    """Share of right claims among those that the reference answer or the contexts decide, 0 to 1.

    Formula: claims that the reference answer supports, or the contexts where it says nothing of them / these and those
        that are contradicted in the same way
    Source: dialwatch
    On nothing: nothing decides a claim, or there are none: null with `no_claims`
    Missing verdicts: null with `judge_failed`; the bounds count them as contradicted and as supported
    Packages: Cohere, RAGChecker and aidial-rag-eval count what the reference answer lacks as wrong
    """
    decided = [
        context if verdict == UNDECIDED else verdict for verdict, context in zip(of_reference, of_contexts, strict=True)
    ]
    return share([flag(verdict) for verdict in decided if verdict != UNDECIDED])


def macro_share(answers: Sequence[Sequence[Verdict]], *, undecided_passes: bool = False) -> Judged:
    """Mean over the answers of their supported shares: each answer counts the same.

    Formula: Σ over answers that have claims: supported share; / such answers
    Source: all packages' mean over a data set
    On nothing: an answer without claims is left out; without any answer that has claims null with `no_claims`
    Missing verdicts: null with `judge_failed`; the bounds are the means of the answers' bounds
    Packages: where an answer without claims counts as 0 or 1 (see `supported_share`), it moves their mean.
    """
    shares = [supported_share(verdicts, undecided_passes=undecided_passes) for verdicts in answers if verdicts]
    if not shares:
        return Judged.nothing(UnscoredReason.NO_CLAIMS)
    lows = sum(one.low for one in shares if one.low is not None)
    highs = sum(one.high for one in shares if one.high is not None)
    return Judged.between(lows / len(shares), highs / len(shares))


def factual_f_beta(true_positives: int, false_positives: int, false_negatives: int, beta: float = 1.0) -> Judged:
    """Weighted harmonic mean of the answer's factual precision and recall, 0 to 1, from counts of statements.

    Formula: (1 + β²) TP / ((1 + β²) TP + β² FN + FP), β = 1; TP: statements of the answer that the reference has too,
        FP: those that it has not, FN: statements of the reference that the answer leaves out
    Source: ragas (FactualCorrectness, AnswerCorrectness)
    On nothing: no statements on either side: null with `no_claims`; on one side only: 0
    Missing verdicts: see `factual_f_beta_of_verdicts`
    Packages: without statements on either side ragas' older interface says 0 and its newer one 1; its newer
        AnswerCorrectness says 1 where only one side has none.

    Raises ValueError for a negative count, and for a beta that is negative or not finite.
    """
    counts = (true_positives, false_positives, false_negatives)
    if min(counts) < 0:
        raise ValueError(f"numbers of statements are 0 or more, not {counts!r}")
    if not 0 <= beta < math.inf:
        raise ValueError(f"beta is a number of 0 or more, not {beta!r}")
    if not any(counts):
        return Judged.nothing(UnscoredReason.NO_CLAIMS)
    if not true_positives:
        return Judged.known(0.0)
    weighted = (1 + beta**2) * true_positives
    return Judged.known(weighted / (weighted + beta**2 * false_negatives + false_positives))


def factual_f_beta_of_verdicts(
    answer_claims: Sequence[Verdict], reference_claims: Sequence[Verdict], beta: float = 1.0
) -> Judged:
    """Factual F-beta from verdicts: is each claim of the answer in the reference, each of the reference in the answer?

    Formula: TP and FP are the claims of the answer that the reference supports and does not, FN the claims of the
        reference that the answer does not support
    Source: ragas (FactualCorrectness)
    On nothing: as `factual_f_beta`
    Missing verdicts: null with `judge_failed`; the bounds count them as not supported and as supported
    Packages: ragas' AnswerCorrectness gets the three counts from one list of statements.
    """
    in_reference, in_answer = flags(answer_claims), flags(reference_claims)
    right, missing = in_reference.count(True), in_reference.count(None)
    wrong, left_out = in_reference.count(False), in_answer.count(False)
    worst = factual_f_beta(right, wrong + missing, left_out + in_answer.count(None), beta)
    if not in_reference and not in_answer:
        return worst
    best = factual_f_beta(right + missing, wrong, left_out, beta)
    # A reference whose claims are all in an answer without claims: nothing is right.
    return Judged.between(worst.value or 0.0, best.value or 0.0)


def answer_correctness(
    factual: Judged, similarity: float | None, weights: tuple[float, float] = (0.75, 0.25)
) -> Judged:
    """Weighted mean of the factual part and the similarity of answer and reference; 0 to 1, or below by similarity.

    Formula: (w1 * F + w2 * cosine) / (w1 + w2), w1 = .75, w2 = .25, F from `factual_f_beta`; a part of weight 0 is not
        read
    Source: ragas (AnswerCorrectness)
    On nothing: null with the reason of the factual part
    Missing verdicts: null with `judge_failed` and the bounds of the factual part; a similarity that is None or NaN is
        from -1 to 1
    Packages: ragas' newer interface takes 1 as the factual part of an answer without statements, here it is 0.

    Raises ValueError for weights that are negative, not finite or both 0.
    """
    if min(weights) < 0 or not 0 < sum(weights) < math.inf:
        raise ValueError(f"weights are two numbers of 0 or more, one of them over 0, not {weights!r}")
    alike = Judged.between(-1.0, 1.0) if similarity is None or math.isnan(similarity) else Judged.known(similarity)
    parts = (factual, alike)
    read = [(part, weight / sum(weights)) for part, weight in zip(parts, weights, strict=True) if weight]
    lows = [part.low * weight for part, weight in read if part.low is not None]
    highs = [part.high * weight for part, weight in read if part.high is not None]
    if len(lows) < len(read) or len(highs) < len(read):
        return Judged.nothing(factual.reason or UnscoredReason.JUDGE_FAILED)
    return Judged.between(sum(lows), sum(highs))


@dataclass(frozen=True)
class Segment:
    """A piece of a text: how many statements it makes, and the share of them that follows, 0 to 1.

    Either is None, or the share NaN, where the judge failed; the share of a piece without statements has no weight.
    """

    statements: int | None
    inference: float | None

    @property
    def is_missing(self) -> bool:
        """Whether the judge gave no share."""
        return self.inference is None or math.isnan(self.inference)


def segment_inference(segments: Sequence[Segment]) -> Judged:
    """Share of a text's statements that follow, as aidial-rag-eval has it: `inference`, `_min` and `_max`.

    Gives: the `*_inference` columns; `low` and `high` are `*_inference_min` and `*_inference_max`.
    Formula: Σ over segments: statements * inference; / Σ over segments: statements
    Source: aidial-rag-eval 0.7
    On nothing: no statements: null with `no_claims`
    Missing verdicts: null with `judge_failed`; the bounds count a segment without inference as 0 and as 1, and are 0
        and 1 where the number of a segment's statements is missing
    Packages: aidial-rag-eval says 0 where there are no statements.
    """
    statements = [segment.statements for segment in segments]
    counts = [count for count in statements if count is not None]
    if len(counts) < len(statements):
        return Judged.between(0.0, 1.0)
    if not sum(counts):
        return Judged.nothing(UnscoredReason.NO_CLAIMS)
    low = _weighted(segments, counts, 0.0)
    if any(segment.is_missing for segment in segments):
        return Judged(None, UnscoredReason.JUDGE_FAILED, low, _weighted(segments, counts, 1.0))
    return Judged.known(low)


def _weighted(segments: Sequence[Segment], counts: Sequence[int], where_missing: float) -> float:
    shares = [where_missing if segment.is_missing else segment.inference or 0.0 for segment in segments]
    return sum(count * share for count, share in zip(counts, shares, strict=True)) / sum(counts)
