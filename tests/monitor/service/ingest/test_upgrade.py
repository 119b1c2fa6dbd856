"""Upgrades to a version that cannot read the state: what a receiver gets of alerts that are open meanwhile."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from lake.maintenance.retention import drop_before
from lake.spec.schemas import SCORES
from lake.tables.lake import Lake
from monitor.detect.limits import LimitSettings
from monitor.detect.regression import RegressionSettings
from monitor.service.ingest import checkpoints
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings

METRIC = "faithfulness_kprecision"


@pytest.fixture
def start(lake: Lake, clock: Any, receiver: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Monitor]:
    """Starts a monitor of the version whose state has a format."""
    settings = MonitorSettings(
        regression=RegressionSettings(reference_observations=100),
        webhooks=[{"url": receiver.address, "secret": "whsec_" + base64.b64encode(b"k" * 32).decode()}],
        internal_hosts=["127.0.0.1"],
        group_seconds=0,
        limits=LimitSettings(page_after=timedelta(0)),
    )

    def started(state_format: int) -> Monitor:
        monkeypatch.setattr(checkpoints, "FORMAT", state_format)
        return Monitor(lake, settings, clock)

    return started


def hour_of(rows: Any, clock: Any, mean: float, status: int) -> None:
    """Write an hour of scores, and of requests of which all have one status, and move on."""
    times = [clock() + timedelta(minutes=3 * n) for n in range(20)]
    values = np.clip(np.random.default_rng(clock().hour).normal(mean, 0.1, 20), 0, 1)
    scored = ({"requested_at": at, "date": at.date(), "value": float(v)} for at, v in zip(times, values, strict=True))
    rows.scores("rag", *scored)
    rows.logs("app", *({"requested_at": at, "date": at.date(), "status": status} for at in times * 3))
    clock.advance(hours=1)


def refresh(monitor: Monitor, clock: Any, times: int = 3) -> None:
    for _ in range(times):
        monitor.refresh()
        monitor._notifier.run_due(clock())


def sent(receiver: Any) -> list[tuple[str, str]]:
    """Deployment and status of each alert that was sent, in order."""
    return [
        (alert["labels"]["deployment"], alert["status"])
        for body in receiver.bodies
        for alert in json.loads(body)["alerts"]
    ]


@pytest.mark.slow
@pytest.mark.parametrize("loses_rows", [False, True])
def test_alerts_that_are_open_at_an_upgrade_are_sent_once_and_resolved_once(
    start: Callable[[int], Monitor], lake: Lake, rows: Any, clock: Any, receiver: Any, loses_rows: bool
) -> None:
    """A regression and a limit fired before, are open after it, and end later; also where old rows are gone."""
    rows.hours("rag", 24 * 4, lambda left: 0.8 if left > 30 else 0.4, METRIC)
    hour_of(rows, clock, 0.4, 503)
    monitor = start(1)
    refresh(monitor, clock)
    fired = [("app", "firing"), ("rag", "firing")]
    assert sorted(sent(receiver)) == fired
    if loses_rows:
        drop_before(lake.table(SCORES, "rag"), clock().date())
    for state_format in (2, 3):
        monitor = start(state_format)
        for _ in range(2):
            hour_of(rows, clock, 0.4, 503)
            refresh(monitor, clock)
        assert monitor.failures == {"restore_state": 2}
        assert sorted(sent(receiver)) == fired
        assert monitor.snapshot is not None
        assert all(len(monitor.snapshot.deployments[name].firing) == 1 for name in ("rag", "app"))
    for _ in range(24):
        hour_of(rows, clock, 0.8, 200)
        refresh(monitor, clock, times=1)
    refresh(start(4), clock)
    assert sorted(sent(receiver)) == sorted([*fired, ("app", "resolved"), ("rag", "resolved")])
