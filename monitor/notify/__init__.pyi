from .formats.standard import webhook_body
from .deliver import Attempt, DeliveryOutcome, deliver
from .network import connections, why_internal
from .notifier import Notifier
from .settings import WebhookSettings
from .sign import signed_headers
from .send_test import send_test

__all__ = [
    "Attempt",
    "Notifier",
    "DeliveryOutcome",
    "WebhookSettings",
    "connections",
    "deliver",
    "send_test",
    "signed_headers",
    "webhook_body",
    "why_internal",
]
