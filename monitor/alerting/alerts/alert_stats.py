"""Counts of one deployment's alerts and webhook deliveries, from its rows of `alerts`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from lake.spec.alert_vocabulary import DELIVERY_EVENTS, LIMIT_VERSION, AlertEvent, AlertVerdict

ALERT_COLUMNS = ("alert_id", "metric", "metric_version", "change", "verdict")


@dataclass(frozen=True)
class AlertStats:
    """Totals since the first row.

    `regressions` counts alerts that fired, without those of limits, by (metric, verdict): one whose verdict changes
    counts again by the new one. `deliveries` counts webhooks by how they ended.
    """

    regressions: Mapping[tuple[str, str], int] = field(default_factory=dict)
    deliveries: Mapping[str, int] = field(default_factory=dict)
    fired: frozenset[tuple[str, str]] = frozenset()
    """(alert_id, verdict) of the alerts that fired: one that reaches a higher tier fires again, and is no other one."""

    def with_alerts(self, rows: pa.Table) -> AlertStats:
        """Add rows of `alerts` (columns ALERT_COLUMNS)."""
        regressions, deliveries, fired = dict(self.regressions), dict(self.deliveries), set(self.fired)
        for row in rows.to_pylist():
            verdict = row["verdict"] or AlertVerdict.UNDECIDED
            is_news = row["metric_version"] != LIMIT_VERSION and (row["alert_id"], verdict) not in fired
            if row["change"] == AlertEvent.FIRING and is_news:
                fired.add((row["alert_id"], verdict))
                key = (row["metric"] or "unknown", verdict)
                regressions[key] = regressions.get(key, 0) + 1
            elif row["change"] in DELIVERY_EVENTS:
                deliveries[row["change"]] = deliveries.get(row["change"], 0) + 1
        return AlertStats(regressions, deliveries, frozenset(fired))
