"""Weighted combination of metrics, as a metric of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Self

from evaluator.judges.exchange import Spend
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.registry import metric_named
from evaluator.metrics.scores import Metric, Redrawable, Score, Scores, optional_columns
from evaluator.models import Models

if TYPE_CHECKING:
    import pandas as pd

    from evaluator.judges.blocking_client import BoundJudge

Mean = Literal["arithmetic", "harmonic"]


class CombinationError(ValueError):
    """These metrics and weights make no combination; the message says why."""


@dataclass(frozen=True)
class Combination:
    """Weighted mean of several metrics of one row, from 0 to 1, higher is better.

    The arithmetic mean is sum(weight * value) / sum(weight), the harmonic one sum(weight) / sum(weight / value), which
    is 0 where a value is. A metric whose lower end is the better one counts with 1 - value. A row that one of the
    metrics cannot score is null with that metric's reason; the details name it: `{"null": "facts_recall"}`. With a
    `threshold` it is 1 where the mean is at least that much, else 0, and the details have the mean.

    Made by `combination`.
    """

    name: str
    parts: tuple[tuple[Metric, float], ...]
    mean: Mean = "arithmetic"
    threshold: float | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        """All columns that one of the metrics reads."""
        return tuple(dict.fromkeys(column for metric, _ in self.parts for column in metric.needs))

    @property
    def optional(self) -> tuple[str, ...]:
        """All columns that one of the metrics reads where they are there, and none needs."""
        columns = dict.fromkeys(column for metric, _ in self.parts for column in optional_columns(metric))
        return tuple(column for column in columns if column not in self.needs)

    @property
    def judge(self) -> str:
        """The judges of its metrics."""
        return "+".join(dict.fromkeys(metric.judge for metric, _ in self.parts))

    @property
    def version(self) -> str:
        """Mean, weights and the versions of its metrics: a change of any makes other values."""
        parts = "+".join(f"{weight:g}*{metric.name}:{metric.version}" for metric, weight in self.parts)
        return f"1-{self.mean}-{parts}" + ("" if self.threshold is None else f">={self.threshold:g}")

    @property
    def about(self) -> Description:
        """What it is made of."""
        return Description(
            asks=f"How good is the answer by {', '.join(metric.name for metric, _ in self.parts)} together?",
            formula=("" if self.threshold is None else f"1 if at least {self.threshold:g}, else 0: ")
            + f"weighted {self.mean} mean of "
            + ", ".join(f"{weight:g} x {metric.name}" for metric, weight in self.parts),
            source="by configuration",
            binary=self.threshold is not None,
            odd_cases=OddCases(*["null where one of the metrics is null"] * 4),
        )

    def fresh(self, draw: int) -> Self:
        """Return the same combination, the judges of whose metrics are asked anew for each draw; 0 is this itself."""
        parts = ((metric.fresh(draw) if isinstance(metric, Redrawable) else metric, w) for metric, w in self.parts)
        return replace(self, parts=tuple(parts))

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row by all of the metrics."""
        scores = [metric.score(frame) for metric, _ in self.parts]
        values = zip(*(part.values for part in scores), strict=True)
        reasons = zip(*(part.reasons for part in scores), strict=True)
        spends = zip(*(part.spends for part in scores), strict=True)
        rows = [
            replace(self._of_row(*row), spend=sum(spend, Spend()))
            for *row, spend in zip(values, reasons, spends, strict=True)
        ]
        return Scores.of(rows, frame.index)

    def _of_row(self, values: Sequence[float], reasons: Sequence[str | None]) -> Score:
        for (metric, _), value, reason in zip(self.parts, values, reasons, strict=True):
            if math.isnan(value):
                return Score(None, reason, {"null": metric.name})
        good = [
            1 - value if metric.about.direction == "down" else value
            for (metric, _), value in zip(self.parts, values, strict=True)
        ]
        mean = min(max(self._mean(good), 0.0), 1.0)
        return Score(mean) if self.threshold is None else Score(float(mean >= self.threshold), None, {"mean": mean})

    def _mean(self, values: Sequence[float]) -> float:
        weights = [weight for _, weight in self.parts]
        if self.mean == "arithmetic":
            return math.fsum(w * value for w, value in zip(weights, values, strict=True)) / math.fsum(weights)
        if min(values) <= 0:
            return 0.0
        return math.fsum(weights) / math.fsum(w / value for w, value in zip(weights, values, strict=True))


def combination(
    name: str,
    weights: Mapping[str, float],
    mean: Mean = "arithmetic",
    models: Models | None = None,
    judge: BoundJudge | None = None,
    own: Mapping[str, Metric] | None = None,
    threshold: float | None = None,
) -> Combination:
    """Combine metrics of the registry, by their names or other names, with a weight above 0 each.

    `models` says which models they use, if they use any, and `judge` which judge they ask, if they ask one. `own` are
    metrics besides those of the registry, by their names, as they are. With a `threshold` the values are 1 and 0.

    Raises UnknownMetricError for a name that no metric has, and CombinationError where there is no metric, one comes
    twice, a weight is not a number above 0, or a metric has no better end or does not end at 0 and 1.
    """
    if not weights:
        raise CombinationError(f"the combination {name!r} has no metrics")
    own = own or {}
    parts = tuple(
        (own.get(part) or metric_named(part, models, judge), float(weight)) for part, weight in weights.items()
    )
    if len({metric.name for metric, _ in parts}) < len(parts):
        raise CombinationError(f"the combination {name!r} has a metric twice, under two names")
    for metric, weight in parts:
        _check(name, metric, weight)
    return Combination(name, parts, mean, threshold)


def _check(name: str, metric: Metric, weight: float) -> None:
    if not 0 < weight < math.inf:
        raise CombinationError(f"the weight of {metric.name!r} in {name!r} is a number above 0, not {weight:g}")
    about = metric.about
    if about.direction == "none" or (about.low, about.high) != (0, 1):
        raise CombinationError(
            f"metric {metric.name!r} cannot be part of {name!r}: it has no better end, or does not end at 0 and 1"
        )
