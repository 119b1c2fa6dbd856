"""Commits of a table, read from its log: which files each of them added."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable
from pyarrow import fs

from lake.store.log_copy import LOG

_REQUESTS_AT_ONCE = 16
_BYTES_A_ROW = 50


@dataclass(frozen=True)
class DataFile:
    """A file of a table: `path` below the table's folder, `date` its partition (None: null, or no partitions).

    `rows` is None where nobody has asked the log for it; where the log does not say it, an estimate by the size.
    """

    path: str
    date: str | None
    size: int
    rows: int | None = field(default=None, compare=False)


def added_files(read: Callable[[int], bytes | None], begin: int, end: int) -> list[DataFile]:
    """Return the files with the new rows of versions `begin` to `end`, both included, oldest first.

    `read` gives the bytes of a commit. Raises FileNotFoundError where the log no longer holds one of the versions.
    """
    with ThreadPoolExecutor(_REQUESTS_AT_ONCE) as pool:
        commits = list(pool.map(read, range(begin, end + 1)))
    gone = [version for version, commit in enumerate(commits, begin) if commit is None]
    if gone:
        raise FileNotFoundError(f"the log has no version {gone[0]} any more")
    return [file for commit in commits if commit is not None for file in new_rows(actions_of(commit))]


def removed_paths(filesystem: fs.FileSystem, names: Iterable[str]) -> set[str]:
    """Paths of all files that these commits (names of files in the log) removed."""
    actions = (action for name in names for action in actions_of(_read_all(filesystem, f"{LOG}/{name}")))
    return removed_files(list(actions))


def live_files(delta: DeltaTable) -> list[DataFile]:
    """Return the files that the table's rows are in now, the oldest first."""
    files = pa.table(delta.get_add_actions(flatten=True))
    days = files["partition.date"].to_pylist() if "partition.date" in files.column_names else [None] * files.num_rows
    columns = [files[name].to_pylist() for name in ("modification_time", "path", "size_bytes", "num_records")]
    found = sorted(zip(*columns, days, strict=True), key=lambda row: row[:2])
    return [
        DataFile(path, None if day is None else str(day), size, size // _BYTES_A_ROW if rows is None else rows)
        for _, path, size, rows, day in found
    ]


def scan(
    filesystem: fs.FileSystem,
    files: Sequence[DataFile],
    schema: pa.Schema,
    fetched: Mapping[str, bytes] = MappingProxyType({}),
) -> ds.Dataset:
    """Return the rows of these files, in their order, as a dataset of the table's schema.

    `fetched` are the bytes of some of them, by their paths.
    """
    format_ = ds.ParquetFileFormat()
    # With its size known, a store is not asked for it.
    fragments = [
        format_.make_fragment(pa.BufferReader(fetched[file.path]), partition_expression=_partition(file, schema))
        if file.path in fetched
        else format_.make_fragment(file.path, filesystem, _partition(file, schema), file_size=file.size)
        for file in files
    ]
    return ds.FileSystemDataset(fragments, schema, format_, filesystem)


def day_of(file: DataFile) -> date | None:
    """Return the partition of a file as a date."""
    return None if file.date is None else date.fromisoformat(file.date)


def partition_of(day: date | None) -> ds.Expression:
    """Return what holds for the rows of a day's files."""
    return ds.field("date").is_null() if day is None else ds.field("date") == pa.scalar(day)


def _partition(file: DataFile, schema: pa.Schema) -> ds.Expression | None:
    return partition_of(day_of(file)) if "date" in schema.names else None


def new_rows(actions: Sequence[dict[str, Any]]) -> list[DataFile]:
    """Return the files that hold the new rows of a commit.

    A commit that removes files too adds no new rows: it is a compaction, or a deletion that keeps the others' rows.
    """
    if any("remove" in action for action in actions):
        return []
    return added_of([action for action in actions if "add" in action and action["add"]["dataChange"]])


def added_of(actions: Sequence[dict[str, Any]]) -> list[DataFile]:
    """Return all files that a commit added."""
    added = [action["add"] for action in actions if "add" in action]
    return [DataFile(unquote(add["path"]), add["partitionValues"].get("date") or None, add["size"]) for add in added]


def removed_files(actions: Sequence[dict[str, Any]]) -> set[str]:
    """Return the paths of the files that a commit removed."""
    return {unquote(action["remove"]["path"]) for action in actions if "remove" in action}


def actions_of(commit: bytes) -> list[dict[str, Any]]:
    """Return the actions of a commit; raises ValueError where it is no JSON."""
    return [json.loads(line) for line in commit.splitlines() if line.strip()]


def _read_all(filesystem: fs.FileSystem, path: str) -> bytes:
    with filesystem.open_input_stream(path) as stream:
        return bytes(stream.read())
