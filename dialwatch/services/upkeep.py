"""Background thread that maintains the lake's tables at a fixed interval, while `dialwatch up` runs."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from dialwatch.services.heartbeats import Part
from dialwatch.services.schedule import Schedule
from lake.maintenance.maintenance import LakeMaintenanceSettings, maintain
from lake.spec.service_vocabulary import ServicePart, StoreUser
from lake.tables.lake import Lake
from lake.tables.storage import is_remote
from runtime.durations import duration

logger = logging.getLogger(__name__)

_STORE_REMOVAL_SECONDS = 6 * 3600.0 - 60.0
"""A pass may begin a moment early."""


class Removals:
    """When unused files are removed: at each pass in a folder, and every six hours on a store, which is paid to look.

    Files that stay longer cost less there than looking for them.
    """

    def __init__(self, is_on_a_store: bool, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._is_on_a_store = is_on_a_store
        self._monotonic = monotonic
        self._last: float | None = None

    def are_due(self) -> bool:
        """Whether the pass that begins removes unused files."""
        now = self._monotonic()
        if self._is_on_a_store and self._last is not None and now - self._last < _STORE_REMOVAL_SECONDS:
            return False
        self._last = now
        return True


@contextmanager
def maintaining(
    settings: LakeMaintenanceSettings, lake: Lake, stop: threading.Event | None = None, part: Part | None = None
) -> Iterator[None]:
    """Maintain the tables in a thread of its own, at a fixed interval, until the block ends or `stop` is set.

    `part` notes how it goes.
    """
    stop, part = stop or threading.Event(), part or Part(ServicePart.UPKEEP)
    lake = lake.used_by(StoreUser.UPKEEP)
    if settings.every is None:
        yield
        return

    removals = Removals(is_remote(lake.root))

    def maintain_tables() -> str | None:
        removes = removals.are_due()
        failures = maintain(lake, settings, datetime.now(UTC), stop.is_set, removes_unused=removes).failures
        return f"{len(failures)} tables were not looked after" if failures else None

    with Schedule(part.watching("pass", maintain_tables), settings.every, stop, of="the upkeep"):
        logger.info("looking after the tables every %s", duration(settings.every))
        yield
