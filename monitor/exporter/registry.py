"""Prometheus registry whose scrape shows the newest snapshot of the monitor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from lake.spec.case_vocabulary import ReplayVerdict
from monitor.access.audit import AuditLog
from monitor.access.wrong_tokens import WrongTokens
from monitor.exporter.detector_metrics import detector_metrics
from monitor.exporter.health_metrics import audit_metrics, failure_metrics, health_metrics, wrong_token_metric
from monitor.exporter.label_bounds import LabelBound, LabelBounds
from monitor.exporter.metric_families import gauge
from monitor.exporter.pipeline_metrics import pipeline_metrics
from monitor.exporter.request_metrics import request_metrics, unjoined_metric
from monitor.exporter.score_metrics import score_metrics
from monitor.service.health.health import Health
from monitor.service.snapshot import Snapshot
from monitor.settings import MetricsDetail, MonitorSettings
from runtime.labelled_registry import LabelledRegistry


def replay_metrics(snapshot: Snapshot) -> Iterator[Metric]:
    """Yield what the latest run of each deployment found."""
    runs = {name: state.replays for name, state in snapshot.deployments.items()}
    yield gauge(
        "dialwatch_replay_regression",
        "1 if the latest run that asked accepted cases again found that the answers got worse, else 0.",
        (((name,), float(run.verdict == ReplayVerdict.REGRESSION)) for name, run in runs.items() if run.verdict),
        "deployment",
    )
    yield gauge(
        "dialwatch_replay_pass_share",
        "Share of the answers of that run that agree with their cases.",
        (((name,), run.pass_share) for name, run in runs.items() if run.pass_share is not None),
        "deployment",
    )
    yield gauge(
        "dialwatch_replay_last_run_timestamp_seconds",
        "When that run began, in seconds since 1970.",
        (((name,), run.started_at.timestamp()) for name, run in runs.items() if run.started_at),
        "deployment",
    )


_TIMES_IN_ALL = 10
"""Names of tools in all, in multiples of those of one deployment."""


def registry_of(
    snapshot: Callable[[], Snapshot | None],
    installation: str,
    health: Callable[[], Health] | None = None,
    failures: Callable[[], Mapping[str, int]] | None = None,
    settings: MonitorSettings | None = None,
    audit: AuditLog | None = None,
    more: Sequence[Collector] = (),
    wrong_tokens: WrongTokens | None = None,
) -> CollectorRegistry:
    """Return a registry of the newest snapshot, the health of all parts, failures, access and process.

    `installation` is a label of all of it. `more` is shown too.
    Before the first snapshot it has all but that, which needs the lake.
    """
    settings = settings or MonitorSettings()
    values = LabelBound(settings.most_label_values, "monitor.most_label_values")
    deployments = LabelBound(settings.most_deployments, "monitor.most_deployments")
    # A model may make up names of tools.
    tools = values._replace(within="deployment", in_all=_TIMES_IN_ALL * values.most)
    bounds = LabelBounds({"deployment": deployments, "signal": values, "status": values, "tool": tools})
    registry = LabelledRegistry(installation)
    registry.register(_MonitorCollector(snapshot, health, failures, audit, wrong_tokens, bounds, settings))
    ProcessCollector(registry=registry)
    for one in more:
        registry.register(one)
    return registry


class _MonitorCollector(Collector):
    def __init__(
        self,
        snapshot: Callable[[], Snapshot | None],
        health: Callable[[], Health] | None,
        failures: Callable[[], Mapping[str, int]] | None,
        audit: AuditLog | None,
        wrong_tokens: WrongTokens | None,
        bounds: LabelBounds,
        settings: MonitorSettings,
    ) -> None:
        self._snapshot = snapshot
        self._health = health
        self._failures = failures
        self._audit = audit
        self._wrong_tokens = wrong_tokens
        self._bounds = bounds
        self._external_url = settings.external_url
        self._with_details = settings.exporter.detail == MetricsDetail.ALL

    def collect(self) -> Iterator[Metric]:
        build = InfoMetricFamily("dialwatch_build", "Version of dialwatch that is running; the value is always 1.")
        build.add_metric([], {"version": version("dialwatch")})
        yield build
        if self._external_url:
            pages = InfoMetricFamily("dialwatch_pages", "Address of the pages (monitor.external_url), for links.")
            pages.add_metric([], {"url": self._external_url.rstrip("/")})
            yield pages
        if self._health is not None:
            yield from health_metrics(self._health())
        if self._failures is not None:
            yield failure_metrics(self._failures())
        if self._audit is not None:
            yield from audit_metrics(self._audit)
        if self._wrong_tokens is not None:
            yield wrong_token_metric(self._wrong_tokens)
        snapshot = self._snapshot()
        if snapshot is not None:
            yield from self._bounds.fold(_families(snapshot, with_details=self._with_details))


def _families(snapshot: Snapshot, *, with_details: bool) -> Iterator[Metric]:
    yield from request_metrics(snapshot.deployments)
    yield unjoined_metric(snapshot)
    yield from score_metrics(snapshot, with_details=with_details)
    yield from replay_metrics(snapshot)
    yield from detector_metrics(snapshot.deployments, with_details=with_details)
    yield from pipeline_metrics(snapshot)
