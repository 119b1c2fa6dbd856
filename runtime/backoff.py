"""Retries: how long to wait before each further try of something that fails."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime


@dataclass
class Backoff:
    """Gives the wait before each further try, in seconds: `first`, then `factor` times the one before, at most `cap`.

    Without other numbers it suits what waits for the lake: a second, doubling up to a minute. It neither waits nor
    reads a clock, so that threads, coroutines and schedulers can all use it. Who comes together with others draws a
    wait around the one that it gives.
    """

    first: float = 1.0
    cap: float = 60.0
    factor: float = 2.0
    _failures: int = field(default=0, init=False)

    def next_delay(self) -> float:
        """Return the wait after one more failure."""
        try:
            delay = self.first * self.factor**self._failures
        except OverflowError:
            return self.cap
        self._failures += 1
        return min(delay, self.cap)

    def reset(self) -> None:
        """Begin with `first` again, as after a success."""
        self._failures = 0


def retry_after(header: str | None, now: datetime) -> float | None:
    """Read from `Retry-After` (RFC 9110, section 10.2.3), a number or a date, the seconds that a server asks to wait.

    A date in the past is no wait, 0. None where the header is missing, or is neither.
    """
    from email.utils import parsedate_to_datetime  # a dozen modules, and most commands ask no server

    try:
        seconds = float(header or "")
    except ValueError:
        try:
            at = parsedate_to_datetime(header or "")
        except (ValueError, OverflowError):
            return None
        return max(0.0, ((at if at.tzinfo else at.replace(tzinfo=UTC)) - now).total_seconds())
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
