"""Row handlers that fail: they lose no rows, and the other handlers go on."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lake.spec.schemas import ALERTS
from lake.spec.state_tables import MONITOR_STATE
from lake.tables.lake import Lake
from lake.tables.table import Table
from monitor.detect.limits import Limits
from monitor.detect.regression import JudgeDriftDetectors, Status, Streams
from monitor.detect.stats.requests import RequestStats
from monitor.detect.stats.scores import ScoreStats
from monitor.service.monitor import Monitor

METRIC = "faithfulness_kprecision"


def broken(*_: Any, **__: Any) -> None:
    raise ValueError("a row that cannot be")


def alerts(lake: Lake, deployment: str) -> list[tuple[str, str]]:
    rows = lake.table(ALERTS, deployment).read().to_pylist()
    return [(row["metric"], row["verdict"]) for row in sorted(rows, key=lambda row: row["changed_at"])]


@pytest.mark.usefixtures("three_deployments")
def test_scores_that_the_detectors_refused_come_again(
    monitor: Monitor, lake: Lake, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stats have them at once and count them once; the detectors get them later, and find the regression."""
    with monkeypatch.context() as failing:
        failing.setattr(Streams, "add", broken)
        for _ in range(3):
            monitor.refresh()
            assert any("find_regressions" in problem for problem in monitor.health().problems)
            clock.advance(seconds=5)
    assert monitor.snapshot is not None
    assert monitor.snapshot.deployments["rag-search"].readings == {}
    assert alerts(lake, "rag-search") == []
    clock.advance(minutes=1)
    monitor.refresh()
    assert monitor.health().problems == ()
    state = monitor.snapshot.deployments["rag-search"]
    assert state.readings[METRIC].status is Status.REGRESSED
    assert state.scores.evaluations == 48 * 20 + 2
    assert alerts(lake, "rag-search") == [(METRIC, "system")]


def test_times_long_before_1970_are_counted_like_others(monitor: Monitor, rows: Any, clock: Any) -> None:
    """A deployment whose only rows are of the first day of the calendar has figures, a reading, and is no problem."""
    first = datetime.min.replace(tzinfo=UTC)
    times = {"requested_at": first, "date": first.date()}
    rows.logs("unset", times)
    rows.scores("unset", times | {"metric": METRIC, "value": 0.5, "scored_at": clock()})
    monitor.refresh()
    clock.advance(hours=3)
    monitor.refresh()
    assert monitor.snapshot is not None
    state = monitor.snapshot.deployments["unset"]
    assert (state.requests.total, state.scores.evaluations) == (1, 1)
    assert state.readings[METRIC].observations == 1
    assert monitor.failures == {}


def test_detectors_that_always_fail_stop_neither_figures_nor_limits(
    monitor: Monitor, rows: Any, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes is counted, once, and limits are judged, however often the detectors refuse it."""
    monkeypatch.setattr(Streams, "add", broken)
    rows.logs("rag", *[{}] * 50)
    for _ in range(3):
        rows.scores("rag", *({"metric": "refusal", "value": float(number % 5 == 0)} for number in range(50)))
        monitor.refresh()
        clock.advance(seconds=5)
    assert monitor.snapshot is not None
    assert monitor.snapshot.deployments["rag"].scores.evaluations == 150
    assert monitor.snapshot.deployments["rag"].limits["refusals"].share == 0.2


@pytest.mark.parametrize("state", [(RequestStats, "with_logs"), (ScoreStats, "with_scores")])
def test_limits_count_once_what_the_figures_refused(
    monitor: Monitor, lake: Lake, rows: Any, clock: Any, monkeypatch: pytest.MonkeyPatch, state: tuple[type, str]
) -> None:
    """Rows that come again for the figures do not come again for the limits: 10 failed of 60 are no catastrophe."""
    rows.logs("rag", *[{"status": 500 if number < 10 else 200} for number in range(60)])
    rows.scores("rag", *({"metric": "refusal", "value": float(number < 10)} for number in range(60)))
    with monkeypatch.context() as failing:
        failing.setattr(*state, broken)
        for _ in range(2):
            monitor.refresh()
            clock.advance(seconds=5)
    rows.logs("rag", *[{}] * 40)
    rows.scores("rag", *[{"metric": "refusal", "value": 0.0}] * 40)
    clock.advance(minutes=1)
    monitor.refresh()
    assert monitor.snapshot is not None
    rag = monitor.snapshot.deployments["rag"]
    assert (rag.limits["errors"].share, rag.limits["refusals"].share) == (0.1, 0.1)
    assert (rag.requests.total, rag.scores.evaluations) == (100, 100)


def test_sums_are_not_published_before_all_is_counted(
    monitor: Monitor, rows: Any, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A counter that began at 0 because scores were refused would take them for new when they come again."""
    rows.scores("rag", *[{"value": 0.5}] * 10)
    with monkeypatch.context() as failing:
        failing.setattr(ScoreStats, "with_scores", broken)
        monitor.refresh()
    assert monitor.snapshot is not None
    assert monitor.snapshot.totals.evaluations == {}
    clock.advance(seconds=5)
    monitor.refresh()
    assert monitor.snapshot.totals.evaluations == {"": 10}


def test_limits_that_fail_stop_no_figures_and_count_later(
    monitor: Monitor, rows: Any, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The figures do not wait for the limits, which have every row once when they work again."""
    rows.logs("rag", *[{"status": 500 if number < 10 else 200} for number in range(100)])
    with monkeypatch.context() as failing:
        failing.setattr(Limits, "add_logs", broken)
        monitor.refresh()
    assert monitor.snapshot is not None
    assert monitor.snapshot.deployments["rag"].requests.total == 100
    clock.advance(seconds=5)
    monitor.refresh()
    assert monitor.snapshot.deployments["rag"].limits["errors"].share == 0.1


def test_ratings_that_the_detectors_refused_come_again(
    monitor: Monitor, rows: Any, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ratings are counted at once, and watched once the detectors take them."""
    rows.signals("rag", "like", "dislike", "dislike")
    clock.advance(hours=3)
    with monkeypatch.context() as failing:
        failing.setattr(Streams, "add", broken)
        monitor.refresh()
    assert monitor.snapshot is not None
    assert monitor.snapshot.deployments["rag"].readings == {}
    assert sum(monitor.snapshot.deployments["rag"].ratings.metrics["dislikes"].histogram.counts) == 3
    monitor.refresh()
    clock.advance(hours=2)
    monitor.refresh()
    state = monitor.snapshot.deployments["rag"]
    assert sum(state.ratings.metrics["dislikes"].histogram.counts) == 3
    assert state.readings["dislikes"].reference_observations == 3
    assert monitor.health().problems == ()


def test_an_alert_does_not_wait_for_what_says_its_cause(
    monitor: Monitor, lake: Lake, rows: Any, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where anchors cannot be judged the alert is recorded as undecided, with the pass that found it."""
    rows.hours("rag", 48, lambda left: 0.82 if left > 10 else 0.35, METRIC)
    rows.scores("rag", {"metric": METRIC, "judge": "llm", "value": 0.3, "requested_at": clock() + timedelta(minutes=1)})
    monkeypatch.setattr(JudgeDriftDetectors, "shift", broken)
    monitor.refresh()
    assert {verdict for _, verdict in alerts(lake, "rag")} == {"undecided"}
    assert any(f"judge_regressions failed for {METRIC} of 'rag'" in problem for problem in monitor.health().problems)


def test_a_table_of_alerts_that_is_broken_keeps_no_other_alert_back(
    monitor: Monitor, lake: Lake, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two regressions found in one pass the one whose table takes it is recorded at once, the other later."""
    for deployment in ("a", "b"):
        rows.hours(deployment, 48, lambda left: 0.82 if left > 10 else 0.35, METRIC)
    append: Callable[..., Any] = Table.append

    def refuse_a(table: Table, *given: Any, **more: Any) -> Any:
        if table.spec is ALERTS and "/a/" in table.uri:
            raise OSError("no space left")
        return append(table, *given, **more)

    with monkeypatch.context() as full:
        full.setattr(Table, "append", refuse_a)
        monitor.refresh()
        assert (alerts(lake, "a"), alerts(lake, "b")) == ([], [(METRIC, "system")])
        assert any("no space left" in problem for problem in monitor.health().problems)
    monitor.refresh()
    assert alerts(lake, "a") == alerts(lake, "b") == [(METRIC, "system")]


def test_what_cannot_be_published_leaves_the_last_figures(
    monitor: Monitor, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refresh never raises: the snapshot before stays, health names the failure, and webhooks are sent."""
    rows.logs("rag", {})
    monitor.refresh()
    before, woken = monitor.snapshot, []
    rows.logs("rag", {})
    with monkeypatch.context() as failing:
        failing.setattr("monitor.service.monitor.totals_of", broken)
        failing.setattr("monitor.notify.notifier.Notifier.wake", lambda notifier: woken.append(notifier))
        monitor.refresh()
    assert monitor.snapshot is before
    assert woken
    assert any("publish failed" in problem for problem in monitor.health().problems)
    monitor.refresh()
    assert monitor.snapshot is not None
    assert monitor.snapshot.deployments["rag"].requests.total == 2


@pytest.mark.usefixtures("three_deployments")
def test_an_alert_does_not_end_while_scores_are_missing(
    make_monitor: Callable[[], Monitor], lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a restart a stream that has taken only the newest scores seems to learn anew: its alert stays open."""
    make_monitor().refresh()
    add = Streams.add

    def add_some(streams: Streams, rows: pa.Table, now: datetime, **_: Any) -> None:
        add(streams, rows.filter(pc.greater(rows["requested_at"], now - timedelta(hours=5))), now)
        raise MemoryError

    shutil.rmtree(lake.table(MONITOR_STATE, "rag-search").uri)

    with monkeypatch.context() as failing:
        failing.setattr(Streams, "add", add_some)
        restarted = make_monitor()
        restarted.refresh()
    assert restarted.snapshot is not None
    assert restarted.snapshot.deployments["rag-search"].readings[METRIC].kept
    assert {row["change"] for row in lake.table(ALERTS, "rag-search").read().to_pylist()} == {"firing"}


def test_a_lake_that_stays_away_is_logged_after_pauses_that_double(
    monitor: Monitor, lake: Lake, clock: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Every refresh counts it and says it in health; the log has it at once, another error, and a new outage, too."""
    begun, asked = clock(), 0

    def away() -> list[str | None]:
        nonlocal asked
        asked += 1
        raise OSError(f"no route to the store after {asked} tries in {asked / 7:.3f} s, request {asked:x}a0f")

    def refused() -> list[str | None]:
        raise PermissionError("access denied")

    with monkeypatch.context() as failing:
        failing.setattr(lake, "deployments", away)
        logged_at: list[float] = []
        for _ in range(60):
            caplog.clear()
            monitor.refresh()
            assert any("no route to the store" in problem for problem in monitor.health().problems)
            logged_at += [(clock() - begun).total_seconds()] * len(caplog.records)
            clock.advance(seconds=2)
        assert logged_at == [0, 6, 16, 36, 76]
        caplog.clear()
        failing.setattr(lake, "deployments", refused)
        monitor.refresh()
        assert [record.getMessage() for record in caplog.records] == [
            "list_deployments failed for the lake; it is tried again. PermissionError: access denied"
        ]
    monitor.refresh()
    assert monitor.snapshot is not None
    assert monitor.failures == {"list_deployments": 61}
    caplog.clear()
    monkeypatch.setattr(lake, "deployments", refused)
    monitor.refresh()
    assert len(caplog.records) == 1
