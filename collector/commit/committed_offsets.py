"""Committed offset of every partition of every source, read from the table `_batches` of the lake."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from collector.commit.position import Partition
from lake.spec.root_tables import BATCHES
from lake.tables.lake import Lake
from lake.tables.table import Table

_ROWS_AT_ONCE = 200_000
_COLUMNS = {name: ds.field("source", name) for name in ("kind", "name", "partition", "offset")} | {
    name: ds.field(name) for name in ("exhausted_size", "content", "committed_at")
}


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """Offset of the last committed piece of a partition; `exhausted_size` is the file's size if its end was reached."""

    offset: int
    exhausted_size: int | None


class CommittedOffsets:
    """The committed offset of every partition; with `read` false only of those that `advance` was called for."""

    def __init__(self, lake: Lake, *, read: bool = True) -> None:
        self._table = lake.table(BATCHES)
        self._committed: dict[str, CommittedOffset] = {}
        self._finished: dict[str, int] = {}
        rows = newest_rows(self._table).to_pylist() if read else []
        for row in rows:
            self.advance(
                Partition(row["kind"], row["name"], row["partition"]),
                CommittedOffset(row["offset"], row["exhausted_size"]),
            )

    def advance(self, partition: Partition, committed: CommittedOffset) -> None:
        """Record that everything of this partition up to this offset is in the lake."""
        before = self._committed.get(partition.app_id)
        if before is None or committed.offset >= before.offset:
            self._committed[partition.app_id] = committed
            self._finished[partition.name] = -1 if committed.exhausted_size is None else committed.exhausted_size

    def offset(self, partition: Partition) -> int:
        """Offset of the last committed piece; the partition's start where nothing is committed."""
        committed = self._committed.get(partition.app_id)
        return partition.start if committed is None else committed.offset

    def refresh(self, *partitions: Partition) -> None:
        """Read the current committed offsets of these partitions, whichever collector committed them.

        They come from the table's transaction log, which keeps them also after rows of `_batches` were deleted.
        """
        committed = self._table.progress([partition.app_id for partition in partitions])
        for partition in partitions:
            offset = committed.get(partition.app_id)
            if offset is not None and offset > self.offset(partition):
                self._committed[partition.app_id] = CommittedOffset(offset, None)

    def is_finished(self, name: str, size: int) -> bool:
        """Whether the file under this name was read to its end when it had this size."""
        return self._finished.get(name) == size

    def is_exhausted(self, partition: Partition, size: int) -> bool:
        """Whether this file, not a later one of the same name, was read to its end when it had this size."""
        committed = self._committed.get(partition.app_id)
        return committed is not None and committed.exhausted_size == size


def newest_rows(table: Table) -> pa.Table:
    """Read the last row of every partition from `_batches`, in order of their commits; few rows at a time.

    The columns are the members of `source`, `exhausted_size`, `content` and `committed_at`.
    """
    batches = table.dataset()
    newest: list[pa.Table] = []
    rows = 0
    for batch in batches.to_batches(columns=_COLUMNS):
        newest.append(pa.Table.from_batches([batch]))
        rows += batch.num_rows
        if rows > _ROWS_AT_ONCE:
            newest, rows = [_last_of_each(pa.concat_tables(newest))], 0
    found = pa.concat_tables(newest) if newest else batches.head(0, columns=_COLUMNS)
    return _last_of_each(found).sort_by("committed_at")


def _last_of_each(rows: pa.Table) -> pa.Table:
    values = ["offset", "exhausted_size", "content", "committed_at"]
    in_order = rows.sort_by([("committed_at", "ascending"), ("offset", "ascending")])
    last = in_order.group_by(["kind", "name", "partition"], use_threads=False).aggregate(
        [(name, "last", pc.ScalarAggregateOptions(skip_nulls=False)) for name in values]
    )
    return last.rename_columns([name.removesuffix("_last") for name in last.column_names]).select(list(_COLUMNS))
