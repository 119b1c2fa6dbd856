from __future__ import annotations

import base64
import shutil
import socket
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lake.queries.application_classes import DecidedClass
from lake.spec.alert_vocabulary import DELIVERY_EVENTS
from lake.spec.application_classes import SeenAnswers
from lake.spec.schemas import ALERTS, SCORES, USER_SIGNALS
from lake.tables.lake import Lake
from lake.tables.table import Table
from monitor.detect.regression import JudgeDriftDetectors, Status, Streams
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings


def test_a_refresh_publishes_what_every_table_says(monitor: Monitor, three_deployments: None, strange_name: str):
    """One refresh shows all deployments with their traffic, scores and regressions, and the collector's books."""
    monitor.refresh()
    snapshot = monitor.snapshot
    assert snapshot is not None
    assert list(snapshot.deployments) == sorted(["rag-search", strange_name, "gpt-4o", "_unassigned"])
    rag = snapshot.deployments["rag-search"]
    assert rag.requests.answers == 960
    assert rag.requests.signals == {"like": 2, "dislike": 1, "regenerate": 1}
    assert rag.readings["faithfulness_kprecision"].status is Status.REGRESSED
    assert snapshot.deployments[strange_name].readings["faithfulness_kprecision"].status is Status.WATCHING
    assert snapshot.collector_stats.handed_over == 3014
    assert snapshot.collector_stats.rejected == {"not_json": 2, "no_time": 1}
    assert monitor.failures == {}


def test_a_restart_comes_to_the_same_numbers(
    monitor: Monitor, make_monitor: Callable[[], Monitor], rows: Any, three_deployments: None
):
    """A monitor that saw the rows come bit by bit and one that begins now publish equal totals."""
    monitor.refresh()
    for number in range(3):
        rows.logs("rag-search", *({"deployment_price": 0.1 * n} for n in range(number + 3)))
        rows.scores("rag-search", {"value": 0.1 * number, "cost": 0.1}, {"value": None, "reason": "no_contexts"})
        rows.batch(stored=number)
        monitor.refresh()
    again = make_monitor()
    again.refresh()
    assert monitor.snapshot is not None
    assert again.snapshot is not None
    for name, state in monitor.snapshot.deployments.items():
        restarted = again.snapshot.deployments[name]
        assert restarted.requests == state.requests
        assert restarted.alerts == state.alerts
        assert restarted.scores.skips == state.scores.skips
        assert restarted.judge_costs == state.judge_costs
        for metric, scores in state.scores.metrics.items():
            assert restarted.scores.metrics[metric].histogram.total == scores.histogram.total
            assert restarted.scores.metrics[metric].histogram.counts == scores.histogram.counts
    assert again.snapshot.collector_stats == monitor.snapshot.collector_stats


@pytest.mark.usefixtures("three_deployments")
def test_a_regression_is_sent_once(lake: Lake, settings: MonitorSettings, clock: Any, receiver: Any):
    """The webhook goes out once a refresh found the regression, is counted, and survives a restart."""
    webhook = {"url": receiver.address, "secret": "whsec_" + base64.b64encode(b"k" * 32).decode()}
    with_webhook = MonitorSettings(
        regression=settings.regression, webhooks=[webhook], internal_hosts=["127.0.0.1"], group_seconds=0
    )
    for _ in range(2):
        monitor = Monitor(lake, with_webhook, clock)
        monitor.refresh()
        monitor._notifier.run_due(clock())
        monitor.refresh()
        assert len(receiver.bodies) == 1
        assert monitor.snapshot is not None
        alerts = monitor.snapshot.deployments["rag-search"].alerts
        assert alerts.regressions == {("faithfulness_kprecision", "system"): 1}
        assert alerts.deliveries == {"delivered": 1}
        assert monitor.failures == {}


@pytest.mark.usefixtures("three_deployments")
def test_the_first_snapshot_after_a_restart_has_the_alerts(
    make_monitor: Callable[[], Monitor], lake: Lake, settings: MonitorSettings, clock: Any, receiver: Any
):
    """What is published first already counts what was sent before the restart."""
    webhook = {"url": receiver.address, "secret": "whsec_" + base64.b64encode(b"k" * 32).decode()}
    with_webhook = MonitorSettings(
        regression=settings.regression, webhooks=[webhook], internal_hosts=["127.0.0.1"], group_seconds=0
    )
    before = Monitor(lake, with_webhook, clock)
    before.refresh()
    before._notifier.run_due(clock())
    restarted = Monitor(lake, with_webhook, clock)
    restarted.refresh()
    assert restarted.snapshot is not None
    assert restarted.snapshot.totals.deliveries == dict.fromkeys(DELIVERY_EVENTS, 0) | {"delivered": 1}
    assert restarted.snapshot.disabled_webhooks == {"webhook": False}
    alerts = restarted.snapshot.deployments["rag-search"].alerts
    assert alerts.regressions == {("faithfulness_kprecision", "system"): 1}


@pytest.mark.usefixtures("three_deployments")
def test_a_receiver_that_does_not_answer_holds_up_no_refresh(lake: Lake, settings: MonitorSettings, clock: Any):
    """Refreshes find what is new while an attempt to send is still waiting for its answer."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        webhook = {"url": f"http://127.0.0.1:{silent.getsockname()[1]}/", "secret": "whsec_" + "A" * 44}
        with_webhook = MonitorSettings(
            regression=settings.regression, webhooks=[webhook], internal_hosts=["127.0.0.1"], group_seconds=0
        )
        monitor = Monitor(lake, with_webhook, clock)
        with monitor.sending_webhooks():
            monitor.refresh()
            connection, _ = silent.accept()
            monitor.refresh()
            monitor.refresh()
            assert monitor._notifier.failed_attempts == 0
            connection.close()


def test_each_row_counts_once(monitor: Monitor, rows: Any):
    """Refreshing again and again adds only what is new."""
    rows.logs("a", {}, {})
    monitor.refresh()
    monitor.refresh()
    rows.logs("a", {})
    monitor.refresh()
    assert monitor.snapshot is not None
    assert monitor.snapshot.deployments["a"].requests.total == 3


def test_a_broken_table_leaves_the_others_alone(monitor: Monitor, lake: Lake, rows: Any):
    """What cannot be read is counted and named; all else is shown, and the table is back once it is whole."""
    rows.logs("good", {})
    rows.logs("bad", {})
    rows.signals("bad", "like")
    log = Path(lake.table(USER_SIGNALS, "bad").uri) / "_delta_log" / f"{1:020}.json"
    whole = log.read_bytes()
    log.write_text("not a commit")
    monitor.refresh()
    assert monitor.snapshot is not None
    assert monitor.snapshot.deployments["good"].requests.total == 1
    assert monitor.snapshot.deployments["bad"].requests.total == 1
    assert monitor.failures == {"read_user_signals": 1}
    health = monitor.health()
    assert health.healthy
    assert "user_signals of 'bad'" in health.problems[0]
    log.write_bytes(whole)
    monitor.refresh()
    assert monitor.snapshot.deployments["bad"].requests.signals == {"like": 1}
    assert monitor.health().problems == ()


def test_a_detector_that_fails_stops_neither_limits_nor_figures(
    monitor: Monitor, rows: Any, monkeypatch: pytest.MonkeyPatch
):
    """What it cannot say is counted and said by health; traffic and limits are published all the same."""

    def broken(*_: object) -> None:
        raise ValueError("a number that cannot be")

    rows.logs("rag", *[{"status": 500 if number % 2 else 200} for number in range(100)])
    monkeypatch.setattr(Streams, "readings", broken)
    monkeypatch.setattr(JudgeDriftDetectors, "readings", broken)
    monitor.refresh()
    assert monitor.snapshot is not None
    assert monitor.snapshot.deployments["rag"].requests.failed == 50
    assert monitor.snapshot.deployments["rag"].limits["errors"].share == 0.5
    assert dict(monitor.failures) == {"find_regressions": 1, "judge_regressions": 1}
    assert any("a number that cannot be" in problem for problem in monitor.health().problems)


def test_a_deployment_that_leaves_the_lake_disappears(monitor: Monitor, lake: Lake, rows: Any):
    """After an erasure the deployment is gone, the others keep their numbers, and it may come back."""
    rows.logs("stays", {}, {})
    rows.logs("goes", {})
    monitor.refresh()
    shutil.rmtree(Path(lake.root) / "goes")
    monitor.refresh()
    assert monitor.snapshot is not None
    assert list(monitor.snapshot.deployments) == ["stays"]
    assert monitor.snapshot.deployments["stays"].requests.total == 2
    rows.logs("goes", {}, {}, {})
    monitor.refresh()
    assert monitor.snapshot.deployments["goes"].requests.total == 3


@pytest.mark.usefixtures("three_deployments")
def test_an_erased_deployment_may_have_its_alert_again(monitor: Monitor, lake: Lake, rows: Any):
    """A deployment that comes back with a regression is alerted, though it had an open alert when it was erased."""
    monitor.refresh()
    shutil.rmtree(Path(lake.root) / "rag-search")
    monitor.refresh()
    rows.hours("rag-search", 48, lambda left: 0.82 if left > 20 else 0.35, "faithfulness_kprecision")
    monitor.refresh()
    assert [row["change"] for row in lake.table(ALERTS, "rag-search").read().to_pylist()] == ["firing"]


@pytest.mark.parametrize("seen_missing", [False, True])
def test_a_table_that_was_made_anew_is_read_again(monitor: Monitor, lake: Lake, rows: Any, seen_missing: bool):
    """Scores that were removed to be made again take the place of the old ones."""
    rows.logs("a", {})
    for number in range(6):
        rows.scores("a", {"value": 0.5, "response_id": f"old-{number}"})
    monitor.refresh()
    shutil.rmtree(lake.table(SCORES, "a").uri)
    if seen_missing:
        monitor.refresh()
    rows.scores("a", *({"value": 0.9, "response_id": f"new-{number}"} for number in range(50)))
    for _ in range(2):
        monitor.refresh()
    assert monitor.snapshot is not None
    assert monitor.snapshot.deployments["a"].scores.evaluations == 50
    assert monitor.health().problems == ()


def test_only_the_newest_version_of_a_metric_is_watched(monitor: Monitor, rows: Any, clock: Any):
    """Late scores of a metric's old version do not take the place of the new version's readings."""
    times = [clock() - timedelta(hours=hours) for hours in (5, 4, 3, 0)]
    rows.scores("a", *({"metric_version": "2", "value": 0.9, "requested_at": at} for at in times))
    monitor.refresh()
    rows.scores("a", {"metric_version": "1", "value": 0.1, "requested_at": times[0]})
    monitor.refresh()
    assert monitor.snapshot is not None
    state = monitor.snapshot.deployments["a"]
    assert state.scores.metrics["faithfulness_kprecision"].version == "2"
    assert state.readings["faithfulness_kprecision"].mean == pytest.approx(0.9)


def test_health_says_why(monitor: Monitor, clock: Any, rows: Any):
    """Unhealthy before the first refresh and after a minute without one; healthy in between."""
    assert monitor.health().problems == ("The lake has not been read yet.",)
    monitor.refresh()
    assert monitor.health().healthy
    clock.advance(seconds=59)
    assert monitor.health().healthy
    clock.advance(seconds=2)
    health = monitor.health()
    assert not health.healthy
    assert "61 seconds ago" in health.problems[0]


def test_a_lake_that_cannot_be_listed_is_unhealthy(
    monitor: Monitor, lake: Lake, rows: Any, monkeypatch: pytest.MonkeyPatch
):
    """A store that does not answer keeps the old figures, counts the failure and says so."""

    def unreachable() -> list[str | None]:
        raise OSError("connection refused")

    rows.logs("a", {})
    monitor.refresh()
    monkeypatch.setattr(lake, "deployments", unreachable)
    monitor.refresh()
    health = monitor.health()
    assert not health.healthy
    assert "connection refused" in health.problems[0]
    assert monitor.snapshot is not None
    assert monitor.failures == {"list_deployments": 1}
    assert list(monitor.snapshot.deployments) == ["a"]


def test_two_refreshes_never_run_at_once(monitor: Monitor, lake: Lake, rows: Any, monkeypatch: pytest.MonkeyPatch):
    """A refresh that comes while another one runs returns at once and reads nothing."""
    inside, leave, calls = threading.Event(), threading.Event(), []

    def slow() -> list[str | None]:
        calls.append(1)
        inside.set()
        leave.wait(60)
        return []

    monkeypatch.setattr(lake, "deployments", slow)
    first = threading.Thread(target=monitor.refresh)
    first.start()
    inside.wait(60)
    monitor.refresh()
    leave.set()
    first.join(60)
    assert calls == [1]


def test_a_backfill_stays_out_of_the_histogram(monitor: Monitor, rows: Any, clock: Any):
    """A score made a day after its answer is evaluated and drawn, but a counter has no past."""
    old = clock() - timedelta(days=2)
    rows.scores("a", {"requested_at": old, "date": old.date(), "value": 0.5, "scored_at": clock()}, {"value": 0.7})
    monitor.refresh()
    assert monitor.snapshot is not None
    scores = monitor.snapshot.deployments["a"].scores
    assert scores.evaluations == 2
    assert sum(scores.metrics["faithfulness_kprecision"].histogram.counts) == 1
    assert len(scores.metrics["faithfulness_kprecision"].means_by_time.hours.numbers) == 2


def test_a_table_without_news_is_looked_at_once(monitor: Monitor, rows: Any, monkeypatch: pytest.MonkeyPatch):
    """Two readers of the logs, of all requests and of the latest answers, open it twice only where there is news."""
    looks: list[str] = []
    read_since = Table.read_since

    def spy(table: Table, *given: Any, **more: Any) -> Any:
        looks.append(table.spec.name)
        return read_since(table, *given, **more)

    rows.logs("a", {})
    monitor.refresh()
    monkeypatch.setattr(Table, "read_since", spy)
    monitor.refresh()
    assert looks.count("parsed_logs") == 1
    rows.logs("a", *[{"answer": "", "finish_reason": "stop"}] * 60)
    monitor.refresh()
    assert looks.count("parsed_logs") == 3
    assert monitor.snapshot is not None
    assert monitor.snapshot.deployments["a"].limits["empty_answers"].share == 60 / 61


def test_texts_of_people_are_never_read(monitor: Monitor, rows: Any, monkeypatch: pytest.MonkeyPatch):
    """No column that holds long texts is asked of the lake."""
    asked: set[str] = set()
    read_since = Table.read_since

    def spy(table: Table, version: int | None, columns: Any = None, **more: Any) -> Any:
        assert columns is not None
        asked.update(f"{table.spec.name}.{column}" for column in columns)
        return read_since(table, version, columns, **more)

    monkeypatch.setattr(Table, "read_since", spy)
    rows.logs("a", {})
    rows.scores("a", {"value": 1.0})
    monitor.refresh()
    assert f"{SCORES.name}.value" in asked
    assert not {
        name for name in asked if name.split(".")[1] in {"question", "answer", "request_body", "details", "raw"}
    }


def test_an_alert_of_a_metric_that_a_new_class_does_not_score_ends_and_stays_so(lake: Lake, rows: Any, clock: Any):
    """Also where its last batch closes only later: what was scored before the decision fires nothing again."""
    rows.hours("rag", 24 * 11, lambda left: 0.4 if left < 30 else 0.8, "faithfulness_kprecision")
    monitor = Monitor(lake, MonitorSettings(), clock)
    monitor.refresh()

    def found() -> list[str]:
        assert monitor.snapshot is not None
        assert monitor.failures == {}
        changes = monitor.snapshot.deployments["rag"].changes
        return [str(one.change) for one in reversed(changes) if one.key.metric == "faithfulness_kprecision"]

    assert found()[0] == "firing"
    assert "resolved" not in found()
    seen = SeenAnswers(120, 0, 83, 0)
    decided = DecidedClass("rag", 1, (), seen, (), is_chosen=False, since=clock(), decided_at=clock())
    monitor._classes.keep(decided)
    for _ in range(3):
        monitor.refresh()
        clock.advance(hours=1)
    assert found()[-1] == "resolved"
    assert found().count("resolved") == 1
