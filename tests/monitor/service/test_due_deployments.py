"""Deployments without news are looked at once a minute, and what is known of them is what it would be otherwise."""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake.spec.alert_vocabulary import LimitKind
from lake.tables import open_tables
from lake.tables.lake import Lake
from monitor.detect.limits import LimitSettings
from monitor.detect.limits.no_data import PENDING
from monitor.detect.regression import RegressionSettings
from monitor.service.ingest import due_deployments
from monitor.service.ingest.due_deployments import LOOK_SECONDS
from monitor.service.ingest.ingest import Ingest
from monitor.service.monitor import Monitor
from monitor.service.snapshot import DeploymentState
from monitor.settings import MonitorSettings
from tests.monitor.conftest import NOW, Clock, ScoreColumns
from tests.servers import Bucket

NAMES = ("app__1.0", "app__1.1", "chat")
FEW = MonitorSettings(
    regression=RegressionSettings(reference_observations=20, batch=timedelta(minutes=10), grace=timedelta(minutes=1)),
    limits=LimitSettings(minimum_requests=3),
)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Counter[str | None]:
    """How often the tables of each deployment were read."""
    counted: Counter[str | None] = Counter()
    read = Ingest.read_deployment

    def counting(ingest: Ingest, deployment: str | None, *rest: Any, **named: Any) -> None:
        counted[deployment] += 1
        read(ingest, deployment, *rest, **named)

    monkeypatch.setattr(Ingest, "read_deployment", counting)
    return counted


@pytest.fixture(params=["folder", pytest.param("store", marks=pytest.mark.integration)])
def lake_of_either(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    monkeypatch.setattr(open_tables, "_SETTLED_NS", 0)
    if request.param == "folder":
        return Lake(str(tmp_path / "lake"))
    bucket: Bucket = request.getfixturevalue("bucket")
    return Lake(f"{bucket.uri}/lake", bucket.storage)


def test_only_what_has_news_is_read(lake_of_either: Lake, clock: Clock, looks: Counter[str | None]) -> None:
    """The second refresh reads the deployment that got rows, and within a minute each of the others is read once."""
    rows = ScoreColumns(lake_of_either)
    for name in NAMES:
        rows.logs(name, {})
    monitor = Monitor(lake_of_either, FEW, clock)
    while not looks or monitor.saves_states():
        monitor.refresh()
    monitor.refresh()
    looks.clear()
    rows.logs("chat", {})
    monitor.refresh()
    assert looks == {"chat": 1}
    assert monitor.snapshot is not None
    assert monitor.snapshot.deployments["chat"].requests.answers == 2
    looks.clear()
    for _ in range(int(LOOK_SECONDS) // 5):
        clock.advance(seconds=5)
        monitor.refresh()
    assert set(looks) == set(NAMES)
    assert sum(looks.values()) <= 2 * len(NAMES)


def test_everything_is_looked_at_again_after_a_failure(
    lake: Lake, clock: Clock, looks: Counter[str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What could not be read is tried at the next refresh."""
    monkeypatch.setattr(open_tables, "_SETTLED_NS", 0)
    rows = ScoreColumns(lake)
    for name in NAMES:
        rows.logs(name, {})
    monitor = Monitor(lake, FEW, clock)
    monitor.refresh()
    monitor.refresh()
    with monkeypatch.context() as broken:
        broken.setattr(DeploymentState, "with_logs", _fails)
        rows.logs("chat", {})
        monitor.refresh()
    looks.clear()
    monitor.refresh()
    assert set(looks) == set(NAMES)
    clock.advance(seconds=10)
    monitor.refresh()
    assert monitor.snapshot is not None
    assert monitor.snapshot.deployments["chat"].requests.answers == 2


def test_a_change_in_the_same_tick_of_the_clock_is_seen(lake: Lake, clock: Clock, rows: ScoreColumns) -> None:
    """A commit that leaves the time of the log as it was is read by the next refresh."""
    rows.logs("chat", {})
    monitor, tick = Monitor(lake, FEW, clock), time.time_ns()
    for answers in range(2, 6):
        os.utime(f"{lake.folder('chat')}/parsed_logs/_delta_log", ns=(tick, tick))
        monitor.refresh()
        rows.logs("chat", {})
        os.utime(f"{lake.folder('chat')}/parsed_logs/_delta_log", ns=(tick, tick))
        monitor.refresh()
        assert monitor.snapshot is not None
        assert monitor.snapshot.deployments["chat"].requests.answers == answers


def test_an_alert_of_a_quiet_deployment_is_shown_at_once(
    lake: Lake, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That a deployment is silent is known of all at each refresh; its state has the alert then, too."""
    monkeypatch.setattr(open_tables, "_SETTLED_NS", 0)
    rows = ScoreColumns(lake)
    for name in NAMES:
        times = [NOW - timedelta(hours=one) for one in range(24 * 20)]
        rows.logs(name, *({"requested_at": at, "date": at.date()} for at in times))
    monitor = Monitor(lake, FEW, clock)
    for wait in (timedelta(), timedelta(hours=12), PENDING - timedelta(seconds=20), timedelta(seconds=20)):
        clock.now += wait
        for name in ("app__1.0", "app__1.1"):
            rows.logs(name, {"requested_at": clock.now, "date": clock.now.date()})
        monitor.refresh()
    assert monitor.snapshot is not None
    state = monitor.snapshot.deployments["chat"]
    assert [one.key.metric for one in state.exceeded] == [LimitKind.NO_DATA]
    assert state.limits[LimitKind.NO_DATA].active


STEPS = st.one_of(
    st.tuples(st.just("logs"), st.sampled_from(NAMES), st.integers(0, 5)),
    st.tuples(st.just("scores"), st.sampled_from(NAMES), st.integers(0, 10)),
    st.tuples(st.just("like"), st.sampled_from(NAMES), st.integers(0, 3)),
    st.tuples(st.just("wait"), st.just(""), st.sampled_from([5, 20, 61, 700, 7200, 90000])),
    st.tuples(st.just("refresh"), st.just(""), st.just(0)),
)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(steps=st.lists(STEPS, min_size=3, max_size=25))
def test_what_is_published_is_as_if_all_were_looked_at_each_time(steps: list[tuple[str, str, int]]) -> None:
    """Whatever comes, and whenever: a minute later both know the same, and have found the same alerts."""
    with _looking_at(LOOK_SECONDS):
        due = _published(steps)
    with _looking_at(0.0):
        every = _published(steps)
    assert due == every


def _published(steps: list[tuple[str, str, int]]) -> dict[str, tuple[DeploymentState, set[tuple[Any, ...]]]]:
    with tempfile.TemporaryDirectory() as folder:
        clock, lake = Clock(NOW), Lake(folder)
        rows, monitor = ScoreColumns(lake), Monitor(lake, FEW, clock)
        for number, (step, name, count) in enumerate(steps):
            at = {"requested_at": clock.now, "date": clock.now.date()}
            if step == "logs":
                rows.logs(name, *(at | {"status": 500 if one % 2 else 200} for one in range(count + 1)))
            elif step == "scores":
                values = [
                    at | {"value": (count + one) % 11 / 10, "event_id": f"{number}-{one}"} for one in range(count + 5)
                ]
                rows.scores(name, *values)
            elif step == "like":
                rows.signals(name, *["like", "dislike"] * (count + 1))
            elif step == "wait":
                clock.advance(seconds=count)
            else:
                monitor.refresh()
        for _ in range(3):
            clock.advance(seconds=LOOK_SECONDS)
            monitor.refresh()
        assert monitor.snapshot is not None
        assert not monitor.failures
        return {name: _without_times(state) for name, state in monitor.snapshot.deployments.items()}


def _without_times(state: DeploymentState) -> tuple[DeploymentState, set[tuple[Any, ...]]]:
    """An alert may be recorded up to a minute later, which is no other alert."""
    found = {(one.key, one.change) for one in state.changes}
    counted = {"changes": (), "incidents": (), "alerts": type(state.alerts)()}
    return replace(state, **counted), found


@contextmanager
def _looking_at(seconds: float) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(due_deployments, "LOOK_SECONDS", seconds)
        patch.setattr(open_tables, "_SETTLED_NS", 0)
        yield


def _fails(*_: Any) -> DeploymentState:
    raise RuntimeError("planted")


def test_a_folder_that_cannot_be_listed_stops_nothing(
    lake: Lake, clock: Clock, rows: ScoreColumns, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tables are read as if they had news; the others are watched as before."""
    for name in NAMES:
        rows.logs(name, {})
    monitor, listed = Monitor(lake, FEW, clock), Path.iterdir
    monitor.refresh()

    def refuses(path: Path) -> Any:
        if path.name == "chat":
            raise PermissionError(path)
        return listed(path)

    monkeypatch.setattr(open_tables.Path, "iterdir", refuses)
    for name in NAMES:
        rows.logs(name, {})
    monitor.refresh()
    assert monitor.snapshot is not None
    assert [monitor.snapshot.deployments[name].requests.answers for name in NAMES] == [2, 2, 2]
