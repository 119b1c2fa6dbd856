"""Ordered commit of a batch: first the data rows, then the rows of `batches`; then the source may drop its lines.

Every append carries the positions that the batch reaches (`progress`), so that a batch that was cut off anywhere can
be committed again, in other pieces too: a table leaves out the rows that it has.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

from collector.commit.batch import Batch, Section, TableKey
from collector.commit.concurrent_collectors import COLLECTORS, Look, stored_since
from collector.commit.position import Partition
from lake import BATCHES, Lake, LostRaceError, Table

_TABLES_AT_ONCE = 4
"""An append mostly waits, for the disk or the store; so many tables make threads worth while."""

Stored = dict[int, tuple[Partition, int]]
"""Where the lines stand that others have stored, by the number of their id."""


class Checkpoint:
    """Commits batches to a lake; keeps the tables open between them.

    `looks` tells how much of each table the collector's window of duplicates knows, and `window` how long it is.
    """

    def __init__(self, lake: Lake, looks: Mapping[TableKey, Look], window: timedelta) -> None:
        self._lake = lake
        self._window = window
        self._looks = dict(looks)
        self._tables: dict[TableKey, Table] = {}
        self._found: dict[TableKey, Stored] = {}
        self._found_before: dict[TableKey, Stored] = {}
        self._dropping = threading.Lock()

    def commit(self, batch: Batch, now: datetime) -> None:
        """Write every row of the batch once, and its rows of `batches` last. Safe to call again after an error.

        Rows whose lines other collectors have stored meanwhile are left out, and counted as duplicates. Raises
        LostRaceError where another collector has come further in a partition of the batch.
        """
        reached = {partition.app_id: section.offset for partition, section in batch.sections.items()}
        try:
            done = self._table((BATCHES, None)).progress(reached)
            _require_own(batch, done)
            self._append_all(sorted(batch.rows, key=lambda key: (key[0].name, key[1] or "")), batch, reached, now)
            self._write_batches(batch, reached, done, now)
        except Exception:
            # The next try opens the tables anew: one may have been erased, and this view of it is of no use then.
            self._tables.clear()
            raise

    def take_stored_by_others(self) -> list[Stored]:
        """Give what was found of other collectors since the last call, for the window of duplicates.

        Lines that were taken before this call have not met it there, so the next commit compares them once more.
        """
        self._found_before, self._found = self._found, {}
        return list(self._found_before.values())

    def _append_all(self, keys: Sequence[TableKey], batch: Batch, reached: Mapping[str, int], now: datetime) -> None:
        """Add to several tables at once; raises the first error when no append is under way any more."""
        if len(keys) <= _TABLES_AT_ONCE:
            for key in keys:
                self._append(key, batch, reached, now)
            return
        with ThreadPoolExecutor(_TABLES_AT_ONCE, "collector append") as pool:
            try:
                for done in [pool.submit(self._append, key, batch, reached, now) for key in keys]:
                    done.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def _append(self, key: TableKey, batch: Batch, reached: Mapping[str, int], now: datetime) -> None:
        """Add the rows that the table has not; again and again where another collector's append came between.

        What was written stays good for the next try, unless a row of it has turned out to be a duplicate.
        """
        table, rows = self._table(key), batch.rows[key]
        shares = any(place.number is not None for place in rows.places)
        done, shared = _progress(table, rows.app_ids())
        fresh = [row for row, place in enumerate(rows.places) if place.offset > done.get(place.partition.app_id, -1)]
        progress = {app_id: reached[app_id] for app_id in {rows.places[row].partition.app_id for row in fresh}}
        files, written = None, -1
        while True:
            if shares and fresh:
                self._look(key, table, shared, now)
                self._drop(key, batch, fresh)
            wanted = set(fresh) - rows.dropped
            if files is not None and len(wanted) != written:
                table.discard(files)
                files = None
            if not wanted:
                return
            if files is None:
                files, written = table.write(rows.as_arrow(wanted.__contains__, now)), len(wanted)
            ours = 1 if shared is None else shared + 1
            try:
                table.commit(files, progress | ({COLLECTORS: ours} if shares else {}))
            except LostRaceError:
                done_now, shared_now = _progress(table, rows.app_ids())
                if done_now != done or shared_now == shared:
                    table.discard(files)
                    raise
                shared = shared_now
                continue
            if shares:
                self._looks[key] = Look(ours, self._looks[key].version)
            return

    def _look(self, key: TableKey, table: Table, shared: int | None, now: datetime) -> None:
        before = self._looks.get(key, Look(None, None))
        version = table.seen_version()
        if shared != before.shared:
            self._found.setdefault(key, {}).update(stored_since(table, before, now - self._window))
        self._looks[key] = Look(shared, version)

    def _drop(self, key: TableKey, batch: Batch, fresh: list[int]) -> None:
        found, before = self._found.get(key, {}), self._found_before.get(key, {})
        if found or before:
            places = batch.rows[key].places
            for row in fresh:
                number = places[row].number
                if number is not None and (number in found or number in before):
                    # The counts are those of all tables.
                    with self._dropping:
                        batch.drop(key, row)

    def _write_batches(self, batch: Batch, reached: Mapping[str, int], done: Mapping[str, int], now: datetime) -> None:
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
            # Not read again since `done`: so `batches` refuses the append if another collector has committed meanwhile.
            self._table((BATCHES, None)).append(BATCHES.rows(rows), progress=ahead)

    def _table(self, key: TableKey) -> Table:
        if key not in self._tables:
            self._tables[key] = self._lake.table(*key)
        return self._tables[key]


def _require_own(batch: Batch, done: Mapping[str, int]) -> None:
    """Refuse a batch with lines that another collector has committed, since `batches` would count them twice.

    A committed offset equal to the end of the batch may be its own: the append succeeded, but the answer was lost.
    """
    for partition, section in batch.sections.items():
        offset = done.get(partition.app_id, partition.start)
        if section.first_offset < offset != section.offset:
            raise LostRaceError(
                f"{partition.name} ({partition.key}) is committed up to {offset}, this batch begins after "
                f"{section.first_offset}: another collector reads it"
            )


def _only_found_the_end(section: Section) -> bool:
    return section.exhausted_size is not None and section.offset == section.first_offset


def _progress(table: Table, app_ids: set[str]) -> tuple[dict[str, int], int | None]:
    """How far the table has these sources, and the number that collectors share."""
    done = table.progress(app_ids | {COLLECTORS})
    return done, done.pop(COLLECTORS, None)
