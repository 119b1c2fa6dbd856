"""Reader of the rows of data files into one table, thousands of small files too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property, partial

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow import fs

from lake.delta_log.delta_log import DataFile, day_of, partition_of, scan

Fetch = Callable[[str], bytes]

_FETCHED_TOGETHER_BYTES, _FETCHES_AT_ONCE = 32 << 20, 16
_FETCHED_WHOLE_BYTES = 1 << 20
"""Up to this size a file is fetched in one go, whatever columns are asked for."""


def are_as_stored(columns: Mapping[str, ds.Expression]) -> bool:
    """Whether these are columns of the table under their own names, with nothing to compute."""
    return all(expression.equals(ds.field(name)) for name, expression in columns.items())


class NoRows:
    """Empty tables, kept: a service asks hundreds of tables every few seconds, and to make one takes a millisecond.

    `cast` gives computed columns the types of the schema.
    """

    def __init__(self, schema: pa.Schema, cast: Callable[[pa.Table, list[str]], pa.Table]) -> None:
        self._schema = schema
        self._cast = cast
        self._computed: tuple[Mapping[str, ds.Expression], pa.Table] | None = None

    def of(self, wanted: Mapping[str, ds.Expression]) -> pa.Table:
        """Return one with these columns, by name."""
        if are_as_stored(wanted):
            return self._as_stored.select(list(wanted))
        if self._computed is None or self._computed[0] is not wanted:
            rows = ds.dataset(self._as_stored).to_table(columns=dict(wanted))
            self._computed = wanted, self._cast(rows, list(wanted))
        return self._computed[1]

    @cached_property
    def _as_stored(self) -> pa.Table:
        return self._schema.empty_table()


def read_files(
    filesystem: fs.FileSystem,
    files: Sequence[DataFile],
    schema: pa.Schema,
    columns: Mapping[str, ds.Expression],
    where: ds.Expression | None = None,
    at_once: int = 1,
    fetch: Fetch | None = None,
) -> pa.Table:
    """Return `columns` of the rows of these files, in their order, as a scan of a dataset would; `at_once` are read.

    `fetch` gives the bytes of small files of a store.

    Raises FileNotFoundError for a file that is gone, and what Arrow raises for one that is no parquet, with its path.
    """
    if where is not None or not are_as_stored(columns):
        some = possible(files, where, schema)
        return scan_fetched(filesystem, some, schema, fetch).to_table(columns=dict(columns), filter=where)
    # Not the scanner: for a file of a hundred rows it takes more than twice as long as reading it does.
    wanted = pa.schema([schema.field(name).remove_metadata() for name in columns])
    read = partial(_read_file, filesystem, wanted=wanted, fetch=fetch)
    if at_once == 1:
        return pa.concat_tables([wanted.empty_table(), *map(read, files)])
    with ThreadPoolExecutor(at_once) as pool:
        return pa.concat_tables([wanted.empty_table(), *pool.map(read, files)])


def scan_fetched(
    filesystem: fs.FileSystem, files: Sequence[DataFile], schema: pa.Schema, fetch: Fetch | None
) -> ds.Dataset:
    """Return the rows of these files as a dataset, as `scan` does; with `fetch` small ones are fetched at once.

    A scan asks a store three times for a file: for its footer, and for parts of its rows.
    """
    small = [file.path for file in files if _is_small(file)]
    if fetch is None or sum(file.size for file in files if _is_small(file)) > _FETCHED_TOGETHER_BYTES:
        return scan(filesystem, files, schema)
    with ThreadPoolExecutor(_FETCHES_AT_ONCE) as pool:
        fetched = dict(zip(small, pool.map(fetch, small), strict=True))
    return scan(filesystem, files, schema, fetched)


def possible(files: Sequence[DataFile], where: ds.Expression, schema: pa.Schema) -> list[DataFile]:
    """Return the files of the days that a filter does not exclude."""
    if "date" not in schema.names:
        return list(files)
    format_, nowhere = ds.ParquetFileFormat(), fs.LocalFileSystem()
    days = {str(file.date): partition_of(day_of(file)) for file in files}
    fragments = [format_.make_fragment(date, nowhere, day) for date, day in days.items()]
    every = ds.FileSystemDataset(fragments, schema, format_, nowhere)
    wanted = {fragment.path for fragment in every.get_fragments(where)}
    return [file for file in files if str(file.date) in wanted]


def _read_file(filesystem: fs.FileSystem, file: DataFile, wanted: pa.Schema, fetch: Fetch | None) -> pa.Table:
    with open_parquet(filesystem, file, fetch) as opened:
        rows = opened.read([name for name in wanted.names if name != "date"], use_threads=not _is_small(file))
    return conform(rows, wanted, file)


@contextmanager
def open_parquet(filesystem: fs.FileSystem, file: DataFile, fetch: Fetch | None = None) -> Iterator[pq.ParquetFile]:
    """Open a file, a small one with all its bytes; errors name its path, also those of reads within the block."""
    with _opened(filesystem, file, fetch) as opened:
        source = pa.BufferReader(opened.read_buffer()) if _is_small(file) else opened
        try:
            yield pq.ParquetFile(source, pre_buffer=not _is_small(file))
        except (OSError, pa.ArrowException) as error:
            raise type(error)(f"cannot read {file.path}: {error}") from error


def _opened(filesystem: fs.FileSystem, file: DataFile, fetch: Fetch | None) -> pa.NativeFile:
    if fetch is not None and _is_small(file):
        return pa.BufferReader(fetch(file.path))
    return filesystem.open_input_file(file.path)


def conform(rows: pa.Table, wanted: pa.Schema, file: DataFile) -> pa.Table:
    """Return the columns of the schema: the date is in the folder's name, and an older file may lack others."""
    if rows.schema.equals(wanted):
        return rows
    return pa.Table.from_arrays([_column(rows, field, file) for field in wanted], schema=wanted)


def _is_small(file: DataFile) -> bool:
    return file.size <= _FETCHED_WHOLE_BYTES


def _column(rows: pa.Table, field: pa.Field, file: DataFile) -> pa.ChunkedArray | pa.Array:
    if field.name == "date":
        return pa.repeat(pa.scalar(day_of(file), field.type), rows.num_rows)
    place = rows.schema.get_field_index(field.name)
    return rows.column(place) if place >= 0 else pa.nulls(rows.num_rows, field.type)
