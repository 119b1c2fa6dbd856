"""Metrics of webhook deliveries, of the collector's lines, and of the monitor's refreshes."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import Metric

from monitor.detect.stats.collector_stats import CollectorStats
from monitor.exporter.metric_families import by_label, counter, gauge
from monitor.service.snapshot import Snapshot
from monitor.service.totals import FleetTotals


def pipeline_metrics(snapshot: Snapshot) -> Iterator[Metric]:
    """Yield the deliveries of webhooks, the lines of the collector, and the refreshes of the monitor."""
    yield from _webhooks(snapshot)
    yield from _collector(snapshot.collector_stats, snapshot.totals)
    yield from _refreshes(snapshot)


def _webhooks(snapshot: Snapshot) -> Iterator[Metric]:
    yield counter(
        "dialwatch_webhook_deliveries_total",
        "Changes of alerts that a receiver has accepted (delivered), that were given up (undeliverable), that a "
        "silence held back (silenced), that were no message of their own, as the receiver knows of their incident "
        "(grouped), and, since the monitor started, attempts to send a message or to record what "
        "came of it that failed and are repeated (failed).",
        [*by_label(snapshot.totals.deliveries), (("failed",), snapshot.failed_deliveries)],
        "outcome",
    )
    yield gauge(
        "dialwatch_webhook_disabled",
        "1 where the receiver answered 410 and gets nothing more until the monitor starts again, else 0.",
        (((name,), float(gone)) for name, gone in sorted(snapshot.disabled_webhooks.items())),
        "receiver",
    )
    yield gauge(
        "dialwatch_webhook_failing",
        "1 while messages wait for the receiver, as it did not take the last one, else 0.",
        (((name,), float(failing)) for name, failing in sorted(snapshot.failing_webhooks.items())),
        "receiver",
    )
    yield gauge(
        "dialwatch_deployments_without_receiver",
        "Deployments that no receiver of monitor.webhooks is for; absent without receivers.",
        [((), float(len(snapshot.without_receiver)) if snapshot.disabled_webhooks else None)],
    )
    yield gauge(
        "dialwatch_alerts_without_receiver",
        "Alerts that fire and go to nobody, as no receiver of monitor.webhooks is for their deployment; absent without "
        "receivers.",
        [((), float(snapshot.unsent) if snapshot.disabled_webhooks else None)],
    )


def _collector(collector_stats: CollectorStats, totals: FleetTotals) -> Iterator[Metric]:
    yield counter(
        "dialwatch_lines_total",
        "Log lines that the collector was handed, by what became of them; the outcomes add up to all lines.",
        by_label(totals.lines),
        "outcome",
    )
    yield counter(
        "dialwatch_rejected_lines_total",
        "Log lines that could not be read, by reason; their bytes are in the lake's table _rejected.",
        by_label(totals.rejected),
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


def _refreshes(snapshot: Snapshot) -> Iterator[Metric]:
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
