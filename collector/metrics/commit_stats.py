"""Statistics of the commits of one process since its start, for its metrics."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import ParamSpec, TypeVar

from collector.commit.batch import Batch, Counts
from lake.delta_log.change import LostRaceError

P = ParamSpec("P")
T = TypeVar("T")

BOUNDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the histogram of commits, in seconds."""


@dataclass(frozen=True)
class Committed:
    """Totals of the commits of one process since its start; `at` is the time of the last commit, else of the start.

    `on` is the same time on the monotonic clock. `problem` is the error of the last commit, if it failed.
    """

    at: datetime
    on: float
    counts: Counts = field(default_factory=Counts)
    bytes: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    newest_requested_at: datetime | None = None
    in_bounds: tuple[int, ...] = (0,) * (len(BOUNDS) + 1)
    seconds: float = 0.0
    failures: int = 0
    renamed_signals: int = 0
    problem: Exception | None = None


class Meter:
    """Counts commits. Threads may share one: `committed` is immutable and replaced as a whole."""

    def __init__(self, started_at: datetime, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self.committed = Committed(started_at, monotonic())
        self._lock = threading.Lock()

    @property
    def problem(self) -> Exception | None:
        """Error of the last commit, if it failed; a lost race is not an error."""
        return self.committed.problem

    def age(self) -> float:
        """Seconds since the last commit, else since the start."""
        return self._monotonic() - self.committed.on

    def timed(self, commit: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Make a commit and record its duration, or its error."""
        started = time.monotonic()
        try:
            result = commit(*args, **kwargs)
        except BaseException as error:
            problem = error if isinstance(error, Exception) and not isinstance(error, LostRaceError) else None
            with self._lock:
                self.committed = replace(self.committed, failures=self.committed.failures + 1, problem=problem)
            raise
        seconds = time.monotonic() - started
        with self._lock:
            in_bounds = list(self.committed.in_bounds)
            in_bounds[bisect_left(BOUNDS, seconds)] += 1
            total = self.committed.seconds + seconds
            self.committed = replace(self.committed, in_bounds=tuple(in_bounds), seconds=total, problem=None)
        return result

    def note_renamed(self, signals: int) -> None:
        """Count signals that are stored as `other`, because there are too many different words."""
        with self._lock:
            total = self.committed.renamed_signals + signals
            self.committed = replace(self.committed, renamed_signals=total)

    def note(self, batch: Batch, at: datetime) -> None:
        """Count the lines of a committed batch."""
        sections = batch.sections.values()
        with self._lock:
            before = self.committed
            newest = (before.newest_requested_at, *(section.newest_requested_at for section in sections))
            self.committed = replace(
                before,
                at=at,
                on=self._monotonic(),
                counts=before.counts + batch.counts(),
                bytes=before.bytes + sum(section.bytes for section in sections),
                rejected=sum((section.reasons for section in sections), before.rejected),
                newest_requested_at=max(filter(None, newest), default=None),
            )
