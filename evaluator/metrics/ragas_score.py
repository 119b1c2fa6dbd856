"""RAGAS score: one number of a data set from the means of its metrics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from evaluator.metrics.registry import UnknownMetricError, metric_named
from evaluator.metrics.scores import Metric


def ragas_score(means: Mapping[str, float]) -> float:
    """Give the harmonic mean of the data set's means of its metrics, from 0 to 1, higher is better.

    `means` has a mean a metric, over the rows that have a value. Those of `left_out` do not count; a name that is not
    in the registry, such as a judge's, does. Source: ragas 0.0.11, which adds 1e-10 to each mean, as is not done here.

    A mean of 0 makes it 0, and so does one below. NaN where a mean is NaN, since no row of the metric was scored, and
    where no metric counts.

    Means first, then the harmonic mean: the mean over the rows' harmonic means is another number.
    """
    skipped = left_out(means)
    values = [mean for name, mean in means.items() if name not in skipped]
    if not values or any(math.isnan(value) for value in values):
        return math.nan
    if min(values) <= 0:
        return 0.0
    return len(values) / math.fsum(1 / value for value in values)


def left_out(names: Iterable[str]) -> frozenset[str]:
    """Give those metrics that a ragas_score leaves out.

    These are the ones that are only 0 or 1, whose lower end is the better one, that have no better end, or whose
    better end is not 1.
    """
    return frozenset(name for name in names if (metric := _known(name)) is not None and not _counts(metric))


def _known(name: str) -> Metric | None:
    try:
        return metric_named(name)
    except UnknownMetricError:
        return None


def _counts(metric: Metric) -> bool:
    about = metric.about
    return about.direction == "up" and not about.binary and about.high == 1
