from .delivery import Attempt, DeliveryOutcome, deliver, signed_headers
from .formats.standard import webhook_body
from .network import connections, why_internal
from .notifier import Notifier
from .receiver_check import send_test
from .routing import Routing
from .settings import WebhookSettings
from .view import NotificationView

__all__ = [
    "Attempt",
    "DeliveryOutcome",
    "NotificationView",
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
