"""Test message, by which people see that a receiver is set up well."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta

import httpcore

from lake.spec.alert_vocabulary import AlertEvent
from monitor.alerting.alerts.change import AlertChange, AlertDetails, WorstAnswer
from monitor.detect.regression import StreamKey
from monitor.notify.alertmanager import post_alerts
from monitor.notify.channels import MailChannel, WebhookChannel
from monitor.notify.delivery import Attempt
from monitor.notify.mail import MailServer
from monitor.notify.settings import MailReceiverSettings, WebhookSettings

_LASTS = timedelta(minutes=5)


def send_test(
    webhook: WebhookSettings,
    pool: httpcore.ConnectionPool,
    external_url: str,
    now: datetime,
    installation: str | None = None,
) -> Attempt:
    """Send an alert of the deployment `dialwatch-webhook-test` once, formed and signed as the real ones.

    With `installation` as its label, by which an Alertmanager may route it.
    Nothing is recorded or tried again. To Alertmanager it is over after five minutes. Never raises for what a network
    or receiver does.
    """
    change = _alert(now, installation)
    if webhook.format == "alertmanager":
        return post_alerts([[change]], webhook, pool, external_url, now, _LASTS)
    return WebhookChannel(webhook, pool, external_url).send_alerts([change], change.change_id, now)


def send_test_mail(
    receiver: MailReceiverSettings,
    server: MailServer,
    external_url: str,
    now: datetime,
    installation: str | None = None,
) -> Attempt:
    """Mail an alert of the deployment `dialwatch-webhook-test` once, as `send_test` sends it."""
    change = _alert(now, installation)
    return MailChannel(receiver, server, external_url).send_alerts([change], change.change_id, now)


def _alert(now: datetime, installation: str | None) -> AlertChange:
    number = uuid.uuid4().hex
    return AlertChange(
        change_id=f"test-{number}",
        alert_id=number,
        key=StreamKey("dialwatch-webhook-test", "this_is_a_test", "1"),
        change=AlertEvent.FIRING,
        changed_at=now,
        since=now - timedelta(hours=3),
        reference_mean=0.9,
        current_mean=0.7,
        current_lower=0.6,
        current_upper=0.8,
        log_evidence=7.0,
        log_threshold=6.6,
        details=AlertDetails(
            fired_at=now,
            recorded_at=now,
            false_alarm_every_seconds=timedelta(days=30).total_seconds(),
            observations=100,
            worst=(WorstAnswer("no-real-answer", 0.0),),
            installation=installation,
        ),
    )
