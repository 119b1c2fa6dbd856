"""The collector's own metrics: lines that this process has read and committed, and those that it still holds.

The monitor exports what the lake holds of all collectors since the first line (`dialwatch_lines_total` and others). The
names of this module begin with `dialwatch_collector_` and count from the start of this process. The monitor uses none
of them, so both can be scraped, also from one process, and nothing is counted twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Protocol

from fastapi import FastAPI, Request, Response
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector as PrometheusCollector

from collector.commit.batch import Batch
from collector.metrics.commit_stats import BOUNDS, Committed, Meter
from collector.metrics.last_lines import LastLines
from lake.spec.service_vocabulary import OUTCOMES, LineOutcome
from lake.tables.lake import Lake
from runtime.clocks import age_of
from runtime.labelled_registry import LabelledRegistry
from runtime.metric_texts import encoder


class KafkaReader(Protocol):
    """Members of a Kafka source that the metrics need."""

    missed_messages: int

    def lag(self) -> Mapping[tuple[str, int], int]:
        """Messages that are at the broker and not in the lake, by topic and partition."""


class Metered(Protocol):
    """Members of a collector that the metrics need."""

    @property
    def lake(self) -> Lake:
        """The lake that it writes."""

    @property
    def meter(self) -> Meter:
        """Totals of its commits."""

    @property
    def open_batches(self) -> tuple[Batch, ...]:
        """Batches that are not committed yet; must not wait for a commit."""


def registry_of(
    collector: Metered,
    kafka: KafkaReader | None = None,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> CollectorRegistry:
    """A registry whose scrape shows the collector, and the process that it runs in; it never reads the lake."""
    registry = LabelledRegistry(collector.lake.installation)
    registry.register(_MeterCollector(collector, kafka, clock))
    ProcessCollector(registry=registry)
    return registry


def add_metrics(app: FastAPI, registry: CollectorRegistry) -> None:
    """Let an application answer `GET /metrics` with what the registry shows."""

    @app.head("/metrics")
    @app.get("/metrics")
    def metrics(request: Request) -> Response:
        encode, content_type = encoder(request.headers.getlist("accept"))
        return Response(encode(registry), headers={"Content-Type": content_type})


def metrics_app(registry: CollectorRegistry) -> FastAPI:
    """An application that serves nothing but `/metrics`, for a collector without an HTTP endpoint."""
    app = FastAPI(title="dialwatch collector", docs_url=None, redoc_url=None, openapi_url=None)
    add_metrics(app, registry)
    return app


class LastLineMetric(PrometheusCollector):
    """When each source last got a line, as a metric."""

    def __init__(self, last_lines: LastLines) -> None:
        self._last_lines = last_lines

    def collect(self) -> Iterator[Metric]:
        """Yield the metric."""
        family = GaugeMetricFamily(
            "dialwatch_source_last_line_timestamp_seconds",
            "When a configured source last gave this process a line, in seconds since 1970; 0 where it never did.",
            labels=("source",),
        )
        for name, at in self._last_lines.newest().items():
            family.add_metric((name,), 0 if at is None else at.timestamp())
        yield family


class _MeterCollector(PrometheusCollector):
    def __init__(self, collector: Metered, kafka: KafkaReader | None, clock: Callable[[], datetime]) -> None:
        self._collector = collector
        self._kafka = kafka
        self._clock = clock

    def collect(self) -> Iterator[Metric]:
        committed, batches = self._collector.meter.committed, self._collector.open_batches
        yield from _lines(committed)
        yield _commits(committed)
        yield CounterMetricFamily(
            "dialwatch_collector_commit_failures_total",
            "Commits that failed since the process started; each is tried again.",
            committed.failures,
        )
        yield CounterMetricFamily(
            "dialwatch_collector_renamed_signals_total",
            "Signals that came since the process started and are stored as `other`, as their word was one too many.",
            committed.renamed_signals,
        )
        yield from _times(committed, self._collector.meter.age(), self._clock())
        yield from _open(batches)
        if self._kafka is not None:
            yield _behind(self._kafka.lag())
            yield CounterMetricFamily(
                "dialwatch_collector_missed_messages_total",
                "Messages that Kafka had deleted before this process could read them.",
                self._kafka.missed_messages,
            )


def _lines(committed: Committed) -> Iterator[Metric]:
    lines = CounterMetricFamily(
        "dialwatch_collector_lines_total",
        "Log lines that this process has committed since it started, by what became of them.",
        labels=("outcome",),
    )
    for outcome, name in OUTCOMES.items():
        lines.add_metric((outcome,), getattr(committed.counts, name))
    yield lines
    rejected = CounterMetricFamily(
        "dialwatch_collector_rejected_lines_total",
        "Log lines that this process could not read, by reason; their bytes are in the lake's table _rejected.",
        labels=("reason",),
    )
    for reason, number in sorted(committed.rejected.items()):
        rejected.add_metric((reason,), number)
    yield rejected
    yield CounterMetricFamily(
        "dialwatch_collector_bytes_total", "Bytes of the lines that this process has committed.", committed.bytes
    )
    ended = sum(getattr(committed.counts, name) for name in LineOutcome)
    yield GaugeMetricFamily(
        "dialwatch_collector_unaccounted_lines",
        "Lines that came in, less those that were stored, signals, duplicates, rejected or filtered; 0 unless there is "
        "a defect.",
        committed.counts.lines - ended,
    )


def _commits(committed: Committed) -> Metric:
    numbers, buckets = 0, []
    for bound, number in zip((*map(str, BOUNDS), "+Inf"), committed.in_bounds, strict=True):
        numbers += number
        buckets.append((bound, numbers))
    family = HistogramMetricFamily(
        "dialwatch_collector_commit_duration_seconds", "Seconds that it took to commit a batch to all its tables."
    )
    family.add_metric((), buckets, committed.seconds)
    return family


def _times(committed: Committed, age: float, now: datetime) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "dialwatch_collector_commit_age_seconds",
        "Seconds since this process last committed a batch, else since it started, whatever its clock was set to.",
        age,
    )
    yield GaugeMetricFamily(
        "dialwatch_collector_committed_timestamp_seconds",
        "When this process last committed a batch, else when it started, in seconds since 1970.",
        committed.at.timestamp(),
    )
    if committed.newest_requested_at is not None:
        yield GaugeMetricFamily(
            "dialwatch_collector_newest_request_age_seconds",
            "Seconds since the newest request that this process has committed; it grows while nobody asks anything. "
            "Below 0 where the request is more than an hour ahead of this machine's clock.",
            age_of(now - committed.newest_requested_at),
        )


def _open(batches: tuple[Batch, ...]) -> Iterator[Metric]:
    yield GaugeMetricFamily("dialwatch_collector_open_batches", "Batches that are not committed yet.", len(batches))
    yield GaugeMetricFamily(
        "dialwatch_collector_open_batch_bytes",
        "Bytes of the lines that were taken and not committed yet.",
        sum(batch.bytes for batch in batches),
    )
    yield GaugeMetricFamily(
        "dialwatch_collector_open_batch_lines",
        "Lines that were taken and not committed yet.",
        # A copy: another thread may add a source meanwhile.
        sum(section.counts.lines for batch in batches for section in list(batch.sections.values())),
    )


def _behind(lag: Mapping[tuple[str, int], int]) -> Metric:
    family = GaugeMetricFamily(
        "dialwatch_collector_lag_messages",
        "Messages of a Kafka partition of this process that are at the broker and not in the lake.",
        labels=("topic", "partition"),
    )
    for (topic, partition), messages in sorted(lag.items()):
        family.add_metric((topic, str(partition)), messages)
    return family
