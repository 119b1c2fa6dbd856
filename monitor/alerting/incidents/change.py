"""The change of an incident, and its row in the table `incidents`."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

import msgspec

from lake.spec.alert_vocabulary import AlertVerdict, IncidentEvent, Tier


class IncidentDetails(msgspec.Struct, frozen=True, omit_defaults=True):
    """What `incidents.details` holds."""

    recorded_at: datetime | None = None
    """When the change was found, by the clock."""
    metric: str | None = None
    """Of the alert whose change it was."""


@dataclass(frozen=True, slots=True)
class IncidentChange:
    """One row of `incidents`; its columns are described there."""

    change_id: str
    incident_id: str
    deployment: str
    change: IncidentEvent
    changed_at: datetime
    tier: Tier | None = None
    """After the change, like `verdict`."""
    verdict: AlertVerdict | None = None
    alert_id: str | None = None
    who: str | None = None
    comment: str | None = None
    details: IncidentDetails = field(default_factory=IncidentDetails)

    @property
    def recorded_at(self) -> datetime:
        """When it was found, by the clock; where that is not known, when it happened."""
        return self.details.recorded_at or self.changed_at


_SAME_COLUMNS = [column.name for column in fields(IncidentChange) if column.name != "details"]
INCIDENT_COLUMNS = tuple(_SAME_COLUMNS)
"""What is read of the table: `details` follow from alerts."""


def to_row(change: IncidentChange) -> dict[str, Any]:
    """Return the change as a row of `incidents`."""
    row = {name: getattr(change, name) for name in _SAME_COLUMNS}
    return row | {"details": msgspec.json.encode(change.details).decode()}


def from_row(row: dict[str, Any]) -> IncidentChange:
    """Read a row of INCIDENT_COLUMNS, without details."""
    return IncidentChange(**{name: row[name] for name in _SAME_COLUMNS})
