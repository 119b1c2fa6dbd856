"""Settings of the pipeline: how lines become rows, and when a batch is committed."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field, field_validator

from collector.redaction import RedactionSettings
from collector.signals import SignalSettings
from lake.spec.vocabulary import Kind, Origin
from runtime.setting import COMMON, Section, Setting

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")


class PipelineSettings(Section):
    """How lines become rows, which of them are stored, and when a batch is committed."""

    signals: SignalSettings = SignalSettings()
    redaction: RedactionSettings = RedactionSettings()
    flush_bytes: int = Field(default=256 << 20, gt=0)
    """A batch is committed when it holds so many bytes of lines, or takes 128 MiB of memory; each of `--workers` has
    its own batch."""
    # On a store a line is on the pages within a minute: five seconds until it is read, forty here, some for the commit,
    # and five until the monitor looks.
    flush_seconds: Annotated[float, Setting(on_store=40.0)] = Field(default=30.0, gt=0)
    """A batch is committed when it is this old, in seconds. On a store [each batch is
    paid](lake.md#requests-to-a-store)."""
    duplicate_window_hours: float = Field(default=48.0, ge=0)
    """Hours for which a line is remembered, to see that it came again."""
    leave_out: frozenset[str] = frozenset()
    """Kinds of requests that are counted and not stored, such as `embedding`."""
    project_origins: Annotated[dict[str, Origin], COMMON] = Field(default_factory=dict)
    """Origin of the requests of a project, if they are not people's: evaluation, replay, judge or test, as in
    `{nightly-checks: test}`. A project is what Core calls the owner of an API key. Calls that such a request makes
    belong to the same project. See [collector.md](collector.md#what-made-a-request)."""
    client_header: str | None = None
    """Name of the request header by which clients say who they are, such as `X-Client`. Its value is `client` in
    `parsed_logs`, [where Core logs the header](collector.md#who-asks)."""
    keep_raw_response: bool = False
    """Whether the response is stored as Core logged it (`response_body`); that is most of the bytes."""
    new_deployments_per_hour: int = Field(default=5000, ge=0)
    """Number of deployments an hour that the lake does not have yet and that log lines may name. Lines of more go to
    `_rejected`."""

    @field_validator("client_header")
    @classmethod
    def _is_header(cls, name: str | None) -> str | None:
        if name is not None and _HEADER.fullmatch(name) is None:
            raise ValueError(f"{name[:100]!r} is no name of an HTTP header, such as X-Client")
        return name

    @field_validator("leave_out")
    @classmethod
    def _are_kinds(cls, kinds: frozenset[str]) -> frozenset[str]:
        unknown = sorted(kinds.difference(Kind))
        if unknown:
            raise ValueError(f"no kind of request is called {', '.join(unknown)}; the kinds are {', '.join(Kind)}")
        return kinds
