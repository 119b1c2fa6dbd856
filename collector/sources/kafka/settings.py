"""Settings of the Kafka source."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, model_validator

from runtime.setting import COMMON, Section, Setting


def _group_of(topics: Iterable[str]) -> str:
    return "-".join(["dialwatch", *sorted(topics)])


class KafkaSettings(Section):
    """Topics to read as a member of a consumer group."""

    bootstrap_servers: Annotated[list[str], COMMON] = Field(min_length=1)
    """List of brokers, host:port."""
    topics: Annotated[list[str], COMMON] = Field(min_length=1)
    """List of topics; they need not exist yet."""
    group_id: Annotated[str, Setting(default="dialwatch- and the topics")] = Field(
        default_factory=lambda given: _group_of(given.get("topics", ())), min_length=1
    )
    """Consumer group; the collectors in it share the partitions, by default those of the same topics. Members should
    subscribe to the same topics."""
    group_instance_id: str | None = None
    """A name for this member that stays the same over restarts: its partitions wait for it, without a rebalance."""
    session_timeout_seconds: float = Field(default=45.0, gt=0)
    """A member that is silent for so many seconds loses its partitions."""
    max_fetched_bytes: int = Field(default=64 << 20, gt=0)
    """Bytes that may be fetched and wait to become rows; then fetching pauses."""
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    """PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."""
    ssl_cafile: Annotated[str | None, Setting(default="the system's")] = None
    """File of certificates that the brokers' certificates are checked with."""
    ssl_certfile: str | None = None
    """Own certificate, if the brokers ask for one."""
    ssl_keyfile: str | None = None
    """Key of that certificate."""
    ssl_password: SecretStr | None = None
    """Password of that key."""
    ssl_check_hostname: bool = True
    """Whether a broker's certificate must name its host."""
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] | None = None
    """PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER."""
    sasl_username: str | None = None
    """Name for PLAIN and SCRAM."""
    sasl_password: SecretStr | None = None
    """Password for PLAIN and SCRAM."""
    oauth_token_url: str | None = None
    """For OAUTHBEARER: address that gives a token for the client's id and secret."""
    oauth_client_id: str | None = None
    """Id of the client, for OAUTHBEARER (OAuth 2.0, client credentials)."""
    oauth_client_secret: SecretStr | None = None
    """Secret of that client."""
    oauth_scope: str | None = None
    """Scope to ask for, if the issuer of tokens needs one."""

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
