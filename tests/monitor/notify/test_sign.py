from datetime import UTC, datetime, timedelta

import pytest
from pydantic import SecretStr
from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

from monitor.notify.delivery import signed_headers

BODY = '{"text": "Ünï"}'.encode()


def test_a_receiver_can_verify_what_we_sign(secret: str) -> None:
    """The library that receivers use accepts id, timestamp and signature, and the body as it was sent."""
    headers = signed_headers("change-1", datetime.now(UTC), BODY, SecretStr(secret))
    assert headers["webhook-id"] == "change-1"
    assert Webhook(secret).verify(BODY, headers) == {"text": "Ünï"}


def test_a_changed_body_another_secret_and_an_old_message_are_refused(secret: str) -> None:
    """Nobody can change a message, make one, or send an old one again."""
    now = datetime.now(UTC)
    headers = signed_headers("change-1", now, BODY, SecretStr(secret))
    other = "whsec_" + "b" * 44
    for receiver, body, sent in (
        (Webhook(secret), BODY + b" ", headers),
        (Webhook(other), BODY, headers),
        (Webhook(secret), BODY, headers | {"webhook-id": "change-2"}),
        (Webhook(secret), BODY, signed_headers("change-1", now - timedelta(hours=1), BODY, SecretStr(secret))),
    ):
        with pytest.raises(WebhookVerificationError):
            receiver.verify(body, sent)


def test_while_a_secret_is_replaced_receivers_of_both_accept_the_message(secret: str) -> None:
    """Of several secrets each signs; a stranger's does not fit."""
    new, stranger = "whsec_" + "b" * 44, "whsec_" + "c" * 44
    headers = signed_headers("change-1", datetime.now(UTC), BODY, SecretStr(f"{new}\n{secret}"))
    for known in (new, secret):
        Webhook(known).verify(BODY, headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(stranger).verify(BODY, headers)
