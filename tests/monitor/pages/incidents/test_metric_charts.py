"""Charts of the metrics of an incident."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lake.spec.alert_vocabulary import LIMIT_VERSION, AlertEvent, LimitKind, Tier
from lake.spec.schemas import PARSED_LOGS
from monitor.alerting.alerts.change import AlertChange, AlertDetails
from monitor.alerting.incidents.incident import Incident
from monitor.detect.regression import StreamKey
from monitor.detect.stats.collector_stats import CollectorStats
from monitor.detect.stats.requests import LOG_COLUMNS
from monitor.pages.incidents.alert_view import AlertView
from monitor.pages.incidents.finding import FoundIncident
from monitor.pages.incidents.metric_charts import chart_of
from monitor.service.snapshot import DeploymentState, Snapshot
from tests.monitor.conftest import NOW

HOUR = timedelta(hours=1)


@pytest.mark.parametrize("is_over", [False, True])
@pytest.mark.parametrize(
    ("kind", "value", "is_whole"), [(LimitKind.ERRORS, 50.0, False), (LimitKind.NO_DATA, 2.0, True)]
)
def test_a_limit_has_bars_that_are_those_of_something_bad_until_it_is_over(
    kind: LimitKind, value: float, is_whole: bool, is_over: bool
) -> None:
    """Of failed requests the share of each hour, of silence the number of requests."""
    logs = [{"requested_at": NOW - HOUR, "status": status, "is_entry": True} for status in (200, 500)]
    state = DeploymentState().with_logs(PARSED_LOGS.rows(logs).select(LOG_COLUMNS))
    key = StreamKey("rag", kind, LIMIT_VERSION)
    fired = AlertChange("c", "a", key, AlertEvent.FIRING, NOW - HOUR, AlertDetails())
    ended = replace(fired, change_id="d", change=AlertEvent.RESOLVED, changed_at=NOW) if is_over else None
    incident = Incident("i", "rag", NOW - HOUR, ended and NOW, Tier.WARN, None, (ended or fired,), ())
    found = FoundIncident(incident, Snapshot(NOW, {"rag": state}, CollectorStats(), 0, 0.0))
    drawing = chart_of(AlertView(fired, ended, None), found, "chart").drawing
    assert drawing is not None
    assert drawing.chart.points[0].value == value
    assert (drawing.chart.is_bars, drawing.chart.is_whole) == (True, is_whole)
    assert drawing.chart.is_bad is not is_over
