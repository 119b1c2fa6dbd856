"""Passes one after the other: every so many seconds, never two at once."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType

from apscheduler.schedulers.background import BackgroundScheduler

log = logging.getLogger(__name__)


class Schedule:
    """Runs `run_pass` in a thread of its own, at once and then every `every` seconds.

    A pass that is still running when the next is due is not started twice, and passes that were missed are made up
    by one. A pass that raises is logged, and the next one runs. Works as a context manager.

    No pass begins once `stop` is set, by `stop()` or by another: it is for a pass to look at, so that it ends early.
    """

    def __init__(self, run_pass: Callable[[], object], every: float, stop: threading.Event | None = None) -> None:
        self._run_pass = run_pass
        self._stop = stop or threading.Event()
        self._scheduler = BackgroundScheduler(timezone=UTC)
        self._scheduler.add_job(
            self._run,
            "interval",
            seconds=every,
            next_run_time=datetime.now(UTC),
            max_instances=1,
            coalesce=True,
            misfire_grace_time=None,
        )

    def start(self) -> None:
        """Begin with the first pass."""
        self._scheduler.start()

    def stop(self) -> None:
        """Begin no further pass, and wait for the end of one that is running. Stopping twice is allowed."""
        if self._scheduler.running:
            self._stop.set()
            self._scheduler.shutdown(wait=True)

    def __enter__(self) -> Schedule:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self) -> None:
        if self._stop.is_set():
            return
        try:
            self._run_pass()
        except Exception:
            log.exception("a pass failed; the next one takes up its work: check that the lake is reachable")
