"""Several worker processes that read one set of files into the lake, each a whole collector over its share of them."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from contextlib import closing

from collector.commit.batch import Counts
from collector.pipeline.settings import PipelineSettings
from collector.runners.file_worker import CollectedFiles, FileCollection, collect_share
from collector.sources.files.listing import LogFile
from collector.sources.files.source import FileSource
from lake.tables.lake import Lake
from lake.tables.storage import Storage
from runtime.lean_process import leave_pandas_unloaded
from runtime.logs import chosen_logs
from runtime.worker_pool import WorkerDiedError, WorkerPool


class WorkerError(RuntimeError):
    """A worker was killed before its files were read; what it had committed is in the lake, the next run goes on."""


def collect_with_workers(
    lake: Lake, settings: PipelineSettings, paths: Sequence[str], storage: Storage, workers: int
) -> tuple[int, CollectedFiles]:
    """Read files into the lake in `workers` processes; return the number of files, the counts, and unreadable files.

    The shares are about equal in bytes, and each worker has batches of its own: memory grows with their number, since
    smaller batches would be more commits, which cost more than the parsing. Raises WorkerError where a worker is
    killed, and what one of them meets; the others then end too. They also end with this process. What was committed
    stays, and the next run goes on from there.
    """
    files = FileSource(paths, storage, exclude=lake.root).find()
    if not files:
        return 0, CollectedFiles(Counts(), {})
    shares = _split(files, workers)
    collection = FileCollection(lake.root, lake.storage, settings, paths, storage, chosen_logs())
    with closing(WorkerPool(len(shares), prepare=leave_pandas_unloaded)) as pool:
        try:
            outcomes = list(pool.map(collect_share, collection, shares))
        except WorkerDiedError as error:
            raise WorkerError(f"{error}. What was committed is in the lake; run it again to go on") from None
    unreadable = {uri: reason for outcome in outcomes for uri, reason in outcome.unreadable.items()}
    return len(files), CollectedFiles(sum((outcome.counts for outcome in outcomes), Counts()), unreadable)


def _split(files: Sequence[LogFile], shares: int) -> list[frozenset[str]]:
    """Shares of about equal size: the largest file first, each to the share that has least."""
    heap: list[tuple[int, int, list[str]]] = [(0, number, []) for number in range(min(shares, len(files)))]
    for file in sorted(files, key=lambda file: file.size, reverse=True):
        size, number, uris = heap[0]
        uris.append(file.uri)
        heapq.heapreplace(heap, (size + file.size, number, uris))
    return [frozenset(uris) for _, _, uris in heap]
