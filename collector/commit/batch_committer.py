"""Ordered commit of a batch: first the data rows, then the rows of `_batches`; then the source may drop its lines.

Every append carries the last offset of each partition in the batch (`progress`). So a batch whose commit was
interrupted can be committed again, also with other batch limits: rows that a table already has are left out.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pyarrow as pa

from collector.commit.batch import Batch, BatchState, IncompleteBatchError, PartitionSection, TableKey
from collector.commit.concurrent_collectors import (
    COLLECTORS,
    ID_COLUMNS,
    SeenState,
    as_integers,
    numbers_of,
    stored_since,
)
from collector.commit.position import Partition
from collector.commit.table_rows import TableRows
from lake.delta_log.change import LostRaceError
from lake.spec.root_tables import BATCHES, REJECTED
from lake.spec.vocabulary import SourceKind
from lake.tables.buffered_files import BufferedFiles
from lake.tables.lake import Lake
from lake.tables.storage import is_remote
from lake.tables.table import Table

_TABLES_AT_ONCE, _TABLES_OF_A_STORE_AT_ONCE = 4, 16
"""Number of appends in parallel: an append mostly waits for the disk or the object store."""
_STALE = timedelta(minutes=10)
"""Age from which rows get a new `ingested_at`: readers take for granted that it is near the time of the commit."""

StoredLines = dict[int, tuple[Partition, int]]
"""Partition and offset of lines that other collectors have stored, by the number of their id."""


class BatchCommitter:
    """Commits batches to a lake; keeps the tables open between commits.

    `seen` is the state of each table up to which the collector's duplicate window knows the ids; `window` is the length
    of that window.
    """

    def __init__(self, lake: Lake, seen: Mapping[TableKey, SeenState], window: timedelta) -> None:
        self._lake = lake
        self._window = window
        self._seen = dict(seen)
        self._tables: dict[TableKey, Table] = {}
        self._found: dict[TableKey, StoredLines] = {}
        self._found_before: dict[TableKey, StoredLines] = {}
        self._dropping = threading.Lock()

    def commit(self, batch: Batch, now: datetime) -> None:
        """Write every row of a sealed batch once, and its rows of `_batches` last. Safe to call again after an error.

        Rows whose lines other collectors have stored meanwhile are left out, and counted as duplicates. Raises
        LostRaceError if another collector has committed some lines of the batch, IncompleteBatchError or
        BrokenWriterError if rows of it are missing: the batch can then never be committed.
        """
        if batch.state is BatchState.COMMITTED:
            return
        batch.require(BatchState.SEALED, BatchState.STORED)
        reached = {partition.app_id: section.offset for partition, section in batch.sections.items()}
        try:
            with self._lake.noting_together():
                done = self._table((BATCHES, None)).progress(reached)
                _require_own(batch, done)
                if batch.state is BatchState.SEALED:
                    batch.require_all_rows()
                    keys = sorted(batch.rows, key=lambda key: (key[0].name, key[1] or ""))
                    self._append_all(keys, batch, reached, now)
                    batch.advance(BatchState.STORED)
                batch.require_all_rows()
                self._write_batches(batch, reached, done, now)
                batch.advance(BatchState.COMMITTED)
        except BaseException:
            # The next try opens the tables again: if one was erased, the open table object is useless.
            self._tables.clear()
            raise

    def other_partitions(self) -> set[Partition]:
        """The partitions of the lines that `take_stored_by_others` will return."""
        return {partition for found in self._found.values() for partition, _ in found.values()}

    def take_stored_by_others(self) -> list[StoredLines]:
        """Return the lines of other collectors that were found since the last call, for the duplicate window.

        Lines that were added before this call were not compared with them, so the next commit compares them.
        """
        self._found_before, self._found = self._found, {}
        return list(self._found_before.values())

    def _append_all(self, keys: Sequence[TableKey], batch: Batch, reached: Mapping[str, int], now: datetime) -> None:
        """Append to several tables in parallel; raises the first error after all running appends have ended."""
        at_once = _TABLES_OF_A_STORE_AT_ONCE if is_remote(self._lake.root) else _TABLES_AT_ONCE
        if len(keys) <= _TABLES_AT_ONCE:
            for key in keys:
                self._append(key, batch, reached, now)
            return
        with ThreadPoolExecutor(at_once, "collector append") as pool:
            try:
                for done in [pool.submit(self._append, key, batch, reached, now) for key in keys]:
                    done.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def _append(self, key: TableKey, batch: Batch, reached: Mapping[str, int], now: datetime) -> None:
        """Append the rows that the table does not have; retry as long as other collectors append at the same time.

        Stored files are used again by the next try, unless one of their rows has turned out to be a duplicate.
        """
        table, rows = self._table(key), batch.rows[key]
        shares = any(position.number is not None for position in rows.positions)
        done, shared = _progress(table, rows.app_ids())
        fresh = [
            row
            for row, position in enumerate(rows.positions)
            if position.offset > done.get(position.partition.app_id, -1)
        ]
        progress = {app_id: reached[app_id] for app_id in {rows.positions[row].partition.app_id for row in fresh}}
        files, left = None, -1
        while True:
            if shares and fresh:
                self._read_new_rows(key, table, shared, now)
                self._drop(key, batch, fresh)
            wanted = len(set(fresh) - rows.dropped)
            if files is not None and wanted != left:
                table.discard(files)
                files = None
            if not wanted:
                return
            if files is None:
                buffered = rows.files(now)
                if wanted < len(rows.positions) or is_stale(rows, now):
                    buffered = rows_left(rows, buffered, done, now)
                _require_rows(buffered, wanted, table)
                files, left = buffered.store(table), wanted
            ours = 1 if shared is None else shared + 1
            try:
                table.commit(files, progress | ({COLLECTORS: ours} if shares else {}))
            except LostRaceError:
                done_now, shared_now = _progress(table, rows.app_ids())
                if all(done_now.get(app_id) == offset for app_id, offset in progress.items()):
                    # Of an earlier try, whose answer was lost, with these rows in other files.
                    table.discard(files)
                    return
                if done_now != done or shared_now == shared:
                    table.discard(files)
                    raise
                shared = shared_now
                continue
            if shares:
                self._seen[key] = SeenState(ours, self._seen[key].version)
            return

    def _read_new_rows(self, key: TableKey, table: Table, shared: int | None, now: datetime) -> None:
        before = self._seen.get(key, SeenState(None, None))
        version = table.seen_version()
        if shared != before.shared:
            self._found.setdefault(key, {}).update(stored_since(table, before, now - self._window))
        self._seen[key] = SeenState(shared, version)

    def _drop(self, key: TableKey, batch: Batch, fresh: list[int]) -> None:
        found, before = self._found.get(key, {}), self._found_before.get(key, {})
        if found or before:
            positions = batch.rows[key].positions
            for row in fresh:
                number = positions[row].number
                if number is not None and (number in found or number in before):
                    # Threads that append to other tables change the same counts.
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
                "content": section.content and str(section.content),
            }
            for partition, section in batch.sections.items()
            if partition.app_id in ahead or _only_found_the_end(section)
        ]
        if rows:
            # `done` is not read again: `_batches` refuses the append if another collector has committed meanwhile.
            table = self._table((BATCHES, None))
            try:
                table.append(BATCHES.rows(rows), progress=ahead)
            except LostRaceError:
                # Unless these are of an earlier try, which has landed since `done` was read: with another time.
                if table.progress(ahead) != ahead:
                    raise

    def _table(self, key: TableKey) -> Table:
        if key not in self._tables:
            self._tables[key] = self._lake.table(*key)
        return self._tables[key]


def _require_own(batch: Batch, done: Mapping[str, int]) -> None:
    """Refuse a batch with lines that another collector has committed, since `_batches` would count them twice.

    A committed offset equal to the end of the batch may be its own: the append succeeded, but the answer was lost.
    """
    for partition, section in batch.sections.items():
        offset = done.get(partition.app_id, partition.start)
        if section.first_offset < offset != section.offset:
            raise LostRaceError(
                f"{partition.name} ({partition.key}) is committed up to {offset}, this batch begins after "
                f"{section.first_offset}: another collector reads it"
            )


def _require_rows(files: BufferedFiles, wanted: int, table: Table) -> None:
    """Refuse files with other than `wanted` rows: positions would move on without the lines of missing rows."""
    if (count := files.count()) != wanted:
        raise IncompleteBatchError(
            f"a batch has {wanted} rows for {table.uri}, and {count} of them are in its files: it is not committed, "
            "and its lines are read again; please report it"
        )


def _only_found_the_end(section: PartitionSection) -> bool:
    return section.exhausted_size is not None and section.offset == section.first_offset


def _progress(table: Table, app_ids: set[str]) -> tuple[dict[str, int], int | None]:
    """Committed offsets of these partitions in the table, and the number that all collectors share."""
    done = table.progress(app_ids | {COLLECTORS})
    return done, done.pop(COLLECTORS, None)


def is_stale(rows: TableRows, now: datetime) -> bool:
    """Whether rows wait so long for their commit, or the clock was set, that `ingested_at` is far from now."""
    return rows.encoded_at is not None and abs(now - rows.encoded_at) >= _STALE


def rows_left(rows: TableRows, files: BufferedFiles, done: Mapping[str, int], now: datetime) -> BufferedFiles:
    """Return files with those rows of `files`, all of `rows`, that are neither dropped nor in the table.

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
