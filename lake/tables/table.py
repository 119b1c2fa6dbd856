"""Table of the lake: append exactly once, read all rows, read what is new."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError, TableNotFoundError
from pyarrow import fs

from lake.delta_log.change import Change, LostRaceError, TableReplacedError
from lake.delta_log.creation import create_table, first_commit
from lake.delta_log.delta_log import DataFile, added_files
from lake.delta_log.file_age import FilesGoneError, require_files
from lake.delta_log.followed_log import FollowedLog
from lake.delta_log.log_tail import LogTail
from lake.delta_log.news import News
from lake.delta_log.pending_commits import few, paths_of, pending_commits
from lake.delta_log.schema_evolution import add_columns, missing_columns
from lake.delta_log.writing import FAST, FileWriter, NewFile
from lake.spec.table_spec import TableSpec
from lake.tables.reading import NoRows, read_files
from lake.tables.storage import Storage, is_remote
from runtime.clocks import SKEW

OVERLAP = SKEW
"""How far back a late reader begins again."""

_INGESTED_AT = "ingested_at"
_WRITE_ATTEMPTS = 3
"""Of one append whose files are removed before it has committed them."""
_COMMIT_ATTEMPTS = 30
"""Of one append: other writers may commit at the same time."""
_LOCAL_FILES_AT_ONCE, REMOTE_FILES_AT_ONCE, _FEW_FILES = 1, 16, 4
"""Of a read: threads help where a store is slow to answer; on a local disk they are no faster."""


class Table:
    """A handle on one table, which need not exist yet. Not safe for use by several threads at once."""

    def __init__(
        self,
        uri: str,
        spec: TableSpec,
        title: str,
        storage: Storage,
        news: News | None = None,
        note: Callable[[int], None] = lambda _: None,
    ) -> None:
        """`news` says whether there may be something new; `note` is called with the version that added rows."""
        self.uri = uri
        self.spec = spec
        self._title = title
        self._storage = storage
        self._storage_options = storage.delta_options() if is_remote(uri) else {}
        self._log = storage.log_files(uri)
        self.listed_files = self._log.listed
        """Gives the files with rows of some days, from the first to the last, as the log lists them now."""
        self.fetch = storage.fetch(uri)
        """Gives the bytes of a small file of a store; None on a local disk."""
        self.upload = storage.upload(uri)
        """Gives what writes a file of a store by its path; None on a local disk."""
        self._pending = pending_commits(storage.endpoint_url, uri)
        self._followed = FollowedLog(self._log, uri, news, self._pending)
        self.may_have_news = self._followed.may_have_news
        """Says whether the next call asks the store."""
        self._note = note
        self._has_looked = self._has_all_columns = False
        self._seen: dict[str, int | None] = {}
        self._no_rows = NoRows(spec.schema, self._cast)

    def version(self) -> int | None:
        """Latest version of the table; None where there is no table yet."""
        tail = self._followed.look()
        return None if tail is None else tail.version

    def seen_version(self) -> int | None:
        """Version that the last call saw, without asking the store again."""
        return None if self._followed.tail is None else self._followed.tail.version

    def snapshot(self) -> DeltaTable | None:
        """Return the table as it is now, to be changed, apart from this handle; None where there is none yet."""
        try:
            return self._by_deltalake()
        except TableNotFoundError:
            return None

    def committed(self, app_id: str) -> int | None:
        """Version that the last append with this `app_id` carried; None where there was none."""
        return self.progress([app_id]).get(app_id)

    def progress(self, app_ids: Iterable[str]) -> dict[str, int]:
        """Versions that the last appends carried, of those `app_ids` that have one.

        What this gives is what the next `append` builds on: see there.
        """
        tail = self._followed.look()
        found = {app_id: None if tail is None else tail.transaction(app_id) for app_id in app_ids}
        self._has_looked = tail is not None
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
        progress, known = progress or {}, few(rows) if isinstance(rows, pa.Table) else None
        if self._open_unless_added([], progress, known) is None:
            return
        # Who commits meanwhile makes the store refuse this commit: no second look is needed.
        self._has_looked = True
        if not isinstance(rows, pa.Table):
            self._append(rows, progress, known)
            return
        for _ in range(_WRITE_ATTEMPTS - 1):
            with contextlib.suppress(FilesGoneError):
                self._append([rows], progress, known)
                return
        self._append([rows], progress, known)

    def _append(
        self, rows: Iterable[pa.RecordBatch | pa.Table], progress: Mapping[str, int], known: pa.Table | None
    ) -> None:
        files = self.write(rows)
        try:
            self._commit(files, progress, known)
        except (LostRaceError, ValueError, CommitFailedError, FileNotFoundError):
            self.discard(files)
            raise

    def write(self, rows: Iterable[pa.RecordBatch | pa.Table], level: int = FAST) -> list[NewFile]:
        """Write rows as files that no reader sees before `commit` adds them; the first half of `append`."""
        if not is_remote(self.uri):
            Path(self.uri).mkdir(parents=True, exist_ok=True)
        return FileWriter(self.spec, self.files(), self.upload, level).write(rows)

    def commit(self, files: Sequence[NewFile], progress: Mapping[str, int] | None = None) -> None:
        """Add written files, as `append` does; after a LostRaceError they can be committed again or discarded.

        Where an earlier try with these files turns out to have gone well, nothing is added again. Raises
        FileNotFoundError where the table was removed since this handle last read it, and of this FilesGoneError where
        one of the files was removed: then write them anew.
        """
        self._commit(files, progress or {}, None)

    def _commit(self, files: Sequence[NewFile], progress: Mapping[str, int], rows: pa.Table | None) -> None:
        """`rows` are those of the files, if few: an earlier try of their append may have added them in other files."""
        for _ in range(_COMMIT_ATTEMPTS):
            tail = self._open_unless_added(files, progress, rows)
            if tail is None:
                return
            self._has_looked = False
            if not tail.is_same_log():
                self._followed.tail = None
                continue
            require_files(self.uri, self.fetch, files)
            if tail.append(files, progress, rows):
                self._seen.update(progress)
                self._note(tail.version)
                tail.write_checkpoint_if_due()
                return
        raise CommitFailedError(
            f"{self.uri}: another writer was faster {_COMMIT_ATTEMPTS} times in a row; the rows were not added"
        )

    def _open_unless_added(
        self, files: Sequence[NewFile], progress: Mapping[str, int], rows: pa.Table | None
    ) -> LogTail | None:
        """Return the log to append to; None where an earlier try has added the rows."""
        paths = paths_of(files)
        while (earlier := self._followed.look_for_earlier(paths, progress, rows)) is None:
            try:
                tail = self._open_for(progress)
            except (LostRaceError, ValueError):
                # An earlier try may have landed since it was looked for, and have moved the progress on.
                self._has_looked = False
                if (earlier := self._followed.look_for_earlier(paths, progress, rows)) is None:
                    raise
                break
            if not self._pending.has_up_to(tail.version):
                return tail
        self._seen.update(progress)
        self._note(earlier.version)
        return None

    def settle(self, since: int, files: Iterable[NewFile] = ()) -> None:
        """Have on disk, in a lake that is durable, these files and the log from version `since` on."""
        self._log.settle(since, [file.path for file in files])

    def discard(self, files: Iterable[NewFile]) -> None:
        """Remove files that were written and not committed; what cannot be removed is left to the next vacuum.

        So are files of a commit whose fate is not known, or that has landed late.
        """
        for file in files:
            if not self._pending.may_name(file.path):
                with contextlib.suppress(OSError):
                    self.remove(file.path)

    def remove(self, path: str) -> None:
        """Remove a file below the table's folder; raises FileNotFoundError, in a folder, where it is not there."""
        # Of a store with one request: Arrow also looks for the file, and writes the name of its folder.
        remove = self.files().delete_file if self.fetch is None else self.fetch.remove
        remove(path)

    def remove_all(self) -> None:
        """Remove the table with its log and files; a handle that has read it cannot write to it after that."""
        filesystem, path = self._storage.filesystem(self.uri)
        filesystem.rm(path, recursive=True)

    def _open_for(self, progress: Mapping[str, int]) -> LogTail:
        # Unless the table was read since the last commit, others may have written: then it must be read again.
        seen = self._followed.tail if self._has_looked else None
        tail = seen or self._followed.look_at_store()
        if tail is None:
            self._followed.require_none_before()
            tail = self._create()
        if not self._has_all_columns:
            tail.require_known_protocol()
            self._has_all_columns = True
            if missing := missing_columns(tail.columns, self.spec):
                add_columns(self._by_deltalake(), missing)
                self._followed.tail = None
                tail = self._followed.look_at_store() or tail
        for name, ahead in progress.items():
            tail.require_new(name, ahead, self._seen)
        return tail

    def files(self) -> fs.FileSystem:
        """Return the file system that begins at the table's folder."""
        filesystem = self._storage.arrow_filesystem(self.uri)
        if filesystem is not None:
            return filesystem
        other, path = self._storage.filesystem(self.uri)
        return fs.SubTreeFileSystem(path, fs.PyFileSystem(fs.FSSpecHandler(other)))

    def live_files(self) -> list[DataFile]:
        """Return the files that the rows are in now, the oldest first."""
        return self._followed.retry_read(lambda: [] if (tail := self._followed.look()) is None else tail.live_files())

    def files_of_version(self) -> tuple[int, list[DataFile]] | None:
        """Return the latest version and the files that its rows are in, the oldest first; None where there is no table.

        Each file has its number of rows.
        """
        return self._followed.retry_read(self._files_of_version)

    def _files_of_version(self) -> tuple[int, list[DataFile]] | None:
        tail = self._followed.look()
        if tail is None:
            return None
        state = tail.current()
        return state.version, state.live_files()

    def read(self, columns: Sequence[str] | None = None, where: ds.Expression | None = None) -> pa.Table:
        """Read all rows, or those that `where` lets through; an empty table where there is none yet."""
        names = self._names(columns)
        return self._followed.retry_read(lambda: self._cast(self._read(names, where), names))

    def _read(self, names: list[str], where: ds.Expression | None) -> pa.Table:
        is_far, tail = is_remote(self.uri), self._followed.look()
        files = tail.live_files() if tail is not None and (is_far or where is None) else None
        if files is None or (not is_far and len(files) > _FEW_FILES):
            return self._dataset().to_table(columns=names, filter=where)
        # Of a store without its dataset, for which deltalake would list the log; of few files that takes the longest.
        return self._rows_of(files, {name: ds.field(name) for name in names}, where)

    def dataset(self) -> ds.Dataset:
        """Return the rows as an Arrow dataset, for DuckDB, polars and the like; without rows if there is no table."""
        return self._followed.retry_read(self._dataset)

    def _dataset(self) -> ds.Dataset:
        tail = self._followed.look()
        return ds.dataset(self.spec.schema.empty_table()) if tail is None else self._dataset_of(tail)

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
        return self._followed.retry_read(lambda: self._read_since(version, wanted, newest, where))

    def _read_since(
        self,
        version: int | None,
        wanted: Mapping[str, ds.Expression],
        newest: datetime | None,
        where: ds.Expression | None,
    ) -> Change:
        if version is not None and self._followed.is_at(version):
            return Change(self._no_rows.of(wanted), version, newest)
        tail, names = self._followed.look(), list(wanted)
        if tail is not None and version is not None and version > tail.version:
            # Another handle was ahead of what was told.
            tail = self._followed.look_at_store()
        if tail is None:
            return Change(self._no_rows.of(wanted), None)
        latest = tail.version
        was_replaced = self._followed.take_replaced()
        if version is not None and (was_replaced or version > latest):
            raise TableReplacedError(
                f"{self.uri} has version {latest} and is not the table whose version {version} was read: it was "
                "removed and made anew; forget the version and read all of it"
            )
        if version == latest:
            return Change(self._no_rows.of(wanted), version, newest)
        columns = {name: ds.field(name) for name in self._ingestion_columns()} | dict(wanted)
        if version is None:
            # The rows themselves, not their history: that may begin with files that are gone by now.
            # Not deltalake's dataset: it looks at the statistics of each file, for a filter, and there is none.
            state = tail.current()
            rows = self._rows_of(state.live_files(), columns, where)
            return self._change(rows, names, state.version, None)
        try:
            added = tail.added_since(version)
            files = added_files(self._log.read, version + 1, latest) if added is None else added
            rows = self._rows_of(files, columns, where)
            return self._change(rows, names, latest, newest)
        except FileNotFoundError:
            late = (
                pc.field(_INGESTED_AT) >= newest - OVERLAP if newest is not None and self._ingestion_columns() else None
            )
            only = where if late is None else late if where is None else late & where
            rows = self._dataset_of(tail).to_table(columns=columns, filter=only)
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
        return read_files(self.files(), files, self.spec.schema, columns, where, at_once, self.fetch)

    def _change(
        self, rows: pa.Table, names: list[str], version: int, newest: datetime | None, repeats: bool = False
    ) -> Change:
        found = [pc.max(rows[column]).as_py() for column in self._ingestion_columns()]
        newest = max((at for at in (newest, *found) if at is not None), default=None)
        return Change(self._cast(rows, names), version, newest, repeats)

    def _ingestion_columns(self) -> list[str]:
        return [_INGESTED_AT] if _INGESTED_AT in self.spec.schema.names else []

    def _dataset_of(self, tail: LogTail) -> ds.Dataset:
        # A table of an older version lacks columns: they are null there.
        with tail.current().delta() as delta:
            return delta.to_pyarrow_dataset(filesystem=self.files(), schema=self.spec.schema)

    def _names(self, columns: Sequence[str] | None) -> list[str]:
        return list(self.spec.schema.names if columns is None else columns)

    def _cast(self, rows: pa.Table, names: list[str]) -> pa.Table:
        kept = rows.select(names)
        known = set(self.spec.schema.names)
        return kept.cast(pa.schema([self.spec.schema.field(f.name) if f.name in known else f for f in kept.schema]))

    def _create(self) -> LogTail:
        if is_remote(self.uri):
            self._log.create(0, first_commit(self.spec, self._title))
        else:
            Path(self.uri).mkdir(parents=True, exist_ok=True)
            create_table(self.uri, self.spec, self._title)
        tail = self._followed.look_at_store()
        if tail is None:
            raise FileNotFoundError(f"the table {self.uri} is gone, which was just made")
        return tail

    def _by_deltalake(self) -> DeltaTable:
        return DeltaTable(self.uri, storage_options=self._storage_options)
