"""Telling people about regressions: signed webhooks that are tried until they arrive."""

from monitor.notify.body import webhook_body
from monitor.notify.deliver import Attempt, Outcome, deliver
from monitor.notify.network import connections, why_internal
from monitor.notify.notifier import Notifier
from monitor.notify.settings import WebhookSettings
from monitor.notify.sign import signed_headers
from monitor.notify.trial import send_test

__all__ = [
    "Attempt",
    "Notifier",
    "Outcome",
    "WebhookSettings",
    "connections",
    "deliver",
    "send_test",
    "signed_headers",
    "webhook_body",
    "why_internal",
]
