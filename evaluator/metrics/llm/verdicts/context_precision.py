"""Ranked precision of contexts by verdicts: do the useful ones stand above the others?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evaluator.metrics.llm.verdicts.judged import Flag, Judged, Verdict, flags
from lake.spec.vocabulary import UnscoredReason


def context_precision(verdicts: Sequence[Verdict]) -> Judged:
    """Mean over the useful contexts of the share of useful ones down to their rank, 0 to 1.

    Gives: context precision, where the verdict asks whether a context was of use for the reference answer; context
        utilization, where it asks so of the answer. The two are never compared: a wrong answer makes wrong contexts
        useful.
    Formula: Σ over useful ranks i: useful contexts among the first i / i; / useful contexts; 0 if none is useful
    Source: ragas (ContextPrecision, ContextUtilization)
    On nothing: no contexts: null with `no_contexts`
    Missing verdicts: null with `judge_failed` and the least and greatest value that any verdicts there give; a value
        where all of them give the same
    Packages: without contexts ragas' older interface and deepeval say 0 and its newer one raises an exception. ragas
        adds 1e-10 to the denominator, so that a perfect value is .9999999999 there. RAGChecker's context precision has
        no ranks: see `claim_numbers`.
    """
    useful = flags(verdicts)
    if not useful:
        return Judged.nothing(UnscoredReason.NO_CONTEXTS)
    if None in useful:
        return Judged.between(_extreme(useful, greatest=False), _extreme(useful, greatest=True))
    ranks = [rank for rank, is_useful in enumerate(useful, 1) if is_useful]
    return Judged.known(sum(count / rank for count, rank in enumerate(ranks, 1)) / len(ranks) if ranks else 0.0)


def _extreme(useful: Sequence[Flag], *, greatest: bool) -> float:
    # A useful context adds (useful ones above it + 1) / rank, whatever lies below. So the best sum for each number of
    # useful contexts among the first i is that among the first i - 1, with this one or without it.
    none, better = (-np.inf, np.maximum) if greatest else (np.inf, np.minimum)
    count = np.arange(len(useful) + 1)
    sums = np.full(len(useful) + 1, none)
    sums[0] = 0.0
    for rank, is_useful in enumerate(useful, 1):
        with_it = np.concatenate(([none], sums[:-1] + count[1:] / rank))
        without_it = sums
        sums = with_it if is_useful else without_it if is_useful is False else better(with_it, without_it)
    values = np.where(np.isfinite(sums), sums / np.maximum(count, 1), none)
    return float(values.max() if greatest else values.min())
