"""Reader of a few days of a table: it opens only the files of those days, and of long texts only what is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from functools import partial
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from numpy.typing import NDArray
from pyarrow import fs

from lake.tables.delta_log import DataFile, live_files, scan
from lake.tables.reading import conform, open_parquet
from lake.tables.storage import is_remote
from lake.tables.table import REMOTE_FILES_AT_ONCE, Table

_ATTEMPTS = 5
T = TypeVar("T")


class DayReader:
    """Rows of one table from `first` to `last`, both included, as the table is when it is first read.

    Not safe for use by several threads at once.
    """

    def __init__(self, table: Table, first: date, last: date) -> None:
        self._table = table
        self._first, self._last = first.isoformat(), last.isoformat()
        self._version: int | None = None
        self._files: dict[str, list[DataFile]] | None = None

    def days(self) -> list[date]:
        """Give the days that have rows, the latest first."""
        return [date.fromisoformat(day) for day in sorted(self._opened(), reverse=True)]

    def read(
        self, columns: Sequence[str], where: ds.Expression | None = None, days: Iterable[date] | None = None
    ) -> pa.Table:
        """Read these columns of the rows that `where` lets through; columns that a file lacks are null."""
        wanted = None if days is None else {day.isoformat() for day in days}

        def read() -> pa.Table:
            return scan(self._table.files(), self._of(wanted), self._table.spec.schema).to_table(
                columns=list(columns), filter=where
            )

        return self._cast(self._retried(read), columns)

    def read_rows(
        self, keys: Sequence[str], values: Iterable[str], columns: Sequence[str], days: Iterable[date] | None = None
    ) -> pa.Table:
        """Read these columns of the rows that have one of `values` in a column of `keys`, or in a list there.

        The keys are read first, then the groups of rows that hold one of them: a row of a log has long texts.
        """
        wanted = None if days is None else {day.isoformat() for day in days}
        ids = pa.array(sorted(set(values)), pa.string())

        both = dict.fromkeys((*columns, *keys))
        schema = pa.schema([self._table.spec.schema.field(name).remove_metadata() for name in both])

        def read() -> pa.Table:
            take = partial(_rows_with_any, self._table.files(), schema=schema, keys=keys, values=ids)
            return pa.concat_tables([schema.empty_table(), *self._map(take, self._of(wanted))])

        return self._cast(self._retried(read), columns)

    def _map(self, read: Callable[[DataFile], pa.Table], files: Sequence[DataFile]) -> Iterable[pa.Table]:
        if not is_remote(self._table.uri) or len(files) < 2:
            return map(read, files)
        with ThreadPoolExecutor(min(len(files), REMOTE_FILES_AT_ONCE)) as pool:
            return list(pool.map(read, files))

    def _cast(self, rows: pa.Table, columns: Sequence[str]) -> pa.Table:
        return rows.select(list(columns)).cast(pa.schema([self._table.spec.schema.field(name) for name in columns]))

    def _of(self, days: set[str] | None) -> list[DataFile]:
        opened = self._opened()
        return [file for day in sorted(opened) if days is None or day in days for file in opened[day]]

    def _opened(self) -> dict[str, list[DataFile]]:
        if self._files is None:
            delta, self._files = self._table.snapshot(), {}
            self._version = None if delta is None else int(delta.version())
            for file in [] if delta is None else live_files(delta):
                if file.date is not None and self._first <= file.date <= self._last:
                    self._files.setdefault(file.date, []).append(file)
        return self._files

    def _retried(self, read: Callable[[], T]) -> T:
        """Read again where files vanished because they were replaced since the table was opened."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return read()
            except OSError:
                before, self._files = self._version, None
                self._opened()
                if self._version == before:
                    raise
        return read()


def _rows_with_any(
    filesystem: fs.FileSystem, file: DataFile, schema: pa.Schema, keys: Sequence[str], values: pa.Array
) -> pa.Table:
    """Read the rows of a file that have any of the values in one of the columns `keys`."""
    with open_parquet(filesystem, file) as opened:
        read = partial(opened.read_row_groups, use_threads=False)
        ids = conform(
            read(range(opened.num_row_groups), list(keys)), pa.schema([schema.field(key) for key in keys]), file
        )
        found = _have_any(ids, values)
        ends = np.cumsum([opened.metadata.row_group(number).num_rows for number in range(opened.num_row_groups)])
        groups = sorted(set(np.searchsorted(ends, np.flatnonzero(found), side="right").tolist()))
        rows = read(groups, [name for name in schema.names if name != "date"]) if groups else schema.empty_table()
    rows = conform(rows, schema, file)
    return rows.filter(pa.array(_have_any(rows.select(list(keys)), values)))


def _have_any(keys: pa.Table, values: pa.Array) -> NDArray[np.bool_]:
    """Say of each row whether one of its columns, or of the lists in it, has any of the values."""
    found = np.zeros(keys.num_rows, bool)
    for column in keys.combine_chunks().columns:
        column = column.combine_chunks()
        if pa.types.is_list(column.type):
            in_lists = pc.is_in(pc.list_flatten(column), values)
            found[pc.list_parent_indices(column).filter(in_lists).to_numpy()] = True
        else:
            found |= pc.is_in(column, values).to_numpy(zero_copy_only=False)
    return found
