"""List of incidents: which stand on it, in which order, and the same as JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from fastapi.testclient import TestClient

from lake.tables.lake import Lake
from monitor.alerting.controls.releases import mark_release
from monitor.detect.regression import Release
from monitor.pages.app import create_app
from monitor.pages.incidents.finding import earlier_incidents, listed_incidents
from monitor.service.monitor import Monitor
from tests.monitor.conftest import NOW, Clock, ScoreColumns
from tests.monitor.pages.incidents.conftest import incident_id


def test_the_list_has_open_incidents_first_and_none_of_long_ago(
    rows: ScoreColumns, make_monitor: Callable[[], Monitor], clock: Clock, regression: None
) -> None:
    monitor = make_monitor()
    monitor.refresh()
    with TestClient(create_app(monitor)) as client:
        listed = client.get("/incidents.json").json()["incidents"]
        assert [(one["deployment"], one["open"], one["tier"]) for one in listed] == [("rag-search", True, "page")]
        assert incident_id(monitor) in client.get("/incidents").text
        assert f'href="/incident?id={incident_id(monitor)}"' in client.get("/").text


def test_ended_incidents_are_listed_for_30_days_after_the_open_ones(client: TestClient, monitor: Monitor) -> None:
    """In the list, and as earlier ones on the page of a later incident of the deployment."""
    snapshot = monitor.snapshot
    assert snapshot is not None
    state = snapshot.deployments["rag-search"]
    (now,) = state.incidents
    ends = {"late": timedelta(days=29), "long ago": timedelta(days=31)}
    over = tuple(
        replace(now, incident_id=name, opened_at=NOW - ago - timedelta(days=1), ended_at=NOW - ago)
        for name, ago in ends.items()
    )
    changed = replace(snapshot, deployments={"rag-search": replace(state, incidents=(now, *over))})
    listed = listed_incidents(changed)
    assert [one.incident.incident_id for one in listed] == [now.incident_id, "late"]
    assert [one.incident.incident_id for one in earlier_incidents(listed[0])] == ["late", "long ago"]
    assert [one.incident.incident_id for one in earlier_incidents(listed[1])] == ["long ago"]


def test_incidents_that_are_open_elsewhere_are_named(
    rows: ScoreColumns, lake: Lake, monitor: Monitor, clock: Clock, regression: None
) -> None:
    """Not those that are over."""
    for name in ("other-open", "other-over"):
        rows.hours(name, 48, lambda left: 0.9 if left > 10 else 0.3, "faithfulness_kprecision")
    monitor.refresh()
    clock.advance(seconds=1)
    mark_release(lake, Release("other-over", None, NOW - timedelta(hours=11)), clock())
    monitor.refresh()
    with TestClient(create_app(monitor)) as client:
        found = client.get(f"/incident.json?id={incident_id(monitor)}").json()
    assert [one["deployment"] for one in found["others_open"]] == ["other-open"]


def test_an_empty_list_says_what_to_do(monitor: Monitor) -> None:
    with TestClient(create_app(monitor)) as client:
        assert "load this page again" in client.get("/incidents").text
        monitor.refresh()
        page = client.get("/incidents").text
        assert "No incident is open" in page
        assert 'href="/"' in page
        assert client.get("/incidents.json").json() == {"incidents": []}
