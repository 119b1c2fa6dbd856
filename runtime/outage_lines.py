"""Filter of a log that keeps what fails again and again for one reason to a line a minute, then to fewer."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from runtime.backoff import Backoff

OUTAGE = "outage"
"""Field of a record: what is away, such as a store or a receiver. It is not shown."""
_OVER_AFTER_SECONDS = 300.0
"""Time without a failure after which the next one is another outage: tries are at most some minutes apart."""


@dataclass
class _Outage:
    again_at: float = 0.0
    met_at: float = 0.0
    left_out: int = 0
    pauses: Backoff = field(default_factory=partial(Backoff, first=60.0, cap=600.0))


class OutageLines(logging.Filter):
    """Lets the first record of an outage through, then one a minute, and one after pauses that double up to ten."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._monotonic = monotonic
        self._outages: dict[str, _Outage] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is logged; one that is says how many were left out before it."""
        name, now = getattr(record, OUTAGE, None), self._monotonic()
        if name is None:
            return True
        found = self._outages.get(name)
        if found is None or now - found.met_at > _OVER_AFTER_SECONDS:
            found = self._outages[name] = _Outage()
        found.met_at = now
        if now < found.again_at:
            found.left_out += 1
            return False
        if found.left_out:
            number = f"{found.left_out:,} other failure{'' if found.left_out == 1 else 's'}"
            record.msg = f"{record.msg} ({number} for the same reason since the last such line)"
        found.again_at, found.left_out = now + found.pauses.next_delay(), 0
        return True
