"""Reader of the rows that are new in each table: one read for several handlers, none of which delays another.

A handler that fails becomes a `LaggingHandler`: the rows that it lacks are read again for it alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import pyarrow as pa
import pyarrow.dataset as ds

from lake.delta_log.change import TableReplacedError
from lake.spec.table_spec import TableSpec
from lake.tables.history import History
from lake.tables.open_tables import TableSource
from runtime.backoff import Backoff

RowHandler = Callable[[pa.Table], None]
"""Takes rows as a whole or, by raising, not at all."""
Columns = Sequence[str] | Mapping[str, ds.Expression]

MOST_ROWS = 250_000
"""About so many rows of a table's history are in memory at once; those of one day are never divided."""
_FIRST_WAIT_SECONDS = 5.0
_LONGEST_WAIT_SECONDS = 300.0
_LONGEST_WAIT_OF_DEPLOYMENT_SECONDS = 3600.0
"""Each try reads all rows that the handler lacks, which may be a year of scores of one deployment."""


class _Cursor:
    """How far one table has been read; it moves on once the rows that it gave are handled.

    What the table has when it is first read is read as its `History`, in portions of whole days.
    """

    def __init__(self, lake: TableSource, spec: TableSpec, deployment: str | None, since: date | None = None) -> None:
        """`since` leaves out the days before it of the history."""
        self._lake = lake
        self._spec = spec
        self._deployment = deployment
        self._since = since
        self._table = lake.table(spec, deployment)
        self._history: History | None = None
        self._done: date | None = None
        """Latest day of the history that was handled."""
        self.version: int | None = None
        self.has_read = False
        """Whether the table was read at least once by this process; one that is not there counts as read."""

    @property
    def has_history(self) -> bool:
        """Whether all rows are handled that were there at first, by this process or the one before."""
        return self.version is not None or self.has_read

    def copy(self) -> _Cursor:
        """Return another cursor that has read as much."""
        other = _Cursor(self._lake, self._spec, self._deployment, self._since)
        other.version, other.has_read = self.version, self.has_read
        other._history, other._done = self._history, self._done
        return other

    def continue_after(self, version: int | None) -> None:
        """Begin after a version that was read before; None says that there was no table."""
        self.version = version

    def days(self) -> Mapping[date, int]:
        """Return the number of rows by day of what is left of the history, the earliest first."""
        if self.version is not None:
            return {}
        days = self._opened().days
        return {day: rows for day, rows in days.items() if self._done is None or day > self._done}

    def advance(
        self, columns: Columns, where: ds.Expression | None, handle: RowHandler, until: date | None = None
    ) -> None:
        """Hand the new rows to `handle`. Passes on what that or the store raises; the same rows then come again.

        With `until` only the history is read, up to that day.
        """
        if self.version is None:
            self._read_history(columns, where, handle, until)
        if self.version is not None and until is None:
            self._read_new(columns, where, handle)

    def _read_history(
        self, columns: Columns, where: ds.Expression | None, handle: RowHandler, until: date | None
    ) -> None:
        is_missing = self._history is None and self._table.version() is None
        if is_missing or (history := self._opened()).version is None:
            # The table may be there by the next time.
            self._history, self.has_read = None, self.has_read or until is None
            return
        try:
            days = {day: rows for day, rows in self.days().items() if until is None or day <= until}
            for day in portions(days, MOST_ROWS):
                rows = history.read(_expressions(columns), self._done, day, where)
                self._handle(rows, handle)
                self._done = day
        except FileNotFoundError as error:
            raise TableReplacedError(
                f"files of {self._table.uri} are gone that were there when the reading of it began: {error}"
            ) from error
        if until is None:
            self.version, self.has_read, self._history = history.version, True, None

    def _opened(self) -> History:
        if self._history is None:
            self._history = History(self._table, self._since)
        return self._history

    def _read_new(self, columns: Columns, where: ds.Expression | None, handle: RowHandler) -> None:
        try:
            change = self._table.read_since(self.version, columns, where=where)
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
        self._handle(change.rows, handle)
        self.version, self.has_read = change.version, True

    def _handle(self, rows: pa.Table, handle: RowHandler) -> None:
        if rows.num_rows:
            # A year of small files is thousands of small pieces, each with its own cost in every step.
            handle(rows.combine_chunks())


def portions(days: Mapping[date, int], most: int) -> Iterator[date]:
    """Yield the last day of each portion of days, which have so many rows: a day, or more with at most `most` rows."""
    held, last = 0, None
    for day, rows in days.items():
        if last is not None and held + rows > most:
            yield last
            held = 0
        held, last = held + rows, day
    if last is not None:
        yield last


def _expressions(columns: Columns) -> Mapping[str, ds.Expression]:
    return columns if isinstance(columns, Mapping) else {name: ds.field(name) for name in columns}


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

    def catch_up(
        self,
        columns: Columns,
        where: ds.Expression | None,
        handler: RowHandler,
        now: datetime,
        until: date | None = None,
    ) -> None:
        """Read what the handler lacks, if it is time to; raises TableReplacedError."""
        # A clock that was set back makes nobody wait longer.
        if self.error is not None and self.tried_at <= now < self.due_at:
            return
        self.tried_at = now
        try:
            self.cursor.advance(columns, where, handler, until)
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

    def __init__(self, lake: TableSource, where: ds.Expression | None = None, since: date | None = None) -> None:
        """`where` lets through no row of a day before `since`."""
        self._lake = lake
        self._where = where
        self._since = since
        self._cursors: dict[tuple[str, str | None], _Cursor] = {}
        self._lagging: dict[tuple[str, str | None, str], LaggingHandler] = {}

    def open(self, spec: TableSpec, deployment: str | None) -> None:
        """Open a table, if it is not open, without reading anything of it."""
        self._cursor(spec, deployment)

    def forget(self, deployment: str | None) -> None:
        """Have the tables of a deployment read from their first rows on."""
        self._cursors = {place: one for place, one in self._cursors.items() if place[1] != deployment}
        self._lagging = {place: one for place, one in self._lagging.items() if place[1] != deployment}

    def continue_after(self, spec: TableSpec, deployment: str | None, version: int | None) -> None:
        """Have a table read after a version whose rows the handlers have; None says that there was no table."""
        self._cursor(spec, deployment).continue_after(version)

    def positions(self, deployment: str | None, specs: Sequence[TableSpec]) -> Mapping[str, int | None]:
        """Return up to which version each of these tables is read, by its name; None where there is no table."""
        found = {spec.name: self._cursors.get((spec.name, deployment)) for spec in specs}
        return {name: one.version for name, one in found.items() if one is not None and one.has_history}

    def lags(self, deployment: str | None, specs: Sequence[TableSpec]) -> bool:
        """Whether a handler lacks rows of one of these tables, or its history is not all read."""
        names = {spec.name for spec in specs}
        return any(of == deployment and name in names for name, of, _ in self._lagging) or any(
            of == deployment and name in names and not one.has_history for (name, of), one in self._cursors.items()
        )

    @property
    def lagging(self) -> set[str | None]:
        """The deployments of which a handler lacks rows."""
        return {of for _, of, _ in self._lagging}

    def begin_late(
        self, spec: TableSpec, deployment: str | None, handler: str, now: datetime, since: date | None = None
    ) -> None:
        """Have a handler read a table from its first row on, or from that of a day, whatever the others have."""
        cursor = _Cursor(self._lake, spec, deployment, since)
        self._lagging[spec.name, deployment, handler] = LaggingHandler(cursor, None, now, now, _waits(spec))

    def is_late(self, spec: TableSpec, deployment: str | None, handler: str) -> bool:
        """Whether a handler reads a table by itself."""
        return (spec.name, deployment, handler) in self._lagging

    def days(self, spec: TableSpec, deployment: str | None) -> Counter[date]:
        """Return the number of rows by day that are left of a table's history, for all handlers together."""
        mine = [one.cursor for key, one in self._lagging.items() if key[:2] == (spec.name, deployment)]
        return sum((Counter(one.days()) for one in (self._cursor(spec, deployment), *mine)), Counter())

    def read(
        self,
        spec: TableSpec,
        deployment: str | None,
        columns: Columns,
        handlers: Mapping[str, RowHandler],
        now: datetime,
        until: date | None = None,
    ) -> Mapping[str, Exception]:
        """Hand the new rows to `handlers`, by name; returns the errors of those that still lack rows.

        With `until` only those of the history are read, up to that day.

        Raises what the store does; rows that were not handed over come again. Raises TableReplacedError where the
        table whose rows were read is gone, and where nobody read for so long that its log no longer says what is new:
        then only another `NewRows` helps, which reads all rows.
        """
        cursor = self._cursor(spec, deployment)
        lagging = {name: one for name in handlers if (one := self._lagging.get((spec.name, deployment, name)))}

        def hand_to_each(rows: pa.Table) -> None:
            for name, handler in handlers.items():
                if (spec.name, deployment, name) in self._lagging:
                    continue
                try:
                    handler(rows)
                except Exception as error:
                    lagging_handler = LaggingHandler(cursor.copy(), error, tried_at=now, due_at=now, waits=_waits(spec))
                    self._lagging[spec.name, deployment, name] = lagging_handler

        cursor.advance(columns, self._where, hand_to_each, until)
        for name, lagging_handler in lagging.items():
            lagging_handler.catch_up(columns, self._where, handlers[name], now, until)
            is_there = lagging_handler.cursor.version == cursor.version and lagging_handler.cursor.has_read
            if lagging_handler.error is None and is_there:
                del self._lagging[spec.name, deployment, name]
        return {name: error for name in handlers if (error := self._error(spec, deployment, name))}

    def is_as_far_as(self, other: NewRows, spec: TableSpec, deployment: str | None) -> bool:
        """Whether both have read the same version of a table, and no handler of it lacks rows here."""
        lacks_rows = any(key[:2] == (spec.name, deployment) for key in self._lagging)
        return not lacks_rows and self._version(spec, deployment) == other._version(spec, deployment)

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
            self._cursors[key] = _Cursor(self._lake, spec, deployment, self._since)
        return self._cursors[key]

    def _version(self, spec: TableSpec, deployment: str | None) -> int | None:
        cursor = self._cursors.get((spec.name, deployment))
        return None if cursor is None else cursor.version

    def _error(self, spec: TableSpec, deployment: str | None, handler: str) -> Exception | None:
        lagging_handler = self._lagging.get((spec.name, deployment, handler))
        return lagging_handler.error if lagging_handler else None


def _waits(spec: TableSpec) -> Backoff:
    """Return the waits between the tries of a handler that fails: they double up to 5 minutes, or up to an hour.

    The tables under the root are small, and people wait for what they write there: silences and marked releases.
    A table of a deployment may be large, so its handlers wait up to an hour.
    """
    longest = _LONGEST_WAIT_OF_DEPLOYMENT_SECONDS if spec.per_deployment else _LONGEST_WAIT_SECONDS
    return Backoff(_FIRST_WAIT_SECONDS, longest)
