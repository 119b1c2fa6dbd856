"""Retries of messages: when the next attempt is, and what came of those of which no row could be written."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime, timedelta

from lake.spec.alert_vocabulary import AlertEvent

DELAYS = tuple(timedelta(seconds=s) for s in (2, 10, 60, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400))
"""Waits between attempts: those of the Standard Webhooks specification with shorter first ones, about 75 hours."""
MOST_ATTEMPTS = len(DELAYS) + 1
"""After which a message is given up."""

_JITTER = 0.2
_LONGEST_RETRY_AFTER = timedelta(days=1)


def next_delay(attempts: int, retry_after: timedelta | None, generator: random.Random) -> timedelta | None:
    """How long to wait after `attempts` (1 or more) failed ones; None where it is time to give up.

    The wait is longer by up to a fifth, at random, so that senders do not come in step, and never shorter than what
    the receiver asked for, up to a day.
    """
    if attempts > len(DELAYS):
        return None
    delay = DELAYS[attempts - 1] * (1 + _JITTER * generator.random())
    return max(delay, min(retry_after, _LONGEST_RETRY_AFTER)) if retry_after else delay


@dataclass(frozen=True)
class Settled:
    """What came of a message, as its rows say."""

    outcome: AlertEvent
    reason: str
    at: datetime


@dataclass
class _Retry:
    attempts: int
    due: datetime
    settled: Settled | None = None


class Retries:
    """By message, when it is tried again. A new process knows nothing of it, and begins with the first attempt."""

    def __init__(self) -> None:
        self._retries: dict[str, _Retry] = {}
        self._generator = random.Random()  # noqa: S311 - only spreads retries

    def due(self, message_id: str, now: datetime) -> datetime | None:
        """Return when the message is tried again; None where that is now."""
        retry = self._retries.get(message_id)
        return retry.due if retry and now < retry.due else None

    def settled(self, message_id: str) -> Settled | None:
        """Return what came of a message of which only the rows are still to be written."""
        retry = self._retries.get(message_id)
        return retry.settled if retry else None

    def failed(self, message_id: str, retry_after: timedelta | None, now: datetime) -> timedelta | None:
        """Note that an attempt failed; returns how long the next one waits, None where it is time to give up."""
        retry = self._retries.get(message_id)
        attempts = retry.attempts + 1 if retry else 1
        delay = next_delay(attempts, retry_after, self._generator)
        if delay is not None:
            self._retries[message_id] = _Retry(attempts, now + delay)
        return delay

    def keep(self, message_id: str, settled: Settled, due: datetime) -> None:
        """Note that the rows of a settled message are to be written at `due`: it is not sent again."""
        self._retries[message_id] = _Retry(0, due, settled)

    def forget(self, message_id: str) -> None:
        """Note that the rows of the message are written."""
        self._retries.pop(message_id, None)

    def clock_was_set(self, by: timedelta) -> None:
        """Wait as long as was planned, although the clock shows another time now."""
        for retry in self._retries.values():
            retry.due += by
