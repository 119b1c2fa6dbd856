"""Sign test: how likely is it that two sides differ so clearly by chance?"""

from __future__ import annotations

from math import comb


def sign_test(one: int, other: int) -> float:
    """Return the probability of counts at least as uneven as these if each side is as likely: binomial, two-sided.

    Ties belong to neither count. 1.0 where both are 0.
    """
    decided, fewer = one + other, min(one, other)
    ways: int = sum(comb(decided, k) for k in range(fewer + 1))
    return min(1.0, 2 * ways / (1 << decided))
