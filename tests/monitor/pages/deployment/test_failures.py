"""Failure kinds of a deployment over a period."""

from __future__ import annotations

import pytest

from lake.spec.alert_vocabulary import LimitKind
from lake.spec.schemas import PARSED_LOGS
from monitor.detect.limits import LimitReading
from monitor.detect.stats.collector_stats import CollectorStats
from monitor.detect.stats.requests import LOG_COLUMNS
from monitor.pages.deployment.failures import failures_of
from monitor.pages.period import Days, PagePeriod
from monitor.service.snapshot import DeploymentState, Snapshot
from tests.monitor.conftest import NOW


@pytest.mark.parametrize(
    ("limits", "reference"),
    [
        ({}, None),
        ({LimitKind.ERRORS: LimitReading(active=False)}, None),
        ({LimitKind.ERRORS: LimitReading(active=False, limit=0.5)}, None),
        ({LimitKind.ERRORS: LimitReading(active=True, limit=0.25)}, 25.0),
    ],
)
def test_the_limit_is_drawn_only_where_the_share_of_failed_requests_has_reached_it(
    limits: dict[LimitKind, LimitReading], reference: float | None
) -> None:
    """One of four requests failed; a deployment whose limit is not known has a chart, too."""
    rows = PARSED_LOGS.rows(
        [{"requested_at": NOW, "status": status, "is_entry": True} for status in (200, 200, 200, 500)]
    )
    state = DeploymentState(limits=limits).with_logs(rows.select(LOG_COLUMNS))
    found = failures_of("rag", Snapshot(NOW, {"rag": state}, CollectorStats(), 0, 0.0), PagePeriod(Days.DAY, NOW))
    assert found.drawing.chart.points[-1].value == 25.0
    assert found.drawing.chart.reference == reference
    assert [(one.status, one.number, one.share) for one in found.kinds] == [(500, 1, 0.25)]
