"""Trend of a metric: its mean by slots of the period as a small chart, zoomed around the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from monitor.detect.regression import Scale
from monitor.detect.stats.means import mean_of
from monitor.detect.stats.period_sums import PeriodSums
from monitor.pages.charts.small import height_of, line
from monitor.pages.period import Period

_LEAST_HEIGHT = 0.1
"""Of the metric's range: noise must not fill the chart."""


@dataclass(frozen=True)
class Trend:
    """Path data of the line, the height of the reference in the same chart, and what the chart shows in words."""

    path: str
    reference_height: float
    text: str


def trend_of(means: PeriodSums, reference: float, scale: Scale, period: Period) -> Trend | None:
    """Give the trend; None where the period has no score."""
    slots = means.by_slot(period.first, period.last, period.slot_hours).tolist()
    found = map(mean_of, slots)
    values = [None if one is None else one.value for one in found]
    known = [value for value in values if value is not None]
    if not known:
        return None
    low, high = _ends([*known, reference], abs(scale.best - scale.worst) * _LEAST_HEIGHT)
    path = line([None if value is None else (value - low) / (high - low) for value in values])
    return Trend(path, height_of((reference - low) / (high - low)), _words(known, reference, period))


def _ends(values: Sequence[float], least: float) -> tuple[float, float]:
    low, high = min(values), max(values)
    missing = max(0.0, least - (high - low)) / 2
    return low - missing, high + missing


def _words(known: Sequence[float], reference: float, period: Period) -> str:
    return (
        f"Mean over {period.days.words}: first {known[0]:.2f}, last {known[-1]:.2f}, "
        f"lowest {min(known):.2f}, highest {max(known):.2f}; reference {reference:.2f}"
    )
