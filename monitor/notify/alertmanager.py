"""Sender of incidents to an Alertmanager, which groups, silences and routes them by itself."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

import httpcore
import msgspec

from lake.spec.vocabulary import AlertEvent
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.alerts.incident_ids import in_order
from monitor.alerting.alerts.pending import recorded_at
from monitor.alerting.alerts.store import AlertStore
from monitor.alerting.incidents.incident import Incident
from monitor.alerting.incidents.shared_cause import Callers, SharedCause, shared_causes, with_failing_callers
from monitor.notify.alertmanager_silences import AlertmanagerSilences
from monitor.notify.delivery import Attempt, DeliveryOutcome, deliver
from monitor.notify.held_by_cause import held_by_cause
from monitor.notify.posted_alert import posted_alerts
from monitor.notify.routing import RoutedAlerts, Routing
from monitor.notify.settings import WebhookSettings
from runtime.durations import duration
from runtime.outage_lines import OUTAGE

RESEND_EVERY = timedelta(minutes=1)
EXPIRES_AFTER = timedelta(hours=1)
"""How long Alertmanager takes an alert for firing that it is sent no more."""
RESOLVED_FOR = timedelta(minutes=15)
"""How long it is sent that an alert is over, as Prometheus does."""
_PATH = "/api/v2/alerts"
_RETRY = timedelta(seconds=10)
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


class AlertmanagerSender:
    """Sends every open incident to one Alertmanager, each minute until it is over, and for 15 minutes its end.

    So the Alertmanager has them again after it was away, and drops them an hour after the monitor is gone for good.
    Each change is recorded once it was accepted; what is not accepted is tried again after 10 seconds, without end.
    """

    def __init__(
        self,
        settings: WebhookSettings,
        alerts: AlertStore,
        pool: httpcore.ConnectionPool,
        external_url: str = "",
        incidents: Callable[[], Iterable[Incident]] = tuple,
        callers: Callable[[], Callers | None] = dict,
    ) -> None:
        """`incidents` gives those that are quiet or were, also those that are over.

        `callers` gives who calls which deployment; while that is not known, None, nothing is held back.
        """
        self.settings = settings
        self.gone = False
        """Never: an Alertmanager does not answer 410."""
        self.is_failing = False
        """Whether something waits for it, as it did not take the last message."""
        self.failed_attempts = 0
        """Attempts since the start that did not deliver, or could not be recorded."""
        self.problem: str | None = None
        """Why the last attempt did not deliver, or was not recorded, if so."""
        self._alerts = alerts
        self._pool = pool
        self._external_url = external_url
        self._incidents = incidents
        self._callers = callers
        self.routing = Routing(settings)
        self._silences = AlertmanagerSilences(pool, str(settings.url))
        self._sent_at: datetime | None = None
        self._paused_until: datetime | None = None

    def clock_was_set(self, by: timedelta) -> None:
        """Wait no longer and no shorter than was planned, although the clock shows another time now."""
        self._sent_at = self._sent_at and self._sent_at + by
        self._paused_until = self._paused_until and self._paused_until + by

    def run_due(self, now: datetime) -> datetime | None:
        """Send what is due and record what is new in it; returns when to send again, None while nothing fires.

        Never raises. To be called by one thread at a time.
        """
        if self._paused_until is not None and now < self._paused_until:
            return self._paused_until
        try:
            return self._run_due(now)
        except Exception as error:
            return self._pause(str(error), now)

    def _run_due(self, now: datetime) -> datetime | None:
        changes = self._alerts.changes()
        causes = shared_causes(changes, self._callers() or {}, now)
        routed = self.routing.alerts(changes, causes)
        held = self._held(changes, causes)
        pending = [one for one in self._alerts.pending(self.settings.name, now) if routed.takes(one)]
        news = [one for one in pending if one.incident_id not in held]
        sent = [
            [with_failing_callers(change, causes, self.routing.is_for) for change in mine]
            for mine in self._to_send(routed.known(changes), {change.incident_id for change in news}, now)
            if mine[0].incident_id not in held
        ]
        if not sent and not news:
            self.problem, self.is_failing = None, False
            return None
        if not news and self._sent_at is not None and now < self._sent_at + RESEND_EVERY:
            return self._sent_at + RESEND_EVERY
        # Before an end is sent, which a silence would hold back for good.
        self._update_silences(routed, now)
        attempt = post_alerts(sent, self.settings, self._pool, self._external_url, now)
        self.is_failing = attempt.outcome is not DeliveryOutcome.DELIVERED
        if self.is_failing:
            return self._pause(attempt.reason, now)
        self._sent_at = now
        self.problem = None
        for change in news:
            self._alerts.record_deliveries([change], self.settings.name, AlertEvent.DELIVERED, attempt.reason, now)
        return now + RESEND_EVERY

    def _update_silences(self, routed: RoutedAlerts, now: datetime) -> None:
        mine = routed.incidents(list(self._incidents()))
        lately = [one for one in mine if one.ended_at is None or now - _found(one) < RESOLVED_FOR]
        try:
            self._silences.update(lately, now)
        except Exception as error:  # alerts must go out all the same
            name = self.settings.name
            text, outage = "Alertmanager %s does not take silences of incidents: %s", {OUTAGE: f"webhook {name}"}
            logger.warning(text, name, error, extra=outage)

    def _held(self, changes: Sequence[AlertChange], causes: Mapping[str, SharedCause]) -> set[str | None]:
        """Give the open incidents of which nothing was sent, and that the incident of what causes them tells."""
        sent = {one.incident_id for one in changes if one.details.receiver == self.settings.name}
        firing: dict[str | None, list[AlertChange]] = {}
        for change in {one.alert_id: one for one in in_order(changes)}.values():
            if change.change == AlertEvent.FIRING and change.incident_id not in sent:
                firing.setdefault(change.incident_id, []).append(change)
        return {incident_id for incident_id, mine in firing.items() if all(held_by_cause(one, causes) for one in mine)}

    def _to_send(
        self, known: Sequence[AlertChange], news: Collection[str | None], now: datetime
    ) -> list[list[AlertChange]]:
        """Give the changes of each incident that has news, is open or was over a short time ago."""
        incidents: dict[str | None, list[AlertChange]] = {}
        for change in in_order(known):
            incidents.setdefault(change.incident_id, []).append(change)
        return [
            changes
            for incident_id, changes in incidents.items()
            if incident_id in news or _is_open(changes) or now - recorded_at(changes[-1]) < RESOLVED_FOR
        ]

    def _pause(self, reason: str, now: datetime) -> datetime:
        self.failed_attempts += 1
        self.problem = f"Alertmanager {self.settings.name}: {reason}"
        self._paused_until = now + _RETRY
        text, name = "Alertmanager %s is tried again in %s: %s", self.settings.name
        logger.warning(text, name, duration(_RETRY), reason, extra={OUTAGE: f"webhook {name}"})
        return self._paused_until


def _is_open(changes: Sequence[AlertChange]) -> bool:
    over = {change.alert_id for change in changes if change.change == AlertEvent.RESOLVED}
    return any(change.alert_id not in over for change in changes)


def _found(incident: Incident) -> datetime:
    """When the last change of an incident was found."""
    return max(recorded_at(alert) for alert in incident.alerts)
