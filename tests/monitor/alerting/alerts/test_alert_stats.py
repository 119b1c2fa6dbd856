"""Counts of alerts and deliveries, in whatever portions their rows come."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from lake.spec.alert_vocabulary import DELIVERY_EVENTS, LIMIT_VERSION, AlertEvent, AlertVerdict
from monitor.alerting.alerts.alert_stats import ALERT_COLUMNS, AlertStats

ROWS = st.fixed_dictionaries(
    {
        "alert_id": st.sampled_from("abc"),
        "metric": st.sampled_from(["m", "n", None]),
        "metric_version": st.sampled_from(["1", LIMIT_VERSION, None]),
        "change": st.sampled_from([*AlertEvent]).map(str),
        "verdict": st.sampled_from([None, "undecided", "system", "judge"]),
    }
)


def table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in rows], pa.string()) for name in ALERT_COLUMNS})


@given(st.lists(ROWS, max_size=30), st.integers(0, 30))
def test_an_alert_counts_once_with_each_verdict(rows: list[dict[str, Any]], cut: int) -> None:
    """By the metric and verdict of its first such row; limits do not count, deliveries all do, by how they ended."""
    first: dict[tuple[str, str], tuple[str, str]] = {}
    for row in rows:
        if row["change"] == AlertEvent.FIRING and row["metric_version"] != LIMIT_VERSION:
            verdict = row["verdict"] or str(AlertVerdict.UNDECIDED)
            first.setdefault((row["alert_id"], verdict), (row["metric"] or "unknown", verdict))
    found = AlertStats().with_alerts(table(rows[:cut])).with_alerts(table(rows[cut:]))
    assert found.regressions == Counter(first.values())
    assert found.deliveries == Counter(row["change"] for row in rows if row["change"] in DELIVERY_EVENTS)
    assert found.fired == first.keys()
