"""Settings of the pipeline: how lines become rows, and when a batch is committed."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, field_validator

from collector.redaction import RedactionSettings
from collector.signals import SignalSettings
from lake.spec.vocabulary import Kind, Origin


class PipelineSettings(BaseModel):
    """Settings of the pipeline.

    A batch is committed when it holds `flush_bytes` of lines or is `flush_seconds` old. A line that comes again within
    `duplicate_window_hours` is counted and not stored. Lines of the kinds in `leave_out` are counted as filtered. The
    response as Core logged it, most of a line's bytes, is stored only with `keep_raw_response`. `project_origins` maps
    projects to the origin of their requests; the origin of all other projects is production. At most
    `new_deployments_per_hour` deployments that the lake does not have yet are added to it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    signals: SignalSettings = SignalSettings()
    redaction: RedactionSettings = RedactionSettings()
    flush_bytes: int = Field(default=256 << 20, gt=0)
    flush_seconds: float = Field(default=30.0, gt=0)
    duplicate_window_hours: float = Field(default=48.0, ge=0)
    leave_out: frozenset[str] = frozenset()
    project_origins: dict[str, Origin] = Field(default_factory=dict)
    keep_raw_response: bool = False
    new_deployments_per_hour: int = Field(default=5000, ge=0)

    @field_validator("leave_out")
    @classmethod
    def _are_kinds(cls, kinds: frozenset[str]) -> frozenset[str]:
        unknown = sorted(kinds.difference(Kind))
        if unknown:
            raise ValueError(f"no kind of request is called {', '.join(unknown)}; the kinds are {', '.join(Kind)}")
        return kinds
