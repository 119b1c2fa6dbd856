"""Wrong tokens: each address may try some in a row and then one every few seconds; they are counted and noted."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable

from lake.spec.service_vocabulary import AuditAction
from monitor.access.audit import AuditLog

IN_A_ROW, SECONDS_EACH = 10, 3.0
"""Wrong tokens of an address without a wait; after these, one for each such time."""
MOST_ADDRESSES = 10_000
"""Addresses that are remembered; of more, those that tried last."""
_ROWS_IN_A_ROW, _SECONDS_OF_A_ROW = 60, 1.0
"""Rows of `_audit` about wrong tokens: however many come, the other rows must find a place."""


class TooManyWrongTokensError(Exception):
    """A token was not looked at, as too many wrong ones came from the address; `seconds` is the time to wait."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds


class WrongTokens:
    """Counts wrong tokens by the address that they come from, in this process and for one thread.

    A right token of an address that has to wait is refused, too: otherwise trying on would be worth while. Other
    addresses do not wait for it.
    """

    def __init__(self, audit: AuditLog, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` gives the seconds of a clock that is never set."""
        self._audit = audit
        self._clock = clock
        self._pace_of_address: OrderedDict[str, _Pace] = OrderedDict()
        self._pace_of_rows = _Pace(_ROWS_IN_A_ROW, _SECONDS_OF_A_ROW)
        self.wrong = 0
        self.refused = 0

    def check_wait(self, address: str) -> None:
        """Raise TooManyWrongTokensError where the address has to wait before its next token is looked at."""
        pace = self._pace_of_address.get(address)
        wait = 0.0 if pace is None else pace.wait(self._clock())
        if wait > 0:
            self.refused += 1
            raise TooManyWrongTokensError(wait)

    def is_known(self, address: str, token: str) -> bool:
        """Whether this token of the address was counted as a wrong one lately: to send it again tries nothing."""
        pace = self._pace_of_address.get(address)
        return pace is not None and hash(token) in pace.tokens

    def add(self, address: str, token: str = "") -> None:
        """Count a wrong token."""
        now = self._clock()
        pace = self._pace_of_address.pop(address, None) or _Pace(IN_A_ROW, SECONDS_EACH)
        pace.add(now)
        pace.tokens.append(hash(token))
        self._pace_of_address[address] = pace
        if len(self._pace_of_address) > MOST_ADDRESSES:
            self._pace_of_address.popitem(last=False)
        self.wrong += 1
        if self._pace_of_rows.wait(now) > 0:
            return
        self._pace_of_rows.add(now)
        self._audit.note(None, AuditAction.WRONG_SIGN_IN, detail=f"from {address}")


class _Pace:
    """So many events in a row, and then one for each time of `seconds`."""

    def __init__(self, in_a_row: int, seconds: float) -> None:
        self._most = (in_a_row - 1) * seconds
        self._seconds = seconds
        self._done_at = 0.0
        """When the events so far, one after the other, would have had their times."""
        self.tokens: deque[int] = deque(maxlen=in_a_row)
        """Hashes of the last tokens that were counted."""

    def add(self, now: float) -> None:
        self._done_at = max(self._done_at, now) + self._seconds

    def wait(self, now: float) -> float:
        """Return in how many seconds the next may be."""
        return max(0.0, self._done_at - now - self._most)
