"""Health of the parts of dialwatch that run in this process, and their heartbeats in the lake."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from lake.maintenance.text_retention import begin_lake
from lake.spec.heartbeat import HEARTBEAT_SECONDS, Heartbeat
from lake.spec.root_tables import SERVICES
from lake.spec.service_vocabulary import ServicePart, ServiceState
from lake.store.store_errors import log_failure, without_rows
from lake.tables.lake import Lake
from lake.tables.table import Table
from runtime.backoff import Backoff
from runtime.durations import duration

logger = logging.getLogger(__name__)

Problem = BaseException | str | None
"""What keeps a step from its work; None where nothing does."""

_LAKE, _PROCESS, _SOURCES = "lake", "process", "sources"
"""Steps of every part: that the lake takes its row, and that the process goes on. Of a collector: that lines come."""
_PROBE_SECONDS = 10.0
_RETRY_SECONDS = 5.0
"""After the first row that the lake did not take; each wait is twice the one before, up to the usual one."""
_END_SECONDS = 10.0
_PERMANENT = frozenset({"NoCredentialsError", "PartialCredentialsError"})
"""Errors of the S3 client that waiting does not fix: it has looked everywhere. By name, as its import takes long."""


class EmptyLakeError(RuntimeError):
    """A lake that others should have filled has no table."""


class Part:
    """One part of this process: it fails as long as the last try of one of its steps failed. Threads may share it."""

    def __init__(
        self,
        name: ServicePart,
        host: str | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.name = name
        self._host = host or socket.gethostname()
        self._clock = clock
        self._since = clock()
        self._lock = threading.Lock()
        self._failing: dict[str, str] = {}
        self._is_in_the_lake = False
        self._probes: dict[str, Callable[[], Problem]] = {}
        self._needs_sources = False
        self._last_success: datetime | None = None
        self._last_error: datetime | None = None
        self._error: str | None = None

    @property
    def run(self) -> tuple[str, str, datetime]:
        """Name of this run, as its heartbeats have it."""
        return self.name, self._host, self._since

    def note(self, step: str, problem: Problem) -> None:
        """Record the outcome of a step: its problem, or None where it went well."""
        with self._lock:
            if step == _LAKE:
                self._is_in_the_lake = problem is None
            if problem is None:
                self._failing.pop(step, None)
                if not self._failing:
                    self._last_success = self._clock()
                return
            text = without_rows(problem) if isinstance(problem, BaseException) else problem
            self._failing[step] = text
            self._last_error, self._error = self._clock(), text

    def watch(self, step: str, probe: Callable[[], Problem]) -> None:
        """Have `probe` called for the state of a step at every heartbeat; it must not wait for the lake."""
        self._probes[step] = probe

    def watch_sources(self, probe: Callable[[], str | None], *, is_needed: bool) -> None:
        """Have `probe` say which source gives no lines; `is_needed`: the part is not ready then."""
        self.watch(_SOURCES, probe)
        self._needs_sources = is_needed

    def sources_problem(self) -> str | None:
        """Say which source gives no lines; None where all do."""
        problem = self._probes.get(_SOURCES, lambda: None)()
        return None if problem is None else str(problem)

    def lacks(self) -> str | None:
        """Say which source that the part needs gives no lines; None where none is missed."""
        return self.sources_problem() if self._needs_sources else None

    def watching(self, step: str, run: Callable[[], Problem]) -> Callable[[], Problem]:
        """Return a function that runs the step, records the problem that it returns or raises, and passes it on."""

        def watched() -> Problem:
            try:
                problem = run()
            except BaseException as error:
                self.note(step, error)
                raise
            self.note(step, problem)
            return problem

        return watched

    def is_ready(self) -> bool:
        """Whether the lake has taken the last heartbeat, and with it the part's rows, and no source is missed."""
        with self._lock:
            is_in_the_lake = self._is_in_the_lake
        return is_in_the_lake and self.lacks() is None

    def heartbeat(self, state: ServiceState | None = None) -> Heartbeat:
        """Say how the part is now; `state` where it is known."""
        for step, probe in list(self._probes.items()):
            self.note(step, probe())
        with self._lock:
            found = ServiceState.FAILING if self._failing else ServiceState.RUNNING
            error = next(iter(self._failing.values()), self._error)
            times = (self._since, self._clock())
            return Heartbeat(self.name, self._host, *times, state or found, self._last_success, self._last_error, error)


class ProcessParts:
    """All parts of this process. In a `running` block each writes a row to `_services` every minute, in one commit.

    A lake that does not take these rows takes no others: then every part fails, and `heartbeats` says so without it.
    """

    def __init__(
        self,
        lake: Lake,
        names: Iterable[ServicePart],
        every: float = HEARTBEAT_SECONDS,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        host: str | None = None,
        *,
        makes_the_lake: bool = True,
    ) -> None:
        """`makes_the_lake` False: these parts only read what others collect, and write nothing into an empty lake."""
        self._lake = lake
        self._makes_the_lake = makes_the_lake
        self._has_begun = False
        self._every = every
        self._parts = {name: Part(name, host, clock) for name in names}
        self._problem: Exception | None = None
        self._has_tried = threading.Event()
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._last_state: ServiceState | None = ServiceState.STOPPED

    def __getitem__(self, name: ServicePart) -> Part:
        return self._parts[name]

    def heartbeats(self, state: ServiceState | None = None) -> tuple[Heartbeat, ...]:
        """Say how all parts are now."""
        return tuple(part.heartbeat(state) for part in self._parts.values())

    def lacks(self) -> str | None:
        """Say that the lake is empty, or which source that a part needs gives no lines; None where all is there."""
        if isinstance(self._problem, EmptyLakeError):
            return str(self._problem)
        return next((text for part in self._parts.values() if (text := part.lacks()) is not None), None)

    def beat_every(self, seconds: float) -> None:
        """Write a heartbeat now, and then every so many seconds."""
        self._every = seconds
        self._wake.set()

    @contextmanager
    def running(self) -> Iterator[None]:
        """See whether the lake can be written, and write heartbeats while the block runs.

        Waits some seconds for the first write, then goes on, as it does where the lake is away or refuses. Raises an
        error that waiting does not fix: a client of the store without credentials. Where the block ends with an error,
        its parts have failed, and were not stopped.
        """
        # No Schedule, whose end waits for what runs: a process must end although its store does not answer.
        thread = threading.Thread(target=self._run, name="heartbeats", daemon=True)
        thread.start()
        try:
            self._has_tried.wait(_PROBE_SECONDS)
            if type(self._problem).__name__ in _PERMANENT and self._problem is not None:
                raise self._problem
            yield
        except Exception as error:
            self._last_state = None
            self._note(_PROCESS, error)
            raise
        finally:
            self._stop.set()
            self._wake.set()
            thread.join(_END_SECONDS)

    def _run(self) -> None:
        table, backoff = self._lake.table(SERVICES), Backoff(_RETRY_SECONDS, self._every)
        while not self._stop.is_set():
            retry = backoff.next_delay()
            self._write_heartbeats(table, retry)
            self._has_tried.set()
            if self._problem is None:
                backoff.reset()
            self._wake.wait(self._every if self._problem is None else retry)
            self._wake.clear()
        # Of no use where the lake is away, and the process should end.
        if self._problem is None:
            self._write_heartbeats(table, self._every, self._last_state)

    def _write_heartbeats(self, table: Table, retry: float, state: ServiceState | None = None) -> None:
        try:
            if not self._has_tried.is_set():
                # It says more than a write does of what is wrong with S3's credentials.
                self._lake.deployments()
            if not self._has_begun and not self._makes_the_lake and self._lake.is_empty():
                raise EmptyLakeError(
                    f"the lake {self._lake.root} is empty: nothing was collected into it yet, or lake.root is "
                    "mistyped. It is looked at again, and nothing is written meanwhile"
                )
            if not self._has_begun:
                begin_lake(self._lake)
                self._has_begun = True
            table.append(SERVICES.rows([heartbeat.row() for heartbeat in self.heartbeats(state)]))
        except EmptyLakeError as error:
            self._problem = error
        except Exception as error:
            self._problem = error
            message = "the lake %s cannot be written, and is tried again in %s; what comes in meanwhile is not lost"
            log_failure(logger, error, message, self._lake.root, duration(retry))
        else:
            if self._problem is not None:
                logger.info("the lake %s can be written again", self._lake.root)
            self._problem = None
        self._note(_LAKE, self._words_of(self._problem))

    def _words_of(self, problem: Exception | None) -> str | None:
        if problem is None:
            return None
        if isinstance(problem, EmptyLakeError):
            return str(problem)
        return f"the lake {self._lake.root} cannot be written: {without_rows(problem)}"

    def _note(self, step: str, problem: Problem) -> None:
        for part in self._parts.values():
            part.note(step, problem)
