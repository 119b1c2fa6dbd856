"""Two pictures of the regression benchmark as plain SVG, legible on light and on dark pages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

Rates = Mapping[str, Mapping[str, float]]
"""False alarms a stream and month, by setting and rule."""
Delays = Mapping[tuple[str, float], tuple[Mapping[str, NDArray[np.float64]], float]]
"""Hours of each stream by rule, and the bound that none can beat; by setting and drop."""

WIDTH, LEFT, RIGHT, TOP, ROW = 860, 225, 24, 76, 30
_STYLE = """
text { font: 13px system-ui, sans-serif; fill: #24292f } .title { font-size: 16px; font-weight: 600 }
.soft { fill: #57606a } .grid { stroke: #d0d7de } .mark { stroke: #cf222e; stroke-width: 1.5 } .bad { fill: #cf222e }
.other { fill: #8c959f } .knows { fill: #bf8700 } .ours { fill: #0969da } .sharp { fill: #54aeff }
.bound { stroke: #24292f; stroke-width: 2.5 } .page { fill: #ffffff } circle { stroke: #ffffff }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .soft { fill: #9da7b3 } .grid { stroke: #30363d } .mark { stroke: #ff7b72 }
.bad { fill: #ff7b72 } .other { fill: #6e7681 }
.knows { fill: #d29922 } .ours { fill: #388bfd } .sharp { fill: #a5d6ff }
.bound { stroke: #e6edf3 } .page { fill: #0d1117 }
circle { stroke: #0d1117 } }
"""
_CLASS = {"ours": "ours", "ours, tolerance 0": "sharp", "CUSUM that knows": "knows"}
_NO_RIVAL = {*_CLASS, "ours"}


class Axis:
    """A logarithmic axis from left to right; values beyond its ends stand at them."""

    def __init__(self, low: float, high: float, left: float = LEFT, right: float = WIDTH - RIGHT) -> None:
        self.low, self.high, self._left, self._width = low, high, left, right - left

    def __call__(self, value: float) -> float:
        """Where a value stands, in the picture's units."""
        inside = min(self.high, max(self.low, value))
        return self._left + self._width * math.log(inside / self.low) / math.log(self.high / self.low)


def draw(folder: Path, rates: Rates, delays: Delays) -> None:
    """Write both pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "false-alarms.svg").write_text(false_alarms(rates), encoding="utf-8")
    (folder / "delay.svg").write_text(delay(delays, (0.05, 0.10)), encoding="utf-8")


def false_alarms(rates: Rates) -> str:
    """A row a rule, a dot a setting."""
    rules = list(next(iter(rates.values())))
    axis, bottom = Axis(0.001, 300), TOP + ROW * len(rules)
    parts = [_text(16, 26, "False alarms of a steady stream in a month", "title")]
    parts.append(
        _text(16, 46, "A dot is a kind of scores. Rules as they are usually set; ours as it is set by default.", "soft")
    )
    ticks = {0.001: "none", 0.01: "0.01", 0.1: "0.1", 1: "1", 10: "10", 100: "100"}
    parts += _grid(axis, ticks, bottom)
    parts.append(_line(axis(1), TOP - 14, axis(1), bottom, "mark"))
    parts.append(_text(axis(1) + 6, TOP - 6, "promised: at most 1", "bad"))
    for row, rule in enumerate(rules):
        y = TOP + ROW * (row + 0.5)
        parts.append(_text(LEFT - 14, y + 4, rule, anchor="end"))
        parts += [_dot(axis(of[rule]), y, _CLASS.get(rule, "other")) for of in rates.values()]
    return _svg(parts, bottom + 34)


def delay(delays: Delays, drops: Sequence[float]) -> str:
    """A panel a drop, a row a setting."""
    names = list(dict.fromkeys(name for name, _ in delays))
    bottom, gap = TOP + 24 + ROW * len(names), 48
    parts = [
        _text(16, 26, "Hours until half are found, others tuned to as few false alarms as ours, tolerance 0", "title")
    ]
    x: float = 16
    for label, kind in (("log(A) / KL", ""), ("CUSUM that knows the truth", "knows"), ("ours, tolerance 0", "sharp"),
                        ("ours", "ours"), ("best of the others", "other")):  # fmt: skip
        parts.append(_dot(x + 5, 45, kind) if kind else _line(x + 5, 39, x + 5, 51, "bound"))
        parts.append(_text(x + 15, 49, label, "soft"))
        x += 38 + 7 * len(label)
    width = (WIDTH - LEFT - RIGHT - gap * (len(drops) - 1)) / len(drops)
    for panel, drop in enumerate(drops):
        left = LEFT + panel * (width + gap)
        axis = Axis(1, 1000, left, left + width)
        parts.append(_text(left, TOP + 8, f"drop of {drop:.2f}"))
        parts += _grid(axis, {1: "1 h", 10: "10 h", 100: "100 h", 1000: "never"}, bottom, TOP + 18)
        for row, name in enumerate(names):
            y = TOP + 24 + ROW * (row + 0.5)
            if not panel:
                parts.append(_text(LEFT - 14, y + 4, name, anchor="end"))
            by_rule, least = delays[name, drop]
            medians = {rule: _median(hours) for rule, hours in by_rule.items()}
            rival = min(hours for rule, hours in medians.items() if rule not in _NO_RIVAL)
            parts.append(_dot(axis(rival), y, "other"))
            parts.append(_line(axis(least), y - 8, axis(least), y + 8, "bound"))
            parts += [_dot(axis(medians[rule]), y, kind) for rule, kind in reversed(_CLASS.items())]
    return _svg(parts, bottom + 34)


def _median(hours: NDArray[np.float64]) -> float:
    return float(np.quantile(hours, 0.5, method="higher")) if len(hours) else math.inf


def _grid(axis: Callable[[float], float], ticks: Mapping[float, str], bottom: float, top: float = TOP) -> Iterable[str]:
    for value, label in ticks.items():
        yield _line(axis(value), top, axis(value), bottom, "grid")
        yield _text(axis(value), bottom + 18, label, "soft", "middle")


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def _dot(x: float, y: float, kind: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" class="{kind}" fill-opacity="0.85"/>'


def _svg(parts: Sequence[str], height: float) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img">'
    page = f'<rect class="page" width="{WIDTH}" height="{height:.0f}" rx="6"/>'
    return "\n".join([head, f"<style>{_STYLE}</style>", page, *parts, "</svg>"]) + "\n"
