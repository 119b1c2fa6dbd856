"""Alerts of limits, from the rows of the lake to webhooks, pages and Prometheus."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest
from prometheus_client import generate_latest

from lake.spec.schemas import ALERTS
from lake.tables.lake import Lake
from lake.tables.table import Table
from monitor.alerting.alerts.alert_stats import AlertStats
from monitor.alerting.alerts.change import from_row
from monitor.detect.limits import LimitSettings
from monitor.exporter.registry import registry_of
from monitor.notify.texts.alert import description, summary
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.exposition import without_installation

MINUTE = timedelta(minutes=1)


def ask(rows: Any, clock: Any, first: int, last: int, **columns: Any) -> None:
    """Four requests a minute, from one minute before now to another."""
    times = [clock() - ago * MINUTE for ago in range(first, last, -1) for _ in range(4)]
    rows.logs("apps/rag", *({"requested_at": at, "date": at.date(), **columns} for at in times))


def changes(lake: Lake) -> list[tuple[str, str]]:
    rows = sorted(lake.table(ALERTS, "apps/rag").read().to_pylist(), key=lambda row: row["changed_at"])
    return [(row["metric"], row["change"]) for row in rows]


def test_a_limit_is_sent_once_and_again_when_it_is_over(lake: Lake, rows: Any, clock: Any, receiver: Any) -> None:
    """One webhook when it fires, none after a restart, one when it is over; each says what a person must know."""
    webhook = {"url": receiver.address, "secret": "whsec_" + base64.b64encode(b"k" * 32).decode()}
    settings = MonitorSettings(
        webhooks=[webhook], internal_hosts=["127.0.0.1"], group_seconds=0, external_url="https://watch.example/"
    )
    ask(rows, clock, 60, 10)
    ask(rows, clock, 10, 0, status=503)
    for _ in range(2):
        monitor = Monitor(lake, settings, clock)
        for _ in range(2):
            monitor.refresh()
            monitor._notifier.run_due(clock())
        assert len(receiver.bodies) == 1
    body = json.loads(receiver.bodies[0])
    (alert,), (data,) = body["alerts"], body["data"]
    assert alert["labels"] == {
        "alertname": "DialwatchFloor",
        "deployment": "apps/rag",
        "metric": "errors",
        "metric_version": "floor",
        "severity": "warning",
        "installation": "lake",
    }
    assert alert["annotations"]["summary"] == (
        "33 % of 60 requests of apps/rag in the last 15 minutes failed, the last 20 of them in a row, mostly "
        "HTTP 503 (server not available); "
        "limit 30 %"
    )
    assert data["link"] == "https://watch.example/deployment?name=apps/rag"
    assert (data["floor"]["bad"], data["floor"]["requests"]) == (20, 60)
    clock.advance(minutes=30)
    ask(rows, clock, 30, 0)
    monitor.refresh()
    monitor._notifier.run_due(clock())
    over = json.loads(receiver.bodies[1])
    assert (over["status"], over["data"][0]["alert_id"]) == ("resolved", data["alert_id"])
    assert sorted(changes(lake)) == [*[("errors", "delivered")] * 2, ("errors", "firing"), ("errors", "resolved")]


def test_an_outage_that_lasts_is_raised_to_a_page_once(
    lake: Lake, rows: Any, clock: Any, make_monitor: Callable[[], Monitor]
) -> None:
    """Each monitor finds it anew and records it once; the end says how long it was in all."""
    ask(rows, clock, 60, 10)
    ask(rows, clock, 10, 0, status=503)
    for _ in range(4):
        for _ in range(2):
            make_monitor().refresh()
        clock.advance(minutes=30)
        ask(rows, clock, 30, 0, status=503)
    clock.advance(minutes=30)
    ask(rows, clock, 30, 0)
    make_monitor().refresh()
    found = [from_row(row) for row in lake.table(ALERTS, "apps/rag").read().sort_by("changed_at").to_pylist()]
    assert [(one.change, one.tier) for one in found] == [("firing", "warn"), ("firing", "page"), ("resolved", "page")]
    assert len({one.alert_id for one in found}) == 1
    warning, page, over = found
    assert "It becomes urgent if it lasts." in description(warning, "")
    assert summary(page).endswith(
        " in a row failed, mostly HTTP 503 (server not available), for 61 minutes by now; limit 30 %"
    )
    assert "It becomes urgent if it lasts." not in description(page, "")
    assert summary(over).startswith(
        "apps/rag is back: requests failed for 2 hours, 100 % of 520, mostly HTTP 503 (server not available)"
    )


def test_a_limit_is_no_regression(lake: Lake, rows: Any, clock: Any, make_monitor: Callable[[], Monitor]) -> None:
    """It counts as none, has no verdict, and a metric of the same name neither ends nor hides it."""
    ask(rows, clock, 60, 10)
    ask(rows, clock, 10, 0, status=503)
    rows.scores("apps/rag", {"metric": "errors", "value": 1.0})
    for _ in range(2):
        make_monitor().refresh()
    (row,) = lake.table(ALERTS, "apps/rag").read().to_pylist()
    assert (row["change"], row["verdict"], row["current_mean"]) == ("firing", None, 20 / 60)
    assert AlertStats().with_alerts(lake.table(ALERTS, "apps/rag").read()).regressions == {}


def test_the_page_and_prometheus_show_a_limit(
    monitor: Monitor, rows: Any, clock: Any, get: Callable[..., httpx.Response], strange_name: str
) -> None:
    """The overview shows it and leads to the deployment's page, which has its limits and its alerts."""
    ask(rows, clock, 60, 10)
    ask(rows, clock, 10, 0, status=503)
    rows.logs(strange_name, {})
    monitor.refresh()
    app = create_app(monitor)
    overview = get(app, "/").text
    assert "1 limit exceeded" in overview
    assert "now 67&nbsp;%" in overview
    assert 'href="/deployment?name=apps/rag"' in overview
    page = get(app, "/deployment?name=apps/rag").text
    assert "EXCEEDED" in page
    assert "33 % of 60 requests of apps/rag in the last 15 minutes failed" in page
    strange = get(app, str(httpx.URL("/deployment", params={"name": strange_name})))
    assert strange.status_code == 200
    assert "<b>x</b>" not in strange.text
    assert get(app, "/deployment?name=nobody").status_code == 404
    metrics = without_installation(generate_latest(registry_of(lambda: monitor.snapshot, "production")).decode())
    assert 'dialwatch_floor_active{deployment="apps/rag",floor="errors"} 1.0' in metrics
    assert 'dialwatch_floor_active{deployment="apps/rag",floor="empty_answers"}' not in metrics
    assert 'dialwatch_floor_share{deployment="apps/rag",floor="empty_answers"} 0.0' in metrics
    assert f'dialwatch_floor_share{{deployment="apps/rag",floor="errors"}} {40 / 60}' in metrics
    assert 'dialwatch_floor_limit{deployment="apps/rag",floor="errors"} 0.3' in metrics


def test_what_the_lake_did_not_take_is_recorded_later(
    monitor: Monitor, lake: Lake, rows: Any, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit that fires while no row can be written is not forgotten."""
    ask(rows, clock, 60, 10)
    ask(rows, clock, 10, 0, status=503)

    def fail(*_: Any, **__: Any) -> None:
        raise OSError("503 SlowDown")

    with monkeypatch.context() as broken:
        broken.setattr(Table, "append", fail)
        monitor.refresh()
        assert any("record_alerts" in problem for problem in monitor.health().problems)
    monitor.refresh()
    assert changes(lake) == [("errors", "firing")]


def test_likes_and_dislikes_are_watched_as_scores_are(monitor: Monitor, rows: Any, clock: Any) -> None:
    """A deployment with ratings has a reading of its dislikes, and no evaluation more than before."""
    rows.signals("apps/rag", "like", "dislike", "regenerate")
    clock.advance(hours=3)
    monitor.refresh()
    assert monitor.snapshot is not None
    state = monitor.snapshot.deployments["apps/rag"]
    assert state.readings["dislikes"].status == "learning"
    assert state.scores.evaluations == 0


def test_a_limit_can_be_switched_off(lake: Lake, rows: Any, clock: Any) -> None:
    """With null nothing fires."""
    ask(rows, clock, 60, 10)
    ask(rows, clock, 10, 0, status=503)
    Monitor(lake, MonitorSettings(limits=LimitSettings(errors=None)), clock).refresh()
    assert changes(lake) == []


def test_two_monitors_of_one_lake_do_not_repeat_each_other(
    lake: Lake, rows: Any, clock: Any, make_monitor: Callable[[], Monitor]
) -> None:
    """The one that is later finds the limit too, and that it is recorded."""
    ask(rows, clock, 60, 10)
    one, other = make_monitor(), make_monitor()
    for monitor in (one, other):
        monitor.refresh()
    ask(rows, clock, 10, 0, status=503)
    for monitor in (one, other, one):
        monitor.refresh()
        assert monitor.snapshot is not None
        assert monitor.failures == {}
    assert changes(lake) == [("errors", "firing")]
