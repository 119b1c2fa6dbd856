"""What can be set for the collector."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, field_validator

from collector.redaction import RedactionSettings
from collector.signals import SignalSettings
from collector.sources.kafka.settings import KafkaSettings
from lake import KINDS, Origin, reads_hosts


class FilesSettings(BaseModel):
    """Log files to read: paths, folders and globs, local or on an S3-like store, plain or gzip."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    paths: list[str] = Field(min_length=1)
    poll_seconds: float = Field(default=5.0, gt=0)


class HttpSettings(BaseModel):
    """Endpoint that takes log lines, `POST /data`, and signals, `POST /signals`.

    Two commits begin at least `commit_seconds` apart; requests that come meanwhile share the next. While bodies of
    `max_waiting_bytes` in all wait for the lake, or one waits for `answer_seconds`, senders are told to come again.
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


class CollectorSettings(BaseModel):
    """Sources, and how lines become rows.

    A batch is written when it holds `flush_bytes` of lines or is `flush_seconds` old. A line that comes again within
    `duplicate_window_hours` is counted and not stored. Lines of the kinds in `leave_out` are counted as filtered. The
    response as Core logged it, most of a line's bytes, is stored only with `keep_raw_response`. What the requests of a
    project are, unless production, `project_origins` says. The collector's own metrics are at `/metrics` of the HTTP
    source, and at `metrics_listen`, for one without it. Of deployments that the lake does not have at most
    `new_deployments_per_hour` are taken up.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    files: FilesSettings | None = None
    http: HttpSettings | None = None
    kafka: KafkaSettings | None = None
    signals: SignalSettings = SignalSettings()
    redaction: RedactionSettings = RedactionSettings()
    flush_bytes: int = Field(default=64 << 20, gt=0)
    flush_seconds: float = Field(default=30.0, gt=0)
    duplicate_window_hours: float = Field(default=48.0, ge=0)
    leave_out: frozenset[str] = frozenset()
    project_origins: dict[str, Origin] = Field(default_factory=dict)
    keep_raw_response: bool = False
    metrics_listen: str | None = None
    new_deployments_per_hour: int = Field(default=5000, ge=0)

    @field_validator("leave_out")
    @classmethod
    def _are_kinds(cls, kinds: frozenset[str]) -> frozenset[str]:
        unknown = sorted(kinds.difference(KINDS))
        if unknown:
            raise ValueError(f"no kind of request is called {', '.join(unknown)}; the kinds are {', '.join(KINDS)}")
        return kinds
