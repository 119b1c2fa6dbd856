"""Summary of the scores of many rows: a line a metric with the mean, and how many rows have no value, by reason."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

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
        """Give a row a metric, in the order in which they were met first; see `aggregate`."""
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
    """Give a row a metric: `mean` of the values that there are, how many rows are `scored` and `not_scored`.

    `scores` is what `compute` gives, with any columns beside it. After these three comes a column for each reason that
    some row has instead of a value, such as `no_facts`, with the number of such rows; they add up to `not_scored`. The
    mean is over rows, and NaN where none is scored.
    """
    aggregation = Aggregation()
    aggregation.add(scores)
    return aggregation.frame()


def _scored_columns(scores: pd.DataFrame) -> Iterator[str]:
    return (name for name in scores.columns if f"{name}{_REASON}" in scores.columns)
