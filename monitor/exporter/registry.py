"""The Prometheus side: one collector that turns a snapshot into metric families."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import version

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from prometheus_client.samples import Exemplar

from lake import Origin
from monitor.exporter.detector_metrics import detector_metrics
from monitor.exporter.health_metrics import health_metrics
from monitor.exporter.label_bounds import LabelBound, LabelBounds
from monitor.exporter.metric_families import counter, gauge
from monitor.health.health import Health
from monitor.settings import MonitorSettings
from monitor.snapshot import DeploymentState, Snapshot
from monitor.stats.collector_stats import CollectorStats
from monitor.stats.scores import BUCKETS, Histogram
from monitor.stats.sums import PER_UNIT
from monitor.totals import Counts, FleetTotals

_BOUNDS = (*map(str, BUCKETS), "+Inf")
_Deployments = Mapping[str, DeploymentState]


def registry_of(
    snapshot: Callable[[], Snapshot | None],
    health: Callable[[], Health] | None = None,
    settings: MonitorSettings | None = None,
) -> CollectorRegistry:
    """A registry whose scrape shows the newest snapshot, and how the parts are; before the first one, these alone."""
    settings = settings or MonitorSettings()
    values = LabelBound(settings.most_label_values, "monitor.most_label_values")
    deployments = LabelBound(settings.most_deployments, "monitor.most_deployments")
    bounds = LabelBounds({"deployment": deployments, "signal": values, "status": values})
    registry = CollectorRegistry()
    registry.register(_SnapshotCollector(snapshot, health, bounds))
    return registry


class _SnapshotCollector(Collector):
    def __init__(
        self, snapshot: Callable[[], Snapshot | None], health: Callable[[], Health] | None, bounds: LabelBounds
    ) -> None:
        self._snapshot = snapshot
        self._health = health
        self._bounds = bounds

    def collect(self) -> Iterator[Metric]:
        build = InfoMetricFamily("dialwatch_build", "Version of dialwatch that is running; the value is always 1.")
        build.add_metric([], {"version": version("dialwatch")})
        yield build
        if self._health is not None:
            yield from health_metrics(self._health())
        snapshot = self._snapshot()
        if snapshot is not None:
            yield from self._bounds.fold(self._families(snapshot))

    def _families(self, snapshot: Snapshot) -> Iterator[Metric]:
        yield from _traffic(snapshot.deployments)
        yield from _scores(snapshot.deployments)
        yield from _evaluator(snapshot.deployments, snapshot.totals, snapshot.judge_budgets_left)
        yield from detector_metrics(snapshot.deployments)
        yield from _webhooks(snapshot)
        yield from _collector(snapshot.collector_stats, snapshot.totals)
        yield from _monitor(snapshot)


def _by_label(counts: Counts) -> Iterable[tuple[tuple[str, ...], int]]:
    return (((label,), number) for label, number in counts.items())


def _traffic(deployments: _Deployments) -> Iterator[Metric]:
    requests = [
        (name, origin, one)
        for name, state in deployments.items()
        for origin, one in ((Origin.PRODUCTION.value, state.requests), *state.other_requests.items())
        if one.total
    ]
    yield counter(
        "dialwatch_responses_total",
        "Requests of every kind that DIAL answered, by HTTP status and by what made them: production, which alone the "
        "pages, scores and limits are about, evaluation, replay, judge or test.",
        (((name, origin, status), number) for name, origin, t in requests for status, number in t.responses.items()),
        "deployment",
        "origin",
        "status",
    )
    yield counter(
        "dialwatch_signals_total",
        "Signs of what people thought of an answer: like, dislike, regenerate and so on.",
        (
            ((name, signal), number)
            for name, state in deployments.items()
            for signal, number in state.requests.signals.items()
        ),
        "deployment",
        "signal",
    )
    directions = [
        ((name, origin, direction), number)
        for name, origin, t in requests
        for direction, number in (("prompt", t.prompt_tokens), ("completion", t.completion_tokens))
    ]
    yield counter(
        "dialwatch_tokens_total",
        "Tokens read (prompt) and written (completion). An application's include those of the models it called, so "
        "a sum over deployments counts them twice.",
        directions,
        "deployment",
        "origin",
        "direction",
    )
    yield counter(
        "dialwatch_cost_total",
        "Price of the deployment's own calls, without the calls that it made in turn, in the currency of DIAL's "
        "price table. Sums over deployments count nothing twice.",
        (((name, origin), t.own_cost) for name, origin, t in requests),
        "deployment",
        "origin",
    )
    yield counter(
        "dialwatch_entry_cost_total",
        "Price of the deployment's answers to people with all calls that these took, in the currency of DIAL's price "
        "table: what an application costs. What it shares with dialwatch_cost_total of the models it calls is the same "
        "money.",
        (((name, origin), t.entry_cost) for name, origin, t in requests),
        "deployment",
        "origin",
    )


def _scores(deployments: _Deployments) -> Iterator[Metric]:
    family = HistogramMetricFamily(
        "dialwatch_score",
        "Scores of new answers, a ratio mostly from 0 to 1; those of a backfill, and those made a day or more "
        "after their answer, are left out. The exemplar names the worst of the latest answers of its bucket.",
        labels=("deployment", "metric"),
    )
    for name, state in deployments.items():
        for metric, scores in state.scores.metrics.items():
            family.add_metric((name, metric), _buckets(scores.histogram), scores.histogram.total)
    yield family


def _buckets(histogram: Histogram) -> list[tuple[str, float] | tuple[str, float, Exemplar]]:
    buckets: list[tuple[str, float] | tuple[str, float, Exemplar]] = []
    for bound, number, worst in zip(_BOUNDS, histogram.cumulative, histogram.worst, strict=True):
        if worst is None:
            buckets.append((bound, number))
        else:
            buckets.append((bound, number, Exemplar({"response_id": worst.response_id}, worst.value)))
    return buckets


def _evaluator(deployments: _Deployments, totals: FleetTotals, budgets_left: Mapping[str, float]) -> Iterator[Metric]:
    scores = {name: state.scores for name, state in deployments.items()}
    yield counter(
        "dialwatch_evaluations_total",
        "Answers that a metric was applied to, one each, with or without a score; without those of backfills.",
        (((), number) for number in totals.evaluations.values()),
    )
    yield counter(
        "dialwatch_evaluation_skips_total",
        "Evaluations that gave no score, by the reason why it could not be computed.",
        _by_label(totals.skips),
        "reason",
    )
    yield gauge(
        "dialwatch_evaluation_last_success_timestamp_seconds",
        "When the evaluator last scored an answer of the deployment, in seconds since 1970.",
        (((name,), one.last_scored_at.timestamp()) for name, one in scores.items() if one.last_scored_at),
        "deployment",
    )
    yield counter(
        "dialwatch_judge_cost_total",
        "Price of each judge's calls by the costs in the tables, for backfills and anchors too, in the currency of its "
        "prices; calls that gave no row are not in it, and of an ensemble's each judge has an equal part.",
        (((judge,), amount / PER_UNIT) for judge, amount in totals.judge_amounts.items()),
        "judge",
    )
    yield gauge(
        "dialwatch_judge_budget_remaining",
        "What is left of the judge's budget of the day (UTC) by the costs in the tables, in its prices' currency; "
        "calls that gave no row are not in them, and of an ensemble's each judge has an equal part.",
        (((judge,), left) for judge, left in budgets_left.items()),
        "judge",
    )
    info = InfoMetricFamily(
        "dialwatch_evaluator", "Version and judge behind each metric's newest scores; the value is always 1."
    )
    in_use = {(m, s.version, s.judge or "") for one in scores.values() for m, s in one.metrics.items()}
    for metric, metric_version, judge in sorted(in_use):
        info.add_metric([], {"metric": metric, "version": metric_version, "judge": judge})
    yield info


def _webhooks(snapshot: Snapshot) -> Iterator[Metric]:
    yield counter(
        "dialwatch_webhook_deliveries_total",
        "Changes of alerts that a receiver has accepted (delivered), that were given up (undeliverable), that a "
        "silence held back (silenced), and, since the monitor started, attempts to send a message or to record what "
        "came of it that failed and are repeated (failed).",
        [*_by_label(snapshot.totals.deliveries), (("failed",), snapshot.failed_deliveries)],
        "outcome",
    )
    yield gauge(
        "dialwatch_webhook_disabled",
        "1 where the receiver answered 410 and is told nothing more until the monitor starts again, else 0.",
        (((name,), float(gone)) for name, gone in sorted(snapshot.disabled_webhooks.items())),
        "receiver",
    )


def _collector(collector_stats: CollectorStats, totals: FleetTotals) -> Iterator[Metric]:
    yield counter(
        "dialwatch_lines_total",
        "Log lines that the collector was handed, by what became of them; the outcomes add up to all lines.",
        _by_label(totals.lines),
        "outcome",
    )
    yield counter(
        "dialwatch_rejected_lines_total",
        "Log lines that could not be read, by reason; their bytes are in the lake's table _rejected.",
        _by_label(totals.rejected),
        "reason",
    )
    yield gauge(
        "dialwatch_unaccounted_lines",
        "Log lines that the collector was handed and that became nothing that it counts; 0 unless there is a defect.",
        [((), collector_stats.unaccounted if collector_stats.last_commit else None)],
    )
    yield gauge(
        "dialwatch_collector_lag_seconds",
        "Seconds from the newest request of the collector's latest batch to the batch's commit; below 0 where the "
        "request is more than an hour ahead of the collector's clock.",
        [((), collector_stats.lag_seconds)],
    )
    yield gauge(
        "dialwatch_collector_last_commit_timestamp_seconds",
        "When the collector last committed a batch, in seconds since 1970; it stands still while no lines come, and "
        "where the collector is dead.",
        [((), collector_stats.last_commit.timestamp() if collector_stats.last_commit else None)],
    )


def _monitor(snapshot: Snapshot) -> Iterator[Metric]:
    yield gauge(
        "dialwatch_monitor_last_refresh_timestamp_seconds",
        "When the monitor last looked at the lake, in seconds since 1970.",
        [((), snapshot.taken_at.timestamp())],
    )
    yield gauge(
        "dialwatch_monitor_refresh_duration_seconds",
        "Seconds that the last look at the lake took.",
        [((), snapshot.refresh_seconds)],
    )
    yield counter(
        "dialwatch_monitor_failures_total",
        "What went wrong in the monitor since it started, by the step that failed; its log says more.",
        (((reason,), number) for reason, number in sorted(snapshot.failures.items())),
        "reason",
    )
