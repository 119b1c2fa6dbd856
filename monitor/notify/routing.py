"""The first stage, which routes: the alerts that are a receiver's, by the globs of its `deployments`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fnmatch import fnmatchcase

from lake.spec.alert_vocabulary import ALERT_STATES, AlertEvent
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.alerts.store import AlertStore
from monitor.alerting.incidents.incident import Incident
from monitor.alerting.incidents.shared_cause import SharedCause, shared_causes
from monitor.detect.limits import FAILURES
from monitor.notify.settings import ReceiverSettings
from monitor.notify.view import NotificationView

_TOLD = (AlertEvent.DELIVERED, AlertEvent.GROUPED, AlertEvent.UNDELIVERABLE)


@dataclass(frozen=True)
class RoutedAlerts:
    """The alerts that a receiver gets, by alert_id."""

    own: frozenset[str]
    """Those that it is for now."""
    told: frozenset[str]
    """Those of which it was told, also where it is not for them any more: it is told their end."""

    def takes(self, change: AlertChange) -> bool:
        """Whether the change is to be sent to the receiver."""
        is_end = change.change == AlertEvent.RESOLVED
        return change.alert_id in self.own or (is_end and change.alert_id in self.told)

    def known(self, changes: Sequence[AlertChange]) -> list[AlertChange]:
        """Return the changes of alerts of which the receiver may know; a message says nothing of others."""
        return [change for change in changes if change.alert_id in self.own or change.alert_id in self.told]

    def incidents(self, incidents: Sequence[Incident]) -> list[Incident]:
        """Return the incidents that have alerts of the receiver's, each with these alone."""
        mine = [(one, tuple(alert for alert in one.alerts if alert.alert_id in self.own)) for one in incidents]
        return [replace(one, alerts=alerts) for one, alerts in mine if alerts]


@dataclass(frozen=True)
class Routed:
    """What a receiver is to be told by one view, as the first stage found it: what the other stages work on."""

    receiver: str
    view: NotificationView
    now: datetime
    changes: Sequence[AlertChange]
    """Those of all alerts, also of others, with what became of them on their way to receivers."""
    causes: Mapping[str, SharedCause]
    mine: RoutedAlerts

    def pending(self, alerts: AlertStore) -> list[AlertChange]:
        """Return the changes that are still to be sent to the receiver, by the rows that are there by now."""
        return [change for change in alerts.pending(self.receiver, self.now) if self.mine.takes(change)]


class Routing:
    """The deployments that a receiver is for."""

    def __init__(self, settings: ReceiverSettings) -> None:
        self._receiver = settings.name
        self._globs = settings.deployments

    def is_for(self, deployment: str) -> bool:
        """Whether one of the globs matches the whole name; upper and lower case differ."""
        return any(fnmatchcase(deployment, glob) for glob in self._globs)

    def route(self, changes: Sequence[AlertChange], view: NotificationView, now: datetime) -> Routed:
        """Return what is the receiver's of the changes of all alerts."""
        causes = shared_causes(changes, view.callers or {}, now, view.fails_since)
        return Routed(self._receiver, view, now, changes, causes, self.alerts(changes, causes))

    def alerts(self, changes: Sequence[AlertChange], causes: Mapping[str, SharedCause]) -> RoutedAlerts:
        """Return the receiver's alerts, from the changes of all alerts.

        Beside those of its deployments these are the failures of what its deployments call and fail by, as their own
        messages are held back for it, and the one that stands for all deployments where all are silent.
        """
        own = {change.alert_id for change in changes if change.change in ALERT_STATES and self._is_own(change, causes)}
        told = {c.alert_id for c in changes if c.details.receiver == self._receiver and c.change in _TOLD}
        return RoutedAlerts(frozenset(own), frozenset(told))

    def _is_own(self, change: AlertChange, causes: Mapping[str, SharedCause]) -> bool:
        if self.is_for(change.key.deployment) or is_of_all(change):
            return True
        cause = causes.get(change.key.deployment)
        is_failure = change.is_limit and change.key.metric in FAILURES
        return is_failure and cause is not None and any(self.is_for(one) for one in cause.held)


def is_of_all(change: AlertChange) -> bool:
    """Whether the alert stands for all deployments: nobody hears of any."""
    return change.details.exceeded is not None and change.details.exceeded.all_silent
