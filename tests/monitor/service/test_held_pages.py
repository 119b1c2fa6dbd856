"""Pages that wait for the end of a short outage: recorded once, and not later than is said."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from lake.spec.alert_vocabulary import Tier
from lake.tables.lake import Lake
from monitor.alerting.alerts.change import AlertChange
from monitor.detect.regression.judge_drift.anchors import JudgeDriftDetectors
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.monitor.conftest import NOW, Clock, ScoreColumns


def begun(lake: Lake, rows: ScoreColumns, clock: Clock) -> Monitor:
    """A monitor that has read an hour in which nearly all answers were bad, after eleven good days."""
    rows.hours("rag", 24 * 11, lambda left: 0.02 if left == 1 else 0.8, "m")
    monitor = Monitor(lake, MonitorSettings(), clock)
    monitor.refresh()
    return monitor


def changes_of(monitor: Monitor) -> list[AlertChange]:
    assert monitor.snapshot is not None
    assert monitor.failures == {}
    return [one for one in reversed(monitor.snapshot.deployments["rag"].changes) if one.key.metric == "m"]


def found(monitor: Monitor) -> tuple[list[Tier], Tier | None]:
    """The tiers of its alert, and what its reading says."""
    tiers = [one.tier for one in changes_of(monitor)]
    assert monitor.snapshot is not None
    return tiers, monitor.snapshot.deployments["rag"].readings["m"].tier


def test_an_outage_after_which_no_score_comes_is_a_page_by_the_clock(
    lake: Lake, rows: ScoreColumns, clock: Clock
) -> None:
    """Once, three hours after its warning's batch began, whether or not the process began anew; its reading says so."""
    monitor = begun(lake, rows, clock)
    clock.advance(hours=1.9)
    monitor.refresh()
    monitor.refresh()
    assert found(monitor) == (["warn"], "warn")
    for _ in range(2):
        clock.advance(hours=1)
        monitor.refresh()
    assert found(monitor) == (["warn", "page"], "page")
    again = Monitor(lake, MonitorSettings(), clock)
    again.refresh()
    assert found(again) == (["warn", "page"], "page")
    first, page = changes_of(monitor)
    assert len(first.details.worst) > 1
    assert page.details.worst == first.details.worst


class JudgedScores(ScoreColumns):
    """Scores by a model."""

    def scores(self, deployment: str, *rows: dict[str, Any]) -> None:
        super().scores(deployment, *({"judge": "model"} | row for row in rows))


def test_a_held_page_of_a_judged_metric_then_waits_for_its_anchors(
    lake: Lake, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, for as long as the settings say, whoever restarts; where no anchors can decide it does not wait."""
    monkeypatch.setattr(JudgeDriftDetectors, "can_compare", lambda *_: True)
    monitor = begun(lake, JudgedScores(lake), clock)
    clock.advance(hours=1.9)
    monitor.refresh()
    assert found(monitor) == (["warn"], "warn")
    clock.advance(hours=2)
    asked_at, wait = clock.now, timedelta(seconds=MonitorSettings().judge_wait_seconds)
    for _ in range(2):
        monitor.refresh()
        assert found(monitor) == (["warn", "warn"], "warn")
        assert changes_of(monitor)[-1].details.page_due == asked_at + wait
    clock.now = asked_at + wait - timedelta(seconds=1)
    monitor = Monitor(lake, MonitorSettings(), clock)
    monitor.refresh()
    assert found(monitor) == (["warn", "warn"], "warn")
    clock.advance(seconds=1)
    monitor.refresh()
    assert found(monitor) == (["warn", "warn", "page"], "page")
    first, *_, page = changes_of(monitor)
    assert page.details.page_due is None
    assert page.details.worst == first.details.worst


def test_scores_that_come_late_hold_no_page_for_longer(lake: Lake, rows: ScoreColumns, clock: Clock) -> None:
    """One every hour, of an answer of the outage: until three hours and a batch after the warning, by the clock."""
    monitor = begun(lake, rows, clock)
    clock.advance(hours=1.9)
    monitor.refresh()
    told_at = clock.now
    assert found(monitor)[0] == ["warn"]
    tiers = []
    for number in range(6):
        clock.advance(hours=1)
        late = {"requested_at": NOW - timedelta(minutes=59), "metric": "m", "response_id": f"late-{number}"}
        rows.scores("rag", late | {"value": 0.0, "scored_at": clock.now})
        if number == 2:
            monitor = Monitor(lake, MonitorSettings(), clock)
        monitor.refresh()
        tiers.append(found(monitor)[1])
    assert tiers == ["warn"] * 4 + ["page"] * 2
    first, page = changes_of(monitor)
    assert first.details.recorded_at == told_at
    assert page.details.recorded_at == told_at + timedelta(hours=5)
