"""Rejected lines of files that are in the lake without their position, as their batch was cut off: they come again.

A table passes over the rows that it has of a partition, and answers and signals are known by their ids. What could not
be read has none: where its file was renamed before it is read again, it is known by its place in that file.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from functools import partial

import pyarrow as pa
import pyarrow.dataset as ds

from collector.commit.committed_offsets import CommittedOffsets
from collector.commit.concurrent_collectors import id_columns, rejection_id
from collector.commit.position import Partition
from collector.pipeline.readable_rows import read_readable
from collector.pipeline.warm_start import is_unfinished
from lake.spec.root_tables import REJECTED
from lake.spec.vocabulary import SourceKind
from lake.tables.lake import Lake


class CutOffRejections:
    """Offset and bytes of each, by partition, and the partitions in which they come again."""

    def __init__(self) -> None:
        self._found: dict[Partition, set[tuple[int, str]]] = {}
        self._renamed: dict[Partition, set[tuple[int, str]]] = defaultdict(set)

    def read(self, lake: Lake, committed: CommittedOffsets, since: datetime) -> None:
        """Read those that were stored since a time; the new names that are known by now are kept."""
        read_readable(lake.table(REJECTED), partial(self._read, committed, since))

    def _read(self, committed: CommittedOffsets, since: datetime, rows: ds.Dataset) -> None:
        columns = id_columns(REJECTED)
        where = (ds.field("source", "kind") == SourceKind.FILE) & (ds.field("ingested_at") >= since)
        # First without the bytes: mostly no batch was cut off.
        places = {name: column for name, column in columns.items() if name != "id"}
        cut_off: set[str] = set()
        for batch in rows.to_batches(places, where):
            cut_off.update(_unfinished(batch, committed)["partition"].to_pylist())
        self._found = defaultdict(set)
        if cut_off:
            for batch in rows.to_batches(columns, where & ds.field("source", "partition").isin(sorted(cut_off))):
                for row in _unfinished(batch, committed).to_pylist():
                    partition = Partition(row["kind"], row["name"], row["partition"])
                    self._found[partition].add((row["offset"], rejection_id(row["id"])))

    def partitions(self) -> list[Partition]:
        """The files that were not found since."""
        return list(self._found)

    def found(self, partition: Partition) -> None:
        """Note that a file has its name still: the table knows how far it has it."""
        self._found.pop(partition, None)

    def renamed(self, earlier: Partition, partition: Partition) -> None:
        """Note that the lines of a file come again under another name."""
        self._renamed[partition] |= self._found.pop(earlier, set())

    def has(self, partition: Partition, offset: int, raw: bytes) -> bool:
        """Whether this entry of a file that was renamed is in the lake."""
        its = self._renamed.get(partition) if self._renamed else None
        return its is not None and (offset, rejection_id(raw)) in its


def _unfinished(batch: pa.RecordBatch, committed: CommittedOffsets) -> pa.RecordBatch:
    return batch.filter(pa.array(is_unfinished(batch, committed))) if batch.num_rows else batch
