"""Delays between the attempts to deliver a message."""

from __future__ import annotations

import random
from datetime import timedelta

DELAYS = tuple(timedelta(seconds=s) for s in (2, 10, 60, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400))
"""Waits between attempts: those of the Standard Webhooks specification with shorter first ones, about 75 hours."""

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
