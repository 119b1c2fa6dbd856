"""Exact Wilcoxon signed-rank test of paired differences."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def probability_of_worse(differences: NDArray[np.float64]) -> float:
    """Give the probability of differences at least as bad as these where each sign is as likely as the other.

    One-sided, exact also with ties: ranks of equal sizes are their mean rank (Pratt 1959 leaves out zeros as Wilcoxon
    1945 does). 1 where no pair differs. For differences of one size it is the sign test.
    """
    changed = differences[differences != 0]
    if not len(changed):
        return 1.0
    _, size, count = np.unique(np.abs(changed), return_inverse=True, return_counts=True)
    ends = np.cumsum(count)
    # Twice the mean rank of each size: a whole number.
    ranks = (2 * ends - count + 1)[size]
    observed = int(ranks[changed > 0].sum())
    # The chance of each sum of the ranks of what got better, one pair after the other.
    chance = np.zeros(int(ranks.sum()) + 1)
    chance[0], reached = 1.0, 0
    for rank in sorted(map(int, ranks)):
        chance[rank : reached + rank + 1] += chance[: reached + 1].copy()
        reached += rank
        chance[: reached + 1] /= 2
    return float(min(1.0, chance[: observed + 1].sum()))
