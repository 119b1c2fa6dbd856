"""Changes of the lake: which tables got rows, so that a reader of many asks a store for few.

On a store each look at a table is paid. So whoever adds rows to a table of a store also adds a row to `_changes`, and
a reader looks there first (`OpenTables`). A row that is missing there delays a reader and loses nothing: it looks at
each table by itself after some minutes. On a local disk looks cost nothing, and there is no such table.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from lake.spec.root_tables import AUDIT, CHANGES, JUDGE_BUDGETS, SERVICES
from lake.spec.state_tables import MONITOR_STATE, ROOT_STATE
from lake.spec.table_spec import TableSpec
from lake.store.store_errors import log_failure
from lake.tables.table import Table

logger = logging.getLogger(__name__)

UNNOTED = frozenset({CHANGES, SERVICES, AUDIT, JUDGE_BUDGETS, MONITOR_STATE, ROOT_STATE})
"""Tables that nobody waits for, or that are looked at by themselves."""
_HELD_SECONDS = 10.0

ChangedTable = tuple[str | None, str]
"""Deployment and name of a table; under the root, and for rows that name no deployment, None and the name."""


class ChangeNotes:
    """Notes of the tables that this process has added rows to, on their way to `_changes`. Threads may share it."""

    def __init__(self, open_table: Callable[[], Table]) -> None:
        self._open_table = open_table
        self._table: Table | None = None
        self._noted: dict[ChangedTable, int] = {}
        self._first_at = 0.0
        self._holders = 0
        self._lock = threading.Lock()
        self._one_at_a_time = threading.Lock()

    def note(self, spec: TableSpec, deployment: str | None, version: int) -> None:
        """Note that a table got rows with this version."""
        if spec in UNNOTED:
            return
        with self._lock:
            if not self._noted:
                self._first_at = time.monotonic()
            self._noted[deployment, spec.name] = version
            is_held = self._holders > 0 and time.monotonic() - self._first_at < _HELD_SECONDS
        if not is_held:
            self._write()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write what is noted while the block lasts at its end; if it takes long, every 10 s."""
        with self._lock:
            self._holders += 1
        try:
            yield
        finally:
            with self._lock:
                self._holders -= 1
            self._write()

    def _write(self) -> None:
        with self._one_at_a_time:
            with self._lock:
                noted, self._noted = self._noted, {}
            if not noted:
                return
            now = datetime.now(UTC)
            rows = [
                {"date": now.date(), "changed_at": now, "deployment": deployment, "table": name, "version": version}
                for (deployment, name), version in noted.items()
            ]
            try:
                self._table = self._table or self._open_table()
                self._table.append(CHANGES.rows(rows))
            except Exception as error:  # what was appended is in the lake, and readers find it some minutes later
                self._table = None
                log_failure(logger, error, "no row in %s says that tables have new rows", CHANGES.name)
