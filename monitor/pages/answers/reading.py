"""Bound on reads of the lake at one time, so that pages that read never take the threads of those that do not."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TypeVar

from starlette.exceptions import HTTPException

T = TypeVar("T")
logger = logging.getLogger(__name__)

_AT_ONCE = 3
_UNAVAILABLE = 503
_TRY_AGAIN_SECONDS = "2"


class LakeReads:
    """Runs at most three reads at a time; a further one is refused at once, with a time to try again."""

    def __init__(self) -> None:
        self._free = threading.BoundedSemaphore(_AT_ONCE)

    def run(self, read: Callable[[], T]) -> T:
        """Read; raises HTTPException with 503 where too much is read already, or the lake cannot be read."""
        if not self._free.acquire(blocking=False):
            raise _unavailable("Other people's searches are running. Try again in a few seconds.")
        try:
            return read()
        except HTTPException:
            raise
        except Exception as error:
            # Not its message: it may quote what was read.
            logger.warning("Answers could not be read for a page: %s", type(error).__name__)
            raise _unavailable("The lake cannot be read now. Try again; the log of the monitor says more.") from None
        finally:
            self._free.release()


def _unavailable(message: str) -> HTTPException:
    return HTTPException(_UNAVAILABLE, message, {"Retry-After": _TRY_AGAIN_SECONDS})
