"""Signature of a webhook, by which its receiver knows that it is ours and new."""

from __future__ import annotations

from datetime import datetime

from pydantic import SecretStr
from standardwebhooks import Webhook


def signed_headers(message_id: str, at: datetime, body: bytes, secret: SecretStr | None) -> dict[str, str]:
    """Give the headers of the Standard Webhooks specification: id, timestamp in seconds, signature.

    `secret` holds one or several, separated by white space: each signs, and a receiver accepts the message if it
    knows any of them. None gives no signature. The id is the same whenever a message is sent again; timestamp and
    signature are those of the attempt.
    """
    headers = {"webhook-id": message_id, "webhook-timestamp": str(int(at.timestamp()))}
    if secret is not None:
        signatures = [Webhook(one).sign(message_id, at, body.decode()) for one in secret.get_secret_value().split()]
        headers["webhook-signature"] = " ".join(signatures)
    return headers
