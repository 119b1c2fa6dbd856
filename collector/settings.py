"""Settings of the collector: its sources and its pipeline."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from collector.pipeline.settings import PipelineSettings
from collector.sources.files.settings import FilesSettings
from collector.sources.http.settings import HttpSettings
from collector.sources.kafka.settings import KafkaSettings
from runtime.durations import reads_seconds

_SILENT_AFTER_SECONDS = 3600.0


class CollectorSettings(PipelineSettings):
    """The settings of the pipeline, and the sources.

    The collector's own metrics are at `/metrics` of the HTTP source, and at `metrics_listen`, for one without it.
    A source that gets no line for `silent_after` seconds is a problem; None where it may be silent.
    """

    files: FilesSettings | None = None
    http: HttpSettings | None = None
    kafka: KafkaSettings | None = None
    metrics_listen: str | None = None
    silent_after: Annotated[float, BeforeValidator(reads_seconds("smhd")), Field(ge=60, allow_inf_nan=False)] | None = (
        _SILENT_AFTER_SECONDS
    )
