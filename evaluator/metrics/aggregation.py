"""Summary of the scores of many rows: a line a metric with its mean and what has no value; one number of the means."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from evaluator.metrics.registry import UnknownMetricError, metric_named
from evaluator.metrics.scores import Metric

if TYPE_CHECKING:
    import pandas as pd

_REASON = "_reason"


class Aggregation:
    """What `aggregate` gives, of scores that come in pieces: `add` each, then ask for the `frame`."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._scored: Counter[str] = Counter()
        self._reasons: dict[str, Counter[str]] = {}

    def add(self, scores: pd.DataFrame) -> None:
        """Count the rows of one more frame that `compute` gave."""
        for name in _scored_columns(scores):
            values = scores[name].dropna()
            self._sums[name] = self._sums.get(name, 0.0) + math.fsum(values)
            self._scored[name] += len(values)
            reasons = scores.loc[scores[name].isna(), f"{name}{_REASON}"].fillna("unknown")
            self._reasons.setdefault(name, Counter()).update(reasons)

    def frame(self) -> pd.DataFrame:
        """Return a row a metric, in the order in which they were met first; see `aggregate`."""
        import pandas as pd

        reasons = sorted(set().union(*self._reasons.values()))
        columns: dict[str, list[float] | list[int]] = {
            "mean": [self._mean(name) for name in self._sums],
            "scored": [self._scored[name] for name in self._sums],
            "not_scored": [counts.total() for counts in self._reasons.values()],
            **{reason: [counts[reason] for counts in self._reasons.values()] for reason in reasons},
        }
        return pd.DataFrame(columns, index=pd.Index(list(self._sums), name="metric", dtype=object))

    def _mean(self, name: str) -> float:
        return self._sums[name] / self._scored[name] if self._scored[name] else math.nan


def aggregate(scores: pd.DataFrame) -> pd.DataFrame:
    """Return a row a metric: `mean` of the values that there are, how many rows are `scored` and `not_scored`.

    `scores` is what `compute` gives, with any columns beside it. After these three comes a column for each reason that
    some row has instead of a value, such as `no_facts`, with the number of such rows; they add up to `not_scored`. The
    mean is over rows, and NaN where none is scored.
    """
    aggregation = Aggregation()
    aggregation.add(scores)
    return aggregation.frame()


def _scored_columns(scores: pd.DataFrame) -> Iterator[str]:
    return (name for name in scores.columns if f"{name}{_REASON}" in scores.columns)


def ragas_score(means: Mapping[str, float]) -> float:
    """Return the harmonic mean of the data set's means of its metrics, from 0 to 1, higher is better.

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
    """Return those metrics that a ragas_score leaves out.

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
