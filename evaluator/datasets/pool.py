"""Joined batches scored one after the other, or by several processes at once, in the order in which they came."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

import pandas as pd
import pyarrow as pa

from evaluator.datasets.columns import DatasetError
from evaluator.datasets.layout import Layout

_WAITING_EACH = 2
"""Batches that wait for each process: enough to keep it busy, few enough to bound the memory."""


@dataclass(frozen=True)
class Joined:
    """A batch of answers: how many they are, how many of them have ground truth, and the rows to score by table."""

    answers: int
    joined: int
    rows: Mapping[str, pa.RecordBatch | pa.Table]


Scored = tuple[pa.RecordBatch, pd.DataFrame]


def scored(layout: Layout, batches: Iterable[Joined], workers: int) -> Iterator[tuple[Joined, Scored]]:
    """Score batches; with more than one worker each is a process of its own, which loads the models it needs.

    Raises DatasetError where such a process dies. A script that asks for more than one worker must be importable:
    `if __name__ == "__main__":` stands before what it does.
    """
    if workers == 1:
        yield from ((batch, layout.scored(batch.rows)) for batch in batches)
        return
    # Not forked: a copy of a process with threads, as Arrow's, may hang.
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_take, initargs=(layout,))
    waiting: deque[tuple[Joined, Future[Scored]]] = deque()
    try:
        for batch in batches:
            waiting.append((batch, pool.submit(_score, batch.rows)))
            if len(waiting) > _WAITING_EACH * workers:
                yield waiting[0][0], waiting.popleft()[1].result()
        while waiting:
            yield waiting[0][0], waiting.popleft()[1].result()
    except BrokenProcessPool:
        raise DatasetError(
            "a process that scores has died: for want of memory (take fewer workers), or because a script calls this "
            'without `if __name__ == "__main__":`; what it wrote to stderr says more'
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


_layouts: list[Layout] = []


def _take(layout: Layout) -> None:
    _layouts.append(layout)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    # A parent that is killed tells nobody; its processes would wait for work for ever.
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _score(rows: Mapping[str, pa.RecordBatch | pa.Table]) -> Scored:
    return _layouts[-1].scored(rows)
