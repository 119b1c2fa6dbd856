"""Probabilities of a fall where nothing changed: by single answers of the cases, and by how much whole runs differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

_LAST = (1, 2, 3, 4, 5, 7, 10, 14, 20)
_STEPS = 10
_ASSUMED_SPREAD = 1.0
"""Standard deviation between runs, in logits, that a fall must exceed where few runs are known."""

_HALF_A_CASE = 0.5
_TWO_CASES = 2.0
_FEWEST_DEGREES = 2


def splits(runs: int) -> Sequence[int]:
    """Return how many of the last of `runs` runs may be those that fell."""
    return [last for last in _LAST if last < runs]


def probabilities_by_cases(values: NDArray[np.float64], possible: Sequence[int]) -> list[float]:
    """Return the probability of values of the last runs at least as bad as these, by how many are the last ones.

    `values` are cases by runs, NaN where one is not known. Exact permutation test: where nothing changed, the values of
    a case can come in any order, whatever they are. The statistic is the sum of the values of the last runs, in steps
    of a tenth of their range. For two runs of passes and failures it is the sign test. 1 where no case differs.
    """
    steps = _in_steps(values)
    alike, of_case = np.unique(np.sort(steps), axis=0, return_inverse=True)
    ways = [_ways_to_sum([int(step) for step in one if step >= 0], max(possible)) for one in alike]
    return [_probability_of_sum(steps[:, -last:], of_case, ways) for last in possible]


def _probability_of_sum(
    steps: NDArray[np.int64], of_case: NDArray[np.intp], ways: Sequence[NDArray[np.float64]]
) -> float:
    """Return the probability of at most the sum of these `steps`, cases by last runs."""
    recent = (steps >= 0).sum(axis=1)
    groups, counts = np.unique(np.column_stack([of_case, recent]), axis=0, return_counts=True)
    chances = [ways[kind][number] / ways[kind][number].sum() for kind, number in groups]
    size = 1 << sum((len(chance) - 1) * int(count) for chance, count in zip(chances, counts, strict=True)).bit_length()
    product = np.ones(size // 2 + 1, dtype=np.complex128)
    for chance, count in zip(chances, counts, strict=True):
        product *= np.fft.rfft(np.trim_zeros(chance, "b"), size) ** count
    observed = int(np.maximum(steps, 0).sum())
    return float(np.clip(np.fft.irfft(product, size)[: observed + 1].sum(), 0.0, 1.0))


def probability_by_runs(values: NDArray[np.float64], last: int) -> float:
    """Return the probability that the `last` runs are by chance so much below those before, as runs differ as a whole.

    `values` are cases by runs, higher is better. A run is one number: the log odds of its mean. What a model provider's
    good and bad nights do to all cases is in it. A fall has to be larger than a normal distribution with the spread
    `_ASSUMED_SPREAD` explains, or than the spread of the known runs explains (Student's t, both parts pooled).
    """
    shares, cases = _shares(values), len(values)
    weight = 1 / last + 1 / (len(shares) - last)
    before, after = np.split(_log_odds(shares, cases, _HALF_A_CASE), [-last])
    fall = float(before.mean() - after.mean())
    assumed = NormalDist().cdf(-fall / (_ASSUMED_SPREAD * math.sqrt(weight)))
    degrees = len(shares) - 2
    if degrees < _FEWEST_DEGREES:
        return assumed
    before, after = np.split(_log_odds(shares, cases, _TWO_CASES), [-last])
    fall = float(before.mean() - after.mean())
    variance = float(before.var() * len(before) + after.var() * len(after)) / degrees
    return min(assumed, student_tail(fall, math.sqrt(variance * weight), degrees))


def student_tail(difference: float, error: float, degrees: int) -> float:
    """Return the probability of Student's t above difference / error; Abramowitz and Stegun 26.7.3 and 26.7.4."""
    angle = math.atan2(difference, error * math.sqrt(degrees))
    odd = degrees % 2
    term, total = math.cos(angle) ** odd, 0.0
    for power in range(odd, degrees - 1, 2):
        total += term
        term *= (power + 1) / (power + 2) * math.cos(angle) ** 2
    within = math.sin(angle) * total
    return max(0.0, (1 - (2 / math.pi * (angle + within) if odd else within)) / 2)


def _in_steps(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return whole steps above the least value of each case, -1 where a value is not known."""
    known = ~np.isnan(values)
    width = float(np.ptp(values[known])) if known.any() else 0.0
    above = values - np.min(values, axis=1, where=known, initial=np.inf)[:, None]
    steps = np.where(known, np.rint(_STEPS / (width or 1.0) * np.where(known, above, 0.0)), -1).astype(np.int64)
    # Passes and failures are one step apart, not ten.
    return np.where(known, steps // max(1, int(np.gcd.reduce(steps[known], initial=0))), -1)


def _ways_to_sum(steps: Sequence[int], most: int) -> NDArray[np.float64]:
    """Return in how many ways so many of the `steps` (rows, up to `most`) come to each sum (columns)."""
    ways = np.zeros((most + 1, most * max(steps) + 1))
    ways[0, 0] = 1.0
    for step in steps:
        ways[1:, step:] += ways[:-1, : ways.shape[1] - step].copy()
    return ways


def _shares(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of each run; a value that is not known is the mean of its case, so that it moves no run."""
    means = np.nanmean(values, axis=1, keepdims=True)
    found = np.where(np.isnan(values), means, values).mean(axis=0)
    # A metric whose better end is 0 comes negated.
    shares: NDArray[np.float64] = np.clip(found + (found.min() < 0), 0.0, 1.0)
    return shares


def _log_odds(shares: NDArray[np.float64], cases: int, added: float) -> NDArray[np.float64]:
    """Return the log odds of shares of so many cases, with as many passes and failures `added`, to keep them finite.

    Half a case (Haldane 1956) keeps a total failure far away; two (Agresti and Coull 1998) keep the spread of runs in
    which nearly all cases pass small.
    """
    odds: NDArray[np.float64] = np.log((shares * cases + added) / ((1 - shares) * cases + added))
    return odds
