"""Writer of parquet files that a commit can add to a table: small row groups, no text in any statistics."""

from __future__ import annotations

import contextlib
import json
import math
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cache
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake.transaction import AddAction

from lake.delta_log.file_age import Moment
from lake.spec.table_spec import TableSpec
from lake.store.upload import Upload

_ROW_GROUP_BYTES = 8 << 20
_MAX_ROW_GROUP_ROWS = 128 << 10
_MOST_OPEN = 32
"""Files that are written at the same time: each takes a handle, and up to a row group of memory."""
_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
FAST, DENSE = 1, 3
"""Levels of zstd: what arrives is written fast; a compaction, which has time, makes it a seventh smaller."""
_ZSTD_FROM_BYTES = 4 << 10
"""Size of a column in a row group from which zstd is used. zstd takes some 20 microseconds to begin a page, which is
more than all the rest of reading a small one; snappy takes none."""


@cache
def statistics_columns(spec: TableSpec) -> list[str]:
    """Columns whose least and greatest value may stand in the log and in footers: times, numbers and flags.

    No string is among them, not even an id: what is erased from the rows must not be left in the log.
    """
    return [f.name for f in spec.schema if f.name != "date" and _has_statistics(f.type)]


@dataclass(frozen=True)
class NewFile:
    """A parquet file that is written and not yet part of a table; `path` is below the table's folder."""

    path: str
    size: int
    partition_values: dict[str, str | None]
    statistics: str
    written: Moment = field(default_factory=Moment, compare=False)

    def action(self) -> AddAction:
        """Return the entry of the table's log that adds it."""
        return AddAction(self.path, self.size, self.partition_values, int(time.time() * 1000), True, self.statistics)


class BrokenWriterError(RuntimeError):
    """An error came in the middle of a row group, or of several dates: other files must take all of the rows."""


class Folder(Protocol):
    """Where files are written: a file system of Arrow that begins at a folder, or one in memory."""

    def open_output_stream(self, path: str) -> Any:
        """Return a stream that writes a new file."""
        ...

    def create_dir(self, path: str) -> None:
        """Make a folder, if it is not there."""
        ...

    def move(self, src: str, dest: str) -> None:
        """Give a file another name."""
        ...

    def delete_file(self, path: str) -> None:
        """Remove a file."""
        ...


class FileWriter:
    """Writes the rows of one append: a file for each date, each with row groups of about 8 MiB.

    `write` does all of it; or `add` takes some rows at a time, and `finish` ends it. Where the rows switch between very
    many dates, a date gets several files.
    `filesystem` begins at the table's folder; `upload` writes a file of a store. In a folder a file gets its name when
    it is whole, so that a reader of the bare folder never meets half of one.
    """

    def __init__(
        self,
        spec: TableSpec,
        filesystem: Folder,
        upload: Callable[[str], Upload] | None = None,
        level: int = FAST,
    ) -> None:
        self._spec = spec
        self._level = level
        self._filesystem = filesystem
        self._upload = upload
        self._stored = pa.schema([f.remove_metadata() for f in spec.schema if not (spec.by_date and f.name == "date")])
        self._open: dict[date | None, _File] = {}
        self._whole: list[NewFile] = []
        self._is_adding = False

    def write(self, rows: Iterable[pa.RecordBatch | pa.Table]) -> list[NewFile]:
        """Write all rows and return the files.

        After an error none of the files is left, as far as the store lets them be removed.
        """
        try:
            for part in rows:
                self.add(part)
            return self.finish()
        except BaseException:
            for file in self._open.values():
                file.abandon()
            remove_files(self._filesystem, self._whole)
            raise

    def add(self, rows: pa.RecordBatch | pa.Table) -> None:
        """Add all of these rows; after an error none is added, and they can be added again.

        A full row group is written before the next rows of its date are added. Raises BrokenWriterError where an
        earlier error left a row group half written, or came between so many dates that their files are not all open.
        """
        if self._is_adding:
            raise BrokenWriterError(f"not all rows of {self._spec.name} that were added together were taken")
        by_date = list(self._by_date(rows))
        for begin in range(0, len(by_date), _MOST_OPEN):
            parts = {day: _parts(of_day) for day, of_day in by_date[begin : begin + _MOST_OPEN]}
            self._open_files(parts)
            for day, of_day in parts.items():
                self._open[day].make_room(of_day[0])
            self._is_adding = True
            for day, of_day in parts.items():
                self._open[day].add(of_day)
        self._is_adding = False

    def finish(self) -> list[NewFile]:
        """Write what is left, and return the files; can be called again after an error, as `add`."""
        while self._open:
            self._close_oldest()
        return self._whole

    @property
    def pending_bytes(self) -> int:
        """Bytes of the rows that were added and are not yet a row group."""
        return sum(file.pending_bytes for file in self._open.values())

    def _by_date(self, part: pa.RecordBatch | pa.Table) -> Iterator[tuple[date | None, pa.Table]]:
        table = part if isinstance(part, pa.Table) else pa.Table.from_batches([part])
        if not table.num_rows:
            return
        if not self._spec.by_date:
            yield None, table.select(self._stored.names).cast(self._stored)
            return
        days = pc.unique(table["date"]).to_pylist()
        for day in days:
            of_day = table
            if len(days) > 1:
                of_day = table.filter(pc.is_null(table["date"]) if day is None else pc.equal(table["date"], day))
            yield day, of_day.select(self._stored.names).cast(self._stored)

    def _open_files(self, days: Collection[date | None]) -> None:
        # The last in the order are those that are written to now.
        for day in days:
            if day in self._open:
                self._open[day] = self._open.pop(day)
        for day in days:
            if day not in self._open:
                if len(self._open) == _MOST_OPEN:
                    self._close_oldest()
                self._open[day] = self._new_file(day)

    def _new_file(self, day: date | None) -> _File:
        folder = f"date={day or _NULL_PARTITION}/" if self._spec.by_date else ""
        if folder and self._upload is None:
            self._filesystem.create_dir(folder)
        return _File(self._filesystem, folder, self._upload, self._writer_options(), self._level)

    def _writer_options(self) -> dict[str, Any]:
        return {
            "schema": self._stored,
            "use_dictionary": _dictionary_columns(self._spec),
            "write_statistics": statistics_columns(self._spec),
            "store_schema": False,
        }

    def _close_oldest(self) -> None:
        day, file = next(iter(self._open.items()))
        size = file.close()
        values = {"date": None if day is None else day.isoformat()} if self._spec.by_date else {}
        self._whole.append(NewFile(file.path, size, values, json.dumps(file.statistics.as_delta())))
        del self._open[day]


def remove_files(filesystem: Folder, files: Iterable[NewFile]) -> None:
    """Remove files that no commit has added; one that cannot be removed is left to the next vacuum."""
    for file in files:
        with contextlib.suppress(OSError):
            filesystem.delete_file(file.path)


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows that go to one row group, and their bytes in memory."""

    rows: pa.Table
    bytes: int


def _parts(rows: pa.Table) -> list[_Part]:
    # What comes is mostly much smaller than a row group and goes in whole: slices, and their sizes, cost more.
    per_row = max(1, rows.nbytes // rows.num_rows)
    step = max(1, min(_ROW_GROUP_BYTES // per_row, _MAX_ROW_GROUP_ROWS))
    if step >= rows.num_rows:
        return [_Part(rows, rows.num_rows * per_row)]
    slices = [rows.slice(begin, step) for begin in range(0, rows.num_rows, step)]
    return [_Part(part, part.num_rows * per_row) for part in slices]


class _File:
    """One parquet file that is being written."""

    def __init__(
        self,
        filesystem: Folder,
        folder: str,
        upload: Callable[[str], Upload] | None,
        options: dict[str, Any],
        level: int,
    ) -> None:
        name = f"part-{uuid.uuid4()}.parquet"
        self.path = folder + name
        self.statistics = _Statistics(options["write_statistics"])
        self._filesystem = filesystem
        self._options = options
        self._level = level
        # Readers of a folder pass over names with a leading dot; a full vacuum removes them.
        self._written_as = f"{folder}.{name}" if upload is None else self.path
        self._pending: list[_Part] = []
        self.pending_bytes = self._pending_rows = 0
        self._is_broken = False
        self._size: int | None = None
        self._upload = None if upload is None else upload(self.path)
        self._sink: Any = (
            filesystem.open_output_stream(self._written_as)
            if self._upload is None
            else pa.PythonFile(self._upload, mode="w")
        )
        self._writer: pq.ParquetWriter | None = None

    def make_room(self, part: _Part) -> None:
        """Write the row groups that are full, and the one that this part would make too large."""
        while self._pending and (
            self.pending_bytes + part.bytes > _ROW_GROUP_BYTES or self._pending_rows >= _MAX_ROW_GROUP_ROWS
        ):
            self._write_row_group()

    def add(self, parts: Sequence[_Part]) -> None:
        """Hold rows until there are enough for a row group."""
        self._pending.extend(parts)
        self.pending_bytes += sum(part.bytes for part in parts)
        self._pending_rows += sum(part.rows.num_rows for part in parts)

    def close(self) -> int:
        """Write what is left, and return the file's size; can be called again after an error."""
        while self._pending:
            self._write_row_group()
        if self._writer is not None:
            self._change(self._writer.close)
        if self._size is None:
            size = int(self._sink.tell())
            self._sink.close()
            if self._written_as != self.path:
                self._filesystem.move(self._written_as, self.path)
            self._size = size
        return self._size

    def abandon(self) -> None:
        if self._upload is not None:
            self._upload.discard()
        for one in (self._writer, self._sink):
            with contextlib.suppress(OSError, ValueError):
                if one is not None:
                    one.close()
        for path in {self._written_as, self.path}:
            with contextlib.suppress(OSError):
                self._filesystem.delete_file(path)

    def _write_row_group(self) -> None:
        parts = self._next_row_group()
        group = pa.concat_tables([part.rows for part in parts])
        statistics = self.statistics.plus(group)

        def write() -> None:
            if self._writer is None:
                self._writer = pq.ParquetWriter(self._sink, **self._options, **_compression(group, self._level))
            self._writer.write_table(group, row_group_size=group.num_rows)
            self.statistics = statistics
            del self._pending[: len(parts)]
            self.pending_bytes -= sum(part.bytes for part in parts)
            self._pending_rows -= group.num_rows

        self._change(write)

    def _next_row_group(self) -> list[_Part]:
        size = rows = 0
        for count, part in enumerate(self._pending):
            if count and (size + part.bytes > _ROW_GROUP_BYTES or rows >= _MAX_ROW_GROUP_ROWS):
                return self._pending[:count]
            size, rows = size + part.bytes, rows + part.rows.num_rows
        return list(self._pending)

    def _change(self, step: Callable[[], None]) -> None:
        """Write to the file; after an error nobody knows what of it is there, and Arrow's writer says nothing of it."""
        if self._is_broken:
            raise BrokenWriterError(f"{self.path} was left in the middle of a row group by an earlier error")
        self._is_broken = True
        step()
        self._is_broken = False


@dataclass(frozen=True)
class _Statistics:
    """Number of rows, and for columns without text the least and greatest value and the number of nulls."""

    columns: list[str]
    rows: int = 0
    nulls: dict[str, int] = field(default_factory=dict)
    ranges: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    def plus(self, rows: pa.Table) -> _Statistics:
        """Return the statistics of these rows too."""
        nulls, ranges = dict[str, int](), dict(self.ranges)
        for name in self.columns:
            column = rows[name]
            nulls[name] = self.nulls.get(name, 0) + column.null_count
            if column.null_count == rows.num_rows:
                continue
            found = pc.min_max(column).as_py()
            if found["min"] is not None:
                least, greatest = ranges.get(name, (found["min"], found["max"]))
                ranges[name] = (min(least, found["min"]), max(greatest, found["max"]))
        return _Statistics(self.columns, self.rows + rows.num_rows, nulls, ranges)

    def as_delta(self) -> dict[str, Any]:
        """In the form of the Delta protocol ("Per-file Statistics")."""
        finite = {name: ends for name, ends in self.ranges.items() if all(map(_is_finite, ends))}
        return {
            "numRecords": self.rows,
            "minValues": {name: _as_json(least) for name, (least, _) in finite.items()},
            "maxValues": {name: _as_json(greatest) for name, (_, greatest) in finite.items()},
            "nullCount": self.nulls,
        }


def _has_statistics(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind))


@cache
def _dictionary_columns(spec: TableSpec) -> list[str]:
    return [f.name for f in spec.schema if f.name not in spec.long_text and pa.types.is_string(f.type)]


def _compression(first: pa.Table, level: int) -> dict[str, Any]:
    """Codec and level of each column of a file, by its size in the first row group."""
    zstd = [f for f in first.schema if first[f.name].nbytes >= _ZSTD_FROM_BYTES]
    codecs = {leaf: "zstd" if f in zstd else "snappy" for f in first.schema for leaf in _leaves(f.name, f.type)}
    return {"compression": codecs, "compression_level": {leaf: level for f in zstd for leaf in _leaves(f.name, f.type)}}


def _leaves(path: str, kind: pa.DataType) -> list[str]:
    """Names of a column's parts as parquet knows them."""
    if pa.types.is_list(kind):
        return _leaves(f"{path}.list.element", kind.value_type)
    if pa.types.is_struct(kind):
        return [leaf for part in kind for leaf in _leaves(f"{path}.{part.name}", part.type)]
    return [path]


def _is_finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _as_json(value: Any) -> Any:
    if not isinstance(value, datetime):
        return value
    # Not strftime, whose years under 1000 have fewer than four digits.
    return value.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
