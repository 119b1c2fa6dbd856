"""The daily summary: which incidents go on, of those that a receiver knows and nobody looks after."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from lake.spec.alert_vocabulary import AlertEvent
from monitor.alerting.alerts.change import AlertChange, digest
from monitor.alerting.alerts.store import AlertStore
from monitor.alerting.incidents.incident import Incident
from monitor.alerting.incidents.state import state_of
from monitor.notify.channels import Channel
from monitor.notify.delivery import Attempt, DeliveryOutcome
from monitor.notify.holding import is_silenced
from monitor.notify.incident_text import IncidentNote, note_of
from monitor.notify.routing import Routed

_EVERY = timedelta(days=1)
_RETRY = timedelta(hours=1)
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
    """Return what is to be in a summary now; nothing within a day of the last one.

    An incident is in it a day after the last message of it. One that somebody took note of, that recovers or that is
    silenced is left out. `changes` are those of all alerts, with what became of them.
    """
    told = [change for change in changes if change.details.receiver == receiver and change.change in _TOLD]
    if any(one.change == AlertEvent.SUMMARIZED and now - one.changed_at < _EVERY for one in told):
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
        if now - message.changed_at >= _EVERY and not is_silenced(shown):
            note = note_of(incident.incident_id, state, external_url)
            found.append(GoingOn(shown, delivered, note))
    return sorted(found, key=lambda one: (not one.firing.pages, one.firing.fired_at, one.firing.key.deployment))


def summary_id(incidents: Sequence[GoingOn], receiver: str, now: datetime) -> str:
    """Return the webhook-id of a summary: the same if it is tried again on the same day."""
    return digest("summary", receiver, now.date().isoformat(), *sorted(one.note.id for one in incidents))


class DailySummary:
    """Sends the summary of the day to one receiver; what fails is tried again an hour later."""

    def __init__(self, channel: Channel, alerts: AlertStore, external_url: str) -> None:
        self.problem: str | None = None
        """Why the last one was not delivered, if so."""
        self._channel = channel
        self._alerts = alerts
        self._external_url = external_url
        self._due = datetime(1970, 1, 1, tzinfo=UTC)

    def clock_was_set(self, by: timedelta) -> None:
        """Wait as long as was planned, although the clock shows another time now."""
        self._due += by

    def send_due(self, routed: Routed) -> Attempt | None:
        """Send it if it is due and has anything in it, and record it; returns what came of that, None for no attempt.

        Raises what a format or the lake raises.
        """
        if routed.now < self._due:
            return None
        name, url, now = self._channel.settings.name, self._external_url, routed.now
        mine = routed.mine.incidents(routed.view.open_incidents)
        is_held = partial(is_silenced, routed=routed)
        found = incidents_that_go_on(mine, self._alerts.changes(), name, url, is_held, now)
        if not found:
            return None
        shown = [(one.firing, one.note) for one in found]
        attempt = self._channel.send_summary(shown, summary_id(found, name, now), now)
        is_delivered = attempt.outcome is DeliveryOutcome.DELIVERED
        self.problem = (
            None if is_delivered else f"{self._channel.kind} {name}: the summary of the day: {attempt.reason}"
        )
        # Also where a row cannot be written: a summary more is worse than one less.
        self._due = now + (_EVERY if is_delivered else _RETRY)
        for one in found if is_delivered else ():
            self._alerts.record_summary([one.delivered], name, now)
        return attempt
