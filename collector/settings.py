"""Settings of the collector: its sources and its pipeline."""

from __future__ import annotations

from collector.pipeline.settings import PipelineSettings
from collector.sources.files.settings import FilesSettings
from collector.sources.http.settings import HttpSettings
from collector.sources.kafka.settings import KafkaSettings


class CollectorSettings(PipelineSettings):
    """The settings of the pipeline, and the sources.

    The collector's own metrics are at `/metrics` of the HTTP source, and at `metrics_listen`, for one without it.
    """

    files: FilesSettings | None = None
    http: HttpSettings | None = None
    kafka: KafkaSettings | None = None
    metrics_listen: str | None = None
