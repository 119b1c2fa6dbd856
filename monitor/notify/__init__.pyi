from .delivery import Attempt, DeliveryOutcome, deliver, signed_headers
from .formats.standard import webhook_body
from .mail import MailServer
from .network import connections, why_internal
from .notifier import Notifier
from .receiver_check import send_test, send_test_mail
from .routing import Routing
from .settings import MailSettings, ReceiverSettings, WebhookSettings
from .view import NotificationView

__all__ = [
    "Attempt",
    "DeliveryOutcome",
    "MailServer",
    "MailSettings",
    "NotificationView",
    "Notifier",
    "ReceiverSettings",
    "Routing",
    "WebhookSettings",
    "connections",
    "deliver",
    "send_test",
    "send_test_mail",
    "signed_headers",
    "webhook_body",
    "why_internal",
]
