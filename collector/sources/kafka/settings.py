"""Settings of the Kafka source."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator


def _group_of(topics: Iterable[str]) -> str:
    return "-".join(["dialwatch", *sorted(topics)])


class KafkaSettings(BaseModel):
    """Topics to read as a member of a consumer group.

    Collectors with the same `group_id` share the partitions; by default those of the same topics do. One with a
    `group_instance_id`, a name of its own that outlives restarts, gets its partitions back without a rebalance. No more
    than `max_fetched_bytes` of values wait to become rows. A member that is silent for `session_timeout_seconds` loses
    its partitions.

    `sasl_mechanism` PLAIN and SCRAM take a username and a password. OAUTHBEARER takes a token from
    `oauth_token_url` for a client id and secret (OAuth 2.0, client credentials).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    bootstrap_servers: list[str] = Field(min_length=1)
    topics: list[str] = Field(min_length=1)
    group_id: str = Field(default_factory=lambda given: _group_of(given.get("topics", ())), min_length=1)
    group_instance_id: str | None = None
    session_timeout_seconds: float = Field(default=45.0, gt=0)
    max_fetched_bytes: int = Field(default=64 << 20, gt=0)
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    ssl_cafile: str | None = None
    ssl_certfile: str | None = None
    ssl_keyfile: str | None = None
    ssl_password: SecretStr | None = None
    ssl_check_hostname: bool = True
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] | None = None
    sasl_username: str | None = None
    sasl_password: SecretStr | None = None
    oauth_token_url: str | None = None
    oauth_client_id: str | None = None
    oauth_client_secret: SecretStr | None = None
    oauth_scope: str | None = None

    @model_validator(mode="after")
    def _can_log_in(self) -> Self:
        if self.security_protocol.startswith("SASL") != (self.sasl_mechanism is not None):
            raise ValueError(
                f"security_protocol is {self.security_protocol} and sasl_mechanism is {self.sasl_mechanism}: "
                "SASL_PLAINTEXT and SASL_SSL need a sasl_mechanism, and the others take none"
            )
        missing = [name for name in self._credentials() if getattr(self, name) is None]
        if missing:
            raise ValueError(f"sasl_mechanism {self.sasl_mechanism} also needs {', '.join(missing)}")
        return self

    def _credentials(self) -> tuple[str, ...]:
        if self.sasl_mechanism is None:
            return ()
        if self.sasl_mechanism == "OAUTHBEARER":
            return ("oauth_token_url", "oauth_client_id", "oauth_client_secret")
        return ("sasl_username", "sasl_password")
