"""Commits that were sent and whose fate is not known: the store may have taken them, or may take them later.

A commit creates one version of the log, and a version is created once. So the fate of a commit is known once the log
has that version: it is this commit, or another one, and then this one can never land. Until then the files that it
names must stay. The tries of a process are kept here for all its handles on the table.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from lake.delta_log.writing import NewFile

_MOST_NAMED = 10_000
_MOST_BYTES_OF_ROWS = 1 << 20


@dataclass(frozen=True, eq=False)
class PendingCommit:
    """A commit that creates `version`; `rows` are those of its files, if few."""

    version: int
    digest: str
    files: frozenset[str]
    progress: Mapping[str, int]
    rows: pa.Table | None = field(default=None, repr=False)

    def adds(self, files: frozenset[str], progress: Mapping[str, int], rows: pa.Table | None) -> bool:
        """Whether it adds these files, or the same rows in other files."""
        if self.progress != progress:
            return False
        if files and self.files == files:
            return True
        return rows is not None and self.rows is not None and bool(self.rows.equals(rows))


class PendingCommits:
    """Those of one table that were sent by this process. Threads may share it."""

    def __init__(self) -> None:
        self._sent: list[PendingCommit] = []
        """On their way."""
        self._unanswered: list[PendingCommit] = []
        self._named: OrderedDict[str, None] = OrderedDict()
        """Files of commits that landed late, or whose fate nobody can tell any more."""
        self._lock = threading.Lock()

    def unanswered(self) -> Sequence[PendingCommit]:
        """Return those that were sent in vain, as far as was seen; the oldest first."""
        with self._lock:
            return list(self._unanswered)

    def has_up_to(self, version: int) -> bool:
        """Whether one of those creates this version or an earlier one, and so may be asked for."""
        return any(one.version <= version for one in self.unanswered())

    def sent(self, commit: PendingCommit) -> None:
        """Note a commit that is about to be sent."""
        with self._lock:
            self._remove(commit)
            self._sent.append(commit)

    def failed(self, commit: PendingCommit) -> None:
        """Note that nobody has said whether a commit was taken."""
        with self._lock:
            self._remove(commit)
            self._unanswered.append(commit)

    def ended(self, commit: PendingCommit, *, may_name_files: bool) -> None:
        """Note that the fate of a commit is known, or never will be; `may_name_files`: its files must stay."""
        with self._lock:
            self._remove(commit)
            if may_name_files:
                self._named |= dict.fromkeys(commit.files)
                while len(self._named) > _MOST_NAMED:
                    self._named.popitem(last=False)

    def may_name(self, path: str) -> bool:
        """Whether a commit that has landed late, or may still land, names a file."""
        with self._lock:
            return path in self._named or any(path in one.files for one in (*self._sent, *self._unanswered))

    def _remove(self, commit: PendingCommit) -> None:
        self._sent = [one for one in self._sent if one is not commit]
        self._unanswered = [one for one in self._unanswered if one is not commit]


_OF_TABLES: dict[tuple[str | None, str], PendingCommits] = {}
_LOCK = threading.Lock()


def pending_commits(endpoint: str | None, uri: str) -> PendingCommits:
    """Return those of the table at a URI of a store."""
    with _LOCK:
        return _OF_TABLES.setdefault((endpoint, uri), PendingCommits())


def paths_of(files: Iterable[NewFile]) -> frozenset[str]:
    """Return the paths of files."""
    return frozenset(file.path for file in files)


def digest_of(commit: bytes) -> str:
    """Return what tells a commit from any other one."""
    return hashlib.sha256(commit).hexdigest()[:32]


def few(rows: pa.Table) -> pa.Table | None:
    """Return rows that are small enough to be kept with their commit; None otherwise."""
    return rows if rows.nbytes <= _MOST_BYTES_OF_ROWS else None
