"""Shapes of the small charts of tables, as SVG path data."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH, HEIGHT = 224.0, 40.0


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
