"""State of the monitor in the lake: a restart goes on with it, whatever has become of the rows."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lake.erasure.erasure import erase
from lake.erasure.erasure_scope import Subject
from lake.maintenance.maintenance import LakeMaintenanceSettings, maintain
from lake.maintenance.retention import drop_before
from lake.spec.root_tables import RELEASES
from lake.spec.schemas import ALERTS, INCIDENTS, PARSED_LOGS, SCORES, USER_SIGNALS
from lake.spec.state_tables import MONITOR_STATE, ROOT_STATE
from lake.tables.history import History
from lake.tables.lake import Lake
from monitor.alerting.controls.releases import mark_release, withdraw_release
from monitor.detect.limits import LimitSettings
from monitor.detect.regression import RegressionSettings, Release, Status
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.monitor.conftest import NOW, Clock, ScoreColumns
from tests.monitor.service.ingest.test_damaged_state import DAMAGED_TABLES, damage_table, refreshed

METRIC = "faithfulness_kprecision"
REGRESSION = RegressionSettings(reference_observations=100)
DAY = timedelta(days=1)


def changes(lake: Lake) -> list[tuple[str, str]]:
    rows = lake.table(ALERTS, "rag").read().to_pylist()
    return [(row["change"], row["reason"] or "") for row in sorted(rows, key=lambda row: row["changed_at"])]


def test_what_is_known_of_judges_is_kept(make_monitor: Callable[[], Monitor], rows: Any, clock: Any) -> None:
    """A drift that was found before a restart is found after it, with the same numbers."""
    rows.hours("rag", 24 * 3, lambda _: 0.8, METRIC)
    for day in range(12):
        at = clock() - timedelta(days=12 - day)
        about = {"metric": METRIC, "metric_version": "1", "deployment": "rag", "draw": 0, "scored_at": at}
        about |= {"date": at.date(), "direction": "up", "low": 0.0, "high": 1.0}
        values = (0.8 if day < 5 else 0.5 for _ in range(80))
        rows.anchors("rag", *(about | {"event_id": f"a{n}", "value": value} for n, value in enumerate(values)))
    before = refreshed(make_monitor())
    assert before.judges[METRIC].active
    assert refreshed(make_monitor()).judges == before.judges


def history_days(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Table and day of all that is read of histories from now on."""
    read: list[tuple[str, str]] = []
    read_here = History.read

    def counted(history: History, columns: Any, after: Any, until: Any, where: Any = None) -> Any:
        rows = read_here(history, columns, after, until, where)
        name = history._table.spec.name
        if name not in (ALERTS.name, INCIDENTS.name, RELEASES.name):
            read.extend((name, str(day)) for day in history.days if rows.num_rows and day <= until)
        return rows

    monkeypatch.setattr(History, "read", counted)
    return read


def test_a_restart_reads_only_what_came_since(
    make_monitor: Callable[[], Monitor], rows: Any, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that is shown is as before it, and nothing of the history of requests, signals and scores is read."""
    rows.hours("rag", 24 * 5, lambda left: 0.8 if left > 30 else 0.4, METRIC)
    rows.signals("rag", "like", "dislike")
    rows.batch(lines=1, stored=1)
    monitor = make_monitor()
    before = refreshed(monitor)
    read = history_days(monkeypatch)
    restarted = make_monitor()
    assert refreshed(restarted) == before
    assert read == []
    clock.advance(minutes=3)
    rows.logs("rag", {"requested_at": clock(), "date": clock().date()})
    assert refreshed(restarted).requests.total == before.requests.total + 1
    assert restarted.snapshot is not None
    assert restarted.snapshot.collector_stats.lines["stored"] == 1


@pytest.mark.slow
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6), stops=st.sets(st.integers(1, 23), max_size=8))
def test_monitors_that_are_restarted_find_the_same(tmp_path_factory: Any, seed: int, stops: set[int]) -> None:
    """Scores come late, by hours, and in portions; one monitor goes on, another is killed at any refreshes."""
    seen = []
    for with_stops in (False, True):
        lake, clock = Lake(str(tmp_path_factory.mktemp("lake"))), Clock(NOW)
        writer, generator = ScoreColumns(lake), np.random.default_rng(seed)
        writer.hours("rag", 48, lambda _: 0.8, METRIC)
        monitor = Monitor(lake, MonitorSettings(regression=REGRESSION), clock)
        monitor.refresh()
        for step in range(24):
            clock.advance(minutes=40)
            late = generator.choice([0, 0, 30, 200], 15)
            values = np.clip(generator.normal(0.8 if step < 10 else 0.5, 0.15, 15), 0, 1)
            times = [clock() - timedelta(minutes=int(by) + 1, seconds=n) for n, by in enumerate(late)]
            made = zip(times, values, strict=True)
            writer.scores("rag", *({"requested_at": at, "date": at.date(), "value": float(v)} for at, v in made))
            monitor.refresh()
            if with_stops and step in stops:
                monitor = Monitor(lake, MonitorSettings(regression=REGRESSION), clock)
        monitor.refresh()
        assert monitor.failures == {}
        assert monitor.snapshot is not None
        found = monitor.snapshot.deployments["rag"]
        seen.append((found.readings, changes(lake), found.limits, found.scores.evaluations))
    assert seen[0] == seen[1]


def test_retention_changes_no_verdict(make_monitor: Callable[[], Monitor], lake: Lake, rows: Any, clock: Any) -> None:
    """A slow fall is measured against the reference of before, and an alert stays, when the old rows are gone."""
    rows.hours("rag", 24 * 30, lambda left: 0.7 if left > 24 * 12 else 0.7 - 0.3 * (24 * 12 - left) / (24 * 12), METRIC)
    before = refreshed(make_monitor())
    assert [change for change, _ in changes(lake)][:1] == ["firing"]
    drop_before(lake.table(SCORES, "rag"), clock().date() - 2 * DAY)
    drop_before(lake.table(PARSED_LOGS, "rag"), clock().date() - 2 * DAY)
    restarted = make_monitor()
    after = refreshed(restarted)
    assert after.readings == before.readings
    assert abs(after.readings[METRIC].reference_mean - 0.7) < 0.02
    clock.advance(hours=3)
    refreshed(restarted)
    assert {change for change, _ in changes(lake)} == {"firing"}


@pytest.mark.parametrize("changed", ["limits", "page_every"])
def test_unrelated_settings_leave_streams_and_alerts_alone(
    make_monitor: Callable[[], Monitor],
    lake: Lake,
    rows: Any,
    clock: Any,
    monkeypatch: pytest.MonkeyPatch,
    changed: str,
) -> None:
    """Nothing is learned anew."""
    rows.hours("rag", 24 * 4, lambda left: 0.8 if left > 30 else 0.4, METRIC)
    before = refreshed(make_monitor())
    read = history_days(monkeypatch)
    own = {
        "limits": MonitorSettings(regression=REGRESSION, limits=LimitSettings(errors=0.9)),
        "page_every": MonitorSettings(regression=REGRESSION.model_copy(update={"page_every": timedelta(days=700)})),
    }
    after = refreshed(Monitor(lake, own[changed], clock))
    assert after.readings[METRIC].reference_mean == before.readings[METRIC].reference_mean
    assert after.readings[METRIC].status is Status.REGRESSED
    assert read == []
    assert {change for change, _ in changes(lake)} == {"firing"}


@pytest.mark.parametrize(
    "changed",
    [{"regression": REGRESSION.model_copy(update={"tolerance": 0.1})}, {"versions": "off", "regression": REGRESSION}],
    ids=["tolerance", "versions"],
)
def test_settings_of_the_detectors_have_streams_learn_anew(
    make_monitor: Callable[[], Monitor],
    lake: Lake,
    rows: Any,
    clock: Any,
    monkeypatch: pytest.MonkeyPatch,
    changed: dict[str, Any],
) -> None:
    """From the scores and ratings alone: the sums of requests stay, and the readings are those of a first start."""
    rows.hours("rag", 24 * 4, lambda _: 0.8, METRIC)
    rows.signals("rag", *["like", "dislike"] * 20)
    before = refreshed(make_monitor())
    read = history_days(monkeypatch)
    other = MonitorSettings(**changed)
    after = refreshed(Monitor(lake, other, clock))
    assert {name for name, _ in read} == {SCORES.name, USER_SIGNALS.name}
    assert after.requests == before.requests
    assert after.scores.evaluations == before.scores.evaluations
    for spec in (MONITOR_STATE, ALERTS):
        shutil.rmtree(lake.table(spec, "rag").uri, ignore_errors=True)
    first = refreshed(Monitor(lake, other, clock))
    assert (after.readings, after.ratings) == (first.readings, first.ratings)


def test_a_marked_release_reads_only_its_metric_and_days(
    make_monitor: Callable[[], Monitor], lake: Lake, rows: Any, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other metrics stay as they are; taken back, the stream is as if it had never been marked."""
    rows.hours("rag", 24 * 5, lambda _: 0.8, METRIC)
    rows.hours("rag", 24 * 5, lambda _: 0.6, "other", seed=2)
    monitor = make_monitor()
    before = refreshed(monitor)
    read = history_days(monkeypatch)
    mark = mark_release(lake, Release("rag", METRIC, clock() - timedelta(hours=30), "v2"), clock())
    marked = refreshed(monitor)
    first = str((clock() - timedelta(hours=30)).date())
    assert read
    assert {name for name, _ in read} == {SCORES.name}
    assert min(day for _, day in read) == first
    assert marked.readings["other"] == before.readings["other"]
    assert marked.readings[METRIC].reference_observations < before.readings[METRIC].reference_observations
    assert marked.scores.evaluations == before.scores.evaluations
    withdraw_release(lake, mark, clock())
    assert refreshed(monitor).readings == before.readings


@pytest.mark.parametrize("damage", ["bytes", "format", "texts", *DAMAGED_TABLES])
def test_a_state_that_cannot_be_read_is_told_and_learned_anew(
    make_monitor: Callable[[], Monitor],
    lake: Lake,
    rows: Any,
    clock: Any,
    damage: str,
) -> None:
    """The next refreshes are without failures again, alerts that were open are, and the state is replaced."""
    rows.hours("rag", 24 * 4, lambda left: 0.8 if left > 30 else 0.4, METRIC)
    before = refreshed(make_monitor())
    table = lake.table(MONITOR_STATE, "rag")
    row = table.read().to_pylist()[0]
    shutil.rmtree(table.uri)
    if damage == "bytes":
        row["state"] = row["state"][: len(row["state"]) // 2]
    elif damage == "format":
        row["format"] = 99
    elif damage == "texts":
        row["texts"] = "[]"
    lake.table(MONITOR_STATE, "rag").append(MONITOR_STATE.rows([row]))
    if damage in DAMAGED_TABLES:
        damage_table(table, damage)
    monitor = make_monitor()
    monitor.refresh()
    assert monitor.failures["restore_state"] == 1
    assert any("monitor_state" in problem for problem in monitor.health().problems)
    assert monitor.snapshot is not None
    assert monitor.snapshot.deployments["rag"].readings[METRIC].status is Status.REGRESSED
    monitor.refresh()
    assert monitor.failures["restore_state"] == 1
    assert {change for change, _ in changes(lake)} == {"firing"}
    assert "save_state" not in monitor.failures
    clock.advance(hours=2)
    monitor.refresh()
    after = refreshed(make_monitor())
    assert after.requests == before.requests


def test_ids_of_a_person_are_erased_from_the_state(
    make_monitor: Callable[[], Monitor], lake: Lake, rows: Any, clock: Any
) -> None:
    """And do not come back with the next state of a monitor that ran on."""
    rows.hours("rag", 24 * 3, lambda _: 0.8, METRIC)
    rows.scores("rag", {"requested_at": clock() - timedelta(hours=3), "value": 0.0, "response_id": "answer-of-kim"})
    rows.logs("rag", {"response_id": "answer-of-kim", "event_id": "call-of-kim", "user_id": "kim"})
    monitor = make_monitor()
    refreshed(monitor)

    def kept() -> bool:
        return any("kim" in text for text in lake.table(MONITOR_STATE, "rag").read(["texts"])["texts"].to_pylist())

    assert kept()
    erase(lake, Subject(user="kim"), clock())
    assert not kept()
    clock.advance(hours=2)
    for _ in range(3):
        monitor.refresh()
        assert not kept()
    assert refreshed(make_monitor()).scores.evaluations >= 24 * 3 * 20


def test_two_monitors_on_one_lake_take_over_what_the_other_saved(
    make_monitor: Callable[[], Monitor], lake: Lake, rows: Any, clock: Any
) -> None:
    """Neither fails, and both show the same."""
    rows.hours("rag", 24 * 3, lambda _: 0.8, METRIC)
    monitors = [make_monitor(), make_monitor()]
    for hour in range(6):
        at = clock()
        rows.scores(
            "rag",
            *({"requested_at": at, "date": at.date(), "value": 0.8, "response_id": f"{hour} {n}"} for n in range(20)),
        )
        clock.advance(hours=1)
        for monitor in (*monitors, *monitors):
            refreshed(monitor)
    first, second = (refreshed(monitor) for monitor in monitors)
    assert (first.readings, first.scores.evaluations) == (second.readings, second.scores.evaluations)


def test_states_take_a_bounded_place_in_the_lake(
    make_monitor: Callable[[], Monitor], lake: Lake, rows: Any, clock: Any
) -> None:
    """Upkeep removes those that were replaced hours ago, and the one that counts stays."""
    rows.hours("rag", 24 * 3, lambda _: 0.8, METRIC)
    monitor = make_monitor()
    for hour in range(5):
        rows.scores("rag", {"requested_at": clock(), "date": clock().date(), "value": 0.8, "response_id": str(hour)})
        refreshed(monitor)
        clock.advance(hours=1)
    folder = Path(lake.table(MONITOR_STATE, "rag").uri)
    assert len(list(folder.glob("*.parquet"))) > 1
    assert lake.table(MONITOR_STATE, "rag").read().num_rows == 1
    assert not maintain(lake, LakeMaintenanceSettings(), clock()).failures
    assert lake.table(MONITOR_STATE, "rag").read().num_rows == 1
    assert lake.table(ROOT_STATE).version() is None


def test_an_alert_outlives_state_and_rows(make_monitor: Callable[[], Monitor], lake: Lake, rows: Any, clock: Any):
    """Where both are gone, nothing is known of before the fall: it ends when scores say that quality is back."""
    rows.hours("rag", 24 * 6, lambda left: 0.8 if left > 48 else 0.6, METRIC)
    refreshed(make_monitor())
    assert {change for change, _ in changes(lake)} == {"firing"}
    shutil.rmtree(lake.table(MONITOR_STATE, "rag").uri)
    drop_before(lake.table(SCORES, "rag"), clock().date())
    monitor = make_monitor()
    for mean, ends in ((0.6, False), (0.8, True)):
        for _ in range(12):
            clock.advance(days=1)
            times = [clock() - timedelta(minutes=3 * n) for n in range(20)]
            values = [mean + 0.1 * (n % 3 - 1) for n in range(20)]
            made = [
                {"requested_at": at, "date": at.date(), "value": value, "response_id": f"{at}"}
                for at, value in zip(times, values, strict=True)
            ]
            rows.scores("rag", *made)
            refreshed(monitor)
        assert (changes(lake)[-1][0] == "resolved") is ends
    assert "no regression" in changes(lake)[-1][1]


def test_a_deployment_without_requests_is_saved_too(
    make_monitor: Callable[[], Monitor], lake: Lake, rows: Any, clock: Any
) -> None:
    """Somebody else writes its log, or nobody does: what is known of its scores is kept all the same."""
    for hour in range(24 * 3):
        at = clock() - timedelta(hours=hour)
        about = {"requested_at": at, "date": at.date(), "metric": METRIC, "value": 0.8}
        rows.scores("rag", *(about | {"score_id": f"{hour}-{n}", "event_id": f"{hour}-{n}"} for n in range(10)))
    assert lake.table(PARSED_LOGS, "rag").version() is None
    monitor = make_monitor()
    for _ in range(4):
        refreshed(monitor)
        clock.advance(hours=2)
    assert lake.table(MONITOR_STATE, "rag").version() is not None
