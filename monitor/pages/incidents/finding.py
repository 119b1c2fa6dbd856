"""Finding of incidents among the deployments that a reader may see, and the rows of their list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from lake.spec.alert_vocabulary import AlertEvent
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.incidents.incident import Incident
from monitor.notify.texts.onset import incident_onset
from monitor.service.snapshot import DeploymentState, Snapshot
from runtime.durations import duration

LISTED = timedelta(days=30)
"""How long an incident is listed after its end."""


@dataclass(frozen=True)
class FoundIncident:
    """An incident in a snapshot."""

    incident: Incident
    snapshot: Snapshot
    """What its reader may see."""

    @property
    def state(self) -> DeploymentState:
        """That of the deployment."""
        return self.snapshot.deployments[self.name]

    @property
    def now(self) -> datetime:
        """The time that the pages are of."""
        return self.snapshot.taken_at

    @property
    def name(self) -> str:
        """Name of the deployment, as the pages show it."""
        return self.incident.deployment

    @property
    def is_open(self) -> bool:
        """Whether one of its alerts still fires."""
        return self.incident.ended_at is None

    @property
    def since(self) -> datetime:
        """When it began, as exact as it is known."""
        return incident_onset(self.incident)

    @property
    def back_at(self) -> datetime | None:
        """When quality was most likely back; None while it is open, and where nobody can tell."""
        return self.incident.back_at

    @property
    def silent_since(self) -> datetime | None:
        """When the last request came, of one that is open; None where requests come, and where the silence is of it."""
        silent = self.state.silent_since if self.is_open else None
        return silent if silent is not None and silent > self.since else None

    @property
    def until(self) -> datetime:
        """Until when it was bad, as far as that is known: else until its last alert was closed, or until now."""
        return self.back_at or self.incident.ended_at or self.now

    @property
    def went_on(self) -> timedelta:
        """From `since` to `until`."""
        return max(self.until - self.since, timedelta(0))

    @property
    def bad_for(self) -> str:
        """How long it was bad, in the words of messages."""
        return duration(self.went_on)

    @property
    def lasted(self) -> timedelta:
        """From its first alert until its end, or until now."""
        return (self.incident.ended_at or self.now) - self.incident.opened_at

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metrics and limits of its alerts: those that still fire first, then in the order in which they joined."""
        alerts = sorted(self.incident.alerts, key=lambda one: one.change != AlertEvent.FIRING)
        return tuple(dict.fromkeys(one.key.metric for one in alerts))

    @property
    def firing(self) -> tuple[AlertChange, ...]:
        """Its alerts that still fire."""
        return tuple(one for one in self.incident.alerts if one.change == AlertEvent.FIRING)


def incident_of(snapshot: Snapshot | None, incident_id: str) -> FoundIncident | None:
    """Return the incident with an id; None where there is none, or its deployment is not in the snapshot."""
    return next((one for one in _every(snapshot) if one.incident.incident_id == incident_id), None)


def listed_incidents(snapshot: Snapshot | None) -> Sequence[FoundIncident]:
    """Return the open incidents, the newest first, then those that ended within the last 30 days."""
    found = [one for one in _every(snapshot) if one.is_open or one.now - (one.incident.ended_at or one.now) <= LISTED]
    newest_first = sorted(found, key=lambda one: one.incident.opened_at, reverse=True)
    return sorted(newest_first, key=lambda one: not one.is_open)


def earlier_incidents(found: FoundIncident) -> Sequence[FoundIncident]:
    """Return the incidents of the same deployment that opened before, the latest first."""
    mine = found.incident
    others = (one for one in found.state.incidents if one.incident_id != mine.incident_id)
    return [FoundIncident(one, found.snapshot) for one in others if one.opened_at <= mine.opened_at]


def other_open_incidents(found: FoundIncident) -> Sequence[FoundIncident]:
    """Return the incidents that are open in other deployments, the newest first."""
    return [one for one in listed_incidents(found.snapshot) if one.is_open and one.name != found.name]


def _every(snapshot: Snapshot | None) -> Iterator[FoundIncident]:
    if snapshot is not None:
        yield from (FoundIncident(one, snapshot) for state in snapshot.deployments.values() for one in state.incidents)
