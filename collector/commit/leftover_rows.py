"""Rows of encoded files that still have to be stored: without those that a table has, with the time of now."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

import pyarrow as pa

from collector.commit.concurrent_collectors import ID_COLUMNS, as_integers, numbers_of
from collector.commit.position import Partition
from collector.commit.table_rows import TableRows
from lake.spec.root_tables import REJECTED
from lake.spec.vocabulary import SourceKind
from lake.tables.buffered_files import BufferedFiles

_STALE = timedelta(minutes=10)
"""Age from which rows get a new `ingested_at`: readers take for granted that it is near the time of the commit."""


def is_stale(rows: TableRows, now: datetime) -> bool:
    """Whether rows wait so long for their commit, or the clock was set, that `ingested_at` is far from now."""
    return rows.encoded_at is not None and abs(now - rows.encoded_at) >= _STALE


def rows_left(rows: TableRows, files: BufferedFiles, done: Mapping[str, int], now: datetime) -> BufferedFiles:
    """Give files with those rows of `files`, all of `rows`, that are neither dropped nor in the table.

    `done` has the offsets that the table has reached, by `app_id`.
    """
    dropped = {rows.positions[row].number for row in rows.dropped}
    left = BufferedFiles(rows.spec)
    for batch in files.rows():
        offsets = batch["source"].field("offset").to_pylist()
        partitions = [
            Partition(source["kind"], source["name"], source["partition"]) for source in batch["source"].to_pylist()
        ]
        numbers = as_integers(numbers_of(rows.spec, batch[ID_COLUMNS[rows.spec]]))
        keep = [
            offset > done.get(partition.app_id, -1) and not (number in dropped and _may_be_dropped(rows, partition))
            for partition, offset, number in zip(partitions, offsets, numbers, strict=True)
        ]
        kept = batch.filter(pa.array(keep))
        times = pa.repeat(pa.scalar(now, kept["ingested_at"].type), kept.num_rows)
        left.add(kept.set_column(kept.schema.get_field_index("ingested_at"), kept.schema.field("ingested_at"), times))
    return left


def _may_be_dropped(rows: TableRows, partition: Partition) -> bool:
    # Of what cannot be read only the items of a sender over HTTP have a number.
    return rows.spec is not REJECTED or partition.kind == SourceKind.HTTP
