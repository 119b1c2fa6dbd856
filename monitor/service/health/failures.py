"""Count and log of the steps of the monitor that failed."""

from __future__ import annotations

import logging
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from lake.delta_log.change import LostRaceError, TableReplacedError
from lake.store.store_errors import in_one_line, is_store_error, outage_of
from runtime.backoff import Backoff

LIMITS, REGRESSIONS, JUDGES, ALERTS_RECORDED = "find_floors", "find_regressions", "judge_regressions", "record_alerts"
INCIDENTS_RECORDED, CHANGES, UNJOINED = "record_incidents", "find_changes", "count_unjoined_signals"
RESTORED, SAVED, STOPPED = "restore_state", "save_state", "stopped_streams"
"""Reasons; that a table could not be read is `read_` and its name."""

_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 5.0, 3600.0
"""Between two lines of the log that say the same."""
_WORDS_WITH_DIGITS = re.compile(r"\S*\d\S*")
"""Times, tries, versions, ids of requests: they differ in errors that are the same."""

logger = logging.getLogger(__name__)

T = TypeVar("T")
_Failure = tuple[str, str, str]
"""Reason, what was looked at, and the words of the error that do not differ each time."""


@dataclass
class _Logged:
    """When, on the monotonic clock, a failure that lasts is logged again."""

    again_at: float = 0.0
    pauses: Backoff = field(default_factory=partial(Backoff, _FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS))


class Failures:
    """Counts of failures by reason since the start, and the problems of the last refresh in words.

    A failure is logged at once, and one that lasts again after pauses that double, up to an hour.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.counts: Counter[str] = Counter()
        self.problems: dict[str, str] = {}
        self._monotonic = monotonic
        self._logged: dict[_Failure, _Logged] = {}
        self._met: set[_Failure] = set()
        """What failed in this refresh; of all else the next failure is a new one."""
        self._traced: dict[str, str] = {}
        """By reason the last error that was logged: an unknown one has a traceback there, once."""

    def begin(self) -> None:
        """Forget the problems: a new refresh begins."""
        self.problems = {}
        self._logged = {key: logged for key, logged in self._logged.items() if key in self._met}
        self._met = set()

    def attempt(self, reason: str, step: Callable[[], T], what: str = "the lake") -> T | None:
        """Return what a step returns; None where it fails, which is counted and logged, and stops no other step."""
        try:
            return step()
        except Exception as error:
            self.add(reason, what, error)
            return None

    def add(self, reason: str, what: str, error: Exception) -> None:
        """Note that a step failed; it is tried again."""
        self.counts[reason] += 1
        is_known = is_store_error(error) or isinstance(error, LostRaceError | TableReplacedError)
        message = in_one_line(error) if is_store_error(error) else str(error)
        self.problems = {reason: f"{reason} failed for {what}: {message}"} | self.problems
        if not self._is_due(reason, what, message):
            return
        is_new, self._traced[reason] = self._traced.get(reason) != repr(error), repr(error)
        trace = error if is_new and not is_known else None
        outage = outage_of(error) if is_store_error(error) else {}
        logger.warning("%s failed for %s; it is tried again. %s", reason, what, message, exc_info=trace, extra=outage)

    def add_lasting(self, reason: str, problem: str) -> None:
        """Note what went wrong earlier, was logged then, and is not tried again."""
        self.counts[reason] += 1
        self.problems = {reason: problem} | self.problems

    def _is_due(self, reason: str, what: str, message: str) -> bool:
        """Whether a failure is logged now."""
        key, now = (reason, what, _WORDS_WITH_DIGITS.sub("#", message)), self._monotonic()
        self._met.add(key)
        is_first = key not in self._logged
        logged = self._logged.setdefault(key, _Logged())
        if not is_first and now < logged.again_at:
            return False
        logged.again_at = now + logged.pauses.next_delay()
        return True
