"""An alert of accepted cases that are answered worse: when it begins, when it is over, and what it says."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from lake.spec.case_tables import REPLAYS
from lake.spec.schemas import ALERTS
from lake.tables.lake import Lake
from monitor.alerting.alerts.change import from_row
from monitor.notify.texts.alert import description, summary
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings


def run(lake: Lake, clock: Any, verdict: str, *values: float | None, **columns: Any) -> None:
    """A run that began a minute ago."""
    clock.advance(hours=1)
    at = clock() - timedelta(minutes=1)
    of_run = {"run_id": at.isoformat(), "run_started_at": at, "date": at.date(), "verdict": verdict} | columns
    part: dict[float | None, str] = {0.0: "retrieval"}
    rows = [of_run | {"scores": [{"metric": "case_passed", "value": one, "failed_part": part.get(one)}]}
            for one in values]  # fmt: skip
    lake.table(REPLAYS, "rag").append(REPLAYS.rows(rows))


def changes(monitor: Monitor, lake: Lake) -> list[str]:
    monitor.refresh()
    assert monitor.failures == {}
    table = lake.table(ALERTS, "rag")
    rows = table.read().sort_by("changed_at").to_pylist() if table.version() is not None else []
    assert {row["metric"] for row in rows} <= {"replay"}
    return [row["change"] for row in rows]


def test_it_begins_with_a_regression_and_ends_with_a_run_that_is_none(
    monitor: Monitor, make_monitor: Callable[[], Monitor], lake: Lake, clock: Any
) -> None:
    """A run that could not be completed, compared too few cases, or makes suspicious, says nothing.

    A restart says nothing new.
    """
    run(lake, clock, "baseline", 1.0, 1.0, is_baseline=True)
    assert changes(monitor, lake) == []
    run(lake, clock, "suspected", 1.0, 0.0)
    assert changes(monitor, lake) == []
    run(lake, clock, "regression", 1.0, 0.0, 0.0, 0.0)
    assert changes(monitor, lake) == ["firing"]
    run(lake, clock, "regression", 1.0, 0.0)
    assert changes(monitor, lake) == ["firing"]
    run(lake, clock, "incomplete", None)
    assert changes(make_monitor(), lake) == ["firing"]
    run(lake, clock, "suspected", 1.0)
    assert changes(make_monitor(), lake) == ["firing"]
    run(lake, clock, "too_few", 1.0)
    assert changes(make_monitor(), lake) == ["firing"]
    run(lake, clock, "no_regression", 1.0, 1.0)
    assert changes(monitor, lake) == ["firing", "resolved"]
    assert changes(make_monitor(), lake) == ["firing", "resolved"]


def test_a_run_that_a_person_accepts_is_no_alert_and_ends_one(monitor: Monitor, lake: Lake, clock: Any) -> None:
    run(lake, clock, "regression", 0.0, is_baseline=True)
    assert changes(monitor, lake) == []
    run(lake, clock, "regression", 0.0)
    run(lake, clock, "regression", 0.0)
    assert changes(monitor, lake) == ["firing"]
    run(lake, clock, "regression", 0.0, is_baseline=True)
    assert changes(monitor, lake) == ["firing", "resolved"]


def test_it_can_be_switched_off(lake: Lake, clock: Any) -> None:
    """For one deployment too; what is open then is over."""
    run(lake, clock, "regression", 0.0)
    off = MonitorSettings.model_validate({"limits": {"deployments": {"rag": {"replay": False}}}})
    assert changes(Monitor(lake, off, clock), lake) == []
    assert changes(Monitor(lake, MonitorSettings(), clock), lake) == ["firing"]
    clock.advance(minutes=5)
    assert changes(Monitor(lake, off, clock), lake) == ["firing", "resolved"]


def test_what_it_says(monitor: Monitor, lake: Lake, clock: Any) -> None:
    run(lake, clock, "regression", 1.0, 0.0, 0.0, 0.0)
    monitor.refresh()
    [change] = [from_row(row) for row in lake.table(ALERTS, "rag").read().to_pylist()]
    assert summary(change) == (
        "accepted cases that were asked again of rag are answered worse than before; 3 of 4 answers do not agree with "
        "their case, mostly by retrieval"
    )
    assert "dialwatch ground-truth replay --deployment rag" in description(change, "https://watch.example/")
