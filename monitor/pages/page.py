"""Page: what the handlers of all pages share, with a bound on what they read of the lake at one time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TypeVar

from fastapi import Request
from starlette.exceptions import HTTPException

from monitor.access.authentication import Authentication
from monitor.pages.rendering import Renderer, reader_of
from monitor.pages.visibility import snapshot_for
from monitor.service.monitor import Monitor
from monitor.service.snapshot import Snapshot

T = TypeVar("T")
logger = logging.getLogger(__name__)

_AT_ONCE = 3
_UNAVAILABLE = 503
_TRY_AGAIN_SECONDS = "2"


class LakeReads:
    """Runs at most three reads at a time, so that pages that read never take the threads of those that do not."""

    def __init__(self) -> None:
        self._free = threading.BoundedSemaphore(_AT_ONCE)

    def run(self, read: Callable[[], T]) -> T:
        """Read; raises HTTPException with 503 where too much is read already, or the lake cannot be read.

        A further read is refused at once, with a time to try again.
        """
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


class Page:
    """Base of a page, whose methods are handlers: each answers the requests of one address.

    A handler that is no coroutine runs in a thread, and the others are answered meanwhile.
    """

    def __init__(self, monitor: Monitor, renderer: Renderer, authentication: Authentication, reads: LakeReads) -> None:
        self._monitor = monitor
        self._renderer = renderer
        self._authentication = authentication
        self._reads = reads

    def _snapshot_for(self, request: Request) -> Snapshot | None:
        """Return what the reader may see of the newest snapshot; None before the first look at the lake."""
        return snapshot_for(reader_of(request), self._monitor.snapshot)
