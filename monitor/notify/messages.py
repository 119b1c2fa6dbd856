"""The stages that group and drop: changes of an incident become messages, and those that are no news are dropped."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from lake.spec.alert_vocabulary import AlertEvent
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.alerts.incident_ids import in_order
from monitor.alerting.alerts.pending import recorded_at
from monitor.alerting.incidents.incident import NEWS
from monitor.alerting.incidents.state import events, state_of
from monitor.notify.texts.incident import IncidentNote, note_of

NO_NEWS = (
    "no message of its own: it neither opens, raises or ends its incident for this receiver, nor changes its verdict"
)
_TOLD = (AlertEvent.DELIVERED, AlertEvent.GROUPED)


@dataclass(frozen=True)
class WebhookMessage:
    """Changes of one incident, all `firing` or all `resolved`, of regressions or of limits; at least one."""

    changes: tuple[AlertChange, ...]
    ready_at: datetime
    """When it may be sent: nothing can join it any more."""

    @property
    def newest(self) -> tuple[AlertChange, ...]:
        """The last change of each alert: the contents of the message."""
        return tuple({change.alert_id: change for change in self.changes}.values())

    @property
    def deployment(self) -> str:
        """The deployment that its alerts are of."""
        return self.changes[0].key.deployment

    @property
    def incident_id(self) -> str | None:
        """The incident that its alerts belong to."""
        return self.changes[0].incident_id

    @property
    def message_id(self) -> str:
        """The webhook-id: the change's id, or a digest of the ids where there are several."""
        ids = [change.change_id for change in self.changes]
        return ids[0] if len(ids) == 1 else hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest()[:32]


def messages(changes: Sequence[AlertChange], window: timedelta) -> list[WebhookMessage]:
    """Group changes: those of one incident and kind that were recorded within `window` of the first are a message.

    The window is [first, first + window), by the clock, and holds the first's own instant also where `window` is 0;
    the message is ready when it has passed. Messages come in the order of their first changes. What is settled leaves
    whole messages out, so that the others, and their ids, are the same after a restart.
    """
    groups: list[list[AlertChange]] = []
    open_groups: dict[tuple[str, str | None, str, bool], list[AlertChange]] = {}
    for change in sorted(changes, key=lambda change: (recorded_at(change), change.changed_at, change.change_id)):
        of = (change.key.deployment, change.incident_id, change.change, change.is_limit)
        group = open_groups.get(of)
        if group is not None and _belongs(change, group[0], window):
            group.append(change)
        else:
            open_groups[of] = [change]
            groups.append(open_groups[of])
    return [WebhookMessage(tuple(group), recorded_at(group[0]) + window) for group in groups]


def _belongs(change: AlertChange, first: AlertChange, window: timedelta) -> bool:
    after = recorded_at(change) - recorded_at(first)
    return after < window or not after


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
        """Return what to say of the incident as it is now; `external_url` is where our pages are."""
        return note_of(str(self._message.incident_id), state_of(self._every), external_url)

    @property
    def _is_end(self) -> bool:
        return self._message.changes[0].change == AlertEvent.RESOLVED
