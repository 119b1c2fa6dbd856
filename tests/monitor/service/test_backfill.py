"""Scores of old answers that a backfill made, beside those of the service."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from lake.spec.schemas import ALERTS
from lake.tables.lake import Lake
from monitor.detect.stats.sums import PER_UNIT
from monitor.service.monitor import Monitor

METRIC = "faithfulness_kprecision"
ALERT_COLUMNS = ["change_id", "alert_id", "change", "changed_at", "reference_mean", "current_mean", "log_evidence"]


def old_scores(rows: Any, clock: Any, value: float, days: int = 30, **columns: Any) -> None:
    """A month of them, twenty conversations an hour, made now."""
    made = {"value": value, "metric": METRIC, "is_backfill": True, "scored_at": clock()} | columns
    times = [clock() - timedelta(minutes=3 * n + 2) for n in range(days * 24 * 20)]
    ids = (f"old-{n}" for n in range(len(times)))
    rows.scores("rag", *({"requested_at": at, "date": at.date(), "response_id": next(ids)} | made for at in times))


def alerts(lake: Lake) -> list[dict[str, Any]]:
    return lake.table(ALERTS, "rag").read(ALERT_COLUMNS).sort_by("changed_at").to_pylist()


def seen(monitor: Monitor) -> Any:
    monitor.refresh()
    assert monitor.snapshot is not None
    assert monitor.failures == {}
    return monitor.snapshot.deployments["rag"]


def test_they_are_drawn_and_paid_for_and_in_no_other_number(monitor: Monitor, rows: Any, clock: Any) -> None:
    """However short their answers' age is: histogram, evaluations, skips and the last success are of the service."""
    rows.scores("rag", {"value": 0.7, "cost": 1.0}, {"reason": "no_answer"}, {"value": 0.2, "is_backfill": None})
    before = seen(monitor).scores
    soon = clock() - timedelta(hours=2)
    late = {"requested_at": soon, "date": soon.date(), "is_backfill": True, "scored_at": clock() + timedelta(hours=1)}
    rows.scores("rag", late | {"value": 0.5, "cost": 2.0, "response_id": "x"}, late | {"reason": "no_contexts"})
    seen_after = seen(monitor)
    after = seen_after.scores
    assert (after.evaluations, after.skips, after.last_scored_at) == (3, {"no_answer": 1}, before.last_scored_at)
    assert after.metrics[METRIC].histogram == before.metrics[METRIC].histogram
    assert sum(after.metrics[METRIC].histogram.counts) == 2
    assert sum(seen_after.judge_costs.amounts.values()) == 3 * PER_UNIT
    assert len(after.metrics[METRIC].means_by_time.hours.numbers) == 2


def test_the_version_is_the_one_that_the_service_uses(
    make_monitor: Callable[[], Monitor], rows: Any, clock: Any
) -> None:
    """A backfill by another one, newer or older, does not take its place, read before or after; alone it is shown."""
    monitor = make_monitor()
    at = clock() - timedelta(days=2)
    old = {"requested_at": at, "date": at.date(), "value": 0.5, "is_backfill": True}
    rows.scores("rag", old | {"metric_version": "2", "scored_at": clock() + timedelta(hours=1)})
    assert seen(monitor).scores.metrics[METRIC].version == "2"
    rows.scores("rag", {"value": 0.7, "metric_version": "1"})
    rows.scores("rag", old | {"metric_version": "3", "scored_at": clock() + timedelta(hours=2), "event_id": "y"})
    for one in (monitor, make_monitor()):
        assert seen(one).scores.metrics[METRIC].version == "1"


@pytest.mark.slow
@pytest.mark.parametrize("value", [0.0, 1.0], ids=["bad", "good"])
@pytest.mark.parametrize("worse_for", [0, 12], ids=["all is well", "an alert is open"])
def test_a_month_of_them_neither_fires_nor_resolves(
    make_monitor: Callable[[], Monitor], lake: Lake, rows: Any, clock: Any, value: float, worse_for: int
) -> None:
    """Alerts and readings are as before, at once, after the batches that follow, and after a restart."""
    rows.hours("rag", 60, lambda left: 0.8 if left > worse_for else 0.35, METRIC)
    monitor = make_monitor()
    before, changes = seen(monitor).readings, alerts(lake)
    assert [change["change"] for change in changes] == (["firing"] if worse_for else [])
    old_scores(rows, clock, value)
    assert (seen(monitor).readings, alerts(lake)) == (before, changes)
    clock.advance(hours=1, minutes=5)
    assert (seen(monitor).readings, alerts(lake)) == (seen(make_monitor()).readings, changes)
    assert seen(monitor).readings[METRIC].observations == before[METRIC].observations


@pytest.mark.parametrize("value", [0.0, 1.0], ids=["bad", "good"])
def test_a_regression_is_found_as_if_there_had_been_none(
    monitor: Monitor, lake: Lake, rows: Any, clock: Any, settings: Any, tmp_path: Any, value: float
) -> None:
    """Old scores neither hide a fall nor move its time, nor are they learned from as the reference."""
    quiet = Lake(str(tmp_path / "quiet"), installation=lake.installation)
    for one in (rows, type(rows)(quiet)):
        one.hours("rag", 60, lambda left: 0.8 if left > 10 else 0.35, METRIC)
    old_scores(rows, clock, value)
    assert seen(monitor).readings == seen(Monitor(quiet, settings, clock)).readings
    assert alerts(lake) == alerts(quiet) != []


def test_a_metric_that_only_a_backfill_has_scored_has_no_detector(monitor: Monitor, rows: Any, clock: Any) -> None:
    """It learns its reference from new answers alone; its scores are drawn."""
    old_scores(rows, clock, 0.5, days=3)
    state = seen(monitor)
    assert state.readings == {}
    assert len(state.scores.metrics[METRIC].means_by_time.hours.numbers) > 60
