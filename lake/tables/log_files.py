"""Files of a table's log, read and created with one request each; a version is created once only."""

from __future__ import annotations

import contextlib
import os
import uuid
from pathlib import Path
from typing import Any, Protocol

from lake.tables.whole_files import kept

LOG = "_delta_log"


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


def commit_name(version: int) -> str:
    """Give the name of a commit within the log, as the Delta protocol has it."""
    return f"{version:020}.json"


class LocalLogFiles:
    """Log in a folder."""

    def __init__(self, table: str) -> None:
        self._folder = Path(table.removeprefix("file://"), LOG)

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
        whole = self._folder / f".{uuid.uuid4()}.json"
        try:
            whole.write_bytes(commit)
            # A link to a name that exists fails, and the name appears with all of the bytes.
            os.link(whole, self._folder / commit_name(version))
        except FileExistsError:
            return False
        finally:
            with contextlib.suppress(OSError):
                whole.unlink()
        return True


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
