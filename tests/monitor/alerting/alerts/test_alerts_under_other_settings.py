from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from lake.spec.schemas import ALERTS
from lake.tables.lake import Lake
from monitor.detect.regression import RegressionSettings, Status
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.exposition import without_installation


def well_again(rows: Any, clock: Any, hours: int) -> None:
    """So many hours of scores as good as before the fall, 20 an hour, of metrics that fell."""
    times = [clock() + timedelta(minutes=3 * number) for number in range(20 * hours)]
    rows.scores(
        "rag-search",
        *({"requested_at": at, "date": at.date(), "value": 0.77 + n % 2 / 10} for n, at in enumerate(times)),
    )
    clock.advance(hours=hours)


@pytest.mark.usefixtures("three_deployments")
def test_an_alert_ends_with_the_version_of_its_metric(monitor: Monitor, lake: Lake, rows: Any, clock: Any):
    """Scores of a new version withdraw the open alert of the old one."""
    monitor.refresh()
    rows.scores("rag-search", {"value": 0.8, "metric_version": "2", "scored_at": clock() + timedelta(minutes=1)})
    monitor.refresh()
    changes = {row["change"]: row for row in lake.table(ALERTS, "rag-search").read().to_pylist()}
    assert set(changes) == {"firing", "resolved"}
    assert changes["resolved"]["reason"] == "the metric has a new version"


@pytest.mark.slow
@pytest.mark.usefixtures("three_deployments")
@pytest.mark.parametrize(
    "other",
    [
        {"reference_observations": 5000},
        {"reference_time": "10d"},
        {"batch": "1d"},
        {"false_alarm_every": "364d", "batch": "1d"},
    ],
    ids=str,
)
def test_settings_that_say_nothing_of_what_is_worse_end_no_alert(
    monitor: Monitor, lake: Lake, clock: Any, rows: Any, get: Callable[..., Any], other: dict[str, Any]
):
    """How a reference is learned, and how much evidence fires: an open alert knows its reference, and needs no more."""
    monitor.refresh()
    clock.advance(hours=2)
    for _ in range(2):
        again = Monitor(lake, MonitorSettings(regression=RegressionSettings.model_validate(other)), clock)
        again.refresh()
        again.refresh()
    assert [row["change"] for row in lake.table(ALERTS, "rag-search").read().to_pylist()] == ["firing"]
    page = " ".join(get(create_app(again), "/deployment?name=rag-search").text.split())
    assert 'REGRESSED</span> <span class="quiet">since 20 Nov, 0' in page
    assert "; its alert is still open, but with the present settings this drop would not be found" in page
    assert "fell from 0.8" in page
    metrics = without_installation(get(create_app(again), "/metrics").text)
    stream = '{deployment="rag-search",metric="faithfulness_kprecision"} 1.0'
    assert f"dialwatch_regression_active{stream}" in metrics
    assert f"dialwatch_regression_page{stream}" in metrics


@pytest.mark.usefixtures("three_deployments")
def test_an_alert_ends_when_the_tolerance_allows_what_it_found(monitor: Monitor, lake: Lake, clock: Any):
    """How much worse wakes nobody is a setting that concerns every stream."""
    monitor.refresh()
    allowed = RegressionSettings(reference_observations=100, tolerance=0.6)
    Monitor(lake, MonitorSettings(regression=allowed), clock).refresh()
    (end,) = (row for row in lake.table(ALERTS, "rag-search").read().to_pylist() if row["change"] == "resolved")
    assert end["reason"] == "computed anew from the scores, with the settings of now, this is no regression"


@pytest.mark.slow
@pytest.mark.usefixtures("three_deployments")
def test_an_alert_ends_when_other_settings_make_its_stream_learn_anew(
    monitor: Monitor, lake: Lake, clock: Any, rows: Any, get: Callable[..., Any]
):
    """Once its conversations are well: the overview says learning, and the alert ends, with why."""
    monitor.refresh()
    other = MonitorSettings(regression=RegressionSettings(reference_observations=5000))
    again = Monitor(lake, other, clock)
    well_again(rows, clock, hours=15)
    for _ in range(2):
        again.refresh()
        again = Monitor(lake, other, clock)
        again.refresh()
    assert again.snapshot is not None
    state = again.snapshot.deployments["rag-search"]
    assert state.readings["faithfulness_kprecision"].status is Status.LEARNING
    assert [(change.change, change.ended_without_recovery) for change in state.changes] == [
        ("resolved", True),
        ("firing", False),
    ]
    (end,) = (row for row in lake.table(ALERTS, "rag-search").read().to_pylist() if row["change"] == "resolved")
    assert "learns its reference anew" in end["reason"]
    assert end["current_mean"] is None
    assert "no longer watched" in get(create_app(again), "/deployment?name=rag-search").text
