"""Background thread that maintains the lake's tables at a fixed interval, while `dialwatch up` runs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from dialwatch.services.heartbeats import Part
from dialwatch.services.schedule import Schedule
from lake import Lake, LakeMaintenanceSettings, ServicePart, maintain

logger = logging.getLogger(__name__)


@contextmanager
def maintaining(
    settings: LakeMaintenanceSettings, lake: Lake, stop: threading.Event | None = None, part: Part | None = None
) -> Iterator[None]:
    """Maintain the tables in a thread of its own, at a fixed interval, until the block ends or `stop` is set.

    `part` notes how it goes.
    """
    stop, part = stop or threading.Event(), part or Part(ServicePart.UPKEEP)
    if settings.every is None:
        yield
        return

    def maintain_tables() -> str | None:
        failures = maintain(lake, settings, datetime.now(UTC), stop.is_set).failures
        return f"{len(failures)} tables were not looked after" if failures else None

    with Schedule(part.watching("pass", maintain_tables), settings.every, stop, of="the upkeep"):
        logger.info("looking after the tables every %g s", settings.every)
        yield
