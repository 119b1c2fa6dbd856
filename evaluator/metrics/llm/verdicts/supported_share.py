"""Share of claims that are supported, of one answer and of many."""

from __future__ import annotations

from collections.abc import Sequence

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
