"""Settings of the collector: its sources and its pipeline."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from collector.pipeline.settings import PipelineSettings
from collector.sources.files.settings import FilesSettings
from collector.sources.http.settings import HttpSettings
from collector.sources.kafka.settings import KafkaSettings
from runtime.durations import reads_seconds
from runtime.setting import COMMON

_Silence = Annotated[float, BeforeValidator(reads_seconds("smhd")), Field(ge=60, allow_inf_nan=False)]


class CollectorSettings(PipelineSettings):
    """The settings of the pipeline, and the sources."""

    files: FilesSettings | None = None
    http: HttpSettings | None = None
    kafka: KafkaSettings | None = None
    metrics_listen: str | None = None
    """Host:port of the collector's own `/metrics`, `/healthz` and `/readyz`; with `http` they are at that address
    too."""
    silent_after: Annotated[_Silence | None, COMMON] = 3600.0
    """How long each path, each topic, or the HTTP endpoint where it is the only source, may give no line until the
    collector [is not healthy](collector.md#sources-without-lines), at least 1m; null: for ever, as for archives and
    small installations at night."""
