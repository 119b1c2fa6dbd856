"""Rows for one table, kept in memory until the commit: tuples at first, then Arrow batches of some megabytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import accumulate, chain
from typing import Any, NamedTuple

import pyarrow as pa

from collector.commit.position import Partition
from lake import TableSpec

_BYTES_AS_TUPLES = 2 << 20


class RowPosition(NamedTuple):
    """Partition and offset of a row's line, and the number of its id; None for a line that cannot be a duplicate."""

    partition: Partition
    offset: int
    number: int | None


class TableRows:
    """Rows for one table, in order of arrival; `ingested_at` is added at the commit.

    A string of Python takes up to four times the memory of one of Arrow, so only the newest rows are tuples.
    """

    def __init__(self, spec: TableSpec, names: Sequence[str]) -> None:
        """`names` are the columns of a tuple; all other columns of the table are null."""
        self.spec = spec
        self.positions: list[RowPosition] = []
        self.dropped: set[int] = set()
        self._names = names
        self._tuples: list[tuple[Any, ...]] = []
        self._tuple_bytes = 0
        self._batches: list[pa.RecordBatch] = []
        self._schema = pa.schema([f for f in spec.schema if f.name != "ingested_at"])

    def add(self, position: RowPosition, values: tuple[Any, ...], size: int) -> None:
        """Add a row; `size` is its approximate number of bytes."""
        self.positions.append(position)
        self._tuples.append(values)
        self._tuple_bytes += size
        if self._tuple_bytes >= _BYTES_AS_TUPLES:
            self._pack()

    def app_ids(self) -> set[str]:
        """The `app_id` of every partition that the rows came from."""
        return {partition.app_id for partition in {position.partition for position in self.positions}}

    def as_arrow(self, wanted: Callable[[int], bool], now: datetime) -> Iterator[pa.RecordBatch]:
        """Yield the rows whose index is `wanted`, in the table's schema, some megabytes at a time."""
        self._pack()
        begin = 0
        for batch in self._batches:
            keep = [wanted(row) for row in range(begin, begin + batch.num_rows)]
            begin += batch.num_rows
            part = batch if all(keep) else batch.filter(pa.array(keep))
            yield self._with_time(part, now)

    def _with_time(self, part: pa.RecordBatch, now: datetime) -> pa.RecordBatch:
        kind = self.spec.schema.field("ingested_at").type
        columns = dict(zip(part.schema.names, part.columns, strict=True))
        columns["ingested_at"] = pa.repeat(pa.scalar(now, kind), part.num_rows)
        return pa.RecordBatch.from_arrays([columns[f.name] for f in self.spec.schema], schema=self.spec.schema)

    def _pack(self) -> None:
        if not self._tuples:
            return
        columns = dict(zip(self._names, zip(*self._tuples, strict=True), strict=True))
        positions = self.positions[-len(self._tuples) :]
        arrays = [
            _sources(positions, f.type) if f.name == "source" else _array(columns.get(f.name), f.type, len(positions))
            for f in self._schema
        ]
        self._batches.append(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        self._tuples, self._tuple_bytes = [], 0


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


def _sources(positions: Iterable[RowPosition], kind: pa.StructType) -> pa.Array:
    rows = list(positions)
    columns = {
        "kind": [position.partition.kind for position in rows],
        "name": [position.partition.name for position in rows],
        "partition": [position.partition.key for position in rows],
        "offset": [position.offset for position in rows],
    }
    return pa.StructArray.from_arrays([pa.array(columns[f.name], f.type) for f in kind], fields=list(kind))
