"""Files of a table with their times, read from the bytes of its log: deltalake takes five times as long to open one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import unquote

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable

from lake.spec.table_spec import TIMESTAMP
from lake.store.log_copy import MOST_AT_ONCE, Read, UnusualLogError, log_entries

_PLAIN_READER_VERSION = 1
"""Of the Delta protocol: from the next one on a log may say more of its files than which there are."""
_OF_FILE = ("path", "partitionValues", "size", "modificationTime", "stats")
_SCHEMA = pa.schema([("path", pa.string()), ("date", pa.date32()), ("size", pa.int64()), ("since", TIMESTAMP),
                     ("until", TIMESTAMP), ("written", pa.int64())])  # fmt: skip


@dataclass(frozen=True)
class ListedFiles:
    """Files of a table by date at a version; None where there is no table.

    Columns of `files`: `path`, `date`, `size`, `written` (milliseconds since 1970), and the first and last
    `requested_at`, `since` and `until`, null where that is not known.
    """

    version: int | None
    files: pa.Table


def listed_files(
    read: Read, by_deltalake: Callable[[], DeltaTable | None], first: date, last: date, at_once: int = MOST_AT_ONCE
) -> ListedFiles:
    """Return the files with rows of these days, the oldest first.

    `read` gives the bytes of a file of the log, and `at_once` are read. `by_deltalake` opens the table where its log is
    out of the ordinary.
    """
    try:
        if (entries := log_entries(read, most_at_once=at_once)) is not None:
            return _of_entries(entries, first, last)
    except (UnusualLogError, ValueError, KeyError, TypeError, pa.ArrowException):
        pass  # deltalake knows better, or says what is wrong
    delta = by_deltalake()
    return ListedFiles(None, _SCHEMA.empty_table()) if delta is None else _of_delta(delta, first, last)


def _of_entries(entries: Mapping[str, bytes], first: date, last: date) -> ListedFiles:
    added: dict[str, Mapping[str, Any]] = {}
    for name, content in sorted(entries.items()):
        for action in _actions(name, content):
            if add := action.get("add"):
                added[add["path"]] = add
            elif remove := action.get("remove"):
                added.pop(remove["path"], None)
            elif (protocol := action.get("protocol")) and protocol["minReaderVersion"] > _PLAIN_READER_VERSION:
                raise UnusualLogError("a later version of the protocol")
    begin, end = first.isoformat(), last.isoformat()
    days = [(dict(add["partitionValues"])["date"], add) for add in added.values()]
    rows = [_row(add, day) for day, add in days if day and begin <= day <= end]
    columns = zip(*rows, strict=True) if rows else [()] * len(_SCHEMA)
    strings = [pa.array(cells, pa.int64() if field.type == pa.int64() else pa.string())
               for cells, field in zip(columns, _SCHEMA, strict=True)]  # fmt: skip
    version = max(int(name[:20]) for name in entries if name[:20].isdecimal())
    return ListedFiles(version, _in_order(pa.table(strings, _SCHEMA.names).cast(_SCHEMA)))


def _actions(name: str, content: bytes) -> Iterable[dict[str, Any]]:
    """Return what a file of the log says of files and of the protocol."""
    if name.endswith(".json"):
        return [orjson.loads(line) for line in content.splitlines() if line.strip()]
    if not name.endswith(".parquet"):
        return []
    columns = [*(f"add.{one}" for one in _OF_FILE), "protocol.minReaderVersion"]
    found: list[dict[str, Any]] = pq.ParquetFile(pa.BufferReader(content)).read(columns, use_threads=False).to_pylist()
    return found


def _row(add: Mapping[str, Any], day: str) -> tuple[str, str, int, str | None, str | None, int]:
    """Return the columns of a file, dates and times as texts."""
    told = orjson.loads(add.get("stats") or "{}")
    # Rows without a time are in no statistics, so a file that has some is always read.
    is_known = told.get("nullCount", {}).get("requested_at") == 0
    since, until = (told.get(end, {}).get("requested_at") if is_known else None for end in ("minValues", "maxValues"))
    return unquote(add["path"]), day, add["size"], since, until, add["modificationTime"]


def _of_delta(delta: DeltaTable, first: date, last: date) -> ListedFiles:
    found = pa.table(delta.get_add_actions(flatten=True))
    days = pc.cast(found["partition.date"], pa.date32())
    is_known = pc.equal(_column(found, "null_count.requested_at", pa.int64()), 0)
    times = [
        pc.if_else(pc.fill_null(is_known, False), _column(found, f"{end}.requested_at", TIMESTAMP), None)
        for end in ("min", "max")
    ]
    files = pa.table([found["path"], days, found["size_bytes"], *times, found["modification_time"]], _SCHEMA.names)
    within = pc.and_(pc.greater_equal(days, pa.scalar(first)), pc.less_equal(days, pa.scalar(last)))
    return ListedFiles(int(delta.version()), _in_order(files.filter(within).cast(_SCHEMA)))


def _column(actions: pa.Table, name: str, kind: pa.DataType) -> pa.ChunkedArray | pa.Array:
    return actions[name].cast(kind) if name in actions.column_names else pa.nulls(actions.num_rows, kind)


def _in_order(files: pa.Table) -> pa.Table:
    return files.sort_by([("date", "ascending"), ("written", "ascending")])
