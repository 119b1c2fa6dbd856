"""Reader of a few days of a table: it opens only the files of those days, and of long texts only what is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from lake.tables.delta_log import DataFile, live_files, scan
from lake.tables.table import Table

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

        def read() -> pa.Table:
            dataset = scan(self._table.files(), self._of(wanted), self._table.spec.schema)
            both = list(dict.fromkeys((*columns, *keys)))
            parts = [self._table.spec.schema.empty_table().select(both)]
            for fragment in dataset.get_fragments():
                part = _groups_with_any(fragment, keys, ids)
                if part is not None:
                    rows = part.to_table(schema=dataset.schema, columns=both)
                    parts.append(rows.filter(_have_any(rows, keys, ids)).cast(parts[0].schema))
            return pa.concat_tables(parts)

        return self._cast(self._retried(read).select(list(columns)), columns)

    def _cast(self, rows: pa.Table, columns: Sequence[str]) -> pa.Table:
        return rows.cast(pa.schema([self._table.spec.schema.field(name) for name in columns]))

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


def _groups_with_any(
    fragment: ds.ParquetFileFragment, keys: Sequence[str], values: pa.Array
) -> ds.ParquetFileFragment | None:
    """Give the part of a file whose groups of rows hold any of the values; None where none does."""
    with fragment.open() as opened:
        file = pq.ParquetFile(opened)
        known = [key for key in keys if key in file.schema_arrow.names]
        if not known:
            return None
        rows = pc.indices_nonzero(_have_any(file.read(known), known, values)).to_numpy()
        sizes = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
    groups = sorted(set(np.searchsorted(np.cumsum(sizes), rows, side="right").tolist()))
    return fragment.subset(row_group_ids=groups) if groups else None


def _have_any(rows: pa.Table, keys: Sequence[str], values: pa.Array) -> pa.Array:
    """Say of each row whether one of these columns, or a list in one, holds any of the values."""
    found = np.zeros(rows.num_rows, bool)
    for key in keys:
        column = rows[key].combine_chunks()
        if pa.types.is_list(column.type):
            found[pc.list_parent_indices(column).filter(pc.is_in(pc.list_flatten(column), values)).to_numpy()] = True
        else:
            found |= pc.is_in(column, values).to_numpy(zero_copy_only=False)
    return pa.array(found)
