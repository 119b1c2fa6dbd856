"""Two distributions of a score, before and after, as bars side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from monitor.pages.charts.drawing import HEIGHT, WIDTH, PlacedLabel
from monitor.pages.charts.ticks import value_ticks

_GAP = 0.12
"""On either side of a pair of bars, as a part of its bucket."""


@dataclass(frozen=True)
class Distribution:
    """How many of the scores lie in each bucket, and their mean where known; the drawing does not show it."""

    name: str
    counts: Sequence[int]
    mean: float | None = None

    @property
    def total(self) -> int:
        """Number of scores in all buckets."""
        return sum(self.counts)

    @property
    def shares(self) -> list[float]:
        """Per cent of the scores in each bucket."""
        return [100 * count / max(1, self.total) for count in self.counts]


@dataclass(frozen=True)
class HistogramChart:
    """Buckets of equal width from `low` to `high`; `key` is for ids of the page, unique on it."""

    key: str
    name: str
    low: float
    high: float
    before: Distribution
    after: Distribution
    is_bad: bool = True
    """Whether what came after is drawn as something that got worse."""


@dataclass(frozen=True, slots=True)
class HistogramDrawing:
    """What the macro `histogram` of plots.html shows."""

    histogram: HistogramChart
    title: str
    finding: str
    shares: tuple[PlacedLabel, ...]
    scores: tuple[PlacedLabel, ...]
    grid: str
    before: str
    after: str
    buckets: tuple[tuple[str, int, float, int, float], ...]
    """In words, and for before and after: scores, and per cent of them."""

    @property
    def height(self) -> int:
        """Of the whole picture."""
        return 8 + HEIGHT + 24


def draw_histogram(histogram: HistogramChart) -> HistogramDrawing:
    """Draw two distributions; the axis is in per cent, so that few scores and many can be compared."""
    before, after = histogram.before.shares, histogram.after.shares
    ticks = value_ticks(0.0, max([*before, *after, 1.0]), 5)
    heights = [(HEIGHT * (1 - value / ticks.high), f"{ticks.label(value)} %") for value in ticks.values]
    buckets = _buckets(histogram)
    across = value_ticks(histogram.low, histogram.high)
    span = histogram.high - histogram.low
    places = [(value, 100 * (value - histogram.low) / span) for value in across.values]
    return HistogramDrawing(
        histogram=histogram,
        title=f"{histogram.name}: share of scores by value, {histogram.before.name} and {histogram.after.name}",
        finding=_finding(histogram, buckets),
        shares=tuple(PlacedLabel(y, text) for y, text in heights),
        scores=tuple(PlacedLabel(at, across.label(value)) for value, at in places if -1e-6 <= at <= 100 + 1e-6),
        grid="".join(f"M0 {y:.1f}h{WIDTH}" for y, _ in heights),
        before=_bars(before, ticks.high, 0),
        after=_bars(after, ticks.high, 1),
        buckets=tuple(zip(buckets, histogram.before.counts, before, histogram.after.counts, after, strict=True)),
    )


def _bars(shares: Sequence[float], highest: float, side: int) -> str:
    step = WIDTH / len(shares)
    width = step * (0.5 - _GAP)
    parts = []
    for place, share in enumerate(shares):
        if share > 0:
            x, length = step * (place + _GAP) + side * width, max(1.5, HEIGHT * share / highest)
            parts.append(f"M{x:.1f} {HEIGHT}v{-length:.1f}h{width:.1f}V{HEIGHT}z")
    return "".join(parts)


def _buckets(histogram: HistogramChart) -> list[str]:
    number = len(histogram.before.counts)
    width = (histogram.high - histogram.low) / number
    return [f"{histogram.low + n * width:g} to {histogram.low + (n + 1) * width:g}" for n in range(number)]


def _finding(histogram: HistogramChart, buckets: Sequence[str]) -> str:
    said = []
    for one in (histogram.before, histogram.after):
        if not one.total:
            said.append(f"{one.name.capitalize()}: no score.")
            continue
        most = max(range(len(buckets)), key=lambda place: one.counts[place])
        share = f"{one.shares[most]:.0f} % of them from {buckets[most]}"
        said.append(f"{one.name.capitalize()}: {one.total:,} scores, {share}.")
    return " ".join(said)
