"""The page of a deployment as JSON."""

from __future__ import annotations

from datetime import timedelta

from lake.spec.schemas import SCORES
from monitor.detect.stats.collector_stats import CollectorStats
from monitor.detect.stats.scores import SCORE_COLUMNS
from monitor.pages.deployment.as_json import data_of
from monitor.pages.deployment.view import DeploymentQuery, view_of
from monitor.pages.period import Days
from monitor.service.snapshot import DeploymentState, Snapshot
from tests.monitor.alerting.alerts.test_alerts import READING
from tests.monitor.conftest import NOW


def test_the_period_and_the_interval_of_the_latest_conversations_have_both_ends() -> None:
    score = {"event_id": "e", "requested_at": NOW, "scored_at": NOW, "metric": "m", "metric_version": "1", "value": 0.5}
    state = DeploymentState(readings={"m": READING}).with_scores(SCORES.rows([score]).select(SCORE_COLUMNS))
    view = view_of(DeploymentQuery("rag", Days.DAY), Snapshot(NOW, {"rag": state}, CollectorStats(), 0, 0.0))
    assert view is not None
    data = data_of(view)
    assert (data.days, data.since, data.until) == (1, NOW - timedelta(days=1), NOW)
    latest = data.metrics[0].latest
    assert latest is not None
    assert (latest.low, latest.mean, latest.high) == (0.55, 0.6, 0.65)
