"""Schedule of passes (APScheduler) that run every so many seconds, never two at once."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import TracebackType

from apscheduler.schedulers.background import BackgroundScheduler

from lake.store.store_errors import log_failure
from runtime.backoff import Backoff
from runtime.clocks import ClockSteps
from runtime.durations import duration

logger = logging.getLogger(__name__)

_RETRY_SECONDS = 60.0


class Schedule:
    """Runs `run_pass` in a thread of its own, at once and then every `every` seconds.

    A pass that is still running when the next is due is not started twice, and passes that were missed are made up
    by one. A pass that raises is logged, with `of` as the name of its owner. After one that raises, or returns a text
    that says what went wrong, the next one comes in `retry` seconds, then in twice as many, if that is sooner. Where
    the clock of the machine is set, forward or back, passes go on as before. Works as a context manager.

    No pass begins once `stop` is set, by `stop()` or by another: a pass may read it, to end early.
    """

    def __init__(
        self,
        run_pass: Callable[[], object],
        every: float,
        stop: threading.Event | None = None,
        retry: float = _RETRY_SECONDS,
        of: str = "this process",
    ) -> None:
        self._of = of
        self._run_pass = run_pass
        self._every = every
        self._backoff = Backoff(retry, every)
        self._stop = stop or threading.Event()
        self._lock = threading.Lock()
        self._is_running = self._is_woken = False
        self._scheduler = _ClockStepScheduler()
        self._job = self._scheduler.add_job(
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

    def wake(self) -> None:
        """Run a pass now, or at once after the one that is running."""
        with self._lock:
            self._is_woken = True
            if not self._is_running and not self._stop.is_set():
                self._job.modify(next_run_time=datetime.now(UTC))

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
        with self._lock:
            self._is_running, self._is_woken = True, False
        try:
            self._run_and_plan()
        finally:
            with self._lock:
                self._is_running = False
                if self._is_woken and not self._stop.is_set():
                    self._job.modify(next_run_time=datetime.now(UTC))

    def _run_and_plan(self) -> None:
        if self._stop.is_set():
            return
        try:
            failed = isinstance(self._run_pass(), str)
        except Exception as error:
            failed = True
            message = "a pass of %s failed; the next one takes up its work: check that the lake is reachable"
            log_failure(logger, error, message, self._of)
        if not failed:
            self._backoff.reset()
            return
        wait = self._backoff.next_delay()
        if wait < self._every and not self._stop.is_set():
            self._job.modify(next_run_time=datetime.now(UTC) + timedelta(seconds=wait))


class _ClockStepScheduler(BackgroundScheduler):  # type: ignore[misc]
    """Scheduler that moves the next runs by as much as the wall clock was set.

    APScheduler notes the next run as a time of the wall clock. A clock that is set back by an hour would keep it from
    running anything for that hour. Its waits go by the monotonic clock, so it looks in time whether the clock was set.
    """

    def __init__(self) -> None:
        super().__init__(timezone=UTC)
        self._steps = ClockSteps()

    def _process_jobs(self) -> float | None:
        if step := self._steps.since_last():
            logger.warning(
                "the clock of this machine was set by %s; the passes go on as before",
                f"{'-' if step < timedelta(0) else ''}{duration(abs(step))}",
            )
            for job in self.get_jobs():
                job.modify(next_run_time=job.next_run_time + step)
        wait_seconds: float | None = super()._process_jobs()
        return wait_seconds
