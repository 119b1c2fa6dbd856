"""Reader of a few days of a table: it opens only the files of those days, and of long texts only what is asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial
from types import MappingProxyType
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import fs

from lake.delta_log.delta_log import DataFile
from lake.spec.table_spec import TIMESTAMP
from lake.tables.reading import Fetch, conform, open_parquet, scan_fetched
from lake.tables.storage import is_remote
from lake.tables.table import REMOTE_FILES_AT_ONCE, Table
from runtime.clocks import moved

_ATTEMPTS = 5
_WHOLE: Mapping[str, Sequence[str]] = MappingProxyType({})
_ROUNDED = timedelta(milliseconds=1)
"""Other writers of Delta tables round the times in statistics down to a millisecond."""
S = TypeVar("S")
T = TypeVar("T")


def map_at_once(uri: str, read: Callable[[S], T], items: Sequence[S]) -> list[T]:
    """Read each of some items of a lake or table, in their order; of a store, which is slow to answer, 16 at once."""
    if not is_remote(uri) or len(items) < 2:
        return list(map(read, items))
    with ThreadPoolExecutor(min(len(items), REMOTE_FILES_AT_ONCE)) as pool:
        return list(pool.map(read, items))


@dataclass(frozen=True)
class RequestPeriod:
    """From `since` to `until`, both included: files that hold no row of this `requested_at` are not opened.

    It chooses files, not rows: rows outside may be read too.
    """

    since: datetime
    until: datetime


def within(column: str, since: datetime, until: datetime) -> ds.Expression:
    """Say which rows have a time in `column` from `since` on and before `until`."""
    at = ds.field(column)
    return (at >= pa.scalar(since, TIMESTAMP)) & (at < pa.scalar(until, TIMESTAMP))


class DayReader:
    """Rows of a table with `date` from `first` to `last`, both included, as the table is when it is first read.

    Not safe for use by several threads at once.
    """

    def __init__(self, table: Table, first: date, last: date) -> None:
        self._table = table
        self._first, self._last = first, last
        self._version: int | None = None
        self._files: pa.Table | None = None

    @property
    def uri(self) -> str:
        """Address of the table."""
        return self._table.uri

    def number_of_files(self) -> int:
        """Return in how many files the rows of these days are."""
        return int(self._opened().num_rows)

    def days(self) -> list[date]:
        """Return the days that have rows, the latest first."""
        return sorted(self._opened()["date"].unique().to_pylist(), reverse=True)

    def read(
        self,
        columns: Sequence[str],
        where: ds.Expression | None = None,
        days: Iterable[date] | None = None,
        period: RequestPeriod | None = None,
        parts: Mapping[str, ds.Expression] | None = None,
        most: int | None = None,
    ) -> pa.Table:
        """Read these columns of the rows that `where` lets through; columns that a file lacks are null.

        `parts` are further columns, for a reader that needs something computed from a long text and not the text. Of
        more rows than `most` the first are read, and few of the others come into memory.
        """
        some = None if days is None else list(days)

        def read() -> pa.Table:
            files = self._chosen(some, period)
            found = scan_fetched(self._table.files(), files, self._table.spec.schema, self._table.fetch)
            wanted = {name: ds.field(name) for name in columns} | dict(parts or {})
            if most is None:
                return found.to_table(wanted, filter=where)
            return found.head(
                most, columns=wanted, filter=where, batch_size=most, batch_readahead=1, fragment_readahead=1
            )

        rows = self._retried(read)
        found = self._cast(rows, columns)
        for name in parts or ():
            found = found.append_column(name, rows[name])
        return found

    def read_rows(
        self,
        keys: Sequence[str],
        values: Iterable[str],
        columns: Sequence[str],
        days: Iterable[date] | None = None,
        period: RequestPeriod | None = None,
        members: Mapping[str, Sequence[str]] = _WHOLE,
        without: Collection[str] = (),
    ) -> pa.Table:
        """Read these columns of the rows that have one of `values` in a column of `keys`, or in a list there.

        The keys are read first, then the groups of rows that hold one of them: a row of a log has long texts. Of a
        column in `members`, a list of structs, these members alone are read: the titles of chunks without their texts.
        Files whose paths are in `without` have none of the values, and are not opened.
        """
        some = None if days is None else list(days)
        ids = pa.array(sorted(set(values)), pa.string())
        both = dict.fromkeys((*columns, *keys))
        fields = (self._table.spec.schema.field(name).remove_metadata() for name in both)
        schema = pa.schema([_with_members(one, members.get(one.name)) for one in fields])

        def read() -> pa.Table:
            take = partial(
                _rows_with_any,
                self._table.files(),
                fetch=self._table.fetch,
                schema=schema,
                keys=keys,
                values=ids,
                members=members,
            )
            files = [file for file in self._chosen(some, period) if file.path not in without]
            parts = map_at_once(self._table.uri, take, files)
            return pa.concat_tables([schema.empty_table(), *parts])

        if members:
            return self._retried(read).select(list(columns))
        return self._cast(self._retried(read), columns)

    def _cast(self, rows: pa.Table, columns: Sequence[str]) -> pa.Table:
        return rows.select(list(columns)).cast(pa.schema([self._table.spec.schema.field(name) for name in columns]))

    def _chosen(self, days: Sequence[date] | None, period: RequestPeriod | None) -> list[DataFile]:
        files = self._opened()
        if days is not None:
            files = files.filter(pc.is_in(files["date"], pa.array(days, pa.date32())))
        if period is not None:
            too_late = pc.greater(files["since"], pa.scalar(period.until, TIMESTAMP))
            too_early = pc.less(files["until"], pa.scalar(moved(period.since, -_ROUNDED), TIMESTAMP))
            files = files.filter(pc.invert(pc.fill_null(pc.or_kleene(too_late, too_early), False)))
        columns = (files[name].to_pylist() for name in ("path", "date", "size"))
        return [DataFile(path, day.isoformat(), size) for path, day, size in zip(*columns, strict=True)]

    def _opened(self) -> pa.Table:
        if self._files is None:
            listed = self._table.listed_files(self._first, self._last)
            self._version, self._files = listed.version, listed.files
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
    filesystem: fs.FileSystem,
    file: DataFile,
    fetch: Fetch | None,
    schema: pa.Schema,
    keys: Sequence[str],
    values: pa.Array,
    members: Mapping[str, Sequence[str]],
) -> pa.Table:
    """Read the rows of a file that have any of the values in one of the columns `keys`."""
    of_keys = pa.schema([schema.field(key) for key in keys])
    with open_parquet(filesystem, file, fetch) as opened:
        sizes = [opened.metadata.row_group(number).num_rows for number in range(opened.num_row_groups)]
        ids = conform(opened.read(list(keys), use_threads=False), of_keys, file)
        places = np.flatnonzero(_have_any(ids, values))
        groups = sorted(set(np.searchsorted(np.cumsum(sizes), places, side="right").tolist()))
        if not groups:
            return schema.empty_table()
        stored = [name for name in schema.names if name != "date"]
        paths = _paths(opened, stored, members) if members else stored
        rows = conform(opened.read_row_groups(groups, paths, use_threads=False), schema, file)
    return rows.filter(pa.array(_have_any(rows.select(list(keys)), values)))


def _with_members(field: pa.Field, members: Sequence[str] | None) -> pa.Field:
    if members is None:
        return field
    return field.with_type(pa.list_(pa.struct([field.type.value_type.field(name) for name in members])))


def _paths(opened: pq.ParquetFile, names: Sequence[str], members: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the paths of the columns in a file; what stands between a list and its members depends on the writer."""
    stored = opened.schema
    paths = [stored.column(number).path for number in range(len(stored))]
    return [
        path
        for path in paths
        if (name := path.partition(".")[0]) in names
        and (name not in members or path.rpartition(".")[2] in members[name])
    ]


def _have_any(keys: pa.Table, values: pa.Array) -> NDArray[np.bool_]:
    """Return for each row whether one of its columns, or of the lists in it, has any of the values."""
    found = np.zeros(keys.num_rows, bool)
    for chunks in keys.columns:
        column = chunks.combine_chunks()
        if pa.types.is_list(column.type):
            in_lists = pc.is_in(pc.list_flatten(column), values)
            found[pc.list_parent_indices(column).filter(in_lists).to_numpy()] = True
        else:
            found |= pc.is_in(column, values).to_numpy(zero_copy_only=False)
    return found
