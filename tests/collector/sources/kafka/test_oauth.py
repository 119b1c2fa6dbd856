"""Tokens for OAUTHBEARER."""

from __future__ import annotations

import httpx
import pytest

from collector.sources.kafka.client import ClientCredentials
from collector.sources.kafka.settings import KafkaSettings

SETTINGS = KafkaSettings.model_validate(
    {
        "bootstrap_servers": ["kafka:9092"],
        "topics": ["dial"],
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "OAUTHBEARER",
        "oauth_token_url": "https://login.example/token",
        "oauth_client_id": "client",
        "oauth_client_secret": "secret",
    }
)


def client(answers: list[httpx.Response]) -> httpx.Client:
    return httpx.Client(transport=httpx.MockTransport(lambda request: answers.pop(0)))


def test_token_is_used_again_while_it_lives() -> None:
    """A token serves for most of its life, and a new one comes before its end."""
    now = 0.0
    answers = [httpx.Response(200, json={"access_token": name, "expires_in": 100}) for name in ("first", "second")]
    tokens = ClientCredentials(SETTINGS, client(answers), lambda: now)
    assert [tokens.token(), tokens.token()] == ["first", "first"]
    now = 79.0
    assert tokens.token() == "first"
    now = 81.0
    assert tokens.token() == "second"


def test_refusal_is_an_error() -> None:
    """What the token server says no with is raised, and an answer without a token is explained."""
    with pytest.raises(httpx.HTTPStatusError, match="401"):
        ClientCredentials(SETTINGS, client([httpx.Response(401)])).token()
    with pytest.raises(ValueError, match="without an access_token; check oauth_token_url"):
        ClientCredentials(SETTINGS, client([httpx.Response(200, json={"token": "x"})])).token()
