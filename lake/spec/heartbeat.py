"""Heartbeat of a part of dialwatch: a row of `_services`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from lake.spec.service_vocabulary import ServicePart, ServiceState

HEARTBEAT_SECONDS = 60.0
"""Time between two heartbeats of one process."""


@dataclass(frozen=True)
class Heartbeat:
    """State of one run of a part at one moment: a row of `_services` (see there)."""

    part: ServicePart
    host: str
    since: datetime
    heartbeat_at: datetime
    state: ServiceState
    last_success: datetime | None = None
    last_error: datetime | None = None
    error: str | None = None

    @property
    def run(self) -> tuple[str, str, datetime]:
        """Name of the run: a part that begins again is another run."""
        return self.part, self.host, self.since

    def row(self) -> dict[str, Any]:
        """Return the row."""
        return asdict(self) | {"date": self.heartbeat_at.date()}
