"""A table's log as one handle knows it: a version that deltalake has read, and the commits after it.

deltalake lists the log several times for each look and each append, and a store's bill counts lists like writes. Here a
look reads two files by their names, and an append creates one: https://github.com/delta-io/delta/blob/master/PROTOCOL.md
says what a commit holds.
"""

from __future__ import annotations

import contextlib
import json
import time
import uuid
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from deltalake.exceptions import DeltaProtocolError

from lake.tables.delta_log import DataFile, actions_of, added_of, new_rows, removed_files
from lake.tables.log_files import LogFiles
from lake.tables.snapshots import Snapshot
from lake.tables.transactions import transactions_of
from lake.tables.writing import NewFile

_MOST_AT_ONCE = 50
"""Commits that are read one after the other; of more deltalake opens the table again, from its last checkpoint."""
_MOST_KEPT = 200
"""Commits whose files are kept in memory, for a reader that asks what is new."""
_WRITER_VERSION, _WRITER_FEATURES_VERSION = 4, 7
"""Of the Delta protocol: the last version whose rules an append here obeys, and the one that names features."""
_WRITER_FEATURES = frozenset({"appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns"})
"""Those of the versions up to 4. An append of rows alone need do nothing for them in tables of this package."""


class LogTail:
    """The log of one table, from a version on that deltalake has read. Not safe for use by several threads at once."""

    def __init__(self, files: LogFiles, snapshot: Snapshot, uri: str) -> None:
        """`uri` names the table in errors."""
        self._files = files
        self._uri = uri
        self._snapshot = snapshot
        self.version = snapshot.version
        self._last = snapshot.last_commit or files.read(self.version)
        """The bytes of the last commit that was read; None where the log does not have them any more."""
        self._seen_at = time.monotonic()
        """When that commit was last seen in its place."""
        self._transactions: dict[str, int | None] = {}
        self._added: OrderedDict[int, list[DataFile]] = OrderedDict()
        self._live: dict[str, DataFile] | None = None

    def is_same_log(self) -> bool:
        """Whether the last commit that was read is still there: the table was neither removed nor made anew."""
        if self._last is None or self._files.read(self.version) != self._last:
            return False
        self._seen_at = time.monotonic()
        return True

    def was_replaced(self) -> bool:
        """Whether the log has another commit in the place of the last one that was read."""
        there = self._files.read(self.version)
        return there is not None and self._last is not None and there != self._last

    def follow(self) -> bool:
        """Read the commits that came since; False where the table must be opened again to know what is there."""
        commit = self._files.read(self.version + 1)
        if commit is None and time.monotonic() - self._seen_at < self._files.trusted_seconds:
            return True
        if not self.is_same_log():
            return False
        for _ in range(_MOST_AT_ONCE):
            if commit is None:
                return True
            if not self._take(commit):
                return False
            commit = self._files.read(self.version + 1)
        return False

    def follow_told(self, version: int) -> bool:
        """Read the commits up to a version that somebody has told; False where they must be looked for."""
        if version - self.version > _MOST_AT_ONCE:
            return False
        while self.version < version:
            commit = self._files.read_told(self.version + 1)
            if commit is None or not self._take(commit):
                return False
        return True

    def current(self) -> Snapshot:
        """Give the state at the version that was read last."""
        if self._snapshot.version != self.version:
            self._snapshot = self._snapshot.at(self.version)
        return self._snapshot

    def checkpoint(self) -> None:
        """Write a checkpoint of the version that was read last."""
        self._files.checkpoint(self.version, self.current)

    def live_files(self) -> list[DataFile]:
        """Give the files that the table's rows are in at the version that was read last, the oldest first."""
        if self._live is None:
            self._live = {file.path: file for file in self.current().live_files()}
        return list(self._live.values())

    def transaction(self, app_id: str) -> int | None:
        """Give the version that the last commit with this `app_id` carried."""
        if app_id not in self._transactions:
            # Not known from the commits since the snapshot, so that of the snapshot is the last one.
            self._transactions[app_id] = self._snapshot.transaction(app_id)
        return self._transactions[app_id]

    def added_since(self, version: int) -> list[DataFile] | None:
        """Give the files with the new rows of the commits after `version`, oldest first; None where one is unknown."""
        wanted = range(version + 1, self.version + 1)
        if any(number not in self._added for number in wanted):
            return None
        return [file for number in wanted for file in self._added[number]]

    def require_known_protocol(self) -> None:
        """Raise DeltaProtocolError where writers of this table must do more than an append here does."""
        version, features = self._snapshot.writer_protocol
        is_named = version == _WRITER_FEATURES_VERSION and features <= _WRITER_FEATURES
        if version > _WRITER_VERSION and not is_named:
            raise DeltaProtocolError(
                f"the table {self._uri} asks for version {version} of the Delta writer protocol "
                f"({', '.join(sorted(features - _WRITER_FEATURES)) or 'no features named'}), which dialwatch does not "
                "write: another program has changed the table; undo that"
            )

    def append(self, files: Sequence[NewFile], progress: Mapping[str, int]) -> bool:
        """Add files in the next commit; False, and nothing is added, where another writer has made that commit."""
        commit = _commit_of(files, progress)
        if not self._create(commit):
            return False
        self._take(commit)
        return True

    def _create(self, commit: bytes) -> bool:
        try:
            if self._files.create(self.version + 1, commit):
                return True
        except OSError:
            with contextlib.suppress(OSError):
                if self._is_ours(commit):
                    return True
            raise
        return self._is_ours(commit)

    def _is_ours(self, commit: bytes) -> bool:
        # A store may have taken a commit whose answer was lost, and its repetition then meets itself.
        return self._files.read(self.version + 1) == commit

    def _take(self, commit: bytes) -> bool:
        try:
            actions = actions_of(commit)
            if any("metaData" in action or "protocol" in action for action in actions):
                return False
            transactions = transactions_of(actions)
            added, removed, every = new_rows(actions), removed_files(actions), added_of(actions)
        except (ValueError, KeyError, TypeError):
            return False  # deltalake says what is wrong with it
        self._transactions |= transactions
        if self._live is not None:
            self._live = {path: file for path, file in self._live.items() if path not in removed}
            self._live |= {file.path: file for file in every}
        self.version, self._last = self.version + 1, commit
        self._added[self.version] = added
        while len(self._added) > _MOST_KEPT:
            self._added.popitem(last=False)
        return True


def _commit_of(files: Sequence[NewFile], progress: Mapping[str, int]) -> bytes:
    now = int(time.time() * 1000)
    about = {
        "timestamp": now,
        "operation": "WRITE",
        "operationParameters": {"mode": "Append"},
        "isBlindAppend": True,
        "engineInfo": "dialwatch",
        # Tells this commit from any other one of the same content.
        "txnId": uuid.uuid4().hex,
    }
    transactions = [{"txn": {"appId": name, "version": ahead, "lastUpdated": now}} for name, ahead in progress.items()]
    actions: list[dict[str, Any]] = [
        {"commitInfo": about},
        *transactions,
        *({"add": _add(file, now)} for file in files),
    ]
    return "\n".join(json.dumps(action) for action in actions).encode()


def _add(file: NewFile, now: int) -> dict[str, Any]:
    return {
        "path": file.path,
        "partitionValues": file.partition_values,
        "size": file.size,
        "modificationTime": now,
        "dataChange": True,
        "stats": file.statistics,
    }
