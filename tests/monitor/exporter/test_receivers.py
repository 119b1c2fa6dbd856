"""Metrics of alerts and of who gets them: the tier of each alert that fires, and what goes to no receiver."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from prometheus_client import generate_latest
from starlette.testclient import TestClient

from lake.tables.lake import Lake
from monitor.detect.stats.collector_stats import CollectorStats
from monitor.exporter.registry import registry_of
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.service.snapshot import Snapshot
from monitor.settings import MonitorSettings
from tests.exposition import without_installation
from tests.monitor.exporter.test_exporter import samples

HOOK = {"name": "team", "url": "https://example.com/hook", "format": "slack"}


def firing(monitor: Monitor) -> set[tuple[str, ...]]:
    """Deployment, metric and tier of each alert; its incident is one of those that are open."""
    assert monitor.snapshot is not None
    found = [dict(labels) for name, labels in samples(monitor) if name == "dialwatch_alert_firing"]
    for one in found:
        open_ones = monitor.snapshot.deployments[one["deployment"]].incidents
        assert one["incident"] in {incident.incident_id for incident in open_ones}
    return {(one["deployment"], one["metric"], one["tier"]) for one in found}


@pytest.fixture
def built(lake: Lake, clock: Any) -> Callable[..., Monitor]:
    def build(*globs: str, **more: Any) -> Monitor:
        monitor = Monitor(
            lake, MonitorSettings.model_validate({"webhooks": [HOOK | {"deployments": globs}]} | more), clock
        )
        monitor.refresh()
        return monitor

    return build


@pytest.mark.usefixtures("three_deployments")
def test_each_alert_has_the_tier_at_which_it_is_told(built: Callable[..., Monitor], rows: Any, clock: Any) -> None:
    """A regression by its evidence; failures as a warning first, or as a page where that is set."""
    for status, ago in ((200, 30), (503, 2)):
        at = clock() - timedelta(minutes=ago)
        rows.logs("gpt-5", *({"status": status, "requested_at": at} for _ in range(60)))
    regression = ("rag-search", "faithfulness_kprecision")
    assert firing(built("*")) == {(*regression, "page"), ("gpt-5", "errors", "warning")}
    at_once = {"limits": {"page_after": "0s"}}
    rows.logs("gpt-6", *({"status": 503, "requested_at": clock() - timedelta(minutes=2)} for _ in range(60)))
    assert ("gpt-6", "errors", "page") in firing(built("*", **at_once))


@pytest.mark.slow
@pytest.mark.usefixtures("three_deployments")
def test_what_no_receiver_gets_is_counted_and_on_the_overview(built: Callable[..., Monitor]) -> None:
    """Deployments before anything fires, and alerts that fire; nothing of either without receivers."""
    found = built("gpt-*")
    numbers = {name: value for (name, _), value in samples(found).items()}
    assert numbers["dialwatch_deployments_without_receiver"] == 2
    assert numbers["dialwatch_alerts_without_receiver"] == 1
    assert "no receiver is for 2 deployments" in TestClient(create_app(found)).get("/").text
    everybody = {name: value for (name, _), value in samples(built("*")).items()}
    assert (everybody["dialwatch_deployments_without_receiver"], everybody["dialwatch_alerts_without_receiver"]) == (
        0,
        0,
    )
    nobody = {name for name, _ in samples(built(webhooks=[]))}
    assert not nobody & {"dialwatch_deployments_without_receiver", "dialwatch_alerts_without_receiver"}


def test_a_receiver_that_wants_no_more_is_shown() -> None:
    """Each receiver has a series, 1 once it answered 410; and one that is 1 while messages wait for it."""
    snapshot = Snapshot(
        taken_at=datetime(2026, 1, 1, tzinfo=UTC), deployments={}, collector_stats=CollectorStats(),
        failed_deliveries=0,
        refresh_seconds=0.0, disabled_webhooks={"team": True, "pager": False},
        failing_webhooks={"team": False, "pager": True},
    )  # fmt: skip
    text = without_installation(generate_latest(registry_of(lambda: snapshot, "production")).decode())
    assert 'dialwatch_webhook_disabled{receiver="team"} 1.0' in text
    assert 'dialwatch_webhook_disabled{receiver="pager"} 0.0' in text
    assert 'dialwatch_webhook_failing{receiver="team"} 0.0' in text
    assert 'dialwatch_webhook_failing{receiver="pager"} 1.0' in text
