"""Settings of the HTTP source."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, SecretStr

from runtime.host_names import reads_hosts
from runtime.setting import COMMON, Section


class HttpSettings(Section):
    """Endpoint that takes log lines, `POST /data`, signals, `POST /signals`, and scores, `POST /scores`."""

    listen: Annotated[str, COMMON] = "127.0.0.1:8080"
    """Host:port of `POST /data`, `POST /signals` and `POST /scores`."""
    token: Annotated[SecretStr | None, COMMON] = None
    """Token that senders must send: `Authorization: Bearer ...`."""
    hosts: Annotated[tuple[str, ...], BeforeValidator(reads_hosts)] = ()
    """Names, one or a list, under which senders without a token may reach it, see
    [collector.md](collector.md#the-http-endpoint)."""
    max_body_bytes: int = Field(default=64 << 20, gt=0)
    """A body that is larger when unpacked is refused with 413. So is one whose lines or items (500 bytes each) or JSON
    values (64 bytes each) would take more."""
    max_waiting_bytes: int = Field(default=256 << 20, gt=0)
    """Bytes of all bodies that wait for the lake; more bodies get 503."""
    commit_seconds: float = Field(default=0.5, ge=0)
    """Least seconds between two commits; the requests in between share one. A sender waits for the commit; on a store,
    where each is paid, take 5 or more."""
