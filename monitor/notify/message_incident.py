"""The incident of a message, as one receiver knows it: whether the message says anything new of it, and what."""

from __future__ import annotations

from collections.abc import Sequence

from lake.spec.vocabulary import AlertEvent
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.alerts.incident_ids import in_order
from monitor.alerting.incidents.incident import NEWS
from monitor.alerting.incidents.state import events, state_of
from monitor.notify.group import WebhookMessage
from monitor.notify.incident_text import IncidentNote, note_of

NO_NEWS = (
    "no message of its own: it neither opens, raises or ends its incident for this receiver, nor changes its verdict"
)
_TOLD = (AlertEvent.DELIVERED, AlertEvent.GROUPED)


class MessageIncident:
    """What a receiver was told of an incident before a message, and would know after it.

    A change that a silence holds back is not part of that: to this receiver the incident opens with the first alert
    that is not silenced. Neither is one that could not be delivered, but for the end, which is sent all the same.
    """

    def __init__(self, message: WebhookMessage, changes: Sequence[AlertChange], receiver: str) -> None:
        """`changes` are those of the deployment's alerts, with what became of them on their way to receivers."""
        self._message = message
        self._every = [change for change in in_order(changes) if change.incident_id == message.incident_id]
        outcomes = (*_TOLD, AlertEvent.UNDELIVERABLE) if self._is_end else _TOLD
        known = {c.delivery_of for c in changes if c.details.receiver == receiver and c.change in outcomes}
        told = [change for change in self._every if change.change_id in known]
        self._before, self._after = state_of(told), state_of([*told, *message.changes])

    @property
    def has_news(self) -> bool:
        """Whether the message opens, raises or ends the incident for the receiver, or changes its verdict."""
        return bool(NEWS.intersection(events(self._before, self._after)))

    @property
    def contents(self) -> tuple[AlertChange, ...]:
        """The alerts that the message is about; where it ends the incident, all that the receiver knows of."""
        if not self._is_end:
            return self._message.newest
        return tuple(change for change in self._after.alerts.values() if change.change == AlertEvent.RESOLVED)

    def note(self, external_url: str) -> IncidentNote:
        """Give what to say of the incident as it is now; `external_url` is where our pages are."""
        return note_of(str(self._message.incident_id), state_of(self._every), external_url)

    @property
    def _is_end(self) -> bool:
        return self._message.changes[0].change == AlertEvent.RESOLVED
