"""State of a table at one version, as its log gives it: of a folder by deltalake, of a store from a copy of the log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

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


class TableSnapshot(Protocol):
    """State of a table at one version."""

    @property
    def version(self) -> int:
        """The version."""
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
        """Return the version that the last commit with this `app_id` carried."""
        ...

    def live_files(self) -> list[DataFile]:
        """Return the files that the rows are in, the oldest first."""
        ...

    def at(self, version: int) -> TableSnapshot:
        """Return the state at a later version."""
        ...

    def delta(self) -> AbstractContextManager[DeltaTable]:
        """Return deltalake's table, to be read while the block lasts; it may be one of a copied log, without rows."""
        ...


class DeltaSnapshot:
    """State that deltalake has read, and reads on."""

    def __init__(self, delta: DeltaTable, read: Read) -> None:
        """`read` gives the bytes of an entry of the table's log."""
        self._delta = delta
        self._read = read
        self._asked = 0
        self._transactions: dict[str, int] | None = None
        """All of them; None where they were not read, or could not be."""

    @property
    def version(self) -> int:
        """The version that deltalake has read."""
        return int(self._delta.version())

    @property
    def table_id(self) -> str:
        """The id of the table's metadata."""
        return _id_of(self._delta)

    @property
    def columns(self) -> frozenset[str]:
        """Names of the columns of its schema."""
        return _columns_of(self._delta)

    @property
    def writer_protocol(self) -> tuple[int, frozenset[str]]:
        """Version of the Delta writer protocol, and its features."""
        return _protocol_of(self._delta)

    @property
    def last_commit(self) -> None:
        """None: deltalake has read it, and keeps it."""

    def transaction(self, app_id: str) -> int | None:
        """Return the version of a transaction; all are read at once where many are asked for."""
        if self._asked == (_MOST_ASKED if self.version > _FEW_COMMITS else 0):
            self._transactions = transactions_at(self._read, self.version)
        self._asked += 1
        if self._transactions is not None:
            return self._transactions.get(app_id)
        found: int | None
        try:
            found = self._delta.transaction_version(app_id)
        except DeltaError:
            # A part of the log that it reads was removed meanwhile. Who follows the log knows the later commits.
            newest = DeltaTable(self._delta.table_uri, storage_options=self._delta._storage_options)
            found = newest.transaction_version(app_id)
        return found

    def live_files(self) -> list[DataFile]:
        """Return the files that deltalake knows, the oldest first."""
        return live_files(self._delta)

    def at(self, version: int) -> DeltaSnapshot:
        """Have deltalake read on to the newest version; returns this state."""
        if self.version < version:
            self._delta.update_incremental()
            self._asked, self._transactions = 0, None
        return self

    @contextmanager
    def delta(self) -> Iterator[DeltaTable]:
        """Yield deltalake's table."""
        yield self._delta


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
