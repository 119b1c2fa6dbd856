"""RAGChecker's eleven numbers: claims of answer and reference against each other and against each context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.metrics.llm.verdicts.judged import (
    Flag,
    Judged,
    Verdict,
    any_of,
    both,
    flags,
    negated,
    share,
)
from lake.spec.vocabulary import UnscoredReason


@dataclass(frozen=True)
class ClaimMatrix:
    """Verdicts on the claims of one answer and of its reference answer.

    `answer_in_reference`: is a claim of the answer supported by the reference; `reference_in_answer`: the reverse.
    `answer_in_contexts` and `reference_in_contexts` have a row a claim and in it a verdict a context, contexts in one
    order; without contexts the rows are empty.

    Raises ValueError where the verdicts are not of the same claims and contexts.
    """

    answer_in_reference: Sequence[Verdict]
    reference_in_answer: Sequence[Verdict]
    answer_in_contexts: Sequence[Sequence[Verdict]]
    reference_in_contexts: Sequence[Sequence[Verdict]]

    def __post_init__(self) -> None:
        _checked("answer", self.answer_in_reference, self.answer_in_contexts)
        _checked("reference", self.reference_in_answer, self.reference_in_contexts)
        _checked_contexts(self.answer_in_contexts, self.reference_in_contexts)


@dataclass(frozen=True)
class ClaimNumbers:
    """RAGChecker's numbers, by its names; those of noise and hallucination are better when lower."""

    precision: Judged
    recall: Judged
    f1: Judged
    claim_recall: Judged
    context_precision: Judged
    context_utilization: Judged
    noise_sensitivity_in_relevant: Judged
    noise_sensitivity_in_irrelevant: Judged
    hallucination: Judged
    self_knowledge: Judged
    faithfulness: Judged


@dataclass(frozen=True)
class NoiseSensitivity:
    """Share of the answer's claims that are wrong and come from a context of use, and from one of no use."""

    relevant: Judged
    irrelevant: Judged


def claim_numbers(matrix: ClaimMatrix) -> ClaimNumbers:
    """RAGChecker's eleven numbers of one answer, 0 to 1.

    A claim is right where the reference supports it, grounded where a context does.

    Formula: precision = right claims of the answer / its claims; recall = claims of the reference that the answer
        supports / its claims; f1 = their harmonic mean; claim_recall = grounded claims of the reference / its claims;
        context_precision = contexts that support a claim of the reference / contexts; context_utilization = grounded
        claims of the reference that the answer supports / grounded ones; faithfulness = grounded claims of the answer /
        its claims; self_knowledge = right and not grounded / its claims; hallucination = neither right nor grounded /
        its claims; noise: see `noise_sensitivity`
    Source: RAGChecker 0.1.9, arXiv 2408.08067
    On nothing: no claims of the answer or of the reference: null with `no_claims` in what is a share of them, in f1, in
        noise sensitivity and, for the reference, in context_precision; no contexts: null with `no_contexts` in what
        reads them; no grounded claim of the reference: context_utilization 0 with the remark `no_claim_retrieved`
    Missing verdicts: null with `judge_failed` and the least and greatest value that any verdicts there give; a value
        where all of them give the same
    Packages: RAGChecker says 0 where there are no claims or no contexts. Its context_precision has no ranks; ragas'
        has (`context_precision`).
    """
    right, stated = flags(matrix.answer_in_reference), flags(matrix.reference_in_answer)
    answer_rows, reference_rows = _rows(matrix.answer_in_contexts), _rows(matrix.reference_in_contexts)
    grounded, retrieved = [any_of(row) for row in answer_rows], [any_of(row) for row in reference_rows]
    without_contexts = _without_contexts(matrix.answer_in_contexts, matrix.reference_in_contexts)

    def of_contexts(found: Judged) -> Judged:
        return Judged.nothing(UnscoredReason.NO_CONTEXTS) if without_contexts else found

    noise = noise_sensitivity(matrix.answer_in_reference, matrix.answer_in_contexts, matrix.reference_in_contexts)
    precision, recall = share(right), share(stated)
    return ClaimNumbers(
        precision=precision,
        recall=recall,
        f1=_harmonic_mean(precision, recall),
        claim_recall=of_contexts(share(retrieved)),
        context_precision=of_contexts(share(_relevant(reference_rows))),
        context_utilization=of_contexts(_utilization(retrieved, stated)),
        noise_sensitivity_in_relevant=noise.relevant,
        noise_sensitivity_in_irrelevant=noise.irrelevant,
        hallucination=of_contexts(share([both(negated(g), negated(r)) for g, r in zip(grounded, right, strict=True)])),
        self_knowledge=of_contexts(share([both(negated(g), r) for g, r in zip(grounded, right, strict=True)])),
        faithfulness=of_contexts(share(grounded)),
    )


def noise_sensitivity(
    answer_in_reference: Sequence[Verdict],
    answer_in_contexts: Sequence[Sequence[Verdict]],
    reference_in_contexts: Sequence[Sequence[Verdict]],
) -> NoiseSensitivity:
    """Share of the answer's claims that are wrong and taken from a context, 0 to 1, lower is better.

    A context is relevant where it supports some claim of the reference, a claim is wrong where the reference does not
    support it. The arguments are those of `ClaimMatrix`.

    Formula: relevant = wrong claims that a relevant context supports / claims; irrelevant = wrong claims that an
        irrelevant context supports and no relevant one / claims
    Source: RAGChecker 0.1.9, arXiv 2408.08067; ragas (NoiseSensitivity)
    On nothing: no claims of the answer or of the reference: null with `no_claims`; no contexts: null with
        `no_contexts`; a wrong claim that no context supports is no noise
    Missing verdicts: null with `judge_failed` and the least and greatest value that any verdicts there give; a value
        where all of them give the same
    Packages: without claims RAGChecker says 0 and ragas raises an exception.

    Raises ValueError where the verdicts are not of the same claims and contexts.
    """
    _checked("answer", answer_in_reference, answer_in_contexts)
    _checked_contexts(answer_in_contexts, reference_in_contexts)
    if not answer_in_reference or not reference_in_contexts:
        return NoiseSensitivity(Judged.nothing(UnscoredReason.NO_CLAIMS), Judged.nothing(UnscoredReason.NO_CLAIMS))
    if _without_contexts(answer_in_contexts, reference_in_contexts):
        return NoiseSensitivity(Judged.nothing(UnscoredReason.NO_CONTEXTS), Judged.nothing(UnscoredReason.NO_CONTEXTS))
    relevant = _relevant(_rows(reference_in_contexts))
    irrelevant = [negated(one) for one in relevant]
    wrong = [negated(one) for one in flags(answer_in_reference)]
    rows = _rows(answer_in_contexts)
    from_relevant = [_supported_by(row, relevant) for row in rows]
    from_irrelevant = [
        both(_supported_by(row, irrelevant), negated(by_relevant))
        for row, by_relevant in zip(rows, from_relevant, strict=True)
    ]
    return NoiseSensitivity(
        share([both(*claim) for claim in zip(wrong, from_relevant, strict=True)]),
        share([both(*claim) for claim in zip(wrong, from_irrelevant, strict=True)]),
    )


def _rows(matrix: Sequence[Sequence[Verdict]]) -> list[list[Flag]]:
    return [flags(row) for row in matrix]


def _relevant(reference_rows: Sequence[Sequence[Flag]]) -> list[Flag]:
    return [any_of(column) for column in zip(*reference_rows, strict=True)]


def _supported_by(row: Sequence[Flag], contexts: Sequence[Flag]) -> Flag:
    return any_of(both(supports, is_one) for supports, is_one in zip(row, contexts, strict=True))


def _harmonic_mean(precision: Judged, recall: Judged) -> Judged:
    if precision.low is None or precision.high is None or recall.low is None or recall.high is None:
        return Judged.nothing(UnscoredReason.NO_CLAIMS)
    return Judged.between(_f1(precision.low, recall.low), _f1(precision.high, recall.high))


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _utilization(retrieved: Sequence[Flag], stated: Sequence[Flag]) -> Judged:
    if not retrieved:
        return Judged.nothing(UnscoredReason.NO_CLAIMS)
    claims = list(zip(retrieved, stated, strict=True))
    if all(found is False for found in retrieved):
        return Judged.known(0.0, UnscoredReason.NO_CLAIM_RETRIEVED)
    # Whether a claim counts at all may be open: it then does where that lowers the share, or raises it.
    worst = [is_stated is True for found, is_stated in claims if found or (found is None and is_stated is not True)]
    best = [
        is_stated is not False for found, is_stated in claims if found or (found is None and is_stated is not False)
    ]
    return Judged.between(_mean(worst), _mean(best))


def _mean(of: Sequence[bool]) -> float:
    return sum(of) / len(of) if of else 0.0


def _without_contexts(*matrices: Sequence[Sequence[Verdict]]) -> bool:
    return any(not row for matrix in matrices for row in matrix)


def _checked(side: str, verdicts: Sequence[Verdict], rows: Sequence[Sequence[Verdict]]) -> None:
    if len(verdicts) != len(rows):
        raise ValueError(f"{len(verdicts)} claims of the {side} have verdicts, and {len(rows)} have a row of contexts")


def _checked_contexts(*matrices: Sequence[Sequence[Verdict]]) -> None:
    lengths = sorted({len(row) for matrix in matrices for row in matrix})
    if len(lengths) > 1:
        raise ValueError(f"all rows have a verdict a context, but they have {', '.join(map(str, lengths))} verdicts")
