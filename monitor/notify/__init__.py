"""Telling people about regressions: signed webhooks that are tried until they arrive."""

from monitor.notify.body import webhook_body
from monitor.notify.deliver import Attempt, Outcome, deliver
from monitor.notify.notifier import Notifier
from monitor.notify.settings import WebhookSettings
from monitor.notify.sign import signed_headers

__all__ = ["Attempt", "Notifier", "Outcome", "WebhookSettings", "deliver", "signed_headers", "webhook_body"]
