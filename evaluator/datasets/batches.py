"""Batches of a table that are read, or written, by a thread while other work goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq

from evaluator.datasets.files import writing
from lake.tables.storage import Storage


def ahead(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Give batches, and read the next one meanwhile."""
    with ThreadPoolExecutor(1, "table reader") as thread:
        coming = thread.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = thread.submit(next, batches, None)
            yield batch


@contextmanager
def writing_batches(
    path: str, schema: pa.Schema, storage: Storage | None = None
) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """Give a function that has a batch compressed and written and returns at once, or when the one before is written.

    The table appears at its path when the block ends, and not at all where it raises.
    """
    written: Future[None] = Future()
    written.set_result(None)
    with (
        writing(path, storage) as file,
        pq.ParquetWriter(file, schema, compression="zstd") as writer,
        ThreadPoolExecutor(1, "table writer") as thread,
    ):

        def write(batch: pa.RecordBatch) -> None:
            nonlocal written
            written.result()
            written = thread.submit(writer.write_batch, batch)

        yield write
        written.result()
