"""Audit log: who read a text or changed something on the pages, as rows of `_audit`."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from lake.spec.root_tables import AUDIT
from lake.spec.service_vocabulary import AuditAction
from lake.store.store_errors import log_failure, without_rows
from lake.tables.lake import Lake
from runtime.backoff import Backoff

logger = logging.getLogger(__name__)

MOST_WAITING = 10_000
"""Rows that wait for the lake; more are lost, and counted."""
_LONGEST = 1000
"""Characters of a cell."""
_WRITE_SECONDS = 5.0
"""Least time between two commits."""
_LONGEST_RETRY_SECONDS = 60.0
_END_SECONDS = 5.0


class AuditLog:
    """Rows for `_audit`, which a thread of its own writes some seconds later: no page waits for the lake.

    Each row is written at least once. Rows of the last seconds are lost with a process that is killed; rows that find
    `MOST_WAITING` before them are lost and counted in `lost`.
    """

    def __init__(self, lake: Lake, clock: Callable[[], datetime]) -> None:
        self._table = lake.table(AUDIT)
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: deque[dict[str, Any]] = deque()
        self._wake_up, self._stop = threading.Event(), threading.Event()
        self._problem: str | None = None
        self.lost = 0

    @property
    def waiting(self) -> int:
        """Number of rows that are not in the lake yet."""
        return len(self._waiting)

    @property
    def problem(self) -> str | None:
        """Why the rows cannot be written; None where they can."""
        problem = self._problem
        return problem and f"_audit cannot be written; {self.waiting} rows wait, {self.lost} are lost: {problem}"

    def note(
        self,
        who: str | None,
        action: AuditAction,
        deployment: str | None = None,
        event_id: str | None = None,
        detail: str | None = None,
    ) -> None:
        """Take one row, at once; `detail` must hold no text of a person."""
        now = self._clock()
        cells = {"who": who, "action": action.value, "deployment": deployment, "event_id": event_id, "detail": detail}
        row = {"date": now.date(), "at": now} | {name: _storable(text) for name, text in cells.items()}
        with self._lock:
            if len(self._waiting) >= MOST_WAITING:
                self.lost += 1
                return
            self._waiting.append(row)
        self._wake_up.set()

    def write(self) -> bool:
        """Write the rows that wait, in one commit; returns whether that went well. For one thread at a time."""
        with self._lock:
            rows = list(self._waiting)
        if not rows:
            return True
        try:
            self._table.append(AUDIT.rows(rows))
        except Exception as error:
            if self._problem is None:
                log_failure(logger, error, "%d rows of _audit could not be written, and wait", len(rows))
            self._problem = without_rows(error)
            return False
        self._problem = None
        with self._lock:
            for _ in rows:
                self._waiting.popleft()
        return True

    @contextmanager
    def running(self) -> Iterator[None]:
        """Write the rows while the block runs, and those that are left when it ends."""
        thread = threading.Thread(target=self._run, name="audit", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            self._wake_up.set()
            thread.join(_END_SECONDS)
            if self._waiting:
                logger.error("%d rows of _audit are lost: the lake did not take them in time", self.waiting)

    def _run(self) -> None:
        retry = Backoff(_WRITE_SECONDS, _LONGEST_RETRY_SECONDS)
        while not self._stop.is_set():
            self._wake_up.wait()
            self._wake_up.clear()
            if self.write():
                retry.reset()
                self._stop.wait(_WRITE_SECONDS)
                continue
            self._stop.wait(retry.next_delay())
            self._wake_up.set()
        self.write()


def _storable(text: str | None) -> str | None:
    return None if text is None else text[:_LONGEST].encode("utf-8", "replace").decode()
