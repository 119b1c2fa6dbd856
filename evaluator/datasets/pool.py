"""Joined batches scored one after the other, or by several processes at once, in the order in which they came."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass

import pandas as pd
import pyarrow as pa

from evaluator.datasets.columns import DatasetError
from evaluator.datasets.layout import Layout
from evaluator.engines import ClusterError
from runtime.worker_pool import Engine, WorkerDiedError


@dataclass(frozen=True)
class Joined:
    """A batch of answers: how many they are, how many of them have ground truth, and the rows to score by table."""

    answers: int
    joined: int
    rows: Mapping[str, pa.RecordBatch | pa.Table]


Scored = tuple[pa.RecordBatch, pd.DataFrame]


def scored(layout: Layout, batches: Iterable[Joined], engine: Engine) -> Iterator[tuple[Joined, Scored]]:
    """Score batches by an engine, which is closed at the end; each worker loads the models that it needs.

    Raises DatasetError where a process dies, or a cluster cannot be used. A script that asks for more than one process
    and defines metrics of its own must be importable: `if __name__ == "__main__":` stands before what it does.
    """
    waiting: deque[Joined] = deque()

    def rows() -> Iterator[Mapping[str, pa.RecordBatch | pa.Table]]:
        for batch in batches:
            waiting.append(batch)
            yield batch.rows

    with closing(engine):
        try:
            for result in engine.map(Layout.scored, layout, rows()):
                yield waiting.popleft(), result
        except (WorkerDiedError, ClusterError) as error:
            raise DatasetError(str(error)) from None
