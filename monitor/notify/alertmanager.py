"""Sender of incidents to an Alertmanager, which groups, silences and routes them by itself."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import httpcore
import msgspec

from lake.spec.alert_vocabulary import AlertEvent
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.alerts.incident_ids import in_order
from monitor.alerting.alerts.pending import recorded_at
from monitor.alerting.alerts.store import AlertStore
from monitor.alerting.incidents.incident import Incident
from monitor.alerting.incidents.shared_cause import with_failing_callers
from monitor.alerting.incidents.state import state_of
from monitor.notify.alertmanager_silences import AlertmanagerSilences
from monitor.notify.delivery import Attempt, DeliveryOutcome, deliver
from monitor.notify.holding import incidents_told_by_cause
from monitor.notify.posted_alert import posted_alerts
from monitor.notify.receiver import Receiver
from monitor.notify.routing import Routed
from monitor.notify.settings import WebhookSettings
from monitor.notify.view import NotificationView
from runtime.outage_lines import OUTAGE

RESEND_EVERY = timedelta(minutes=1)
EXPIRES_AFTER = timedelta(hours=1)
"""How long Alertmanager takes an alert for firing that it is sent no more."""
RESOLVED_FOR = timedelta(minutes=15)
"""How long it is sent that an alert is over, as Prometheus does."""
_PATH = "/api/v2/alerts"
logger = logging.getLogger(__name__)


def post_alerts(
    incidents: Iterable[Sequence[AlertChange]],
    settings: WebhookSettings,
    pool: httpcore.ConnectionPool,
    external_url: str,
    now: datetime,
    expires_after: timedelta = EXPIRES_AFTER,
) -> Attempt:
    """Say once of each incident, by the changes of its alerts, that it is open or that it is over.

    An open one ends `expires_after` from now unless it is sent again; one that is over ended when that was found.
    """
    posted = [one for changes in incidents for one in posted_alerts(changes, external_url, now + expires_after)]
    return deliver(pool, str(settings.url).rstrip("/") + _PATH, msgspec.json.encode(posted), {}, now)


class AlertmanagerSender(Receiver):
    """Sends every open incident to one Alertmanager, each minute until it is over, and for 15 minutes its end.

    So the Alertmanager has them again after it was away, and drops them an hour after the monitor is gone for good.
    Each change is recorded once it was accepted; what is not accepted is tried again after 10 seconds, without end.
    It never answers 410.
    """

    kind = "Alertmanager"
    settings: WebhookSettings
    pause = timedelta(seconds=10)

    def __init__(
        self, settings: WebhookSettings, alerts: AlertStore, pool: httpcore.ConnectionPool, external_url: str = ""
    ) -> None:
        super().__init__(settings, alerts, external_url)
        self._pool = pool
        self._silences = AlertmanagerSilences(pool, str(settings.url))
        self._sent_at: datetime | None = None

    def run_due(self, view: NotificationView, now: datetime) -> datetime | None:
        """Send what is due, but nothing while the Alertmanager is left alone; None while nothing fires."""
        return self._rests_until(now) or super().run_due(view, now)

    def clock_was_set(self, by: timedelta) -> None:
        """Wait no longer and no shorter than was planned, although the clock shows another time now."""
        super().clock_was_set(by)
        self._sent_at = self._sent_at and self._sent_at + by

    def _send_due(self, routed: Routed) -> datetime | None:
        now, name = routed.now, self.settings.name
        held = incidents_told_by_cause(routed)
        news = [one for one in routed.pending(self._alerts) if one.incident_id not in held]
        incidents = by_incident(routed.mine.known(routed.changes))
        told = _worth_telling(incidents, {change.incident_id for change in news}, now)
        sent = [self._contents(mine, routed) for incident_id, mine in told.items() if incident_id not in held]
        if not sent and not news:
            self.problem, self.is_failing = None, False
            return None
        if not news and self._sent_at is not None and now < self._sent_at + RESEND_EVERY:
            return self._sent_at + RESEND_EVERY
        # Before an end is sent, which a silence would hold back for good.
        self._update_silences(routed)
        attempt = post_alerts(sent, self.settings, self._pool, self._external_url, now)
        self.is_failing = attempt.outcome is not DeliveryOutcome.DELIVERED
        if self.is_failing:
            return self._pause(attempt.reason, now)
        self._sent_at = now
        self.problem = None
        for change in news:
            self._alerts.record_deliveries([change], name, AlertEvent.DELIVERED, attempt.reason, now)
        return now + RESEND_EVERY

    def _contents(self, changes: Sequence[AlertChange], routed: Routed) -> list[AlertChange]:
        return [with_failing_callers(change, routed.causes, self.routing.is_for) for change in changes]

    def _update_silences(self, routed: Routed) -> None:
        incidents, now = by_incident(routed.changes), routed.now
        known = [_told_since(one, incidents.get(one.incident_id, ())) for one in routed.view.once_quiet_incidents]
        mine = routed.mine.incidents(known)
        lately = [one for one in mine if one.ended_at is None or now - _found(one) < RESOLVED_FOR]
        try:
            self._silences.update(lately, now)
        except Exception as error:  # alerts must go out all the same
            name = self.settings.name
            text, outage = "Alertmanager %s does not take silences of incidents: %s", {OUTAGE: f"webhook {name}"}
            logger.warning(text, name, error, extra=outage)


def by_incident(changes: Sequence[AlertChange]) -> dict[str | None, list[AlertChange]]:
    """Group the changes that begin or end alerts by their incidents, each in their order."""
    incidents: dict[str | None, list[AlertChange]] = {}
    for change in in_order(changes):
        incidents.setdefault(change.incident_id, []).append(change)
    return incidents


def _worth_telling(
    incidents: Mapping[str | None, list[AlertChange]], news: Collection[str | None], now: datetime
) -> dict[str | None, list[AlertChange]]:
    """Return the incidents that have news, are open or were over a short time ago, each with its changes."""
    return {
        incident_id: changes
        for incident_id, changes in incidents.items()
        if incident_id in news or _is_open(changes) or now - recorded_at(changes[-1]) < RESOLVED_FOR
    }


def _told_since(incident: Incident, changes: Sequence[AlertChange]) -> Incident:
    """Return an incident of a view as not quiet where the changes of its alerts, maybe newer, say what is news."""
    state = state_of(changes)
    is_same = (state.is_open, state.tier, state.verdict) == (True, incident.tier, incident.verdict)
    return incident if is_same or not changes else replace(incident, acknowledged=None, recovering_since=None)


def _is_open(changes: Sequence[AlertChange]) -> bool:
    over = {change.alert_id for change in changes if change.change == AlertEvent.RESOLVED}
    return any(change.alert_id not in over for change in changes)


def _found(incident: Incident) -> datetime:
    """When the last change of an incident was found."""
    return max(recorded_at(alert) for alert in incident.alerts)
