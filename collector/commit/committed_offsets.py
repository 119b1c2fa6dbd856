"""How far every source is committed, as the lake's own batches tell."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from collector.commit.position import Partition
from lake import BATCHES, Lake

_ROWS_AT_ONCE = 200_000
_COLUMNS = {name: ds.field("source", name) for name in ("kind", "name", "partition", "offset")} | {
    name: ds.field(name) for name in ("exhausted_size", "committed_at")
}


@dataclass(frozen=True, slots=True)
class Mark:
    """Position after the last committed line; `exhausted_size` is the file's size where its end was reached."""

    offset: int
    exhausted_size: int | None


class Books:
    """The committed position of every partition; with `read` false only of those that are noted."""

    def __init__(self, lake: Lake, *, read: bool = True) -> None:
        self._table = lake.table(BATCHES)
        self._marks: dict[str, Mark] = {}
        self._finished: dict[str, int] = {}
        rows = _newest(self._table.dataset()).to_pylist() if read else []
        for row in rows:
            self.note(Partition(row["kind"], row["name"], row["partition"]), Mark(row["offset"], row["exhausted_size"]))

    def note(self, partition: Partition, mark: Mark) -> None:
        """Take down that everything of this partition up to the mark is in the lake."""
        before = self._marks.get(partition.app_id)
        if before is None or mark.offset >= before.offset:
            self._marks[partition.app_id] = mark
            self._finished[partition.name] = -1 if mark.exhausted_size is None else mark.exhausted_size

    def offset(self, partition: Partition) -> int:
        """Offset of the last committed piece; the partition's start where nothing is committed."""
        mark = self._marks.get(partition.app_id)
        return partition.start if mark is None else mark.offset

    def refresh(self, *partitions: Partition) -> None:
        """Look how far these partitions are by now, whoever committed them.

        The table's own log remembers the positions, also where the rows of the books are gone.
        """
        committed = self._table.progress([partition.app_id for partition in partitions])
        for partition in partitions:
            offset = committed.get(partition.app_id)
            if offset is not None and offset > self.offset(partition):
                self._marks[partition.app_id] = Mark(offset, None)

    def is_finished(self, name: str, size: int) -> bool:
        """Whether the file under this name was read to its end when it had this size."""
        return self._finished.get(name) == size

    def is_exhausted(self, partition: Partition, size: int) -> bool:
        """Whether this very file was read to its end when it had this size, whatever bears its name by now."""
        mark = self._marks.get(partition.app_id)
        return mark is not None and mark.exhausted_size == size


def _newest(batches: ds.Dataset) -> pa.Table:
    """The last row of every partition, in the order in which they were committed; holds few rows at a time."""
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
    values = ["offset", "exhausted_size", "committed_at"]
    in_order = rows.sort_by([("committed_at", "ascending"), ("offset", "ascending")])
    last = in_order.group_by(["kind", "name", "partition"], use_threads=False).aggregate(
        [(name, "last", pc.ScalarAggregateOptions(skip_nulls=False)) for name in values]
    )
    return last.rename_columns([name.removesuffix("_last") for name in last.column_names]).select(list(_COLUMNS))
