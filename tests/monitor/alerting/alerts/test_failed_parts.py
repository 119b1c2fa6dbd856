"""The parts of an application that failed, as an alert counts them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from lake.spec.schemas import ALERTS
from lake.tables.lake import Lake
from monitor.alerting.alerts.change import from_row
from monitor.service.monitor import Monitor
from tests.monitor.conftest import NOW

HOUR = timedelta(hours=1)
METRIC = "faithfulness_kprecision"


def test_an_alert_counts_the_parts_that_failed_since_its_onset(monitor: Monitor, rows: Any, lake: Lake) -> None:
    """Answers before the onset or after the alert do not count, nor parts that failed nowhere."""
    rows.hours("rag", 60, lambda left: 0.8 if left > 12 else 0.35, METRIC)
    compared = {"metric": "case_passed", "value": 0.0, "reference_match": "exact"}
    parts = {12: ("retrieval", "retrieval", "generation"), 40: ("generation",) * 5, 1: ("ranking",)}
    for hours, failed in parts.items():
        at = NOW - hours * HOUR
        dated = compared | {"requested_at": at, "date": at.date()}
        rows.scores(
            "rag", *(dated | {"failed_part": part, "event_id": f"{hours}-{n}"} for n, part in enumerate(failed))
        )
    monitor.refresh()
    [change] = [from_row(row) for row in lake.table(ALERTS, "rag").read().to_pylist()]
    assert change.details.failed_parts == {"retrieval": 2, "generation": 1}
