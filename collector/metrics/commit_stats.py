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
from lake import LostRaceError

P = ParamSpec("P")
T = TypeVar("T")

BOUNDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the histogram of commits, in seconds."""


@dataclass(frozen=True)
class Committed:
    """What one process has committed since it started; `at` is when it did so last, else when it started.

    `on` is the same on the monotonic clock. `problem` is what the last commit met, if it failed.
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
    """Counts what is committed. Threads may share one; `committed` is replaced as a whole, and never changed."""

    def __init__(self, started_at: datetime, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self.committed = Committed(started_at, monotonic())
        self._lock = threading.Lock()

    @property
    def problem(self) -> Exception | None:
        """What the last commit met, if it failed; a race that was lost is none."""
        return self.committed.problem

    def age(self) -> float:
        """Seconds since the last commit, else since the start."""
        return self._monotonic() - self.committed.on

    def timed(self, commit: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Make a commit and note how long it took, or that it failed."""
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
        """Count signals that are stored as `other`, for their word is one too many."""
        with self._lock:
            total = self.committed.renamed_signals + signals
            self.committed = replace(self.committed, renamed_signals=total)

    def note(self, batch: Batch, at: datetime) -> None:
        """Count the lines of a batch that is in the lake."""
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
