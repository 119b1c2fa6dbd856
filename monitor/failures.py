"""What goes wrong while the monitor looks at the lake."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from lake import LostRaceError, TableReplacedError, in_one_line, is_store_error

FLOORS, REGRESSIONS, JUDGES, ALERTS_RECORDED = "find_floors", "find_regressions", "judge_regressions", "record_alerts"
"""Reasons; that a table could not be read is `read_` and its name."""

_log = logging.getLogger(__name__)

T = TypeVar("T")


class Failures:
    """Counts failures by reason since the start, and says in words what the last look could not do."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.problems: dict[str, str] = {}
        self._traced: dict[str, str] = {}
        """By reason the error that the log was told of last: what is unknown has a traceback there, once."""

    def begin(self) -> None:
        """Forget the problems: a new look begins."""
        self.problems = {}

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
        is_news, self._traced[reason] = self._traced.get(reason) != repr(error), repr(error)
        trace = error if is_news and not is_known else None
        _log.warning("%s failed for %s; it is tried again. %s", reason, what, told, exc_info=trace)

    def add_lasting(self, reason: str, problem: str) -> None:
        """Note what went wrong earlier, was logged then, and is not tried again."""
        self.counts[reason] += 1
        self.problems = {reason: problem} | self.problems
