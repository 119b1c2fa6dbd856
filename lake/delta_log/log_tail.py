"""A table's log as one handle knows it: a version that deltalake has read, and the commits after it.

deltalake lists the log several times for each look and each append, and a store's bill counts lists like writes. Here a
look reads two files by their names, and an append creates one: https://github.com/delta-io/delta/blob/master/PROTOCOL.md
says what a commit holds.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import time
import uuid
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any

import pyarrow as pa
from deltalake.exceptions import DeltaError, DeltaProtocolError

from lake.delta_log.change import LostRaceError
from lake.delta_log.creation import COMMITS_PER_CHECKPOINT
from lake.delta_log.delta_log import DataFile, actions_of, added_of, new_rows, removed_files
from lake.delta_log.file_age import FilesGoneError
from lake.delta_log.log_files import LogFiles
from lake.delta_log.pending_commits import PendingCommit, PendingCommits, digest_of, paths_of
from lake.delta_log.snapshots import TableSnapshot
from lake.delta_log.transaction_versions import transactions_of
from lake.delta_log.writing import NewFile
from lake.store.store_errors import in_one_line

logger = logging.getLogger(__name__)

_PAUSES = (0.0, 0.1, 0.4, 1.6)
"""Seconds before each time that a store is asked for a commit that it must have."""
_PARENT = "parentCommit"
"""Entry of a commit's information that tells the commit before it."""
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

    def __init__(
        self, files: LogFiles, snapshot: TableSnapshot, uri: str, pending: PendingCommits | None = None
    ) -> None:
        """`uri` names the table in errors; `pending` keeps the commits of this process whose fate is not known."""
        self._files = files
        self._pending = pending or PendingCommits()
        self._uri = uri
        self._snapshot = snapshot
        self.version = snapshot.version
        self.table_id = snapshot.table_id
        """Given to the table when it was made."""
        self.columns = snapshot.columns
        """Names of the columns: a commit that changes them has the table opened again."""
        self._last = snapshot.last_commit or files.read(self.version)
        """The bytes of the last commit that was read; None where the log does not have them any more."""
        self._seen_at = monotonic()
        """When that commit was last seen in its place."""
        self._transactions: dict[str, int | None] = {}
        self._added: OrderedDict[int, list[DataFile]] = OrderedDict()
        self._live: dict[str, DataFile] | None = None

    def is_same_log(self) -> bool:
        """Whether the last commit that was read is still there: the table was neither removed nor made anew."""
        if self._last is None or self._files.read(self.version) != self._last:
            self._seen_at = -math.inf
            return False
        self._seen_at = monotonic()
        return True

    def is_continued_by(self, later: LogTail) -> bool:
        """Whether what was read later is the same table: neither one made anew, nor an earlier state brought back."""
        if later.table_id != self.table_id or later.version < self.version:
            return False
        there = self._files.read(self.version)
        return there is None or self._last is None or there == self._last

    def follow(self) -> bool:
        """Read the commits that came since; False where the table must be opened again to know what is there."""
        commit = self._files.read(self.version + 1)
        if commit is None and monotonic() - self._seen_at < self._files.trusted_seconds:
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
        """Read the commits up to a version that somebody has told; False where they must be looked for.

        The last commit that was read is not asked for again where the next one tells that it follows it.
        """
        if version - self.version > _MOST_AT_ONCE:
            return False
        if version <= self.version:
            return self.is_same_log()
        while self.version < version:
            commit = self._files.read_told(self.version + 1)
            if commit is None or not (self._is_parent_of(commit) or self.is_same_log()) or not self._take(commit):
                return False
        return True

    def current(self) -> TableSnapshot:
        """Return the state at the version that was read last."""
        if self._snapshot.version != self.version:
            self._snapshot = self._snapshot.at(self.version)
        return self._snapshot

    def write_checkpoint_if_due(self) -> None:
        """Write a checkpoint of the version that was read last, if it is one's turn.

        Without it the next reader opens the table more slowly.
        """
        if self.version % COMMITS_PER_CHECKPOINT:
            return
        try:
            self._files.checkpoint(self.version, self.current)
        except (DeltaError, OSError) as error:
            logger.warning(
                "no checkpoint of %s was written; the next one comes in time: %s", self._uri, in_one_line(error)
            )

    def live_files(self) -> list[DataFile]:
        """Return the files that the table's rows are in at the version that was read last, the oldest first."""
        if self._live is None:
            self._live = {file.path: file for file in self.current().live_files()}
        return list(self._live.values())

    def transaction(self, app_id: str) -> int | None:
        """Return the version that the last commit with this `app_id` carried."""
        if app_id not in self._transactions:
            # Not known from the commits since the snapshot, so that of the snapshot is the last one.
            self._transactions[app_id] = self._snapshot.transaction(app_id)
        return self._transactions[app_id]

    def require_new(self, app_id: str, ahead: int, seen: dict[str, int | None]) -> None:
        """Raise LostRaceError where another version of an `app_id` is committed than was seen.

        What was not seen before is noted as seen. Raises ValueError where `ahead` is not above the committed version.
        """
        committed = self.transaction(app_id)
        before = seen.setdefault(app_id, committed)
        if committed != before:
            raise LostRaceError(
                f"another writer has committed version {committed} of {app_id!r} to {self._uri}; it was {before} before"
            )
        if committed is not None and ahead <= committed:
            raise ValueError(f"{self._uri} already has version {committed} of {app_id!r}; {ahead} is not new")

    def added_since(self, version: int) -> list[DataFile] | None:
        """Return the files with the new rows of commits after `version`, oldest first; None where one is unknown."""
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

    def append(self, files: Sequence[NewFile], progress: Mapping[str, int], rows: pa.Table | None = None) -> bool:
        """Add files in the next commit; False, and nothing is added, where another writer has made that commit.

        `rows` are those of the files, if few. After any other error the store may have taken the commit, or take it
        later.
        """
        commit = _commit_of(files, progress, _digest(self._last))
        sent = PendingCommit(self.version + 1, digest_of(commit), paths_of(files), dict(progress), rows)
        if not self._create(sent, commit):
            return False
        self._take(commit)
        return True

    def sent_version(self, version: int) -> bytes | None:
        """Read the version that a commit was sent for; None where the log does not have it, or not any more."""
        return self._read_surely(version) if version <= self.version else self._files.read(version)

    def _create(self, sent: PendingCommit, commit: bytes) -> bool:
        self._pending.sent(sent)
        try:
            is_created = self._files.create(sent.version, commit)
        except FilesGoneError:
            self._pending.ended(sent, may_name_files=False)
            raise
        except Exception:
            found = None
            with contextlib.suppress(Exception):
                found = self._files.read(sent.version)
            if found is None:
                self._pending.failed(sent)
                raise
            self._pending.ended(sent, may_name_files=False)
            return found == commit
        # A store may have taken a commit whose answer was lost, and its repetition then meets itself.
        found = commit if is_created else self._read_surely(sent.version)
        if found is None:
            self._pending.failed(sent)
            raise OSError(f"{self._uri} has a version {sent.version} that cannot be read: whose it is, is not known")
        self._pending.ended(sent, may_name_files=False)
        return found == commit

    def _read_surely(self, version: int) -> bytes | None:
        """Read a commit that must be there: one wrong answer of the store says nothing."""
        for pause in _PAUSES:
            time.sleep(pause)
            with contextlib.suppress(OSError):
                if (found := self._files.read(version)) is not None:
                    return found
        return None

    def _is_parent_of(self, commit: bytes) -> bool:
        """Whether a commit tells that it follows the one that was read last."""
        try:
            parent = _parent_in(actions_of(commit))
        except (ValueError, TypeError, AttributeError):
            return False
        return parent is not None and parent == _digest(self._last)

    def _take(self, commit: bytes) -> bool:
        try:
            actions = actions_of(commit)
            parent, last = _parent_in(actions), _digest(self._last)
            if parent is not None and last is not None and parent != last:
                return False  # of another table, which stands in the place of this one
            if any("metaData" in action or "protocol" in action for action in actions):
                return False
            transactions = transactions_of(actions)
            added, removed, every = new_rows(actions), removed_files(actions), added_of(actions)
        except (ValueError, KeyError, TypeError, AttributeError):
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


def _digest(commit: bytes | None) -> str | None:
    return None if commit is None else digest_of(commit)


def _parent_in(actions: Sequence[Mapping[str, Any]]) -> str | None:
    return next((action["commitInfo"].get(_PARENT) for action in actions if "commitInfo" in action), None)


def _commit_of(files: Sequence[NewFile], progress: Mapping[str, int], parent: str | None) -> bytes:
    now = int(time.time() * 1000)
    about = {
        "timestamp": now,
        "operation": "WRITE",
        "operationParameters": {"mode": "Append"},
        "isBlindAppend": True,
        "engineInfo": "dialwatch",
        # Tells this commit from any other one of the same content.
        "txnId": uuid.uuid4().hex,
        **({} if parent is None else {_PARENT: parent}),
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
