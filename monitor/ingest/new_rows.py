"""Reader of the rows that are new in each table: one read for several handlers, none of which delays another.

A handler that fails becomes a `LaggingHandler`: the rows that it lacks are read again for it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.dataset as ds

from lake import Backoff, Lake, ReadAhead, TableReplacedError, TableSpec, Wanted

RowHandler = Callable[[pa.Table], None]
"""Takes rows as a whole or, by raising, not at all."""
Columns = Sequence[str] | Mapping[str, ds.Expression]

_FIRST_WAIT_SECONDS = 5.0
_LONGEST_WAIT_SECONDS = 300.0
_LONGEST_WAIT_OF_DEPLOYMENT_SECONDS = 3600.0
"""Each try reads all rows that the handler lacks, which may be a year of scores of one deployment."""


class _Cursor:
    """How far one table has been read; it moves on once the rows that it gave are handled."""

    def __init__(self, lake: Lake, spec: TableSpec, deployment: str | None, version: int | None = None) -> None:
        self._lake = lake
        self._spec = spec
        self._deployment = deployment
        self._table = lake.table(spec, deployment)
        self.version = version
        self.has_read = False
        """Whether the table was read at least once; one that is not there counts as read."""

    def copy(self) -> _Cursor:
        """Give another cursor at the same version."""
        return _Cursor(self._lake, self._spec, self._deployment, self.version)

    def advance(
        self, columns: Columns, where: ds.Expression | None, handle: RowHandler, ahead: ReadAhead | None = None
    ) -> None:
        """Hand the new rows to `handle`. Passes on what that or the store raises; the same rows then come again."""
        try:
            change = ahead.take(self._spec, self._deployment) if ahead and self.version is None else None
            change = change or self._table.read_since(self.version, columns, where=where)
        except Exception:
            # The handle may be what is broken, for one whose table was removed and made again.
            self._table = self._lake.table(self._spec, self._deployment)
            raise
        if change.repeats:
            raise TableReplacedError(
                f"the rows that {self._table.uri} got since version {self.version} are not known any more"
            )
        if change.version is None and self.version is not None:
            raise TableReplacedError(f"{self._table.uri} was removed after its version {self.version} was read")
        if change.rows.num_rows:
            # A year of small files is thousands of small pieces, each with its own cost in every step.
            handle(change.rows.combine_chunks())
        self.version = change.version
        self.has_read = True


@dataclass
class LaggingHandler:
    """A handler that has failed. It reads by itself until it has the rows that the others have.

    It is tried again at the next read, and where that fails too after `waits`.
    """

    cursor: _Cursor
    error: Exception | None
    """None once it has taken all that its cursor gave."""
    tried_at: datetime
    due_at: datetime
    waits: Backoff

    def catch_up(self, columns: Columns, where: ds.Expression | None, handler: RowHandler, now: datetime) -> None:
        """Read what the handler lacks, if it is time to; raises TableReplacedError."""
        # A clock that was set back makes nobody wait longer.
        if self.error is not None and self.tried_at <= now < self.due_at:
            return
        self.tried_at = now
        try:
            self.cursor.advance(columns, where, handler)
        except TableReplacedError:
            raise
        except Exception as error:
            self.error = error
            self.due_at = now + timedelta(seconds=self.waits.next_delay())
        else:
            self.error = None
            self.waits.reset()


class NewRows:
    """Reads of each table the rows that are new, and hands them to handlers; where it stands is in memory.

    With `where` only the rows that it lets through are read.
    """

    def __init__(self, lake: Lake, where: ds.Expression | None = None) -> None:
        self._lake = lake
        self._where = where
        self._cursors: dict[tuple[str, str | None], _Cursor] = {}
        self._lagging: dict[tuple[str, str | None, str], LaggingHandler] = {}
        self._ahead: ReadAhead | None = None

    @contextmanager
    def reading_ahead(self, wanted: Sequence[Wanted], processes: int) -> Iterator[None]:
        """While the block runs, have tables read by other processes; `read` them in this order."""
        with ReadAhead(self._lake, wanted, processes) as self._ahead:
            try:
                yield
            finally:
                self._ahead = None

    def read(
        self,
        spec: TableSpec,
        deployment: str | None,
        columns: Columns,
        handlers: Mapping[str, RowHandler],
        now: datetime,
    ) -> Mapping[str, Exception]:
        """Hand the new rows to `handlers`, by name; returns the errors of those that still lack rows.

        Raises what the store does; rows that were not handed over come again. Raises TableReplacedError where the
        table whose rows were read is gone, and where nobody read for so long that its log no longer says what is new:
        then only another `NewRows` helps, which reads all rows.
        """
        cursor = self._cursor(spec, deployment)
        lagging = {name: one for name in handlers if (one := self._lagging.get((spec.name, deployment, name)))}

        def hand_to_each(rows: pa.Table) -> None:
            for name, handler in handlers.items():
                if name in lagging:
                    continue
                try:
                    handler(rows)
                except Exception as error:
                    lagging_handler = LaggingHandler(cursor.copy(), error, tried_at=now, due_at=now, waits=_waits(spec))
                    self._lagging[spec.name, deployment, name] = lagging_handler

        cursor.advance(columns, self._where, hand_to_each, self._ahead)
        for name, lagging_handler in lagging.items():
            lagging_handler.catch_up(columns, self._where, handlers[name], now)
            if lagging_handler.error is None and lagging_handler.cursor.version == cursor.version:
                del self._lagging[spec.name, deployment, name]
        return {name: error for name in handlers if (error := self._error(spec, deployment, name))}

    def is_as_far_as(self, other: NewRows, spec: TableSpec, deployment: str | None) -> bool:
        """Whether both have read the same version of a table, and no handler of it lacks rows here."""
        lacks_rows = any(key[:2] == (spec.name, deployment) for key in self._lagging)
        return not lacks_rows and self._version(spec, deployment) == other._version(spec, deployment)

    def has_begun(self, deployment: str | None) -> bool:
        """Whether any table of a deployment has been read."""
        return any(name == deployment for (_, name) in self._cursors)

    def has_read(self, spec: TableSpec, deployments: Iterable[str | None], handler: str) -> bool:
        """Whether the tables of one kind have all been read at least once, and the handler lacks no rows of them."""
        return all(
            (cursor := self._cursors.get((spec.name, deployment))) is not None
            and cursor.has_read
            and self._error(spec, deployment, handler) is None
            for deployment in deployments
        )

    def _cursor(self, spec: TableSpec, deployment: str | None) -> _Cursor:
        key = (spec.name, deployment)
        if key not in self._cursors:
            self._cursors[key] = _Cursor(self._lake, spec, deployment)
        return self._cursors[key]

    def _version(self, spec: TableSpec, deployment: str | None) -> int | None:
        cursor = self._cursors.get((spec.name, deployment))
        return None if cursor is None else cursor.version

    def _error(self, spec: TableSpec, deployment: str | None, handler: str) -> Exception | None:
        lagging_handler = self._lagging.get((spec.name, deployment, handler))
        return lagging_handler.error if lagging_handler else None


def _waits(spec: TableSpec) -> Backoff:
    """Give the waits between the tries of a handler that fails: they double up to 5 minutes, or up to an hour.

    The tables under the root are small, and people wait for what they write there: silences and marked releases.
    A table of a deployment may be large, so its handlers wait up to an hour.
    """
    longest = _LONGEST_WAIT_OF_DEPLOYMENT_SECONDS if spec.per_deployment else _LONGEST_WAIT_SECONDS
    return Backoff(_FIRST_WAIT_SECONDS, longest)
