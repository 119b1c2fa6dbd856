"""A monitor that is killed at random moments, while it reads, records alerts or saves its state."""

from __future__ import annotations

import random
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lake.spec.schemas import ALERTS, SCORES
from lake.spec.state_tables import MONITOR_STATE
from lake.tables.lake import Lake
from monitor.detect.regression import RegressionSettings
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.killing import kill, start
from tests.monitor.conftest import NOW, Clock, ScoreColumns

pytestmark = pytest.mark.integration
STEPS = 30
STEP = timedelta(minutes=40)
VERSION_OF_FIRST = 2
"""Of the table of scores after the first step: it was made, and a reference was written."""
COLUMNS = ["change_id", "change", "changed_at", "since", "reference_mean", "current_mean", "log_evidence"]


def monitor_of(lake: Lake, clock: Clock) -> Monitor:
    return Monitor(lake, MonitorSettings(regression=RegressionSettings(reference_observations=100)), clock)


def write(lake: Lake, step: int) -> None:
    """The scores of one step, some of which are late by hours."""
    generator, at = np.random.default_rng(step), NOW + step * STEP
    late = generator.choice([0, 0, 30, 200], 15)
    values = np.clip(generator.normal(0.8 if step < 10 else 0.5, 0.15, 15), 0, 1)
    times = [at - timedelta(minutes=int(by) + 1, seconds=n) for n, by in enumerate(late)]
    rows = [
        {"requested_at": at, "date": at.date(), "value": float(value), "response_id": f"{step} {n}"}
        for n, (at, value) in enumerate(zip(times, values, strict=True))
    ]
    ScoreColumns(lake).scores("rag", *rows)


def live(root: str) -> None:
    """One life of a monitor: it goes on with the step that was written last, and refreshes twice at each."""
    lake = Lake(root)
    step = (lake.table(SCORES, "rag").version() or 0) - VERSION_OF_FIRST
    monitor = None
    while step < STEPS:
        clock = Clock(NOW + step * STEP)
        if monitor is None:
            monitor = monitor_of(lake, clock)
        monitor._clock = clock
        monitor.refresh()
        monitor.refresh()
        step += 1
        if step < STEPS:
            write(lake, step)
    (Path(root) / "done").touch()


def begun(folder: Path) -> Lake:
    lake = Lake(str(folder / "lake"))  # the name of the installation is in the alerts
    ScoreColumns(lake).hours("rag", 48, lambda _: 0.8, "faithfulness_kprecision")
    write(lake, 0)
    return lake


def result(lake: Lake) -> Any:
    """What a monitor knows in the end, and the alerts that were recorded."""
    monitor = monitor_of(lake, Clock(NOW + STEPS * STEP))
    monitor.refresh()
    assert monitor.failures == {}
    assert monitor.snapshot is not None
    rows = lake.table(ALERTS, "rag").read(COLUMNS).sort_by("changed_at").to_pylist()
    return monitor.snapshot.deployments["rag"].readings, rows


def test_what_is_found_is_the_same_wherever_it_was_killed(tmp_path: Path) -> None:
    """Every alert once, with the same numbers, and the state is whole after each kill."""
    whole = begun(tmp_path / "whole")
    live(whole.root)
    lake, generator = begun(tmp_path / "killed"), random.Random(1)
    kills = 0
    while not (Path(lake.root) / "done").exists():
        process = start(live, lake.root)
        before = lake.table(SCORES, "rag").version()
        deadline = time.monotonic() + 60
        while lake.table(SCORES, "rag").version() == before and process.exitcode is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(generator.uniform(0, 0.3))
        kill(process)
        kills += 1
        assert lake.table(MONITOR_STATE, "rag").read().num_rows <= 1
    assert kills > 3
    assert result(lake) == result(whole)
