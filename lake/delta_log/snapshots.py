"""State of a table at one version, as its log gives it: of a folder by deltalake, of a store from a copy of the log."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from lake.delta_log.delta_log import DataFile, live_files
from lake.delta_log.transaction_versions import transactions_at, transactions_in
from lake.store.log_copy import Read, commit_name, copied_table

_MOST_ASKED = 16
"""Transactions that deltalake is asked for one by one; after that all are read."""
_FEW_COMMITS = 4
"""Of a log that is this short all are read at once."""
_MOST_HELD = 32
"""States of a process whose deltalake table is held: it takes 130 KB, and a monitor follows thousands of tables."""


OpenAt = Callable[[int | None], DeltaTable]
"""Opens a table by deltalake at a version, None being the newest; raises DeltaError where it is not there."""


class TableSnapshot(Protocol):
    """State of a table at one version.

    What it gives is of that version, or FileNotFoundError is raised where the log cannot give it any more.
    """

    @property
    def version(self) -> int:
        """The version of the table that was read."""
        ...

    @property
    def table_id(self) -> str:
        """Given to the table when it was made."""
        ...

    @property
    def columns(self) -> frozenset[str]:
        """Names of the columns."""
        ...

    @property
    def writer_protocol(self) -> tuple[int, frozenset[str]]:
        """Version of the Delta writer protocol that the table asks for, and the features that it names."""
        ...

    @property
    def last_commit(self) -> bytes | None:
        """The commit of that version, where it was read to get here."""
        ...

    def transaction(self, app_id: str) -> int | None:
        """Return the version that the last commit with this `app_id` carried.

        It may be that of a later state of the table, where the log cannot give this one any more.
        """
        ...

    def live_files(self) -> list[DataFile]:
        """Return the files that the rows are in, the oldest first."""
        ...

    def at(self, version: int) -> TableSnapshot:
        """Return the state at a later version, or at a still later one."""
        ...

    def delta(self) -> AbstractContextManager[DeltaTable]:
        """Return deltalake's table, to be read while the block lasts; it may be one of a copied log, without rows."""
        ...


class DeltaSnapshot:
    """State that deltalake reads.

    deltalake's table is held of the states that were asked last. Of another state it is opened again, at the state's
    version. Where a cleaning of the log has made that impossible, FileNotFoundError is raised, and the table must be
    opened anew. Nothing but a transaction is ever given of a later version.
    """

    last_commit: Final = None
    """deltalake has read it, and does not give it."""

    def __init__(self, delta: DeltaTable, open_at: OpenAt, read: Read) -> None:
        """`open_at` opens the table again, `read` gives the bytes of an entry of its log."""
        self._open_at = open_at
        self._read = read
        self.version: Final = int(delta.version())
        self.table_id: Final = _id_of(delta)
        self.columns: Final = _shared(_columns_of(delta))
        self.writer_protocol: Final = _protocol_of(delta)
        self._asked = 0
        self._transactions: dict[str, int] | None = None
        """All of them; None where they were not read, or could not be."""
        _HELD.keep(self, delta)

    def transaction(self, app_id: str) -> int | None:
        """Return the version of a transaction; all are read at once where many are asked for."""
        if self._asked == (_MOST_ASKED if self.version > _FEW_COMMITS else 0):
            self._transactions = transactions_at(self._read, self.version)
        self._asked += 1
        if self._transactions is not None:
            return self._transactions.get(app_id)
        found: int | None
        try:
            found = self._table().transaction_version(app_id)
        except (DeltaError, FileNotFoundError):
            # A part of the log that it reads was removed meanwhile. Who follows the log knows the later commits.
            found = self._newest(self.version).transaction_version(app_id)
        return found

    def live_files(self) -> list[DataFile]:
        """Return the files that deltalake knows, the oldest first."""
        return live_files(self._table())

    def at(self, version: int) -> DeltaSnapshot:
        """Return the state at the newest version; FileNotFoundError where that is no later one of this table."""
        if version <= self.version:
            return self
        delta = _HELD.take(self)
        if delta is None:
            delta = self._newest(version)
        else:
            delta.update_incremental()
            self._require(delta, delta.version() >= version)
        return DeltaSnapshot(delta, self._open_at, self._read)

    @contextmanager
    def delta(self) -> Iterator[DeltaTable]:
        """Yield deltalake's table."""
        yield self._table()

    def _table(self) -> DeltaTable:
        delta = _HELD.take(self)
        if delta is None:
            delta = self._opened_again()
        _HELD.keep(self, delta)
        return delta

    def _opened_again(self) -> DeltaTable:
        try:
            delta = self._open_at(self.version)
        except DeltaError:
            # Of the newest version a cleaning may have removed, in between, what it does not need.
            delta = self._open_at(None)
        self._require(delta, delta.version() == self.version)
        return delta

    def _newest(self, version: int) -> DeltaTable:
        delta = self._open_at(None)
        self._require(delta, delta.version() >= version)
        return delta

    def _require(self, found: DeltaTable, is_wanted: bool) -> None:
        if not is_wanted or _id_of(found) != self.table_id:
            raise FileNotFoundError(
                f"the table {self.table_id}, read at version {self.version}, cannot be read on: {found.table_uri} has "
                f"version {found.version()} of {_id_of(found)}"
            )


class _HeldTables:
    """deltalake's tables of the states that were asked last. Threads may share it, but not one state."""

    def __init__(self) -> None:
        self._tables: OrderedDict[DeltaSnapshot, DeltaTable] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, state: DeltaSnapshot) -> DeltaTable | None:
        """Return the table of a state, and hold it no more; None where it was let go."""
        with self._lock:
            return self._tables.pop(state, None)

    def keep(self, state: DeltaSnapshot, delta: DeltaTable) -> None:
        """Hold the table of a state, and let another one go if there are many."""
        with self._lock:
            self._tables[state] = delta
            if len(self._tables) > _MOST_HELD:
                self._tables.popitem(last=False)


_HELD = _HeldTables()


@lru_cache
def _shared(columns: frozenset[str]) -> frozenset[str]:
    """Return an equal set, the same one for the tables that have the same columns."""
    return columns


Entries = Mapping[str, bytes]
_FILES = pa.schema([("path", pa.string()), ("date", pa.string()), ("size", pa.int64()), ("rows", pa.int64())])


@dataclass(frozen=True)
class CopiedSnapshot:
    """State that was read from a copy of the log.

    `reopen` gives the state at a version, with whatever it costs in requests; `entries` the log's files up to it.
    """

    version: int
    table_id: str
    columns: frozenset[str]
    writer_protocol: tuple[int, frozenset[str]]
    last_commit: bytes | None
    files: pa.Table
    transactions: pa.Table
    entries: Callable[[int], Entries]
    reopen: Callable[[int], TableSnapshot]

    @classmethod
    def of(
        cls, found: Entries, entries: Callable[[int], Entries], reopen: Callable[[int], TableSnapshot]
    ) -> CopiedSnapshot:
        """Read the state from the files of a log, by name."""
        with copied_table(found) as delta:
            files = live_files(delta)
            table = pa.Table.from_pylist([vars(file) for file in files], _FILES)
            version = int(delta.version())
            known = (
                version,
                _id_of(delta),
                _columns_of(delta),
                _protocol_of(delta),
                found.get(commit_name(version)),
            )
        told = transactions_in(found)
        transactions = pa.table(
            [pa.array(told, pa.string()), pa.array(told.values(), pa.int64())], ["appId", "version"]
        )
        return cls(*known, table, transactions, entries, reopen)

    def transaction(self, app_id: str) -> int | None:
        """Return the version of a transaction, as the copied log has it."""
        place = pc.index(self.transactions["appId"], app_id).as_py()
        return None if place < 0 else int(self.transactions["version"][place].as_py())

    def live_files(self) -> list[DataFile]:
        """Return the files of the copied log, the oldest first."""
        return [DataFile(*row) for row in zip(*(column.to_pylist() for column in self.files.columns), strict=True)]

    def at(self, version: int) -> TableSnapshot:
        """Return the state at another version, for which the log is read again."""
        return self if version == self.version else self.reopen(version)

    @contextmanager
    def delta(self) -> Iterator[DeltaTable]:
        """Yield deltalake's table of the copied log, without rows."""
        with copied_table(self.entries(self.version)) as delta:
            yield delta


def _id_of(delta: DeltaTable) -> str:
    return str(delta.metadata().id)


def _columns_of(delta: DeltaTable) -> frozenset[str]:
    return frozenset(field.name for field in delta.schema().fields)


def _protocol_of(delta: DeltaTable) -> tuple[int, frozenset[str]]:
    protocol = delta.protocol()
    return int(protocol.min_writer_version), frozenset(protocol.writer_features or ())
