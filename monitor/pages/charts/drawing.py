"""Drawing of a chart over time as SVG: paths in a plane that is stretched to the page's width, and labels beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from monitor.pages.charts.chart_words import finding_of, slot_words, title_of
from monitor.pages.charts.ticks import ValueTicks, time_ticks, value_ticks
from monitor.pages.charts.time_chart import Mark, MarkKind, TimeChart
from monitor.pages.times import IN_UTC, Times

WIDTH, HEIGHT = 1000, 190
"""Of the plane: its width is stretched, its height is in pixels."""
_LANE = 15
_NEAR = 0.02
"""Marks of a kind that are nearer to each other, as a part of the width, are drawn once."""
_LARGEST_BAND = 0.5
"""How far the axis goes beyond the values for the sake of an interval, as a part of their span."""
_GLYPHS = {
    MarkKind.PAGE: "▼",
    MarkKind.WARNING: "!",
    MarkKind.ENDED: "✓",
    MarkKind.RELEASE: "◆",
    MarkKind.SETTING: "△",
    MarkKind.SILENCE: "‖",
}
_MOST_TIMES = 3
_MANY_LABELS = 5


@dataclass(frozen=True, slots=True)
class PlacedLabel:
    """A word at a place: `at` in pixels from the top for values, in per cent of the width for times."""

    at: float
    text: str
    is_minor: bool = False
    """Left out where there is little room."""


@dataclass(frozen=True, slots=True)
class Lane:
    """All marks of one kind: glyphs in a row of its own, lines down from them, and how long each lasted."""

    kind: MarkKind
    name: str
    glyph: str
    y: int
    places: tuple[float, ...]
    """In per cent of the width."""
    spans: str
    marks: tuple[Mark, ...]

    @property
    def times(self) -> tuple[datetime, ...]:
        """The latest ones."""
        return tuple(mark.at for mark in self.marks[-_MOST_TIMES:])


@dataclass(frozen=True, slots=True)
class Drawing:
    """What the macro `time_chart` of plots.html shows."""

    chart: TimeChart
    slot: str
    values: tuple[PlacedLabel, ...]
    grid: str
    line: str
    dots: str
    band: str
    bars: str
    reference: float | None
    onset: tuple[float, float] | None
    """Begin and width in the plane."""
    onset_at: float | None
    lanes: tuple[Lane, ...]
    is_zoomed: bool
    """Whether the axis does not begin at 0."""

    def title(self, times: Times = IN_UTC) -> str:
        """What the chart is of."""
        return title_of(self.chart, times)

    def finding(self, times: Times = IN_UTC) -> str:
        """What the chart shows, in words."""
        return finding_of(self.chart, times)

    def times(self, times: Times = IN_UTC) -> tuple[PlacedLabel, ...]:
        """Labels of the axis below."""
        ticks = time_ticks(self.chart.begin, self.chart.end, times.zone)
        many = len(ticks) > _MANY_LABELS
        return tuple(
            PlacedLabel(_across(self.chart, at), text, many and place % 2 == 1)
            for place, (at, text) in enumerate(ticks)
        )

    @property
    def top(self) -> int:
        """Where the plane begins."""
        return 8 + _LANE * len(self.lanes)

    @property
    def height(self) -> int:
        """Of the whole picture."""
        return self.top + HEIGHT + 24

    @property
    def is_empty(self) -> bool:
        """Whether no slot has a value."""
        return all(point.value is None for point in self.chart.points)


def draw(chart: TimeChart) -> Drawing:
    """Draw a chart."""
    ticks = _ticks_of(chart)
    heights = [None if point.value is None else _height(point.value, ticks) for point in chart.points]
    step = WIDTH / max(1, len(heights))
    levels = [_height(value, ticks) for value in ticks.values]
    return Drawing(
        chart=chart,
        slot=slot_words(chart.slot),
        values=tuple(PlacedLabel(y, ticks.label(v) + chart.unit) for v, y in zip(ticks.values, levels, strict=True)),
        grid="".join(f"M0 {y:.1f}h{WIDTH}" for y in levels),
        line="" if chart.is_bars else _line(heights, step),
        dots="" if chart.is_bars else _dots(heights, step),
        band="" if chart.is_bars else _band(chart, ticks, step),
        bars=_bars(heights, step) if chart.is_bars else "",
        reference=None if chart.reference is None else _height(chart.reference, ticks),
        onset=_onset(chart),
        onset_at=10 * _across(chart, chart.onset.at) if chart.onset and chart.onset.at else None,
        lanes=tuple(_lanes(chart)),
        is_zoomed=abs(ticks.low) > ticks.step / 1e6,
    )


def _ticks_of(chart: TimeChart) -> ValueTicks:
    known = [point.value for point in chart.points if point.value is not None]
    if chart.is_bars:
        return value_ticks(0.0, max(known, default=0.0) or 1.0, 5, whole=chart.is_whole)
    if chart.reference is not None:
        known.append(chart.reference)
    if chart.begins_at_zero:
        known.append(0.0)
    low, high = (min(known), max(known)) if known else chart.bounds or (0.0, 1.0)
    missing = max(0.0, chart.least_span - (high - low)) / 2
    low, high = low - missing, high + missing
    room = _LARGEST_BAND * (high - low)
    low = max(low - room, min([low, *(point.low for point in chart.points if point.low is not None)]))
    high = min(high + room, max([high, *(point.high for point in chart.points if point.high is not None)]))
    if chart.bounds:
        low, high = max(low, chart.bounds[0]), min(high, chart.bounds[1])
    return value_ticks(low, high)


def _height(value: float, ticks: ValueTicks) -> float:
    """Pixels from the top of the plane."""
    return HEIGHT * (ticks.high - value) / (ticks.high - ticks.low)


def _across(chart: TimeChart, at: datetime) -> float:
    """Per cent of the width; what lies outside stands at the edge."""
    return 100 * min(1.0, max(0.0, (at - chart.begin) / (chart.end - chart.begin)))


def _onset(chart: TimeChart) -> tuple[float, float] | None:
    if chart.onset is None:
        return None
    begin, end = _across(chart, chart.onset.earliest), _across(chart, chart.onset.latest)
    return 10 * begin, max(2.0, 10 * (end - begin))


def _line(heights: Sequence[float | None], step: float) -> str:
    parts, drawing = [], False
    for place, height in enumerate(heights):
        if height is not None:
            parts.append(f"{'L' if drawing else 'M'}{(place + 0.5) * step:.1f} {height:.1f}")
        drawing = height is not None
    return "".join(parts)


def _dots(heights: Sequence[float | None], step: float) -> str:
    # A line of no length has round ends: a circle that stays one in a stretched plane.
    return "".join(f"M{(place + 0.5) * step:.1f} {y:.1f}h0" for place, y in enumerate(heights) if y is not None)


def _bars(heights: Sequence[float | None], step: float) -> str:
    gap = min(1.5, step / 4)
    return "".join(
        f"M{place * step + gap:.1f} {HEIGHT}V{min(y, HEIGHT - 1.5):.1f}h{step - 2 * gap:.1f}V{HEIGHT}z"
        for place, y in enumerate(heights)
        if y is not None and y < HEIGHT
    )


def _band(chart: TimeChart, ticks: ValueTicks, step: float) -> str:
    parts: list[str] = []
    run: list[tuple[float, float, float]] = []
    for place, point in enumerate([*chart.points, None]):
        if point is None or point.value is None or point.low is None or point.high is None:
            parts.append(_band_of(run, step))
            run = []
        else:
            run.append(((place + 0.5) * step, _height(point.low, ticks), _height(point.high, ticks)))
    return "".join(parts)


def _band_of(run: list[tuple[float, float, float]], step: float) -> str:
    if len(run) == 1:
        ((x, low, high),) = run
        half = min(step / 3, 4.0)
        run = [(x - half, low, high), (x + half, low, high)]
    upper = [f"{x:.1f} {high:.1f}" for x, _, high in run]
    lower = [f"{x:.1f} {low:.1f}" for x, low, _ in reversed(run)]
    return f"M{'L'.join(upper + lower)}z" if run else ""


def _lanes(chart: TimeChart) -> Iterator[Lane]:
    shown = [mark for mark in chart.marks if mark.at < chart.end and (mark.until or mark.at) >= chart.begin]
    kinds = [kind for kind in MarkKind if any(mark.kind is kind for mark in shown)]
    for number, kind in enumerate(kinds):
        marks = tuple(sorted((mark for mark in shown if mark.kind is kind), key=lambda mark: mark.at))
        places: list[float] = []
        for mark in marks:
            place = _across(chart, mark.at)
            if not places or place - places[-1] >= 100 * _NEAR:
                places.append(place)
        spans = [(_across(chart, mark.at), _across(chart, mark.until)) for mark in marks if mark.until]
        yield Lane(
            kind=kind,
            name=kind.words,
            glyph=_GLYPHS[kind],
            y=_LANE * (number + 1) - 2,
            places=tuple(places),
            spans="".join(f"M{10 * a:.1f} {HEIGHT - 7}h{max(2.0, 10 * (b - a)):.1f}v7H{10 * a:.1f}z" for a, b in spans),
            marks=marks,
        )
