"""The daily summary: which incidents go on, of those that a receiver knows and nobody looks after."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from lake.spec.vocabulary import AlertEvent
from monitor.alerting.alerts.change import AlertChange, digest
from monitor.alerting.incidents.incident import Incident
from monitor.alerting.incidents.state import state_of
from monitor.notify.incident_text import IncidentNote, note_of

EVERY = timedelta(days=1)
_TOLD = (AlertEvent.DELIVERED, AlertEvent.SUMMARIZED)


@dataclass(frozen=True)
class GoingOn:
    """An incident that goes on."""

    firing: AlertChange
    """What the text is about: the first alert that still fires, a page before a warning."""
    delivered: AlertChange
    """The change of it that the receiver was sent last."""
    note: IncidentNote


def incidents_that_go_on(
    incidents: Iterable[Incident],
    changes: Sequence[AlertChange],
    receiver: str,
    external_url: str,
    is_silenced: Callable[[AlertChange], bool],
    now: datetime,
) -> list[GoingOn]:
    """Give what is to be in a summary now; nothing within a day of the last one.

    An incident is in it a day after the last message of it. One that somebody took note of, that recovers or that is
    silenced is left out. `changes` are those of all alerts, with what became of them.
    """
    told = [change for change in changes if change.details.receiver == receiver and change.change in _TOLD]
    if any(one.change == AlertEvent.SUMMARIZED and now - one.changed_at < EVERY for one in told):
        return []
    last = {one.incident_id: one for one in sorted(told, key=lambda one: one.changed_at)}
    by_id = {change.change_id: change for change in changes}
    found = []
    for incident in incidents:
        message = last.get(incident.incident_id)
        delivered = by_id.get(message.delivery_of or "") if message else None
        state = state_of(incident.alerts)
        shown = state.foremost
        if message is None or delivered is None or shown is None or incident.is_quiet:
            continue
        if now - message.changed_at >= EVERY and not is_silenced(shown):
            note = note_of(incident.incident_id, state, external_url)
            found.append(GoingOn(shown, delivered, note))
    return sorted(found, key=lambda one: (not one.firing.pages, one.firing.fired_at, one.firing.key.deployment))


def summary_id(incidents: Sequence[GoingOn], receiver: str, now: datetime) -> str:
    """Give the webhook-id of a summary: the same if it is tried again on the same day."""
    return digest("summary", receiver, now.date().isoformat(), *sorted(one.note.id for one in incidents))
