"""HTML page about the scores of a table: means, counts, how the values are distributed, and the worst rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np
import numpy.typing as npt
from jinja2 import PackageLoader

from dialwatch.reports.worst_rows import MOST_BY_METRIC, MOST_CHARACTERS, MOST_ROWS, worst_rows
from evaluator.datasets import DatasetReport, read_column
from evaluator.metrics import metric_named
from lake.tables.storage import Storage
from monitor.pages.answers.answer_view import as_json_text
from monitor.pages.rendering import style_sheet, templates

_BARS, _WIDTH, _HEIGHT, _BASELINE = 20, 240.0, 46.0, 47.0
_LEAST_HEIGHT = 1.5

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Bar:
    """A bar of a distribution: how many rows, and where it is drawn."""

    count: int
    title: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class MetricLine:
    """A metric's line of the page, in words and bars."""

    metric: str
    asks: str
    mean: str
    median: str
    scored: int
    not_scored: int
    reasons: str
    low: str
    high: str
    bars: Sequence[Bar]

    @property
    def in_words(self) -> str:
        """The distribution in words, for people who do not see it."""
        return "; ".join(bar.title for bar in self.bars if bar.count)


def page_of(report: DatasetReport, storage: Storage | None = None) -> str:
    """Return the page; the values are read from the table that was written, a column at a time.

    The worst rows are shown with their texts by the templates and the style of the monitor's pages.
    """
    environment = templates(PackageLoader("dialwatch.reports"))
    page = environment.get_template("scores.html").render(
        style=style_sheet(),
        name=report.dataset.data_path,
        rows=report.rows,
        created_at=report.dataset.metadata.created_at,
        version=version("dialwatch"),
        without_ground_truth=report.without_ground_truth,
        without_answer=report.without_answer,
        lines=list(_lines(report, storage)),
        left_out=list(report.left_out),
        worst=worst_rows(report, storage),
        most_by_metric=MOST_BY_METRIC,
        most_rows=MOST_ROWS,
        most_characters=MOST_CHARACTERS,
        as_json_text=as_json_text,
    )
    # A half of a character, as texts may have, cannot be written.
    return page.encode("utf-8", "replace").decode()


def _lines(report: DatasetReport, storage: Storage | None) -> Iterator[MetricLine]:
    for summary in report.summaries():
        about = metric_named(summary.metric).about
        values = read_column(report.dataset.data_path, summary.metric, storage)
        low, high = _range(about.low, about.high, values)
        yield MetricLine(
            metric=summary.metric,
            asks=about.asks,
            mean="" if summary.mean is None else f"{summary.mean:.4f}",
            median=f"{np.median(values):.4f}" if len(values) else "",
            scored=summary.scored,
            not_scored=summary.not_scored,
            reasons=", ".join(f"{count:,} {reason}" for reason, count in summary.reasons.items()),
            low=f"{low:g}",
            high=f"{high:g}",
            bars=bars(values, low, high) if len(values) else (),
        )


def _range(low: float, high: float, values: Values) -> tuple[float, float]:
    """The metric's own range; where it has no end, the values' range."""
    ends = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    first, last = (own if np.isfinite(own) else end for own, end in zip((low, high), ends, strict=True))
    return first, last if last > first else first + 1.0


def bars(values: Values, low: float, high: float) -> list[Bar]:
    """Return the values' distribution in bars of equal width from low to high; the last one holds its upper end too."""
    counts, edges = np.histogram(values, bins=_BARS, range=(low, high))
    most = max(int(counts.max()), 1)
    width = _WIDTH / _BARS
    result = []
    for place, count in enumerate(map(int, counts)):
        # One row among thousands is still to be seen.
        height = max(_HEIGHT * count / most, _LEAST_HEIGHT) if count else 0.0
        title = f"{count:,} from {edges[place]:.4g} to {edges[place + 1]:.4g}"
        result.append(Bar(count, title, place * width + 0.5, round(_BASELINE - height, 2), width - 1, round(height, 2)))
    return result
