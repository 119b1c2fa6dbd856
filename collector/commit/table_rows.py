"""Rows for one table, kept in memory until the commit: tuples at first, then files as they will be stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import accumulate, chain
from typing import Any

import msgspec
import pyarrow as pa

from collector.commit.position import Partition
from lake.spec.table_spec import TableSpec
from lake.tables.buffered_files import BufferedFiles

_BYTES_AS_TUPLES = 2 << 20


class RowPosition(msgspec.Struct, frozen=True, gc=False):
    """Partition and offset of a row's line, and the number of its id; None for a line that cannot be a duplicate."""

    partition: Partition
    offset: int
    number: int | None


class TableRows:
    """Rows for one table, in order of arrival; `ingested_at` is the time when they are encoded.

    A string of Python takes up to four times the memory of one of Arrow, so only the newest rows are tuples.
    """

    def __init__(self, spec: TableSpec, names: Sequence[str]) -> None:
        """`names` are the columns of a tuple; all other columns of the table are null."""
        self.spec = spec
        self.positions: list[RowPosition] = []
        self.dropped: set[int] = set()
        self.held = 0
        """Approximate bytes of all that is in memory."""
        self.encoded_at: datetime | None = None
        """The earliest `ingested_at` of a row."""
        self._names = names
        self._tuples: list[tuple[Any, ...]] = []
        self._tuple_bytes = 0
        self._files = BufferedFiles(spec)
        self.is_full = False
        """Whether rows could not be encoded as they came: no more should be added before the commit tries it again."""

    def add(self, position: RowPosition, values: tuple[Any, ...], size: int, now: datetime) -> None:
        """Add a row; `size` is its approximate number of bytes."""
        self.positions.append(position)
        self._tuples.append(values)
        self._tuple_bytes += size
        self.held += size
        if self._tuple_bytes >= _BYTES_AS_TUPLES and not self.is_full:
            try:
                self._encode(now)
            except Exception:  # the rows stay as they are: the commit encodes them, or says why that cannot be
                self.is_full = True

    def app_ids(self) -> set[str]:
        """The `app_id` of every partition that the rows came from."""
        return {partition.app_id for partition in {position.partition for position in self.positions}}

    def files(self, now: datetime) -> BufferedFiles:
        """Return all rows, dropped ones too, as files; none can be added any more.

        Raises what keeps rows from being encoded; they are kept, and the next call tries it again. Raises
        BrokenWriterError, at every call, where that left a file half written.
        """
        if self._tuples:
            self._encode(now)
        return self._files

    def _encode(self, now: datetime) -> None:
        self._files.add(self._as_arrow(now))
        self._tuples, self._tuple_bytes = [], 0
        self.encoded_at = min(now, self.encoded_at or now)
        self.held = self._files.held

    def _as_arrow(self, now: datetime) -> pa.RecordBatch:
        columns = dict(zip(self._names, zip(*self._tuples, strict=True), strict=True))
        positions = self.positions[-len(self._tuples) :]
        arrays = [self._column(f, columns, positions, now) for f in self.spec.schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self.spec.schema)

    def _column(
        self, field: pa.Field, columns: Mapping[str, Sequence[Any]], positions: Sequence[RowPosition], now: datetime
    ) -> pa.Array:
        if field.name == "source":
            return _sources(positions, field.type)
        if field.name == "ingested_at":
            return pa.repeat(pa.scalar(now, field.type), len(positions))
        return _array(columns.get(field.name), field.type, len(positions))


def _array(values: Sequence[Any] | None, kind: pa.DataType, length: int) -> pa.Array:
    if values is None:
        return pa.nulls(length, kind)
    if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
        return _list_of_structs(values, kind)
    return pa.array(values, kind)


def _list_of_structs(lists: Sequence[list[dict[str, Any]] | None], kind: pa.ListType) -> pa.Array:
    """Build the array column by column: `pa.array` on lists of dicts takes several times as long."""
    items = list(chain.from_iterable(item for item in lists if item))
    fields = list(kind.value_type)
    structs = pa.StructArray.from_arrays(
        [pa.array([item[f.name] for item in items], f.type) for f in fields], fields=fields
    )
    ends = pa.array(accumulate((len(item or ()) for item in lists), initial=0), pa.int32())
    return pa.ListArray.from_arrays(ends, structs, type=kind, mask=pa.array([item is None for item in lists]))


def _sources(positions: Sequence[RowPosition], kind: pa.StructType) -> pa.Array:
    partitions = [position.partition for position in positions]
    columns: dict[str, Any] = {"offset": [position.offset for position in positions]}
    names = {"kind": "kind", "name": "name", "partition": "key"}
    if partitions.count(partitions[0]) == len(partitions):
        columns |= {name: pa.repeat(getattr(partitions[0], of), len(partitions)) for name, of in names.items()}
    else:
        columns |= {name: [getattr(one, of) for one in partitions] for name, of in names.items()}
    return pa.StructArray.from_arrays([pa.array(columns[f.name], f.type) for f in kind], fields=list(kind))
