"""The signature by which a receiver knows that a webhook is ours and new."""

from __future__ import annotations

from datetime import datetime

from pydantic import SecretStr
from standardwebhooks import Webhook


def signed_headers(message_id: str, at: datetime, body: bytes, secret: SecretStr) -> dict[str, str]:
    """Give the headers of the Standard Webhooks specification: id, timestamp in seconds, signature.

    The id is the same whenever a message is sent again; timestamp and signature are those of the attempt.
    """
    signature = Webhook(secret.get_secret_value()).sign(message_id, at, body.decode())
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": signature,
    }
