"""Recovery of incidents: an open one recovers while each of its alerts that still fire does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from lake.spec.alert_vocabulary import AlertEvent
from monitor.alerting.incidents.incident import Incident
from monitor.detect.regression import Reading, StreamKey


def with_recovery(incidents: Iterable[Incident], readings: Mapping[StreamKey, Reading]) -> tuple[Incident, ...]:
    """Say of each incident since when all that still fires recovers; limits do not recover, they are over or not."""
    return tuple(replace(one, recovering_since=_recovering_since(one, readings)) for one in incidents)


def _recovering_since(incident: Incident, readings: Mapping[StreamKey, Reading]) -> datetime | None:
    firing = [one for one in incident.alerts if one.change == AlertEvent.FIRING]
    found = [reading.recovering_since if (reading := readings.get(one.key)) else None for one in firing]
    since = [at for at in found if at is not None]
    return max(since) if since and len(since) == len(firing) else None
