"""Files of a table's log, read and created with one request each; a version is created once only."""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

from lake.tables.whole_files import kept

LOG = "_delta_log"
_LAST_CHECKPOINT = "_last_checkpoint"
_MOST_BEFORE = 2
"""Commits of deltalake before the first of a handle: a table that is new has one, and one more for new columns."""


class LogFiles(Protocol):
    """The commits of one table's log, by version."""

    def read(self, version: int) -> bytes | None:
        """Give the bytes of a commit; None where the log has none of this version."""
        ...

    def read_told(self, version: int) -> bytes | None:
        """Give the bytes of a commit that is known to be there; another reader of this process may have fetched it."""
        ...

    def create(self, version: int, commit: bytes) -> bool:
        """Write a commit; gives False, and changes nothing, where the log has one of this version."""
        ...

    def settle(self, since: int, files: Iterable[str] = ()) -> None:
        """Have on disk, where that is asked for, files of the table, and its log from version `since` on."""
        ...


def commit_name(version: int) -> str:
    """Give the name of a commit within the log, as the Delta protocol has it."""
    return f"{version:020}.json"


class LocalLogFiles:
    """Log in a folder; a `durable` one is on disk, with the files that a commit adds, before the commit counts."""

    def __init__(self, table: str, *, durable: bool = False) -> None:
        self._table = Path(table.removeprefix("file://"))
        self._folder = self._table / LOG
        self._durable = durable
        self._is_settled = False

    def read(self, version: int) -> bytes | None:
        """Give the bytes of a commit; see `LogFiles`."""
        try:
            return (self._folder / commit_name(version)).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def read_told(self, version: int) -> bytes | None:
        """Give the bytes of a commit; see `LogFiles`."""
        return self.read(version)

    def create(self, version: int, commit: bytes) -> bool:
        """Write a commit; see `LogFiles`."""
        if self._durable:
            self._settle_before(version, commit)
        whole = self._folder / f".{uuid.uuid4()}.json"
        try:
            whole.write_bytes(commit)
            if self._durable:
                sync(whole)
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
        """Sync files of the table with their folders, and what the log has from a version on; see `LogFiles`."""
        if not self._durable:
            return
        paths = [self._table / file for file in files]
        for path in (*paths, *dict.fromkeys(path.parent for path in paths), self._table):
            sync(path)
        for path in sorted(self._folder.glob("*")):
            if path.name == _LAST_CHECKPOINT or (path.name[:20].isdecimal() and int(path.name[:20]) >= since):
                # Another process may remove what it has found out of use.
                with contextlib.suppress(FileNotFoundError):
                    sync(path)
        sync(self._folder)

    def _settle_before(self, version: int, commit: bytes) -> None:
        added = [action["add"]["path"] for action in map(json.loads, commit.splitlines()) if "add" in action]
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
    """Log in a store that speaks S3, through s3fs."""

    def __init__(self, filesystem: Any, table: str) -> None:
        """`table` is the path of the table on `filesystem`."""
        self._filesystem = filesystem
        self._folder = f"{table}/{LOG}"

    def read(self, version: int) -> bytes | None:
        """Give the bytes of a commit; see `LogFiles`."""
        try:
            return self._fetch(version)
        except FileNotFoundError:
            return None

    def read_told(self, version: int) -> bytes | None:
        """Give the bytes of a commit; see `LogFiles`."""
        try:
            return kept(f"{self._folder}/{commit_name(version)}", lambda: self._fetch(version))
        except FileNotFoundError:
            return None

    def _fetch(self, version: int) -> bytes:
        # More than one request at once would first ask for the size.
        return bytes(self._filesystem.cat_file(f"{self._folder}/{commit_name(version)}", max_concurrency=1))

    def create(self, version: int, commit: bytes) -> bool:
        """Write a commit, by a conditional PUT; see `LogFiles`."""
        try:
            self._filesystem.pipe_file(f"{self._folder}/{commit_name(version)}", commit, mode="create")
        except FileExistsError:
            return False
        return True

    def settle(self, since: int, files: Iterable[str] = ()) -> None:
        """Do nothing: what a store has taken is durable; see `LogFiles`."""
