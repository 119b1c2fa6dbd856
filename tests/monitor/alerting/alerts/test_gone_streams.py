"""Alerts and pages of metrics that get no scores any more, and of streams that an error has stopped."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lake.maintenance.retention import drop_before
from lake.spec.schemas import ALERTS, SCORES
from lake.tables.lake import Lake
from monitor.detect.regression import Detector, Status
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.exposition import without_installation

pytestmark = pytest.mark.slow

METRIC = "faithfulness_kprecision"
ACTIVE = f'dialwatch_regression_active{{deployment="rag",metric="{METRIC}"}}'
DAY = timedelta(days=1)


def ends(lake: Lake, deployment: str = "rag") -> list[tuple[str, str]]:
    """What became of the metric's alerts, in the order in which it was recorded, and why."""
    rows = lake.table(ALERTS, deployment).read().sort_by("changed_at").to_pylist()
    return [(row["change"], row["reason"]) for row in rows if row["metric"] == METRIC]


def changes(lake: Lake) -> list[str]:
    return [change for change, _ in ends(lake)]


@pytest.fixture
def fallen(rows: Any) -> None:
    """A deployment of which one metric fell 10 hours ago, and another is well."""
    rows.hours("rag", 48, lambda left: 0.82 if left > 10 else 0.35, METRIC)
    rows.hours("rag", 48, lambda _: 0.8, "other", seed=2)


def metrics_of(get: Callable[..., Any], monitor: Monitor) -> str:
    return without_installation(text_of(get, monitor, "/metrics"))


def text_of(get: Callable[..., Any], monitor: Monitor, path: str = "/deployment?name=rag") -> str:
    return " ".join(get(create_app(monitor), path).text.split())


@pytest.mark.usefixtures("fallen")
@pytest.mark.parametrize("restarts", [False, True])
def test_an_alert_of_a_metric_that_is_no_longer_scored_ends_after_four_weeks(
    make_monitor: Callable[[], Monitor], lake: Lake, rows: Any, clock: Any, get: Callable[..., Any], restarts: bool
) -> None:
    """Days without a score end nothing; four weeks do, with the reason, and no page or gauge holds it to regress."""
    monitor = make_monitor()
    for days in (0, 3, 24.9):
        clock.advance(days=days)
        at = {"requested_at": clock(), "date": clock().date()}
        rows.scores("rag", at | {"metric": "other", "value": 0.8})
        rows.logs("rag", at)
        monitor = make_monitor() if restarts else monitor
        monitor.refresh()
        assert changes(lake) == ["firing"]
        assert f"{ACTIVE} 1.0" in metrics_of(get, monitor)
        assert "no score since" not in text_of(get, monitor)
    clock.advance(days=0.2)
    for _ in range(2):
        monitor = make_monitor() if restarts else monitor
        monitor.refresh()
    assert changes(lake) == ["firing", "resolved"]
    _, reason = ends(lake)[-1]
    assert reason.startswith("no longer watched: no score of this metric since 2026-11-20 11:57 UTC")
    assert monitor.health().problems == ()
    assert ACTIVE not in metrics_of(get, monitor)
    assert 'dialwatch_score_mean{deployment="rag",metric="other"} 0.8' in metrics_of(get, monitor)
    page = text_of(get, monitor)
    assert "alert is over; no longer watched: no score of this metric since" in page
    assert '<span class="state">resolved</span>' in page
    assert '<span class="state">not watched</span> <span class="quiet">no score since 20 Nov 2026, 11:57' in page
    assert "active regression" not in text_of(get, monitor, "/").replace("No active regression", "")


@pytest.mark.usefixtures("fallen")
def test_a_receiver_that_was_sent_the_beginning_is_sent_the_end(
    lake: Lake, settings: MonitorSettings, clock: Any, receiver: Any
) -> None:
    """Four weeks later, once, after restarts, with the reason; and nothing is said of a recovery."""
    webhook = {"url": receiver.address, "secret": "whsec_" + base64.b64encode(b"k" * 32).decode()}
    with_webhook = MonitorSettings(
        regression=settings.regression, webhooks=[webhook], internal_hosts=["127.0.0.1"], group_seconds=0
    )
    for days in (0, 28, 1):
        clock.advance(days=days)
        monitor = Monitor(lake, with_webhook, clock)
        monitor.refresh()
        monitor._notifier.run_due(clock())
    first, end = (json.loads(body)["alerts"][0] for body in receiver.bodies)
    assert (first["status"], end["status"]) == ("firing", "resolved")
    assert first["fingerprint"] == end["fingerprint"]
    assert "alert is over; no longer watched: no score of this metric since" in end["annotations"]["summary"]
    assert "again" not in end["annotations"]["description"]


@pytest.mark.usefixtures("fallen")
def test_an_evaluator_that_was_down_for_days_ends_no_alert(monitor: Monitor, lake: Lake, rows: Any, clock: Any) -> None:
    """After a week of silence the regression goes on, and its alert ends by evidence alone."""
    monitor.refresh()
    clock.advance(days=7)
    monitor.refresh()
    assert changes(lake) == ["firing"]
    later = clock() - timedelta(days=1)
    times = [later + timedelta(minutes=3 * n) for n in range(20 * 24)]
    rows.scores(
        "rag", *({"requested_at": at, "date": at.date(), "value": 0.75 + n % 2 / 7} for n, at in enumerate(times))
    )
    monitor.refresh()
    assert ends(lake)[1:] == [("resolved", "the evidence that quality is back reached the threshold")]


@pytest.mark.usefixtures("fallen")
@pytest.mark.parametrize("gone", ["retention", "table", "all but alerts"])
def test_an_alert_whose_scores_have_left_the_lake_ends_after_four_weeks(
    make_monitor: Callable[[], Monitor], lake: Lake, clock: Any, gone: str
) -> None:
    """A monitor that starts then may know no stream of it, and still ends it, once; not while it is young."""
    make_monitor().refresh()
    last = "11:57" if gone == "retention" else "12:00"
    if gone == "retention":
        drop_before(lake.table(SCORES, "rag"), clock().date() + DAY)
    elif gone == "table":
        shutil.rmtree(lake.table(SCORES, "rag").uri)
    else:
        for folder in Path(lake.table(ALERTS, "rag").uri).parent.iterdir():
            if folder.name != "alerts":
                shutil.rmtree(folder)
    for days, kinds in ((1, ["firing"]), (26.9, ["firing"]), (0.2, ["firing", "resolved"])):
        clock.advance(days=days)
        for monitor in (make_monitor(), make_monitor()):
            for _ in range(2):
                monitor.refresh()
            assert changes(lake) == kinds
            assert monitor.health().problems == ()
    assert f"no longer watched: no score of this metric since 2026-11-20 {last} UTC" in ends(lake)[-1][1]


@pytest.mark.usefixtures("fallen")
@pytest.mark.parametrize("restarts", [False, True])
def test_scores_that_come_again_and_are_no_better_fire_again(
    make_monitor: Callable[[], Monitor], lake: Lake, rows: Any, clock: Any, restarts: bool
) -> None:
    """Silence was no recovery: the stream is as it was, and its next alert is another one, sent once."""
    monitor = make_monitor()
    monitor.refresh()
    clock.advance(days=40)
    monitor.refresh()
    assert changes(lake) == ["firing", "resolved"]
    times = [clock() - timedelta(minutes=3 * n) for n in range(20 * 6)]
    rows.scores("rag", *({"requested_at": at, "date": at.date(), "value": n % 3 / 3} for n, at in enumerate(times)))
    for _ in range(3):
        monitor = make_monitor() if restarts else monitor
        monitor.refresh()
        clock.advance(hours=1)
    assert monitor.snapshot is not None
    assert monitor.snapshot.deployments["rag"].readings[METRIC].status is Status.REGRESSED
    assert ends(lake)[2:] == [("firing", "its scores have come again, and are no better")]
    alerts = lake.table(ALERTS, "rag").read().sort_by("changed_at").to_pylist()
    assert len({row["alert_id"] for row in alerts}) == 2
    assert alerts[-1]["current_mean"] < 0.5


@pytest.mark.usefixtures("fallen")
def test_scores_that_come_again_and_are_well_fire_nothing(monitor: Monitor, lake: Lake, rows: Any, clock: Any) -> None:
    """Whatever the stream was before: no alert begins with the first hour of good scores only to end with the next."""
    monitor.refresh()
    clock.advance(days=40)
    monitor.refresh()
    for _ in range(8):
        times = [clock() + timedelta(minutes=3 * n) for n in range(20)]
        clock.advance(hours=1)
        good = ({"requested_at": at, "date": at.date(), "value": 0.8 + n % 3 / 10} for n, at in enumerate(times))
        rows.scores("rag", *good)
        monitor.refresh()
    assert changes(lake) == ["firing", "resolved"]
    assert monitor.snapshot is not None
    assert monitor.snapshot.deployments["rag"].readings[METRIC].status is Status.WATCHING


@pytest.mark.usefixtures("fallen")
def test_a_stream_that_has_stopped_says_so_on_the_pages(
    monitor: Monitor, lake: Lake, rows: Any, clock: Any, get: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Why, that an open alert stays open, and what to do; also where its scores go on and others are well."""
    monitor.refresh()
    clock.advance(hours=3)
    monitor.refresh()

    def broken(*_: Any) -> Any:
        raise ValueError("a number that <cannot> be")

    monkeypatch.setattr(Detector, "changes", broken)
    clock.advance(hours=3)
    rows.scores(
        "rag", {"value": 0.3, "requested_at": clock() - timedelta(hours=2)}, {"value": 0.3, "requested_at": clock()}
    )
    monitor.refresh()
    page, overview = text_of(get, monitor), text_of(get, monitor, "/")
    assert "stopped</span>" in page
    assert "ValueError(&#39;a number that &lt;cannot&gt; be&#39;)" in page
    assert "It learns again from its scores; an open alert stays open." in page
    assert "no score to watch" not in page
    assert "“answer words found in the documents” stopped by an error" in overview.replace("<wbr>", "")
    assert "1 stopped by an error" in overview
    assert 'dialwatch_monitor_failures_total{reason="stopped_streams"} 1.0' in metrics_of(get, monitor)
    clock.advance(days=27)
    monitor.refresh()
    assert changes(lake) == ["firing"]
