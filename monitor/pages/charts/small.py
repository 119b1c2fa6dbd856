"""Shapes of the pages' small charts, as SVG path data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from monitor.stats.timeline import QUARTER_SECONDS, Timeline

_WIDTHS = (1, 4, 12, 24)
"""Quarters of an hour that one slot of a chart may span."""
_MOST_SLOTS = 56

WIDTH, HEIGHT = 224.0, 40.0
_GAP = 1.0
_LEAST_BAR = 1.5


@dataclass(frozen=True)
class TimeAxis:
    """Slots of equal length that all charts of a page share; `first` is in quarters of an hour since 1970."""

    first: int
    slots: int
    quarters: int

    @property
    def start(self) -> datetime:
        """Where the first slot begins."""
        return datetime.fromtimestamp(self.first * QUARTER_SECONDS, UTC)

    @property
    def end(self) -> datetime:
        """Where the last slot ends."""
        return self.start + self.slots * self.slot

    @property
    def slot(self) -> timedelta:
        """Length of one slot."""
        return timedelta(seconds=self.quarters * QUARTER_SECONDS)

    def sums(self, timeline: Timeline) -> list[tuple[float, float]]:
        """(sum of weights, sum of weighted values) of each slot."""
        sums = [(0.0, 0.0)] * self.slots
        for quarter, (weight, value) in timeline.quarters.items():
            slot = (quarter - self.first) // self.quarters
            if 0 <= slot < self.slots:
                sums[slot] = (sums[slot][0] + weight, sums[slot][1] + value)
        return sums


def axis_of(timelines: Iterable[Timeline]) -> TimeAxis | None:
    """The axis that shows the last week of all the timelines; None where they are empty."""
    quarters = [quarter for timeline in timelines for quarter in timeline.quarters]
    if not quarters:
        return None
    newest = max(quarters)
    oldest = max(min(quarters), newest - _MOST_SLOTS * _WIDTHS[-1] + 1)
    width = next((w for w in _WIDTHS if newest // w - oldest // w < _MOST_SLOTS), _WIDTHS[-1])
    last = newest // width
    first = max(oldest // width, last - _MOST_SLOTS + 1)
    return TimeAxis(first * width, last - first + 1, width)


def bars(heights: Sequence[float]) -> str:
    """Path of one bar a slot, the highest as high as the chart; a slot with something in it is never invisible."""
    highest = max(heights, default=0.0)
    if highest <= 0.0:
        return ""
    step = WIDTH / len(heights)
    width = max(step - _GAP, step / 2)
    parts = []
    for slot, height in enumerate(heights):
        if height > 0.0:
            length = max(_LEAST_BAR, height / highest * HEIGHT)
            parts.append(f"M{slot * step:.1f} {HEIGHT:g}v{-length:.1f}h{width:.1f}v{length:.1f}z")
    return "".join(parts)


def line(values: Sequence[float | None]) -> str:
    """Path of a line through values from 0 to 1, broken where there is none; a lone value is a short dash."""
    step = WIDTH / max(len(values), 1)
    parts, drawing = [], False
    for slot, value in enumerate(values):
        if value is None:
            drawing = False
            continue
        x, y = (slot + 0.5) * step, height_of(value)
        alone = not drawing and (slot + 1 == len(values) or values[slot + 1] is None)
        parts.append(f"{'L' if drawing else 'M'}{x:.1f} {y:.1f}" + (f"h{min(step, 4):.1f}" if alone else ""))
        drawing = True
    return "".join(parts)


def height_of(value: float) -> float:
    """Where a value from 0 to 1 stands in a chart, measured from its top; others stand at its edge."""
    return HEIGHT - min(1.0, max(0.0, value)) * (HEIGHT - 2) - 1
