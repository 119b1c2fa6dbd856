"""The webhook receiver of the demo."""

import base64
import json
from datetime import UTC, datetime
from http.client import HTTPConnection
from urllib.parse import urlsplit

import httpx
import pytest
from standardwebhooks import Webhook

from dialwatch.demo.receiver import Delivery, WebhookReceiver

SECRET = "whsec_" + base64.b64encode(b"a secret of the demo, 32 bytes..").decode()
BODY = json.dumps({"status": "firing", "alerts": []})


def signed(body: str, secret: str = SECRET, webhook_id: str = "change-1") -> dict[str, str]:
    now = datetime.now(UTC)
    return {
        "webhook-id": webhook_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(secret).sign(webhook_id, now, body),
    }


def test_signed_webhook_is_kept_and_handed_over() -> None:
    """A webhook with a good signature is answered with success, kept, and handed to the callback at once."""
    handed: list[Delivery] = []
    with WebhookReceiver(SECRET, handed.append) as receiver:
        status = httpx.post(receiver.url, content=BODY, headers=signed(BODY), timeout=60).status_code
    assert status == 204
    assert receiver.received == handed == [Delivery("change-1", True, json.loads(BODY))]


@pytest.mark.parametrize(
    ("headers", "content"),
    [
        (signed(BODY, "whsec_" + base64.b64encode(b"of someone else").decode()), BODY),
        (signed(BODY), BODY.replace("firing", "resolved")),
        (signed(BODY) | {"webhook-timestamp": "1000"}, BODY),
        (signed(BODY) | {"webhook-signature": "nonsense"}, BODY),
        (signed("no json"), "no json"),
        (signed("[1]"), "[1]"),
        ({}, BODY),
    ],
    ids=["other secret", "changed body", "old", "odd signature", "no JSON", "no object", "unsigned"],
)
def test_unverified_webhook_is_refused(headers: dict[str, str], content: str) -> None:
    """A webhook that cannot be verified is answered with 401 and kept without its body."""
    with WebhookReceiver(SECRET) as receiver:
        status = httpx.post(receiver.url, content=content, headers=headers, timeout=60).status_code
    assert status == 401
    assert receiver.received == [Delivery(headers.get("webhook-id", ""), False, {})]


def test_oversized_webhook_is_not_read() -> None:
    """A body that claims to be too long is refused before it is read."""
    with WebhookReceiver(SECRET) as receiver:
        connection = HTTPConnection(urlsplit(receiver.url).netloc, timeout=60)
        connection.putrequest("POST", "/webhook")
        connection.putheader("content-length", "1000001")
        connection.endheaders()
        assert connection.getresponse().status == 413
        connection.close()
    assert not receiver.received
