"""One read of a table for several takers of its rows, none of which can hold up another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import pyarrow as pa

from lake import TableReplacedError, TableSpec
from monitor.ingest.new_rows import NewRows

Into = Callable[[pa.Table], None]
_LONGEST_WAIT = timedelta(hours=1)


@dataclass
class _Apart:
    """A taker that has failed, and reads by itself until it is where the others are."""

    new_rows: NewRows
    error: Exception | None
    failed_at: datetime
    tried_at: datetime

    def is_due(self, now: datetime) -> bool:
        """Whether to try again: after as long as it has failed for, as it may be rows of years that it refuses."""
        waits = min(self.tried_at - self.failed_at, _LONGEST_WAIT)
        # A clock that was set back makes nobody wait longer.
        return self.error is None or now < self.tried_at or now >= self.tried_at + waits


class SharedRows:
    """Hands what is new in a table to each of its takers, once.

    A taker takes rows whole or, by raising, not at all. Then the same rows and what came since are read again for it
    alone: at the next call, and where that fails too after waits that double, up to an hour.
    """

    def __init__(self, new_rows: NewRows) -> None:
        self._new_rows = new_rows
        self._apart: dict[tuple[TableSpec, str | None, str], _Apart] = {}

    def take(
        self,
        spec: TableSpec,
        deployment: str | None,
        columns: tuple[str, ...],
        takers: Mapping[str, Into],
        now: datetime,
    ) -> Mapping[str, Exception]:
        """Give the new rows to `takers`, which have names; returns the errors of those that still lack rows.

        Raises what `NewRows.take` does; then rows that were not handed over come again.
        """
        apart = {name: one for name in takers if (one := self._apart.get((spec, deployment, name)))}

        def into_each(rows: pa.Table) -> None:
            for name, into in takers.items():
                if name in apart:
                    continue
                try:
                    into(rows)
                except Exception as error:
                    mine = self._new_rows.apart(spec, deployment)
                    self._apart[spec, deployment, name] = _Apart(mine, error, now, now)

        self._new_rows.take(spec, deployment, columns, into_each)
        for name, one in apart.items():
            if one.is_due(now):
                self._catch_up(one, spec, deployment, columns, takers[name], now)
            if one.error is None and one.new_rows.is_as_far_as(self._new_rows, spec, deployment):
                del self._apart[spec, deployment, name]
        return {name: error for name in takers if (error := self._error(spec, deployment, name))}

    def has_given(self, spec: TableSpec, deployment: str | None, taker: str) -> bool:
        """Whether the table has been read at least once, and the taker lacks no rows of it."""
        return self._new_rows.has_taken(spec, [deployment]) and self._error(spec, deployment, taker) is None

    def _error(self, spec: TableSpec, deployment: str | None, taker: str) -> Exception | None:
        apart = self._apart.get((spec, deployment, taker))
        return apart.error if apart else None

    def _catch_up(
        self,
        apart: _Apart,
        spec: TableSpec,
        deployment: str | None,
        columns: tuple[str, ...],
        into: Into,
        now: datetime,
    ) -> None:
        if apart.error is None:
            apart.failed_at = now
        apart.tried_at = now
        try:
            apart.new_rows.take(spec, deployment, columns, into)
        except TableReplacedError:
            raise
        except Exception as error:
            apart.error = error
        else:
            apart.error = None
