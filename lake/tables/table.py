"""Table of the lake: append exactly once, read all rows, read what is new."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from pyarrow import fs

from lake.runtime.clocks import SKEW
from lake.table_spec import TableSpec
from lake.tables.delta_log import DataFile, added_files, live_files
from lake.tables.reading import are_as_stored, read_files
from lake.tables.schema_evolution import add_missing_columns
from lake.tables.storage import Storage, is_remote
from lake.tables.writing import FAST, FileWriter, NewFile, remove_files, statistics_columns

OVERLAP = SKEW
"""How far back a late reader begins again: as far as the clocks of writers may be apart."""

_INGESTED_AT = "ingested_at"
_READ_ATTEMPTS = 5
_COMMIT_ATTEMPTS = 3
"""Of one append: its conflict may be with a writer that added a column, and not with one of the same `app_id`."""
_COMMITS_PER_CHECKPOINT = "20"
"""A refresh and a commit read the log from the last checkpoint on; with deltalake's 100 both take twice as long."""
_APPEND_MARK = "dialwatchAppend"
_LOCAL_FILES_AT_ONCE, REMOTE_FILES_AT_ONCE = 1, 16
"""Of a read: threads help where a store is slow to answer; on a local disk they are no faster."""


class LostRaceError(RuntimeError):
    """Another writer has committed for the same `app_id` since this handle last read the table."""


class TableReplacedError(RuntimeError):
    """The table was removed and created again, so that a version of the old one means nothing: read it from None."""


@dataclass(frozen=True)
class Change:
    """Rows added to a table after a version, and the version that holds them.

    `newest` is the greatest `ingested_at` that was ever read, None in a table without that column. Where `repeats` is
    true, the rows may hold some that came before: the reader drops by their id those that it has.
    """

    rows: pa.Table
    version: int | None
    newest: datetime | None = None
    repeats: bool = False


T = TypeVar("T")


class Table:
    """A handle on one table, which need not exist yet. Not safe for use by several threads at once."""

    def __init__(self, uri: str, spec: TableSpec, title: str, storage: Storage) -> None:
        self.uri = uri
        self.spec = spec
        self._title = title
        self._storage = storage
        self._storage_options = storage.delta_options() if is_remote(uri) else {}
        self._delta: DeltaTable | None = None
        self._has_looked = False
        self._has_all_columns = False
        self._seen: dict[str, int | None] = {}
        self._app_versions: dict[str, int | None] = {}
        self._app_versions_at: int | None = None

    def version(self) -> int | None:
        """Latest version of the table; None where there is no table yet."""
        delta = self._refresh()
        return None if delta is None else int(delta.version())

    def seen_version(self) -> int | None:
        """Version that the last call saw, without asking the store again."""
        return None if self._delta is None else int(self._delta.version())

    def snapshot(self) -> DeltaTable | None:
        """Give the table as it is now, apart from this handle; None where there is none yet."""
        try:
            return DeltaTable(self.uri, storage_options=self._storage_options)
        except TableNotFoundError:
            return None

    def committed(self, app_id: str) -> int | None:
        """Version that the last append with this `app_id` carried; None where there was none."""
        return self.progress([app_id]).get(app_id)

    def progress(self, app_ids: Iterable[str]) -> dict[str, int]:
        """Versions that the last appends carried, of those `app_ids` that have one.

        What this gives is what the next `append` builds on: see there.
        """
        delta = self._refresh()
        found = {app_id: None if delta is None else self._committed(delta, app_id) for app_id in app_ids}
        self._has_looked = delta is not None
        self._seen.update(found)
        return {app_id: version for app_id, version in found.items() if version is not None}

    def append(self, rows: pa.Table | Iterable[pa.RecordBatch], progress: Mapping[str, int] | None = None) -> None:
        """Add rows of the table's schema in one commit, and make the table where it is missing.

        `progress` maps an `app_id` (a source, a service) to the version up to which it is done with these rows, and
        makes the commit exactly-once: read `progress()` first and leave out what it covers. Without rows it is
        worth a commit only with it.

        Raises LostRaceError, and adds nothing, where another writer has committed for one of the `app_id`s since
        `progress()` was read, ValueError for a version that is not above the committed one, and FileNotFoundError where
        the table was removed since this handle last read it.
        """
        self._open_for(progress or {})
        files = self.write([rows] if isinstance(rows, pa.Table) else rows)
        try:
            self.commit(files, progress)
        except (LostRaceError, ValueError, CommitFailedError, FileNotFoundError):
            self.discard(files)
            raise

    def write(self, rows: Iterable[pa.RecordBatch | pa.Table], level: int = FAST) -> list[NewFile]:
        """Write rows as files that no reader sees before `commit` adds them; the first half of `append`."""
        if not is_remote(self.uri):
            Path(self.uri).mkdir(parents=True, exist_ok=True)
        return FileWriter(self.spec, self.files(), local=not is_remote(self.uri), level=level).write(rows)

    def commit(self, files: Sequence[NewFile], progress: Mapping[str, int] | None = None) -> None:
        """Add written files, as `append` does; after a LostRaceError they can be committed again or discarded.

        Raises FileNotFoundError where the table was removed since this handle last read it.
        """
        for attempt in count(1):
            delta = self._open_for(progress or {})
            self._has_looked = False
            try:
                self._try_commit(delta, files, progress or {})
            except CommitFailedError:
                if attempt == _COMMIT_ATTEMPTS:
                    raise
            except DeltaError as error:
                if self.snapshot() is None:
                    raise FileNotFoundError(
                        f"the table {self.uri} is gone, which had version {delta.version()}: if the lake was moved "
                        "away, bring it back; if the table was removed for good, start dialwatch anew"
                    ) from error
                raise
            else:
                self._note_commit(delta, progress or {})
                return

    def _try_commit(self, delta: DeltaTable, files: Sequence[NewFile], progress: Mapping[str, int]) -> None:
        mark = uuid.uuid4().hex
        transactions = [Transaction(name, ahead) for name, ahead in progress.items()]
        try:
            delta.create_write_transaction(
                [file.action() for file in files],
                mode="append",
                schema=self.spec.schema,
                partition_by=["date"] if self.spec.by_date else None,
                commit_properties=CommitProperties(custom_metadata={_APPEND_MARK: mark}, app_transactions=transactions),
            )
        except CommitFailedError:
            # A store may have taken a commit whose answer was lost, and its repetition then meets itself.
            if not self._has_commit(mark, since=int(delta.version())):
                raise

    def discard(self, files: Iterable[NewFile]) -> None:
        """Remove files that were written and not committed; what cannot be removed is left to the next vacuum."""
        remove_files(self.files(), files)

    def _open_for(self, progress: Mapping[str, int]) -> DeltaTable:
        # Unless the table was read since the last commit, its log may have been cleaned: then it must be read again.
        seen = self._delta if self._has_looked else None
        delta = seen or self._refresh_or_open() or self._create()
        if not self._has_all_columns:
            self._has_all_columns = True
            if add_missing_columns(delta, self.spec):
                self._delta = None
                delta = self._refresh() or delta
        for name, ahead in progress.items():
            self._check(name, ahead, self._committed(delta, name))
        return delta

    def _committed(self, delta: DeltaTable, app_id: str) -> int | None:
        """Version of an `app_id`, cached: deltalake takes milliseconds for it, longer where there is none."""
        known = self._app_versions_of(int(delta.version()))
        if app_id not in known:
            known[app_id] = delta.transaction_version(app_id)
        return known[app_id]

    def _app_versions_of(self, version: int) -> dict[str, int | None]:
        if version != self._app_versions_at:
            self._app_versions, self._app_versions_at = {}, version
        return self._app_versions

    def _note_commit(self, delta: DeltaTable, progress: Mapping[str, int]) -> None:
        """Keep the cached versions: they still hold if the commit is the next version of the table."""
        self._seen.update(progress)
        self._app_versions_of(int(delta.version())).update(progress)
        self._app_versions_at = int(delta.version()) + 1

    def _has_commit(self, mark: str, since: int) -> bool:
        """Whether one of the commits after version `since` is the one with this mark."""
        self._delta = None
        delta = self._refresh()
        if delta is None:
            return False
        newer = int(delta.version()) - since
        return newer > 0 and any(commit.get(_APPEND_MARK) == mark for commit in delta.history(newer))

    def files(self) -> fs.FileSystem:
        """Give the file system that begins at the table's folder."""
        filesystem = self._storage.arrow_filesystem(self.uri)
        if filesystem is not None:
            return filesystem
        other, path = self._storage.filesystem(self.uri)
        return fs.SubTreeFileSystem(path, fs.PyFileSystem(fs.FSSpecHandler(other)))

    def _check(self, app_id: str, ahead: int, committed: int | None) -> None:
        seen = self._seen.setdefault(app_id, committed)
        if committed != seen:
            raise LostRaceError(
                f"another writer has committed version {committed} of {app_id!r} to {self.uri}; it was {seen} before"
            )
        if committed is not None and ahead <= committed:
            raise ValueError(f"{self.uri} already has version {committed} of {app_id!r}; {ahead} is not new")

    def read(self, columns: Sequence[str] | None = None, where: ds.Expression | None = None) -> pa.Table:
        """Read all rows, or those that `where` lets through; an empty table where there is none yet."""
        names = self._names(columns)
        return self._retry_read(lambda: self._cast(self.dataset().to_table(columns=names, filter=where), names))

    def dataset(self) -> ds.Dataset:
        """Give the rows as an Arrow dataset, for DuckDB, polars and the like; without rows where there is no table."""
        delta = self._refresh()
        return ds.dataset(self.spec.schema.empty_table()) if delta is None else self._dataset_of(delta)

    def read_since(
        self,
        version: int | None,
        columns: Sequence[str] | Mapping[str, ds.Expression] | None = None,
        newest: datetime | None = None,
        where: ds.Expression | None = None,
    ) -> Change:
        """Read the rows that were added after `version`, oldest commit first; a compaction adds none.

        `columns` may map names to expressions, for a reader that needs something computed from a text and not the text
        itself. `where` filters the rows; files of days that it excludes are not opened.

        With `version` None all rows are given, in no particular order. A reader may come so late that the log no longer
        says what is new, or that the files are gone. It then gets the rows with `ingested_at` from `newest` (of its
        last `Change`) less `OVERLAP`, or all rows without `newest`, and `repeats` is true. Raises TableReplacedError
        for a `version` that the table has not reached: it belongs to an earlier table at this place.
        """
        wanted = columns if isinstance(columns, Mapping) else {name: ds.field(name) for name in self._names(columns)}
        return self._retry_read(lambda: self._read_since(version, wanted, newest, where))

    def _read_since(
        self,
        version: int | None,
        wanted: Mapping[str, ds.Expression],
        newest: datetime | None,
        where: ds.Expression | None,
    ) -> Change:
        delta, names = self._refresh_or_open(), list(wanted)
        if delta is None:
            return Change(self._empty(wanted), None)
        latest = int(delta.version())
        if version is not None and version > latest:
            raise TableReplacedError(
                f"{self.uri} has only reached version {latest}, not {version}: it was removed and made anew; "
                "forget the version and read all of it"
            )
        if version == latest:
            return Change(self._empty(wanted), version, newest)
        columns = {name: ds.field(name) for name in self._ingestion_columns()} | dict(wanted)
        if version is None:
            # The rows themselves, not their history: that may begin with files that are gone by now.
            # Not deltalake's dataset: it looks at the statistics of each file, for a filter, and there is none.
            rows = self._rows_of(live_files(delta), columns, where)
            return self._change(rows, names, latest, None)
        try:
            rows = self._rows_of(added_files(self.files(), version + 1, latest), columns, where)
            return self._change(rows, names, latest, newest)
        except FileNotFoundError:
            late = (
                pc.field(_INGESTED_AT) >= newest - OVERLAP if newest is not None and self._ingestion_columns() else None
            )
            only = where if late is None else late if where is None else late & where
            rows = self._dataset_of(delta).to_table(columns=columns, filter=only)
            return self._change(rows, names, latest, newest, repeats=True)

    def read_files(
        self, files: Sequence[DataFile], columns: Mapping[str, ds.Expression], where: ds.Expression | None = None
    ) -> pa.Table:
        """Read columns of the rows of these files; raises FileNotFoundError where one is gone."""
        return self._cast(self._rows_of(files, columns, where), list(columns))

    def _rows_of(
        self, files: Sequence[DataFile], columns: Mapping[str, ds.Expression], where: ds.Expression | None
    ) -> pa.Table:
        at_once = REMOTE_FILES_AT_ONCE if is_remote(self.uri) else _LOCAL_FILES_AT_ONCE
        return read_files(self.files(), files, self.spec.schema, columns, where, at_once)

    def _change(
        self, rows: pa.Table, names: list[str], version: int, newest: datetime | None, repeats: bool = False
    ) -> Change:
        found = [pc.max(rows[column]).as_py() for column in self._ingestion_columns()]
        newest = max((at for at in (newest, *found) if at is not None), default=None)
        return Change(self._cast(rows, names), version, newest, repeats)

    def _ingestion_columns(self) -> list[str]:
        return [_INGESTED_AT] if _INGESTED_AT in self.spec.schema.names else []

    def _retry_read(self, read: Callable[[], T]) -> T:
        """Read again where files vanished because they were replaced since this handle last read the table."""
        for _ in range(_READ_ATTEMPTS - 1):
            try:
                return read()
            except (OSError, DeltaError):
                looked, self._delta = self._delta, None
                if looked is not None and looked.version() == self.version():
                    raise
        return read()

    def _dataset_of(self, delta: DeltaTable) -> ds.Dataset:
        # A table of an older version lacks columns: they are null there.
        filesystem = self._storage.arrow_filesystem(self.uri)
        return delta.to_pyarrow_dataset(filesystem=filesystem, schema=self.spec.schema)

    def _names(self, columns: Sequence[str] | None) -> list[str]:
        return list(self.spec.schema.names if columns is None else columns)

    def _empty(self, wanted: Mapping[str, ds.Expression]) -> pa.Table:
        # A service asks hundreds of tables every few seconds, and a scan of nothing takes a millisecond.
        if are_as_stored(wanted):
            return self.spec.schema.empty_table().select(list(wanted))
        return self._cast(ds.dataset(self.spec.schema.empty_table()).to_table(columns=dict(wanted)), list(wanted))

    def _cast(self, rows: pa.Table, names: list[str]) -> pa.Table:
        kept = rows.select(names)
        known = set(self.spec.schema.names)
        return kept.cast(pa.schema([self.spec.schema.field(f.name) if f.name in known else f for f in kept.schema]))

    def _refresh(self) -> DeltaTable | None:
        if self._delta is not None:
            self._delta.update_incremental()
            return self._delta
        self._app_versions_at = None
        try:
            self._delta = DeltaTable(self.uri, storage_options=self._storage_options)
        except TableNotFoundError:
            return None
        return self._delta

    def _refresh_or_open(self) -> DeltaTable | None:
        try:
            return self._refresh()
        except DeltaError:
            # What was open may be a table that another one has replaced.
            self._delta = None
            return self._refresh()

    def _create(self) -> DeltaTable:
        if not is_remote(self.uri):
            Path(self.uri).mkdir(parents=True, exist_ok=True)
        try:
            self._delta = DeltaTable.create(
                self.uri,
                schema=self.spec.schema,
                mode="error",
                partition_by=["date"] if self.spec.by_date else None,
                name=self._title,
                description=self.spec.doc,
                configuration={
                    "delta.dataSkippingStatsColumns": ",".join(statistics_columns(self.spec)),
                    "delta.checkpointInterval": _COMMITS_PER_CHECKPOINT,
                },
                storage_options=self._storage_options,
            )
        except DeltaError:
            # Another writer made it in the meantime; if that is not so, the open below says what is wrong.
            self._delta = DeltaTable(self.uri, storage_options=self._storage_options)
        return self._delta
