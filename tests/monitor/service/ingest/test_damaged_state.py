"""Damaged tables of the monitor's state: each is told, learned anew and made anew."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lake.spec.state_tables import MONITOR_STATE, ROOT_STATE
from lake.store import whole_files
from lake.tables.lake import Lake
from lake.tables.table import Table
from monitor.detect.regression import RegressionSettings
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.monitor.conftest import ScoreColumns

METRIC = "faithfulness_kprecision"
REGRESSION = RegressionSettings(reference_observations=100)
DAMAGED_TABLES = ["bytes of file", "cut file", "empty file", "missing file", "garbled log", "garbled last entry"]


def refreshed(monitor: Monitor) -> Any:
    """The state of the deployment `rag` after a refresh without failures."""
    monitor.refresh()
    assert monitor.failures == {}
    assert monitor.snapshot is not None
    return monitor.snapshot.deployments["rag"]


def damage_table(table: Table, damage: str) -> None:
    """Damage a table of a state, to which one row was written."""
    filesystem, path = table._storage.filesystem(table.uri)
    (parquet,) = filesystem.glob(f"{path}/*.parquet")
    match damage:
        case "bytes of file":
            filesystem.pipe_file(parquet, b"PAR1 no parquet PAR1")
        case "cut file":
            filesystem.pipe_file(parquet, filesystem.cat_file(parquet)[:100])
        case "empty file":
            filesystem.pipe_file(parquet, b"")
        case "missing file":
            filesystem.rm_file(parquet)
        case "garbled log":
            for commit in filesystem.glob(f"{path}/_delta_log/*.json"):
                filesystem.pipe_file(commit, b"no commit")
        case "garbled last entry":
            last = len(filesystem.glob(f"{path}/_delta_log/*.json"))
            filesystem.pipe_file(f"{path}/_delta_log/{last:020}.json", b"no commit")


@pytest.mark.parametrize("damage", DAMAGED_TABLES)
def test_a_damaged_state_in_a_folder_or_store_is_told_and_saved_again(
    lake_of_each_kind: Lake, clock: Any, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deployment is shown all the same, and what is saved then is read by the next monitor."""
    lake = lake_of_each_kind
    ScoreColumns(lake).hours("rag", 24 * 3, lambda _: 0.8, METRIC)
    before = refreshed(Monitor(lake, MonitorSettings(regression=REGRESSION), clock))
    damage_table(lake.table(MONITOR_STATE, "rag"), damage)
    # Another process has no copies of what this one wrote.
    monkeypatch.setattr(whole_files, "_KEPT", whole_files._Kept(1 << 20))
    monitor = Monitor(lake, MonitorSettings(regression=REGRESSION), clock)
    monitor.refresh()
    assert monitor.failures == {"restore_state": 1}
    assert monitor.snapshot is not None
    assert monitor.snapshot.deployments["rag"].readings == before.readings
    assert lake.table(MONITOR_STATE, "rag").read().num_rows == 1
    assert refreshed(Monitor(lake, MonitorSettings(regression=REGRESSION), clock)).readings == before.readings


def test_a_state_without_its_log_is_made_anew(make_monitor: Callable[[], Monitor], lake: Lake, rows: Any) -> None:
    """There is no table then, as at the first start."""
    rows.hours("rag", 24 * 3, lambda _: 0.8, METRIC)
    before = refreshed(make_monitor())
    shutil.rmtree(Path(lake.table(MONITOR_STATE, "rag").uri) / "_delta_log")
    assert refreshed(make_monitor()).readings == before.readings
    assert lake.table(MONITOR_STATE, "rag").read().num_rows == 1


def test_a_state_that_cannot_be_removed_is_told(
    make_monitor: Callable[[], Monitor], lake: Lake, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its table cannot be opened, and the store refuses to remove it."""
    rows.hours("rag", 24 * 3, lambda _: 0.8, METRIC)
    refreshed(make_monitor())
    damage_table(lake.table(MONITOR_STATE, "rag"), "garbled last entry")

    def refused(_: Table) -> None:
        raise PermissionError("not to be removed")

    monkeypatch.setattr(Table, "remove_all", refused)
    monitor = make_monitor()
    monitor.refresh()
    assert monitor.failures["save_state"] == 1
    assert any("not to be removed" in problem for problem in monitor.health().problems)


@pytest.mark.parametrize("damage", ["missing file", "garbled last entry"])
def test_a_damaged_state_of_the_collector_is_told_and_saved_again(
    make_monitor: Callable[[], Monitor], lake: Lake, rows: Any, clock: Any, damage: str
) -> None:
    """The sums of lines are those of all batches."""
    rows.hours("rag", 2, lambda _: 0.8, METRIC)
    rows.batch(lines=1, stored=1)
    refreshed(make_monitor())
    damage_table(lake.table(ROOT_STATE), damage)
    monitor = make_monitor()
    monitor.refresh()
    assert monitor.failures == {"restore_state": 1}
    assert monitor.snapshot is not None
    assert monitor.snapshot.collector_stats.lines["stored"] == 1
    assert lake.table(ROOT_STATE).read().num_rows == 1
    refreshed(make_monitor())
