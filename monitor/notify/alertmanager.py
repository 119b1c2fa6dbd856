"""Sender of alerts to an Alertmanager, which groups, silences and routes them by itself."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import httpcore
import msgspec

from lake import ALERT_STATES, AlertEvent, AlertVerdict, Tier
from monitor.alerts.change import AlertChange
from monitor.alerts.pending import recorded_at
from monitor.alerts.store import AlertStore
from monitor.notify.delivery import Attempt, DeliveryOutcome, deliver
from monitor.notify.formats.standard import Alert, alert_of
from monitor.notify.settings import WebhookSettings

RESEND_EVERY = timedelta(minutes=1)
EXPIRES_AFTER = timedelta(hours=1)
"""How long Alertmanager takes an alert for firing that it is sent no more."""
RESOLVED_FOR = timedelta(minutes=15)
"""How long it is sent that an alert is over, as Prometheus does."""
_PATH = "/api/v2/alerts"
_RETRY = timedelta(seconds=10)
logger = logging.getLogger(__name__)


class PostedAlert(msgspec.Struct, frozen=True, rename="camel"):
    """An alert as `POST /api/v2/alerts` takes it."""

    labels: dict[str, str]
    annotations: dict[str, str]
    starts_at: datetime
    ends_at: datetime
    generator_url: str = msgspec.field(name="generatorURL")


def post_alerts(
    changes: Sequence[AlertChange],
    settings: WebhookSettings,
    pool: httpcore.ConnectionPool,
    external_url: str,
    now: datetime,
    expires_after: timedelta = EXPIRES_AFTER,
) -> Attempt:
    """Say once of each alert, by its newest change, that it fires or that it is over.

    A firing alert ends `expires_after` from now unless it is sent again; one that is over ended when that was found.
    """
    body = msgspec.json.encode(
        [one for change in changes for one in _posted(change, external_url, now + expires_after)]
    )
    return deliver(pool, str(settings.url).rstrip("/") + _PATH, body, {}, now)


def _posted(change: AlertChange, external_url: str, unless_sent_again: datetime) -> list[PostedAlert]:
    over = recorded_at(change)
    newest = _as_posted(
        alert_of(change, external_url), unless_sent_again if change.change == AlertEvent.FIRING else over
    )
    if change.tier != Tier.PAGE or change.is_floor:
        return [newest]
    # By its labels the warning, or the page, that it was before is another alert, which is over now.
    return [newest, _as_posted(alert_of(_with_other_severity(change), external_url), over)]


def _with_other_severity(change: AlertChange) -> AlertChange:
    """Give the page as the warning that it was; where it is sent as a warning, as the page that it may have been."""
    if change.verdict == AlertVerdict.JUDGE:
        return replace(change, verdict=AlertVerdict.UNDECIDED)
    return replace(change, details=msgspec.structs.replace(change.details, tier=Tier.WARN))


def _as_posted(alert: Alert, ends_at: datetime) -> PostedAlert:
    # An end before the beginning is refused, and the beginning is an event time: it may be ahead of the clock.
    return PostedAlert(
        alert.labels, alert.annotations, alert.starts_at, max(ends_at, alert.starts_at), alert.generator_url
    )


class AlertmanagerSender:
    """Sends every alert that fires to one Alertmanager, each minute until it is over, and for 15 minutes its end.

    So the Alertmanager has them again after it was away, and drops them an hour after the monitor is gone for good.
    Each change is recorded once it was accepted; what is not accepted is tried again after 10 seconds, without end.
    """

    def __init__(
        self, settings: WebhookSettings, alerts: AlertStore, pool: httpcore.ConnectionPool, external_url: str = ""
    ) -> None:
        self.settings = settings
        self.gone = False
        """Never: an Alertmanager does not answer 410."""
        self.failed_attempts = 0
        """Attempts since the start that did not deliver, or could not be recorded."""
        self.problem: str | None = None
        """Why the last attempt did not deliver, or was not recorded, if so."""
        self._alerts = alerts
        self._pool = pool
        self._external_url = external_url
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
        news = self._alerts.pending(self.settings.name, now)
        current = self._current(now)
        if not current and not news:
            self.problem = None
            return None
        if not news and self._sent_at is not None and now < self._sent_at + RESEND_EVERY:
            return self._sent_at + RESEND_EVERY
        # What is over for long is in no state of now; where the stream fires again, that is what counts.
        streams = {change.key for change in current}
        late = {c.key: c for c in news if c.change == AlertEvent.RESOLVED and c.key not in streams}
        attempt = post_alerts([*current, *late.values()], self.settings, self._pool, self._external_url, now)
        if attempt.outcome is not DeliveryOutcome.DELIVERED:
            return self._pause(attempt.reason, now)
        self._sent_at = now
        self.problem = None
        for change in news:
            self._alerts.record_deliveries([change], self.settings.name, AlertEvent.DELIVERED, attempt.reason, now)
        return now + RESEND_EVERY

    def _current(self, now: datetime) -> list[AlertChange]:
        """The newest change of each stream, where it fires or was over a short time ago."""
        last = {c.key: c for c in self._alerts.changes() if c.change in ALERT_STATES}
        return [c for c in last.values() if c.change == AlertEvent.FIRING or now - recorded_at(c) < RESOLVED_FOR]

    def _pause(self, reason: str, now: datetime) -> datetime:
        self.failed_attempts += 1
        self.problem = f"Alertmanager {self.settings.name}: {reason}"
        self._paused_until = now + _RETRY
        logger.warning("Alertmanager %s is tried again in %s: %s", self.settings.name, _RETRY, reason)
        return self._paused_until
