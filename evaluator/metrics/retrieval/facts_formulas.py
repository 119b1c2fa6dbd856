"""Formulas of retrieval by facts, to the last bit those of aidial-rag-eval 0.7.0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from evaluator.metrics.matchers.matcher import ABSENT
from evaluator.metrics.retrieval.dcg import dcg

Gain = Literal["linear", "exponential"]


def recall(ranks: Sequence[int]) -> float:
    """Facts found / facts; NaN without facts."""
    return sum(rank != ABSENT for rank in ranks) / len(ranks) if ranks else float("nan")


def precision(counts: Sequence[int]) -> float:
    """Contexts with at least one fact / contexts; 0 without contexts."""
    return sum(count > 0 for count in counts) / len(counts) if counts else 0.0


def f1(precision: float, recall: float) -> float:
    """Harmonic mean of precision and recall; 0 if both are 0."""
    return 0.0 if precision == 0 and recall == 0 else 2.0 * (precision * recall) / (precision + recall)


def mrr(ranks: Sequence[int]) -> float:
    """Mean over the facts of 1 / rank from 1, 0 for an absent fact; NaN without facts."""
    if not ranks:
        return float("nan")
    # numpy adds in another order than sum(), and so may end in another last digit.
    return float(np.add.reduce([0.0 if rank == ABSENT else 1 / (rank + 1) for rank in ranks])) / len(ranks)


def mrr_first(counts: Sequence[int]) -> float:
    """1 / rank from 1 of the first context with a fact; 0 if none has one."""
    return next((1 / rank for rank, count in enumerate(counts, 1) if count), 0.0)


def ndcg(counts: Sequence[int], k: int | None = None, gain: Gain = "linear") -> float:
    """DCG of the facts that each context holds / DCG of the same contexts in the best order; 0 if none holds one.

    Cut at k, both sums stop there, and the ideal takes the best k of all contexts.
    """
    if not any(counts):
        return 0.0
    gains = _gains(counts, gain)
    return dcg(gains[:k]) / dcg(sorted(gains, reverse=True)[:k])


def _gains(counts: Sequence[int], gain: Gain) -> list[float]:
    if gain == "linear":
        return [float(count) for count in counts]
    # 2^count - 1 overflows at 1,024 facts; the ratio is the same when all are divided by the greatest power.
    most = max(counts)
    return [2.0 ** (count - most) - 2.0**-most for count in counts]
