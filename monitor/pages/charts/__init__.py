"""Charts of the pages as SVG: small ones for tables, and large ones with axes, a text alternative and a table.

A page gives a `TimeChart` or a `HistogramChart` to `draw` or `draw_histogram`, and the drawing to the macro
`time_chart` or `histogram` of plots.html.
"""

from monitor.pages.charts.drawing import Drawing, draw
from monitor.pages.charts.histogram import Distribution, HistogramChart, HistogramDrawing, draw_histogram
from monitor.pages.charts.time_chart import ChartOnset, Mark, MarkKind, Point, TimeChart

__all__ = [
    "ChartOnset",
    "Distribution",
    "Drawing",
    "HistogramChart",
    "HistogramDrawing",
    "Mark",
    "MarkKind",
    "Point",
    "TimeChart",
    "draw",
    "draw_histogram",
]
