"""Reads of the lake for pages: few at a time, few of one reader, and the others wait some seconds in a line."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from starlette.exceptions import HTTPException

from monitor.access.reader import Reader

T = TypeVar("T")
logger = logging.getLogger(__name__)

AT_ONCE, OF_ONE_AT_ONCE = 3, 2
"""Reads that run at a time, of all and of one reader: no reader takes the last place."""
IN_LINE, OF_ONE_IN_LINE = 16, 4
"""Reads that wait. Each holds a thread, and the pages that read nothing need threads too."""
WAIT_SECONDS = 5.0
_UNAVAILABLE = 503
_TRY_AGAIN_SECONDS = "2"


class LakeReads:
    """Runs a few reads at a time, so that pages that read never take the threads of those that do not.

    The first in the line whose reader has less than their share is the next to run.
    """

    def __init__(self) -> None:
        self._change = threading.Condition()
        self._running: list[str] = []
        self._line: list[_Waiting] = []

    def run(self, reader: Reader, read: Callable[[], T]) -> T:
        """Read; raises HTTPException with 503 where too much is read already, or the lake cannot be read."""
        name = reader.counted_as
        self._begin(name)
        try:
            return read()
        except HTTPException:
            raise
        except Exception as error:
            # Not its message: it may quote what was read.
            logger.warning("Answers could not be read for a page: %s", type(error).__name__)
            raise _unavailable("The lake cannot be read now. Try again; the log of the monitor says more.") from None
        finally:
            with self._change:
                self._running.remove(name)
                self._change.notify_all()

    def _begin(self, name: str) -> None:
        with self._change:
            if sum(one.name == name for one in self._line) >= OF_ONE_IN_LINE:
                raise _unavailable("Too many of your own searches are running. Try again when some have ended.")
            if len(self._line) >= IN_LINE:
                raise _unavailable("Other people's searches are running. Try again in a few seconds.")
            waiting, deadline = _Waiting(name), time.monotonic() + WAIT_SECONDS
            self._line.append(waiting)
            try:
                while self._next() is not waiting:
                    left = deadline - time.monotonic()
                    if left <= 0:
                        raise _unavailable(
                            "Many searches are running, and yours got no turn. Try again in a few seconds."
                        )
                    self._change.wait(left)
                self._running.append(name)
            finally:
                self._line.remove(waiting)
                # Whoever stands behind may be the next.
                self._change.notify_all()

    def _next(self) -> _Waiting | None:
        if len(self._running) >= AT_ONCE:
            return None
        return next((one for one in self._line if self._running.count(one.name) < OF_ONE_AT_ONCE), None)


class _Waiting:
    def __init__(self, name: str) -> None:
        self.name = name


def _unavailable(message: str) -> HTTPException:
    return HTTPException(_UNAVAILABLE, message, {"Retry-After": _TRY_AGAIN_SECONDS})
