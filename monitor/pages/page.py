"""Page: what the handlers of all pages share."""

from __future__ import annotations

from fastapi import Request

from monitor.access.authentication import Authentication
from monitor.pages.lake_reads import LakeReads
from monitor.pages.rendering import Renderer, reader_of
from monitor.pages.visibility import snapshot_for
from monitor.service.monitor import Monitor
from monitor.service.snapshot import Snapshot


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
