"""Metrics of other packages: entry points of the group `dialwatch.metrics`, each with the name of its metric."""

from __future__ import annotations

import logging
import pickle
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

import orjson

from evaluator.metrics.cell_frame import pandas_frame
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.scores import Metric, MissingColumnError, Score, ScoredBy, Scores, optional_columns
from evaluator.models import ModelUnavailableError
from lake.spec.vocabulary import UnscoredReason

if TYPE_CHECKING:
    import pandas as pd

GROUP = "dialwatch.metrics"

METRIC_FAILED = "metric_failed"
"""Reason of a row that a metric of another package failed on; the details say with what and where."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class BrokenMetric:
    """A metric of another package that cannot be used: every row is null with `metric_failed`."""

    name: str
    why: str

    version = "broken"
    needs: tuple[str, ...] = ()
    judge = ScoredBy.LEXICAL
    about = Description(asks="", formula="", source="another package", odd_cases=OddCases(), direction="none")

    def score(self, frame: pd.DataFrame) -> Scores:
        """Return null for every row, with the error as its reason."""
        return Scores.of([Score(None, METRIC_FAILED, {"error": self.why})] * len(frame), frame.index)


@dataclass(frozen=True)
class GuardedMetric:
    """A metric of another package: a row that it fails on is null with `metric_failed`, and costs no other."""

    metric: Metric

    @property
    def name(self) -> str:
        """The metric's own name."""
        return self.metric.name

    @property
    def version(self) -> str:
        """The metric's own version."""
        return self.metric.version

    @property
    def needs(self) -> tuple[str, ...]:
        """The metric's own columns."""
        return self.metric.needs

    @property
    def optional(self) -> tuple[str, ...]:
        """The metric's own columns that a frame may lack."""
        return optional_columns(self.metric)

    @property
    def judge(self) -> str:
        """The metric's own judge."""
        return self.metric.judge

    @property
    def about(self) -> Description:
        """What the metric says of itself."""
        return self.metric.about

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score the rows together, or one by one where that fails."""
        given = pandas_frame(frame)
        try:
            rows = self._rows(given)
        except (MissingColumnError, ModelUnavailableError):
            raise
        except Exception as error:  # whatever another package does
            _warn_once(self.name, f"fails with {_place(error)}")
            rows = [self._row(given.iloc[row : row + 1]) for row in range(len(given))]
        return Scores.of(rows, frame.index)

    def _rows(self, frame: pd.DataFrame) -> list[Score]:
        scores = self.metric.score(frame)
        columns = zip(scores.values, scores.reasons, scores.details, scores.spends, strict=True)
        rows = [_as_it_can_be_written(*cells) for cells in columns]
        if len(rows) != len(frame):
            raise ValueError(f"{len(rows)} scores of {len(frame)} rows")
        return rows

    def _row(self, frame: pd.DataFrame) -> Score:
        try:
            (row,) = self._rows(frame)
        except Exception as error:  # whatever another package does
            return Score(None, METRIC_FAILED, {"error": _place(error)})
        return row


def _as_it_can_be_written(value: Any, reason: Any, details: Any, spend: Any) -> Score:
    number, made = float(value), dict(details)
    orjson.dumps(made)
    if number == number:
        return Score(number, reason, made, spend)
    return Score(None, reason or UnscoredReason.NOT_A_NUMBER, made, spend)


def plugin_named(name: str) -> Metric | None:
    """Return the metric of another package that has this name, as it is; one of no use is a `BrokenMetric`."""
    return _loaded(_points()[name]) if name in _points() else None


def plugin_names() -> Iterator[str]:
    """Return the names of the metrics of other packages, of which none is imported for it."""
    return iter(_points())


def problem_of(metric: Metric) -> str | None:
    """Say why a metric of another package cannot be used; None for all others."""
    return metric.why if isinstance(metric, BrokenMetric) else None


def guarded(metric: Metric) -> Metric:
    """Return a metric of another package so that no row stops others.

    One that asks a judge keeps its kind, for it is told which; what it fails on is left out, as with ours.
    """
    return metric if isinstance(metric, BrokenMetric) or hasattr(metric, "judged_by") else GuardedMetric(metric)


@cache
def _points() -> Mapping[str, EntryPoint]:
    return {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda point: point.value)}


@cache
def _loaded(point: EntryPoint) -> Metric:
    try:
        return _named(point.load(), point.name)
    except Exception as error:  # whatever another package does when it is imported
        why = f"{point.value} cannot be used: {type(error).__name__}: {error}"
        _warn_once(point.name, why)
        return BrokenMetric(point.name, why)


def _named(found: Any, name: str) -> Metric:
    """Return the metric of a name: what was found, or what it makes when called, or one of its variants."""
    options: Sequence[Mapping[str, Any]] = getattr(found, "variants", ({},))
    made: list[Metric] = [found] if not callable(found) else [found(**one) for one in options]
    for metric in made:
        if metric.name == name:
            return _checked(metric)
    raise ValueError(f"its name is {made[0].name!r}, and that of its entry point {name!r}")


def _checked(metric: Metric) -> Metric:
    """Return the metric; raises where it lacks a part, or cannot be sent to a worker."""
    parts = (metric.version, metric.judge, metric.about.direction, *metric.needs)
    if not all(isinstance(part, str) for part in parts) or not callable(metric.score):
        raise TypeError(f"its version, judge, direction and needs are no words: {parts!r}")
    pickle.dumps(metric)
    return metric


@cache
def _warn_once(name: str, problem: str) -> None:
    logger.warning("metric %r of another package: %s", name, problem)


def _place(error: Exception) -> str:
    """Name an error and its place, but not its message: it may quote what people wrote."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{type(error).__name__} at {frames[-1].filename}:{frames[-1].lineno}"
