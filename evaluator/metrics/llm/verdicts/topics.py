"""Numbers of topics: which of those that were asked about may be talked about, and which were answered."""

from __future__ import annotations

from collections.abc import Sequence

from evaluator.metrics.llm.verdicts.judged import Judged, Verdict, flags
from lake.spec.vocabulary import UnscoredReason


def topic_adherence_precision(allowed: Sequence[Verdict], answered: Sequence[Verdict]) -> Judged:
    """Share of the topics that were answered which are allowed, 0 to 1, from two verdicts a topic.

    Formula: topics answered and allowed / topics answered
    Source: ragas (TopicAdherence)
    On nothing: no topic was answered: null with `nothing_answered`
    Missing verdicts: null with `judge_failed`, from 0 to 1
    Packages: ragas adds 1e-10 to the denominator, and says 0 where no topic was answered.
    """
    if _some_are_missing(allowed, answered):
        return Judged.between(0.0, 1.0)
    right, wrong, _ = _counts(allowed, answered)
    return _share(right, right + wrong, UnscoredReason.NOTHING_ANSWERED)


def topic_adherence_recall(allowed: Sequence[Verdict], answered: Sequence[Verdict]) -> Judged:
    """Share of the allowed topics that were asked about which were answered, 0 to 1, from two verdicts a topic.

    Formula: topics answered and allowed / topics allowed
    Source: ragas (TopicAdherence)
    On nothing: no allowed topic was asked about: null with `nothing_allowed`
    Missing verdicts: null with `judge_failed`, from 0 to 1
    Packages: ragas adds 1e-10 to the denominator, and says 0 where no allowed topic was asked about.
    """
    if _some_are_missing(allowed, answered):
        return Judged.between(0.0, 1.0)
    right, _, refused = _counts(allowed, answered)
    return _share(right, right + refused, UnscoredReason.NOTHING_ALLOWED)


def topic_adherence_f1(allowed: Sequence[Verdict], answered: Sequence[Verdict]) -> Judged:
    """F1 of the topics that were answered and those that are allowed, 0 to 1, from two verdicts a topic.

    Formula: 2 · topics answered and allowed / (topics answered + topics allowed)
    Source: ragas (TopicAdherence)
    On nothing: no topic was answered and none is allowed: null with `nothing_allowed`
    Missing verdicts: null with `judge_failed`, from 0 to 1
    Packages: ragas adds 1e-10 to three denominators, and says 0 where there is nothing.
    """
    if _some_are_missing(allowed, answered):
        return Judged.between(0.0, 1.0)
    right, wrong, refused = _counts(allowed, answered)
    return _share(2 * right, 2 * right + wrong + refused, UnscoredReason.NOTHING_ALLOWED)


def _some_are_missing(*verdicts: Sequence[Verdict]) -> bool:
    return any(one is None for some in verdicts for one in some)


def _counts(allowed: Sequence[Verdict], answered: Sequence[Verdict]) -> tuple[int, int, int]:
    """Count the topics that are answered and allowed, answered and not allowed, and allowed and not answered."""
    pairs = list(zip(flags(allowed), flags(answered), strict=True))
    return pairs.count((True, True)), pairs.count((False, True)), pairs.count((True, False))


def _share(part: int, whole: int, nothing: UnscoredReason) -> Judged:
    return Judged.known(part / whole) if whole else Judged.nothing(nothing)
