"""Files of tables and of their metadata, local or S3: opened, read ahead, and written whole or not at all."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from evaluator.datasets.columns import DatasetError
from evaluator.datasets.metadata import UNKNOWN, Dataset, Metadata
from evaluator.datasets.text_files import read_csv, read_json_lines
from lake.tables.storage import Storage, is_remote

_BUFFER_BYTES = 1 << 20  # Without a buffer Arrow reads a whole row group at once.
_TABLE, _METADATA = ".parquet", ".metadata.json"
_TEXT = {".csv": read_csv, ".jsonl": read_json_lines}


def open_dataset(path: str, storage: Storage | None = None) -> Dataset:
    """Return a table's paths and metadata; `path` is that of the table or of its metadata.

    A table without metadata is one of which nothing is known. Raises DatasetError where the path ends in neither
    `.parquet`, `.csv`, `.jsonl`, in small letters or capitals, nor one of these and `.metadata.json`, and where the
    metadata cannot be read.
    """
    data_path, metadata_path = _paths_read(path)
    filesystem, at = (storage or Storage()).filesystem(metadata_path)
    if not filesystem.exists(at):
        return Dataset(metadata_path=metadata_path, data_path=data_path, metadata=UNKNOWN)
    try:
        metadata = Metadata.model_validate_json(filesystem.cat_file(at))
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"]))
        raise DatasetError(f"{metadata_path} is not the metadata of a table: {where}: {problem['msg']}") from None
    return Dataset(metadata_path=metadata_path, data_path=data_path, metadata=metadata)


def read_dataset(path: str, storage: Storage | None = None) -> tuple[pd.DataFrame, Metadata]:
    """Read a whole table and its metadata.

    Do not rely on the `documents` of a metrics table that aidial-rag-eval wrote: it takes them from the answers by row
    number, and they may be another question's.
    """
    with reading(path, storage) as table:
        return table.read().to_pandas(), open_dataset(path, storage).metadata


def read_column(path: str, name: str, storage: Storage | None = None) -> npt.NDArray[np.float64]:
    """Read a column of numbers, without those that are null."""
    with reading(path, storage) as table:
        return np.asarray(table.read([name]).column(name).drop_null().to_numpy(), dtype=np.float64)


def _paths_read(path: str) -> tuple[str, str]:
    """Return the paths of a table that is read, and of its metadata, from either."""
    data_path = path.removesuffix(_METADATA)
    if not data_path.lower().endswith((_TABLE, *_TEXT)):
        raise DatasetError(f"{path} must end in {', '.join((_TABLE, *_TEXT))}, or one of these and {_METADATA}")
    return data_path, f"{data_path}{_METADATA}"


def paths_of(path: str) -> tuple[str, str]:
    """Return the paths of a table that is written, and of its metadata, from either."""
    data_path = path.removesuffix(_METADATA)
    if not data_path.endswith(_TABLE):
        raise DatasetError(f"{path} must end in {_TABLE} or {_TABLE}{_METADATA}")
    return data_path, f"{data_path}{_METADATA}"


@contextmanager
def reading(path: str, storage: Storage | None = None) -> Iterator[pq.ParquetFile]:
    """Open a table; DatasetError where it cannot be read, FileNotFoundError where there is none.

    One of text is read whole.
    """
    data_path, _ = _paths_read(path)
    filesystem, at = (storage or Storage()).filesystem(data_path)
    try:
        # Python's own files cost Arrow half as much time again.
        opened = filesystem.open(at, "rb") if is_remote(path) else pa.OSFile(at)
    except FileNotFoundError:
        # s3fs says the path and no word more.
        raise FileNotFoundError(f"there is no file {data_path}") from None
    with opened as file:
        read = _TEXT.get(f".{data_path.rpartition('.')[2].lower()}")
        if read is not None:
            yield pq.ParquetFile(_as_parquet(data_path, read(data_path, file.read())))
            return
        try:
            table = pq.ParquetFile(file, pre_buffer=False, buffer_size=_BUFFER_BYTES)
        except pa.ArrowInvalid as error:
            raise DatasetError(f"{data_path} cannot be read as parquet: {error}") from None
        yield table


def _as_parquet(path: str, table: pa.Table) -> pa.BufferReader:
    """Return a table in memory as a file that can be opened like others."""
    sink = pa.BufferOutputStream()
    try:
        pq.write_table(table, sink, compression="none")
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DatasetError(f"{path} has a column that no table can hold: {error}") from None
    return pa.BufferReader(sink.getvalue())


@contextmanager
def writing(path: str, storage: Storage | None = None) -> Iterator[BinaryIO]:
    """Open a file that appears at its path when the block ends, and not at all where it raises.

    Raises FileNotFoundError where there is no such folder.
    """
    filesystem, at = (storage or Storage()).filesystem(path)
    if not is_remote(path):
        with _writing_beside(Path(at)) as local:
            yield local
        return
    file: Any = filesystem.open(at, "wb", autocommit=False)
    try:
        yield file
        file.close()
    except BaseException:
        file.close()
        file.discard()
        raise
    file.commit()


@contextmanager
def _writing_beside(place: Path) -> Iterator[BinaryIO]:
    # Another name in the same folder: only there is a file replaced in one step.
    written = place.with_name(f".{uuid.uuid4().hex}")
    try:
        file = written.open("xb")
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no folder {place.parent}; make it, or write elsewhere") from None
    try:
        with file:
            yield file
        written.replace(place)
    except BaseException:
        written.unlink()
        raise


def size_of(path: str, storage: Storage | None = None) -> int:
    """Return the size of a file in bytes."""
    filesystem, at = (storage or Storage()).filesystem(path)
    return int(filesystem.size(at))


def ahead(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches, and read the next one meanwhile."""
    with ThreadPoolExecutor(1, "table reader") as thread:
        coming = thread.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = thread.submit(next, batches, None)
            yield batch


@contextmanager
def writing_batches(
    path: str, schema: pa.Schema, storage: Storage | None = None
) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """Yield a function that has a batch compressed and written and returns at once, or when the one before is written.

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
