"""Counts of rows and means of columns while a table is scored."""

from __future__ import annotations

import math
from collections import Counter

import pandas as pd
import pyarrow as pa

from evaluator.datasets.retrieval import MEANS
from evaluator.metrics import UNREADABLE, Aggregation


class ScoringTotals:
    """Counts of rows and means of columns, of batches that are added one by one.

    `answers` are read, `joined` of them have ground truth, `rows` are written. `unreadable` has for each column of
    which a metric could not read a cell how many such rows there are, and the number of the first, from 1.
    """

    def __init__(self) -> None:
        self.answers = self.joined = self.rows = 0
        self.aggregation = Aggregation()
        self.unreadable: dict[str, tuple[int, int]] = {}
        self._sums: dict[str, float] = {}
        self._counts: Counter[str] = Counter()

    def add(self, answers: int, joined: int, rows: pa.RecordBatch, scores: pd.DataFrame) -> None:
        """Count one more batch."""
        self.answers += answers
        self.joined += joined
        self._count_unreadable(scores)
        self.rows += len(rows)
        self.aggregation.add(scores)
        for name in MEANS:
            if name in rows.schema.names:
                values = rows.column(name).drop_null().to_pylist()
                self._sums[name] = self._sums.get(name, 0.0) + math.fsum(values)
                self._counts[name] += len(values)

    def _count_unreadable(self, scores: pd.DataFrame) -> None:
        reasons = scores[[name for name in scores.columns if name.endswith("_reason")]]
        for reason in pd.unique(reasons.to_numpy().ravel()):
            if isinstance(reason, str) and reason.startswith(UNREADABLE):
                (places,) = (reasons == reason).any(axis=1).to_numpy().nonzero()
                column = reason.removeprefix(UNREADABLE)
                count, first = self.unreadable.get(column, (0, self.rows + int(places[0]) + 1))
                self.unreadable[column] = count + len(places), first

    def means(self) -> dict[str, float]:
        """Give the mean of each column that has one, as the metadata holds them: those without a value are left out."""
        package = {name: self._sums[name] / count for name, count in self._counts.items() if count}
        own = self.aggregation.frame()["mean"].dropna()
        return package | {str(name): float(mean) for name, mean in own.items()}
