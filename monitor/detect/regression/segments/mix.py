"""Decomposition of a change of a mean: the part from the segments' means, and the part from their shares (mix)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.detect.regression.arrays import Floats


@dataclass(frozen=True, slots=True)
class SegmentChange:
    """One segment before and after: its share of all, in [0, 1], and its mean; None where there was none of it."""

    name: str
    share_before: float
    share_after: float
    mean_before: float | None
    mean_after: float | None

    @property
    def within(self) -> float:
        """Its part in the change of the whole mean that comes from its own."""
        if self.mean_before is None or self.mean_after is None:
            return 0.0
        return (self.share_before + self.share_after) / 2 * (self.mean_after - self.mean_before)

    @property
    def mix(self) -> float:
        """Its part in the change of the whole mean that comes from its share.

        A segment that was not there before, or is not now, has one mean, taken for both.
        """
        means = [mean for mean in (self.mean_before, self.mean_after) if mean is not None]
        return (self.share_after - self.share_before) * sum(means) / len(means) if means else 0.0


@dataclass(frozen=True, slots=True)
class Decomposition:
    """A change of a mean, `within + mix`: what came from the segments' means, and what from their shares.

    `within = sum_s (p_s + q_s) / 2 * (b_s - a_s)` and `mix = sum_s (q_s - p_s) * (a_s + b_s) / 2` with the shares p
    before and q after, and the means a and b (Kitagawa, "Components of a difference between two rates", 1955).
    """

    segments: tuple[SegmentChange, ...]

    @property
    def within(self) -> float:
        """What comes from the segments' means."""
        return sum(one.within for one in self.segments)

    @property
    def mix(self) -> float:
        """What comes from the segments' shares."""
        return sum(one.mix for one in self.segments)

    @property
    def most_worsened(self) -> SegmentChange | None:
        """The segment with the greatest part in a fall; None where none fell."""
        worst = min(self.segments, key=lambda one: one.within, default=None)
        return worst if worst and worst.within < 0.0 else None


def decompose(names: tuple[str, ...], before: tuple[Floats, Floats], after: tuple[Floats, Floats]) -> Decomposition:
    """Decompose a change; `before` and `after` are shares and means by segment, a mean nan where the share is 0.

    Segments that are in neither are left out.
    """
    rows = zip(names, before[0], after[0], before[1], after[1], strict=True)
    return Decomposition(
        tuple(
            SegmentChange(name, float(p), float(q), _or_none(a, p), _or_none(b, q))
            for name, p, q, a, b in rows
            if p > 0.0 or q > 0.0
        )
    )


def shares_and_means(numbers: np.ndarray, values: Floats, weights: Floats, segments: int) -> tuple[Floats, Floats]:
    """Return the share of each segment, by weight, and its weighted mean, nan where there is none."""
    mass = np.bincount(numbers, weights, segments)
    sums = np.bincount(numbers, weights * values, segments)
    means = np.divide(sums, mass, out=np.full(segments, np.nan), where=mass > 0.0)
    return mass / mass.sum(), means


def _or_none(mean: float, share: float) -> float | None:
    return float(mean) if share > 0.0 and not np.isnan(mean) else None
