"""Factual F-beta: statements of the answer against those of the reference: right, wrong and left out."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evaluator.metrics.llm.verdicts.judged import Judged, Verdict, flags
from lake.spec.vocabulary import UnscoredReason


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
