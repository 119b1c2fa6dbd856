"""Tests of values that the Kafka source's settings refuse."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from collector.sources.kafka.settings import KafkaSettings

LEAST = {"bootstrap_servers": ["kafka:9092"], "topics": ["dial"]}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"security_protocol": "SASL_SSL"}, "need a sasl_mechanism"),
        ({"sasl_mechanism": "PLAIN"}, "the others take none"),
        ({"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN"}, "also needs sasl_username, sasl_password"),
        ({"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER"}, "also needs oauth_token_url"),
        ({"topics": []}, "at least 1 item"),
        ({"acks": 1}, "Extra inputs are not permitted"),
    ],
    ids=["no-mechanism", "no-sasl", "no-password", "no-token-url", "no-topic", "unknown-key"],
)
def test_settings_that_cannot_work(options: dict[str, object], message: str) -> None:
    """What cannot log in or read anything is refused at the start, with what is missing."""
    with pytest.raises(ValidationError, match=message):
        KafkaSettings.model_validate(LEAST | options)


def test_secrets_are_not_shown() -> None:
    """A printed configuration holds no password."""
    login = {"sasl_mechanism": "PLAIN", "sasl_username": "u", "sasl_password": "hush"}
    assert "hush" not in repr(KafkaSettings.model_validate(LEAST | login | {"security_protocol": "SASL_SSL"}))
