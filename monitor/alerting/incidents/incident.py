"""Incidents of a deployment, made of the changes of its alerts and of what people took note of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from lake.spec.alert_vocabulary import AlertVerdict, IncidentEvent, Tier
from monitor.alerting.alerts.broken_tool import what_changed
from monitor.alerting.alerts.change import AlertChange, digest
from monitor.alerting.alerts.incident_ids import in_order
from monitor.alerting.alerts.pending import recorded_at
from monitor.alerting.incidents.change import IncidentChange, IncidentDetails
from monitor.alerting.incidents.state import IncidentState, events, state_of
from monitor.detect.causes import AffectedCounts

NEWS = frozenset(
    (
        IncidentEvent.OPENED,
        IncidentEvent.RAISED,
        IncidentEvent.VERDICT_CHANGED,
        IncidentEvent.LIMIT_ADDED,
        IncidentEvent.ENDED,
    ),
)
"""What receivers are told; an acknowledgement holds until one of them."""


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """Who took note of an incident, and when."""

    who: str | None
    at: datetime
    comment: str


@dataclass(frozen=True)
class Incident:
    """The alerts of a deployment that overlap in time: from the first that fires until the last is over."""

    incident_id: str
    deployment: str
    opened_at: datetime
    """When its first alert began firing, by the times of the answers."""
    ended_at: datetime | None
    """When its last alert was resolved, which is later than quality was back; None while it is open."""
    tier: Tier
    """`page` if one of its alerts is a page."""
    verdict: AlertVerdict | None
    """What has changed; None where only limits were exceeded."""
    alerts: tuple[AlertChange, ...]
    """The newest change of each alert, in the order in which they joined."""
    changes: tuple[IncidentChange, ...]
    """All that became of it, in the order in which it was found."""
    acknowledged: Acknowledgement | None = None
    """The last one; None where it was taken back, or receivers were to be told something since."""
    fired: tuple[AlertChange, ...] = ()
    """The newest change of each alert that says that it fires."""
    recovering_since: datetime | None = None
    """Since when all that still fires recovers, by the times of the answers; None while it does not."""
    affected_now: AffectedCounts | None = None
    """Who is affected since the onset of its foremost alert and before `counted_at`; None where that is not counted."""
    counted_at: datetime | None = None

    @property
    def what_changed(self) -> str:
        """The verdict in words; where a tool alone is broken it says which."""
        return what_changed(self.verdict, self.fired, self.alerts)

    @property
    def foremost(self) -> AlertChange:
        """The alert whose sentence is that of the incident: an urgent one before a warning, and of those the first.

        Of one that is over it is its first alert.
        """
        return state_of(self.alerts).foremost or self.alerts[0]

    @property
    def back_at(self) -> datetime | None:
        """Since when all was most likely good again, by its alerts; None while it is open, and where one cannot tell.

        The last alert of each metric says it. One cannot tell where no request came any more, where a limit was
        switched off, or where a new level was accepted.
        """
        if self.ended_at is None:
            return None
        last = {one.key.metric: one for one in sorted(self.alerts, key=lambda one: one.fired_at)}
        found = [_back_at(one) for one in last.values()]
        known = [one for one in found if one is not None]
        return max(known) if len(known) == len(found) else None

    @property
    def is_quiet(self) -> bool:
        """Whether it needs no repeated notification: it is open, and somebody took note of it or it recovers."""
        return self.ended_at is None and (self.acknowledged is not None or self.recovering_since is not None)


def incidents_of(changes: Sequence[AlertChange], acknowledged: Iterable[IncidentChange] = ()) -> tuple[Incident, ...]:
    """Return the incidents of a deployment, the newest first, from the changes of its alerts.

    `acknowledged` are the rows that people made.
    """
    by_incident: dict[str, list[AlertChange]] = {}
    for change in in_order(changes):
        if change.incident_id is not None:
            by_incident.setdefault(change.incident_id, []).append(change)
    noted: dict[str, list[IncidentChange]] = {}
    for row in acknowledged:
        noted.setdefault(row.incident_id, []).append(row)
    found = [_incident(mine, noted.get(incident_id, ())) for incident_id, mine in by_incident.items()]
    return tuple(sorted(found, key=lambda one: (one.opened_at, one.incident_id), reverse=True))


def _incident(changes: Sequence[AlertChange], noted: Iterable[IncidentChange]) -> Incident:
    state, log = IncidentState(), []
    for change in changes:
        before, state = state, state.with_change(change)
        log += [_change(change, event, state) for event in events(before, state)]
    log = sorted([*log, *noted], key=lambda row: row.recorded_at)
    return Incident(
        incident_id=str(changes[0].incident_id),
        deployment=changes[0].key.deployment,
        opened_at=min(change.fired_at for change in changes),
        ended_at=None if state.is_open else max(change.changed_at for change in changes),
        tier=state.tier,
        verdict=state.verdict,
        alerts=tuple(state.alerts.values()),
        changes=tuple(log),
        acknowledged=_acknowledgement(log),
        fired=tuple(state.fired.values()),
    )


def _back_at(end: AlertChange) -> datetime | None:
    if end.is_limit:
        return end.back_at
    return None if end.ended_without_recovery else end.back_at or end.changed_at


def _change(cause: AlertChange, event: IncidentEvent, state: IncidentState) -> IncidentChange:
    incident_id = str(cause.incident_id)
    return IncidentChange(
        change_id=digest(incident_id, event, cause.change_id),
        incident_id=incident_id,
        deployment=cause.key.deployment,
        change=event,
        changed_at=cause.changed_at,
        tier=state.tier,
        verdict=state.verdict,
        alert_id=cause.alert_id,
        details=IncidentDetails(recorded_at=recorded_at(cause), metric=cause.key.metric),
    )


def _acknowledgement(log: Sequence[IncidentChange]) -> Acknowledgement | None:
    for row in reversed(log):
        if row.change in NEWS or row.change == IncidentEvent.ACKNOWLEDGEMENT_WITHDRAWN:
            return None
        if row.change == IncidentEvent.ACKNOWLEDGED:
            return Acknowledgement(row.who, row.changed_at, row.comment or "")
    return None
