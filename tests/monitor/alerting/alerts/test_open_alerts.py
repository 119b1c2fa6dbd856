"""Open alerts after the start of a monitor, before and although it finds no regression by itself."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from lake.spec.schemas import ALERTS
from lake.spec.state_tables import MONITOR_STATE
from lake.tables.lake import Lake
from monitor.alerting.alerts.change import to_row
from monitor.alerting.alerts.open_alerts import recorded_verdicts
from monitor.alerting.alerts.store import AlertStore
from monitor.alerting.controls.releases import mark_release, withdraw_release
from monitor.detect.regression import Reading, RegressionSettings, Release, Status
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.monitor.alerting.alerts.test_alerts import KEY, NOW, READING, fired, judged

METRIC = "faithfulness_kprecision"
HOUR = timedelta(hours=1)
LONGER = MonitorSettings(regression=RegressionSettings(reference_observations=5000))


def reading_of(monitor: Monitor) -> Reading:
    assert monitor.snapshot is not None
    return monitor.snapshot.deployments["rag"].readings[METRIC]


def changes(lake: Lake) -> list[str]:
    rows = lake.table(ALERTS, "rag").read().to_pylist()
    return [row["change"] for row in sorted(rows, key=lambda row: row["changed_at"])]


def test_a_start_without_a_state_shows_an_alert_whose_last_batch_is_open_again(
    make_monitor: Callable[[], Monitor], rows: Any, clock: Any, lake: Lake
) -> None:
    """A batch that closed by the clock takes its time again; meanwhile no gauge says that the regression is over."""
    rows.hours("rag", 48, lambda left: 0.82 if left > 1 else 0.1, METRIC)
    monitor = make_monitor()
    monitor.refresh()
    assert changes(lake) == []
    clock.advance(hours=2)
    monitor.refresh()
    assert changes(lake) == ["firing"]
    before = reading_of(monitor)
    shutil.rmtree(lake.table(MONITOR_STATE, "rag").uri)
    restarted = make_monitor()
    restarted.refresh()
    after = reading_of(restarted)
    assert (after.status, after.tier, after.since) == (Status.REGRESSED, before.tier, before.since)
    assert (after.reference_mean, after.since_mean) == (before.reference_mean, before.since_mean)
    assert (before.kept, after.kept) == (False, True)
    clock.advance(hours=2)
    restarted.refresh()
    assert not reading_of(restarted).kept
    rows_of_alert = sorted(lake.table(ALERTS, "rag").read().to_pylist(), key=lambda row: row["changed_at"])
    # So deep a fall is told as a page once it lasts for three hours.
    tiers = [(row["change"], json.loads(row["details"])["tier"]) for row in rows_of_alert]
    assert tiers == [("firing", "warn"), ("firing", "page")]


@pytest.fixture
def fallen(rows: Any, make_monitor: Callable[[], Monitor], clock: Any) -> datetime:
    """An open alert of a fall ten hours ago; gives when it fell."""
    rows.hours("rag", 48, lambda left: 0.82 if left > 10 else 0.35, METRIC)
    make_monitor().refresh()
    clock.advance(hours=1)
    return clock() - 11 * HOUR


@pytest.mark.parametrize("ago", [-2, 20], ids=["from after the fall", "from before the fall"])
def test_an_alert_from_before_a_mark_ends_whatever_comes_after(
    lake: Lake, clock: Any, fallen: datetime, ago: int
) -> None:
    """Who marks a release says that the change was meant: the alert's reference says nothing any more."""
    mark_release(lake, Release("rag", METRIC, fallen - ago * HOUR), clock())
    monitor = Monitor(lake, LONGER, clock)
    monitor.refresh()
    monitor.refresh()
    assert changes(lake) == ["firing", "resolved"]
    assert reading_of(monitor).status is Status.LEARNING


@pytest.mark.parametrize("metric", ["another", None])
def test_a_mark_that_is_of_another_stream_or_older_ends_no_alert(
    lake: Lake, rows: Any, make_monitor: Callable[[], Monitor], clock: Any, metric: str | None
) -> None:
    """Another metric's, or one that the alert was found after."""
    rows.hours("rag", 48, lambda left: 0.82 if left > 10 else 0.35, METRIC)
    mark_release(lake, Release("rag" if metric else "other", metric, clock() - 5 * HOUR), clock() - HOUR)
    number = mark_release(lake, Release("rag", None, clock() - 47 * HOUR), clock() - HOUR)
    make_monitor().refresh()
    assert changes(lake) == ["firing"]
    clock.advance(hours=1)
    for _ in range(2):
        monitor = Monitor(lake, LONGER, clock)
        monitor.refresh()
    assert changes(lake) == ["firing"]
    assert reading_of(monitor).kept
    withdraw_release(lake, number, clock())
    monitor.refresh()
    assert changes(lake) == ["firing", "resolved"]


@pytest.mark.usefixtures("fallen")
@pytest.mark.parametrize("range_of", [{"high": 10.0}, {"direction": "down"}], ids=str)
def test_an_alert_of_another_range_ends(lake: Lake, rows: Any, clock: Any, range_of: dict[str, Any]) -> None:
    """Its reference is no number of the scores that come now, however low or high they are."""
    clock.advance(hours=26)
    value = 0.01 if "high" in range_of else 0.95
    times = [clock() - 25 * HOUR + timedelta(minutes=3 * n) for n in range(500)]
    again = [{"requested_at": at, "date": at.date(), "value": value + n % 2 / 100} for n, at in enumerate(times)]
    rows.scores("rag", *(row | range_of for row in again))
    monitor = Monitor(lake, LONGER, clock)
    monitor.refresh()
    clock.advance(hours=2)
    monitor.refresh()
    assert changes(lake) == ["firing", "resolved"]


def test_an_alert_of_the_judge_stays_one(lake: Lake) -> None:
    """What it said of the cause holds as long as the stream computed anew says nothing of it."""
    alerts = AlertStore(lake)
    alerts.record([judged("judge")], NOW)
    kept = replace(READING, kept=True)
    assert {key: one.verdict for key, one in recorded_verdicts({KEY: kept}, alerts.active()).items()} == {KEY: "judge"}
    assert recorded_verdicts({KEY: READING}, alerts.active()) == {}
    assert recorded_verdicts({}, alerts.active()) == {}


@pytest.mark.usefixtures("fallen")
def test_a_restart_shows_the_cause_that_was_recorded(lake: Lake, clock: Any) -> None:
    """Where only the judge had changed, the gauge of the verdict goes on to say so, and wakes nobody."""
    (alert,) = AlertStore(lake).active()
    decided = replace(alert, change_id="decided", changed_at=alert.changed_at + timedelta(seconds=1), verdict="judge")
    lake.table(ALERTS, "rag").append(ALERTS.rows([to_row(decided)]))
    monitor = Monitor(lake, LONGER, clock)
    monitor.refresh()
    assert reading_of(monitor).kept
    assert monitor.snapshot is not None
    assert monitor.snapshot.deployments["rag"].judgements[METRIC].verdict == "judge"
    assert changes(lake) == ["firing", "firing"]


def test_an_undecided_alert_says_nothing_of_the_cause(lake: Lake) -> None:
    """So that a verdict that comes later is recorded."""
    alerts = AlertStore(lake)
    alerts.record([fired()], NOW)
    assert recorded_verdicts({KEY: replace(READING, kept=True)}, alerts.active()) == {}
