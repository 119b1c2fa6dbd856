"""Streams that an error has stopped: they are told, learn anew from all rows, and hold up no other."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from lake.spec.schemas import ALERTS
from lake.spec.state_tables import MONITOR_STATE
from lake.spec.vocabulary import DISLIKES
from lake.tables.history import History
from lake.tables.lake import Lake
from monitor.detect.regression import Detector, Status
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from tests.exposition import without_installation

METRIC, OTHER = "faithfulness_kprecision", "other"
POISON = 0.0625


def poisoned(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Have the detectors fail for every batch with an answer of this one value."""
    changes = Detector.changes

    def fails(self: Detector, found: Any, streams: Any) -> Any:
        if (found.values == POISON).any():
            raise ValueError("a row that <cannot> be")
        return changes(self, found, streams)

    monkeypatch.setattr(Detector, "changes", fails)
    return monkeypatch


def score(rows: Any, at: Any, value: float, metric: str = METRIC) -> None:
    rows.scores(
        "rag", {"requested_at": at, "date": at.date(), "value": value, "metric": metric, "response_id": f"{at}"}
    )


@pytest.fixture
def two_metrics(rows: Any) -> None:
    """One has fallen 30 hours ago, the other is well."""
    rows.hours("rag", 24 * 4, lambda left: 0.8 if left > 30 else 0.4, METRIC)
    rows.hours("rag", 24 * 4, lambda _: 0.7, OTHER, seed=2)


def state_of(monitor: Monitor) -> Any:
    monitor.refresh()
    assert monitor.snapshot is not None
    return monitor.snapshot.deployments["rag"]


def fired(lake: Lake) -> list[str]:
    return [row["change"] for row in lake.table(ALERTS, "rag").read().to_pylist()]


def next_scores(monitor: Monitor, rows: Any, clock: Any) -> Any:
    """Three hours later, with a score of each metric at their begin and end: the batches between are over."""
    for hours in (1, 2):
        score(rows, clock() + timedelta(hours=hours), 0.4)
        score(rows, clock() + timedelta(hours=hours), 0.7, OTHER)
    clock.advance(hours=3)
    return state_of(monitor)


@pytest.mark.usefixtures("two_metrics")
def test_a_stream_that_fails_once_learns_anew_at_the_next_refresh(
    make_monitor: Callable[[], Monitor],
    lake: Lake,
    rows: Any,
    clock: Any,
    get: Callable[..., Any],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Told on the pages, in health and in a metric, and logged once; then it reads as a monitor without the error."""
    monitor = make_monitor()
    before = state_of(monitor)
    assert before.readings[METRIC].status is Status.REGRESSED
    with monkeypatch.context() as failing:
        score(rows, clock(), POISON)
        poisoned(failing)
        state = next_scores(monitor, rows, clock)
    assert state.stopped == {METRIC: "ValueError('a row that <cannot> be')"}
    assert list(state.readings) == [OTHER]
    (problem,) = monitor.health().problems
    assert problem.startswith(f"{METRIC} of 'rag' is not watched for regressions: ValueError")
    pages = {
        path: without_installation(get(create_app(monitor), path).text)
        for path in ("/", "/deployment?name=rag", "/metrics", "/healthz")
    }
    assert "stopped by an error" in pages["/"]
    assert "ValueError(&#39;a row that &lt;cannot&gt; be&#39;)" in pages["/deployment?name=rag"]
    assert "is not watched for regressions" in pages["/healthz"]
    stopped = f'dialwatch_stream_stopped{{deployment="rag",kind="regression",metric="{METRIC}"}} 1.0'
    assert stopped in pages["/metrics"]
    state = state_of(monitor)
    assert (state.stopped, monitor.health().problems) == ({}, ())
    assert state.readings[METRIC].status is Status.REGRESSED
    assert state.readings.keys() == {METRIC, OTHER}
    assert "dialwatch_stream_stopped{" not in get(create_app(monitor), "/metrics").text
    assert [one.levelno for one in caplog.records if one.exc_info] == [logging.ERROR]
    assert fired(lake) == ["firing"]


@pytest.mark.usefixtures("two_metrics")
def test_a_row_that_fails_each_time_keeps_the_others_going_and_costs_ever_less(
    make_monitor: Callable[[], Monitor], lake: Lake, rows: Any, clock: Any, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    """An hour of refreshes reads the history a few times; the other metric is watched and saved; no alert ends."""
    monitor = make_monitor()
    state_of(monitor)
    score(rows, clock(), POISON)
    poisoned(monkeypatch)
    next_scores(monitor, rows, clock)
    read, reads = History.read, 0

    def counted(*given: Any, **more: Any) -> Any:
        nonlocal reads
        reads += 1
        return read(*given, **more)

    monkeypatch.setattr(History, "read", counted)
    for _ in range(720):
        clock.advance(seconds=5)
        state = state_of(monitor)
        assert list(state.stopped) == [METRIC]
    assert 8 <= reads <= 12
    assert len([one for one in caplog.records if one.exc_info]) == 1
    saved = lake.table(MONITOR_STATE, "rag").version()
    latest = state.readings[OTHER].latest
    state = next_scores(monitor, rows, clock)
    assert state.readings[OTHER].latest > latest
    assert lake.table(MONITOR_STATE, "rag").version() > saved
    assert fired(lake) == ["firing"]


@pytest.mark.usefixtures("two_metrics")
def test_a_stream_that_was_stopped_when_the_state_was_saved_learns_anew_after_a_restart(
    make_monitor: Callable[[], Monitor], lake: Lake, rows: Any, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the state lacks is read again, of this metric alone, and its open alert stays."""
    monitor = make_monitor()
    state_of(monitor)
    with monkeypatch.context() as failing:
        score(rows, clock(), POISON)
        poisoned(failing)
        next_scores(monitor, rows, clock)
    restarted = make_monitor()
    state = state_of(restarted)
    assert restarted.failures == {}
    assert state.readings[METRIC].status is Status.REGRESSED
    assert state.readings[METRIC].observations == state_of(monitor).readings[METRIC].observations
    assert fired(lake) == ["firing"]


def test_likes_that_stopped_learn_anew_like_scores(
    make_monitor: Callable[[], Monitor], rows: Any, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are made of signals; figures and readings are those of a monitor without the error."""
    rows.hours("rag", 24, lambda _: 0.8, METRIC)
    rows.signals("rag", *["like", "dislike", "dislike"] * 10)
    monitor, changes = make_monitor(), Detector.changes
    state_of(monitor)

    def fails(self: Detector, found: Any, streams: Any) -> Any:
        if set(found.values.tolist()) <= {0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0}:
            raise ValueError("no likes")
        return changes(self, found, streams)

    clock.advance(hours=4)
    with monkeypatch.context() as failing:
        failing.setattr(Detector, "changes", fails)
        for _ in range(3):
            state = state_of(monitor)
            clock.advance(hours=2)
        assert DISLIKES in state.stopped
        assert METRIC in state.readings
    for _ in range(2):
        clock.advance(hours=2)
        state = state_of(monitor)
    assert state.stopped == {}
    assert state.readings[DISLIKES].observations == 30
    assert sum(state.ratings.metrics[DISLIKES].histogram.counts) == 30
