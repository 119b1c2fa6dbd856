"""What the monitor knows at one moment; the exporter and the page show nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from monitor.alert_totals import AlertTotals
from monitor.books import Books
from monitor.regression import Reading
from monitor.scores import Scores
from monitor.totals import Totals
from monitor.traffic import Traffic


@dataclass(frozen=True)
class Figures:
    """One deployment. `readings` are those of the version of each metric that was scored last, by metric."""

    traffic: Traffic = field(default_factory=Traffic)
    scores: Scores = field(default_factory=Scores)
    alerts: AlertTotals = field(default_factory=AlertTotals)
    readings: Mapping[str, Reading] = field(default_factory=dict)


@dataclass(frozen=True)
class Snapshot:
    """All that is known; never changed once it is published.

    `deployments` is keyed by DIAL's name, `_unassigned` for rows that name none. Since the process began,
    `failures` counts what went wrong by reason and `failed_deliveries` the attempts at a webhook that did not
    deliver. `disabled_webhooks` says by name who wants no more messages. `refresh_seconds` is how long the last look
    at the lake took. `judge_budgets_left` is what is left of each judge's budget of the day, as far as rows of scores
    tell. `totals` are sums over all deployments, those that have been erased since included.
    """

    taken_at: datetime
    deployments: Mapping[str, Figures]
    books: Books
    failures: Mapping[str, int]
    failed_deliveries: int
    refresh_seconds: float
    disabled_webhooks: Mapping[str, bool] = field(default_factory=dict)
    judge_budgets_left: Mapping[str, float] = field(default_factory=dict)
    totals: Totals = field(default_factory=Totals)
