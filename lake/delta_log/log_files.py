"""Files of a table's log, read and created with one request each; a version is created once only."""

from __future__ import annotations

import contextlib
import json
import os
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar
from weakref import WeakValueDictionary

from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from lake.delta_log.file_age import require_in_folder
from lake.delta_log.listed_files import ListedFiles, listed_files
from lake.delta_log.snapshots import CopiedSnapshot, DeltaSnapshot, OpenAt, TableSnapshot
from lake.store.log_copy import (
    LAST_CHECKPOINT,
    LOG,
    Read,
    UnusualLogError,
    checkpoint_of,
    commit_name,
    log_entries,
)
from lake.store.whole_files import keep, kept

T = TypeVar("T")
_OPENED: WeakValueDictionary[str, CopiedSnapshot] = WeakValueDictionary()
"""States that handles of this process hold, by the folder of the log: at a start several parts open the same tables."""
_FIRST_COMMIT_STAYS_SECONDS = 1800.0
_MOST_BEFORE = 2
"""Commits of deltalake before the first of a handle: a table that is new has one, and one more for new columns."""


class LogFiles(Protocol):
    """The commits of one table's log, by version."""

    @property
    def trusted_seconds(self) -> float:
        """How long after a look that found the last known commit in its place a reader need not look for it again."""
        ...

    def open(self) -> TableSnapshot | None:
        """Return the state of the table as it is now; None where there is no table."""
        ...

    def last_commit(self, version: int) -> bytes | None:
        """Return the bytes of a commit that is the log's last one; None where it is not, or that costs requests."""
        ...

    def listed(self, first: date, last: date) -> ListedFiles:
        """Return the files with rows of these days, as the log lists them now; none where there is no table."""
        ...

    def checkpoint(self, version: int, current: Callable[[], TableSnapshot]) -> None:
        """Write a checkpoint of a version, so that who opens the table reads few commits; `current` gives its state."""
        ...

    def read(self, version: int) -> bytes | None:
        """Return the bytes of a commit; None where the log has none of this version."""
        ...

    def read_told(self, version: int) -> bytes | None:
        """Return the bytes of a commit that is there for sure; another reader of this process may have fetched it."""
        ...

    def create(self, version: int, commit: bytes) -> bool:
        """Write a commit; returns False, and changes nothing, where the log has one of this version.

        Raises FilesGoneError where it is seen, before the commit counts, that a file which it adds is gone.
        """
        ...

    def settle(self, since: int, files: Iterable[str] = ()) -> None:
        """Have on disk, where that is asked for, files of the table, and its log from version `since` on."""
        ...


class LocalLogFiles:
    """Log in a folder; a `durable` one is on disk, with the files that a commit adds, before the commit counts."""

    trusted_seconds: Final = 0.0

    def __init__(self, table: str, *, durable: bool = False) -> None:
        self._uri = table
        self._table = Path(table.removeprefix("file://"))
        self._folder = self._table / LOG
        self._durable = durable
        self._is_settled = False

    def open(self) -> TableSnapshot | None:
        """Return the state of the table, as deltalake reads it; None where there is no table."""
        # deltalake takes a hundred times as long to say so, and many tables are never made.
        return _opened(self._by_deltalake, self.entry) if self._folder.is_dir() else None

    def last_commit(self, version: int) -> bytes | None:
        """Return the bytes of a commit that is the last one of the folder; None where it is not."""
        # In this order: with a commit that comes in between there is a later one by the second look.
        last = self.read(version)
        return None if last is None or self.read(version + 1) is not None else last

    def listed(self, first: date, last: date) -> ListedFiles:
        """Return the files with rows of these days, as the log lists them now; none where there is no table."""
        return listed_files(self.entry, lambda: _if_there(self._by_deltalake), first, last, at_once=1)

    def _by_deltalake(self, version: int | None = None) -> DeltaTable:
        return DeltaTable(self._uri, version=version)

    def checkpoint(self, version: int, current: Callable[[], TableSnapshot]) -> None:
        """Write a checkpoint by deltalake, and remove old entries of the log."""
        with current().delta() as delta:
            delta.create_checkpoint()
            self.settle(version)
            delta.cleanup_metadata()

    def read(self, version: int) -> bytes | None:
        """Return the bytes of a commit; None where the folder has none of this version."""
        return self.entry(commit_name(version))

    def entry(self, name: str) -> bytes | None:
        """Return the bytes of a file of the log by its name; None where there is none."""
        try:
            return (self._folder / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def read_told(self, version: int) -> bytes | None:
        """Return the bytes of a commit as `read` does: a folder needs no shared reads."""
        return self.read(version)

    def create(self, version: int, commit: bytes) -> bool:
        """Write a commit under a name that is still free; returns False where it is taken."""
        added = [action["add"]["path"] for action in map(json.loads, commit.splitlines()) if "add" in action]
        if self._durable:
            require_in_folder(self._table, added)
            self._settle_before(version, added)
        whole = self._folder / f".{uuid.uuid4()}.json"
        try:
            whole.write_bytes(commit)
            if self._durable:
                sync(whole)
            require_in_folder(self._table, added)
            # A link to a name that exists fails, and the name appears with all of the bytes.
            os.link(whole, self._folder / commit_name(version))
        except FileExistsError:
            return False
        finally:
            with contextlib.suppress(OSError):
                whole.unlink()
        if self._durable:
            sync(self._folder)
        return True

    def settle(self, since: int, files: Iterable[str] = ()) -> None:
        """Sync files of the table with their folders, and what the log has from a version on, if it is durable."""
        if not self._durable:
            return
        paths = [self._table / file for file in files]
        for path in (*paths, *dict.fromkeys(path.parent for path in paths), self._table):
            sync(path)
        for path in sorted(self._folder.glob("*")):
            if path.name == LAST_CHECKPOINT or (path.name[:20].isdecimal() and int(path.name[:20]) >= since):
                # Another process may remove what it has found out of use.
                with contextlib.suppress(FileNotFoundError):
                    sync(path)
        sync(self._folder)

    def _settle_before(self, version: int, added: Sequence[str]) -> None:
        if self._is_settled:
            self.settle(version, added)
            return
        # What the commit builds on may be deltalake's, which syncs nothing: the table's first commit, or new columns.
        self.settle(max(0, version - _MOST_BEFORE), added)
        for folder in (self._table.parent, self._table.parent.parent):
            # The one above the lake may be somebody else's.
            with contextlib.suppress(PermissionError):
                sync(folder)
        self._is_settled = True


def sync(path: Path) -> None:
    """Have the bytes of a file, or the names in a folder, on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class StoreLogFiles:
    """Log in a store, through fsspec, whose S3 counts the requests."""

    trusted_seconds: Final = 60.0

    def __init__(self, filesystem: Any, table: str, by_deltalake: OpenAt) -> None:
        """`table` is the path of the table on `filesystem`; `by_deltalake` opens a log that is out of the ordinary."""
        self._filesystem = filesystem
        self._folder = f"{table}/{LOG}"
        self._by_deltalake = by_deltalake
        self._missing_at: float | None = None
        self._own: dict[str, bytes] = {}
        """Commits that were created here since the log was opened and the last checkpoint, by name."""

    def open(self) -> TableSnapshot | None:
        """Return the state of the table, from a copy of its log; None where there is no table."""
        self._own.clear()
        if (opened := self._opened_by_another()) is not None:
            return opened
        now = time.monotonic()
        # A table that was made since the last look has its first commit: a log is cleaned after hours.
        was_missing = self._missing_at is not None and now - self._missing_at < _FIRST_COMMIT_STAYS_SECONDS
        snapshot = None if was_missing and self.read(0) is None else self._open(None)
        self._missing_at = now if snapshot is None else None
        return snapshot

    def last_commit(self, version: int) -> None:
        """Return None: to look for two commits may cost as much as to open the log."""

    def _opened_by_another(self) -> TableSnapshot | None:
        """Return the state that another handle holds, if the table is still at its version; None otherwise."""
        held = _OPENED.get(self._folder)
        # No two commits are the same: where the last one is in its place, so are those before.
        if held is None or held.last_commit is None or self.read(held.version) != held.last_commit:
            return None
        if self.read(held.version + 1) is not None:
            return None
        self._missing_at = None
        return self._remembered(replace(held, entries=self._entries, reopen=self._reopen))

    def _remembered(self, snapshot: CopiedSnapshot) -> CopiedSnapshot:
        _OPENED[self._folder] = snapshot
        return snapshot

    def listed(self, first: date, last: date) -> ListedFiles:
        """Return the files with rows of these days, as the log lists them now; none where there is no table."""
        return listed_files(self._read, lambda: _if_there(lambda: self._by_deltalake(None)), first, last)

    def _open(self, version: int | None) -> TableSnapshot | None:
        try:
            found = log_entries(self._read, version)
        except UnusualLogError:
            return _opened(self._by_deltalake, self._read)
        return None if found is None else self._remembered(CopiedSnapshot.of(found, self._entries, self._reopen))

    def _reopen(self, version: int) -> TableSnapshot:
        snapshot = self._open(version)
        if snapshot is None or snapshot.version != version:
            raise FileNotFoundError(f"the log {self._folder} has no version {version} to be opened any more")
        return snapshot

    def _entries(self, version: int) -> Mapping[str, bytes]:
        try:
            found = log_entries(self._read, version)
        except UnusualLogError as error:
            raise FileNotFoundError(
                f"the log {self._folder} cannot be read up to version {version}: {error}"
            ) from error
        if found is None:
            raise FileNotFoundError(f"the log {self._folder} is gone")
        return found

    def checkpoint(self, version: int, current: Callable[[], TableSnapshot]) -> None:
        """Write a checkpoint; see `LogFiles`. Old entries are left to the upkeep."""
        try:
            found = log_entries(self._read_or_own, version) or {}
        except UnusualLogError:
            with current().delta() as delta:
                delta.create_checkpoint()
            return
        for name, content in checkpoint_of(found).items():
            self._filesystem.pipe_file(f"{self._folder}/{name}", content)
        self._own.clear()

    def read(self, version: int) -> bytes | None:
        """Return the bytes of a commit; None where the store has none of this version."""
        return self._read(commit_name(version))

    def read_told(self, version: int) -> bytes | None:
        """Return the bytes of a commit, fetched once for all readers of this process; None where it is missing."""
        path = f"{self._folder}/{commit_name(version)}"
        try:
            return kept(path, lambda: self._fetch(path))
        except FileNotFoundError:
            return None

    def _read_or_own(self, name: str) -> bytes | None:
        own = self._own.get(name)
        return self._read(name) if own is None else own

    def _read(self, name: str) -> bytes | None:
        try:
            return self._fetch(f"{self._folder}/{name}")
        except FileNotFoundError:
            return None

    def _fetch(self, path: str) -> bytes:
        # More than one request at once would first ask for the size.
        return bytes(self._filesystem.cat_file(path, max_concurrency=1))

    def create(self, version: int, commit: bytes) -> bool:
        """Write a commit by a conditional PUT; returns False where the store has one of this version."""
        path = f"{self._folder}/{commit_name(version)}"
        try:
            self._filesystem.pipe_file(path, commit, mode="create")
        except FileExistsError:
            return False
        keep(path, commit)
        self._own[commit_name(version)] = commit
        return True

    def settle(self, since: int, files: Iterable[str] = ()) -> None:
        """Leave it: what a store has taken is durable."""


def _opened(open_at: OpenAt, read: Read) -> TableSnapshot | None:
    return _if_there(lambda: DeltaSnapshot(open_at(None), open_at, read))


def _if_there(opened: Callable[[], T]) -> T | None:
    try:
        return opened()
    except TableNotFoundError:
        return None
