"""The ordered commit of a batch: data first, then the books, then the source may let go of it.

Every append carries the positions that the batch reaches (`progress`), so that a batch that was cut off anywhere can
be committed again, in other pieces too: a table leaves out the rows that it has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import pyarrow as pa

from collector.batch import Batch, Row, Section, TableKey
from lake import BATCHES, Lake, Table, TableSpec


class Checkpoint:
    """Commits batches to a lake; keeps the tables open between them."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._tables: dict[TableKey, Table] = {}

    def commit(self, batch: Batch, now: datetime) -> None:
        """Write every row of the batch once, and the books last. Safe to call again after an error."""
        reached = {partition.app_id: section.offset for partition, section in batch.sections.items()}
        try:
            for key in sorted(batch.rows, key=lambda key: (key[0].name, key[1] or "")):
                self._append(key, batch.rows[key], reached, now)
            self._write_books(batch, reached, now)
        except Exception:
            # The next try opens the tables anew: one may have been erased, and this view of it is of no use then.
            self._tables.clear()
            raise

    def _append(self, key: TableKey, rows: Sequence[Row], reached: Mapping[str, int], now: datetime) -> None:
        table = self._table(key)
        sources = {row.partition.app_id for row in rows}
        done = table.progress(sources)
        fresh = [row for row in rows if row.offset > done.get(row.partition.app_id, -1)]
        if fresh:
            ahead = {row.partition.app_id for row in fresh}
            table.append(_to_arrow(table.spec, fresh, now), progress={app_id: reached[app_id] for app_id in ahead})

    def _write_books(self, batch: Batch, reached: Mapping[str, int], now: datetime) -> None:
        table = self._table((BATCHES, None))
        done = table.progress(reached)
        ahead = {app_id: offset for app_id, offset in reached.items() if offset > done.get(app_id, -1)}
        rows = [
            {
                "date": now.date(),
                "source": partition.source(section.offset),
                "first_offset": section.first_offset,
                "exhausted_size": section.exhausted_size,
                "bytes": section.bytes,
                **vars(section.counts),
                "newest_requested_at": section.newest_requested_at,
                "committed_at": now,
            }
            for partition, section in batch.sections.items()
            if partition.app_id in ahead or _only_found_the_end(section)
        ]
        if rows:
            table.append(BATCHES.rows(rows), progress=ahead)

    def _table(self, key: TableKey) -> Table:
        if key not in self._tables:
            self._tables[key] = self._lake.table(*key)
        return self._tables[key]


def _only_found_the_end(section: Section) -> bool:
    return section.exhausted_size is not None and section.offset == section.first_offset


def _to_arrow(spec: TableSpec, rows: Sequence[Row], now: datetime) -> pa.Table:
    sources = {"source": [row.partition.source(row.offset) for row in rows], "ingested_at": [now] * len(rows)}
    columns = [
        pa.array(sources[f.name] if f.name in sources else [row.columns.get(f.name) for row in rows], f.type)
        for f in spec.schema
    ]
    return pa.Table.from_arrays(columns, schema=spec.schema)
