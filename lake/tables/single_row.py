"""Table of a single row, which is replaced as a whole at each write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow.dataset as ds

from lake.delta_log.change import LostRaceError
from lake.delta_log.delta_log import DataFile, live_files
from lake.delta_log.writing import NewFile
from lake.store.store_errors import TableError, in_one_line
from lake.tables.rewriting import replace
from lake.tables.table import Table


class UnreadableTableError(RuntimeError):
    """The log of a table cannot be read, so that nothing can be written to it."""


class SingleRow:
    """The row of such a table, and which file it was in when this one read or wrote it.

    What was there before stays until the next vacuum. Not safe for use by several threads at once.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._known: tuple[str, ...] = ()
        """Paths of the files that the row was in."""

    def read(self) -> dict[str, Any] | None:
        """Read the row; None where there is none. Of several, which only another writer makes, it is the last."""
        files = self._files()
        # Before they are read: one that is damaged is to be replaced too.
        self._known = _paths(files)
        columns = {name: ds.field(name) for name in self._table.spec.schema.names}
        rows = self._table.read_files(files, columns).to_pylist()
        return rows[-1] if rows else None

    def write(self, row: dict[str, Any]) -> None:
        """Replace the row.

        Raises LostRaceError, and writes nothing, where another one has replaced it since this one read or wrote it:
        another writer, or an erasure. Then read it again. Raises UnreadableTableError where the table cannot be opened.
        """
        rows = self._table.spec.rows([row])
        try:
            delta = self._table.snapshot()
        except TableError as error:
            raise UnreadableTableError(
                f"The table {self._table.uri} cannot be opened: {in_one_line(error)}."
            ) from error
        if delta is None:
            self._table.append(rows)
            self._known = _paths(self._files())
            return
        old = live_files(delta)
        if _paths(old) != self._known:
            raise LostRaceError(f"the row of {self._table.uri} was replaced by another writer")
        new = self._table.write([rows])
        replace(self._table, delta, old, new)
        self._known = _paths(new)

    def remove(self) -> None:
        """Remove the table with all that it has; then write the row through another handle."""
        self._table.remove_all()

    def _files(self) -> list[DataFile]:
        _, files = self._table.files_of_version() or (0, [])
        return files


def _paths(files: Sequence[DataFile | NewFile]) -> tuple[str, ...]:
    return tuple(sorted(file.path for file in files))
