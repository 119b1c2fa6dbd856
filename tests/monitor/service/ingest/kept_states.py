"""State of a monitor as a file, written anew by `python -m tests.monitor.service.ingest.kept_states`."""

from __future__ import annotations

import tempfile
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq

from lake.spec.state_tables import MONITOR_STATE
from lake.tables.lake import Lake
from monitor.detect.regression import RegressionSettings
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.monitor.conftest import NOW, Clock, ScoreColumns

FOLDER = Path(__file__).parent / "states"
OF_NOW = FOLDER / "now.parquet"
OF_LAST_RELEASE = FOLDER / "last_release.parquet"
"""Written by the last release that had another format."""
METRIC = "faithfulness_kprecision"
SETTINGS = MonitorSettings(regression=RegressionSettings(reference_observations=100, segment_by=("language",)))


def written(folder: str) -> Lake:
    """Give a lake with four days of scores that have fallen 30 hours ago, ratings, and a judge that has changed."""
    lake = Lake(folder)
    rows = ScoreColumns(lake)
    rows.hours("rag", 24 * 4, lambda left: 0.8 if left > 30 else 0.4, METRIC)
    rows.signals("rag", "like", "dislike", "regenerate")
    for day in range(8):
        at = NOW - timedelta(days=8 - day)
        about = {"metric": METRIC, "metric_version": "1", "deployment": "rag", "draw": 0, "scored_at": at}
        about |= {"date": at.date(), "direction": "up", "low": 0.0, "high": 1.0}
        values = (0.8 if day < 3 else 0.5 for _ in range(60))
        rows.anchors("rag", *(about | {"event_id": f"a{n}", "value": value} for n, value in enumerate(values)))
    return lake


def monitor_of(lake: Lake, now: datetime = NOW) -> Monitor:
    """Give a monitor with the settings of the states."""
    return Monitor(lake, SETTINGS, Clock(now))


def _write(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lake = written(folder)
        monitor = monitor_of(lake)
        monitor.refresh()
        if monitor.failures:
            raise RuntimeError(f"the state was not made: {monitor.failures}")
        path.parent.mkdir(exist_ok=True)
        pq.write_table(lake.table(MONITOR_STATE, "rag").read(), path, compression="zstd")


if __name__ == "__main__":
    _write(OF_NOW)
