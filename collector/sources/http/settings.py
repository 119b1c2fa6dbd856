"""Settings of the HTTP source."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

from runtime.host_names import reads_hosts


class HttpSettings(BaseModel):
    """Endpoint that takes log lines, `POST /data`, and signals, `POST /signals`.

    Two commits begin at least `commit_seconds` apart; requests that come meanwhile share the next. While bodies of
    `max_waiting_bytes` in all wait for the lake, or one waits for `answer_seconds`, senders are asked to come again.
    Without a token, requests under names of other people are refused, except those in `hosts`.
    Against `max_body_bytes` count the bytes of a body, unpacked, and what its lines, items and JSON values take.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    listen: str = "127.0.0.1:8080"
    token: SecretStr | None = None
    hosts: Annotated[tuple[str, ...], BeforeValidator(reads_hosts)] = ()
    max_body_bytes: int = Field(default=64 << 20, gt=0)
    max_waiting_bytes: int = Field(default=256 << 20, gt=0)
    receive_seconds: float = Field(default=300.0, gt=0)
    commit_seconds: float = Field(default=0.5, ge=0)
    answer_seconds: float = Field(default=60.0, gt=0)
