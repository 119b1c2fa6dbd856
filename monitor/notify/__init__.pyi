from .delivery import Attempt, DeliveryOutcome, deliver
from .formats.standard import webhook_body
from .network import connections, why_internal
from .notifier import Notifier
from .receiver_check import send_test
from .routing import Routing
from .settings import WebhookSettings
from .sign import signed_headers

__all__ = [
    "Attempt",
    "DeliveryOutcome",
    "Notifier",
    "Routing",
    "WebhookSettings",
    "connections",
    "deliver",
    "send_test",
    "signed_headers",
    "webhook_body",
    "why_internal",
]
