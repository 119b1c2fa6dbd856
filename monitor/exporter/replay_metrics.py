"""Metrics of the runs that ask accepted cases again."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import Metric

from lake.spec.case_vocabulary import ReplayVerdict
from monitor.exporter.metric_families import gauge
from monitor.service.snapshot import Snapshot


def replay_metrics(snapshot: Snapshot) -> Iterator[Metric]:
    """Give what the latest run of each deployment found."""
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
