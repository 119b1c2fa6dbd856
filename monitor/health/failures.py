"""What goes wrong while the monitor looks at the lake."""

from __future__ import annotations

import logging
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from lake import LostRaceError, TableReplacedError, in_one_line, is_store_error

FLOORS, REGRESSIONS, JUDGES, ALERTS_RECORDED = "find_floors", "find_regressions", "judge_regressions", "record_alerts"
"""Reasons; that a table could not be read is `read_` and its name."""

_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 5.0, 3600.0
"""Between two lines of the log that say the same: each pause is twice the one before."""
_WORDS_WITH_DIGITS = re.compile(r"\S*\d\S*")
"""Times, tries, versions, ids of requests: they differ in errors that are the same."""

_log = logging.getLogger(__name__)

T = TypeVar("T")
_Failure = tuple[str, str, str]
"""Reason, what was looked at, and the words of the error that do not differ each time."""


@dataclass(frozen=True)
class _Told:
    """When, on the monotonic clock, the log is told of a failure again, and the pause until then, in seconds."""

    again_at: float
    pause: float


class Failures:
    """Counts failures by reason since the start, and says in words what the last look could not do.

    The log is told of a failure at once, and of one that lasts after pauses that double, up to an hour.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.counts: Counter[str] = Counter()
        self.problems: dict[str, str] = {}
        self._monotonic = monotonic
        self._told: dict[_Failure, _Told] = {}
        self._met: set[_Failure] = set()
        """What failed in this look; of all else the next failure is a new one."""
        self._traced: dict[str, str] = {}
        """By reason the error that the log was told of last: what is unknown has a traceback there, once."""

    def begin(self) -> None:
        """Forget the problems: a new look begins."""
        self.problems = {}
        self._told = {key: told for key, told in self._told.items() if key in self._met}
        self._met = set()

    def attempt(self, reason: str, step: Callable[[], T], what: str = "the lake") -> T | None:
        """Do one step; if it fails, count it, log it and go on with the others."""
        try:
            return step()
        except Exception as error:
            self.add(reason, what, error)
            return None

    def add(self, reason: str, what: str, error: Exception) -> None:
        """Note that a step failed; it is tried again."""
        self.counts[reason] += 1
        is_known = is_store_error(error) or isinstance(error, LostRaceError | TableReplacedError)
        told = in_one_line(error) if is_store_error(error) else str(error)
        self.problems = {reason: f"{reason} failed for {what}: {told}"} | self.problems
        if not self._is_due(reason, what, told):
            return
        is_news, self._traced[reason] = self._traced.get(reason) != repr(error), repr(error)
        trace = error if is_news and not is_known else None
        _log.warning("%s failed for %s; it is tried again. %s", reason, what, told, exc_info=trace)

    def add_lasting(self, reason: str, problem: str) -> None:
        """Note what went wrong earlier, was logged then, and is not tried again."""
        self.counts[reason] += 1
        self.problems = {reason: problem} | self.problems

    def _is_due(self, reason: str, what: str, told: str) -> bool:
        """Whether the log is told of a failure now."""
        key, now = (reason, what, _WORDS_WITH_DIGITS.sub("#", told)), self._monotonic()
        self._met.add(key)
        before = self._told.get(key)
        if before is not None and now < before.again_at:
            return False
        pause = _FIRST_PAUSE_SECONDS if before is None else min(2 * before.pause, _LONGEST_PAUSE_SECONDS)
        self._told[key] = _Told(now + pause, pause)
        return True
