"""A lake that was copied and is started elsewhere, as after a restore of a backup."""

from __future__ import annotations

import base64
import json
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from collector.sources.files.source import FileSource
from lake.spec.schemas import ALERTS, PARSED_LOGS
from lake.tables.lake import Lake
from lake.tables.storage import Storage
from monitor.detect.regression import RegressionSettings
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.collector.lines import chat_line
from tests.monitor.conftest import STRANGE_NAME


@pytest.fixture
def settings(receiver: Any) -> MonitorSettings:
    """As of the other tests, with a receiver."""
    return MonitorSettings(
        regression=RegressionSettings(reference_observations=100),
        webhooks=[{"url": receiver.address, "secret": "whsec_" + base64.b64encode(b"k" * 32).decode()}],
        internal_hosts=["127.0.0.1"],
        group_seconds=0,
    )


def open_alerts(monitor: Monitor) -> set[tuple[str, str, str]]:
    assert monitor.snapshot is not None
    states = monitor.snapshot.deployments.items()
    return {(name, one.incident_id, str(one.opened_at)) for name, state in states for one in state.incidents}


@pytest.mark.usefixtures("three_deployments")
def test_it_has_the_same_alerts_and_sends_none_again(
    lake: Lake, rows: Any, clock: Any, settings: MonitorSettings, receiver: Any, tmp_path: Path
) -> None:
    """Open alerts stay open, under their ids, in another folder and later; only what is new is sent."""
    asked = [(clock() - timedelta(minutes=ago), 503 if ago < 20 else 200) for ago in range(60) for _ in range(4)]
    rows.logs("gpt-4o", *({"requested_at": at, "date": at.date(), "status": status} for at, status in asked))
    before = refreshed(lake, settings, clock)
    opened, sent = alert_ids(lake), len(receiver.bodies)
    assert len(opened) == sent == 2

    copied = tmp_path / "elsewhere" / "restored"
    shutil.copytree(lake.root, copied)
    shutil.rmtree(lake.root)
    restored = Lake(str(copied))
    clock.advance(minutes=5)
    after = refreshed(restored, settings, clock)
    assert alert_ids(restored) == opened
    assert open_alerts(after) == open_alerts(before) != set()
    assert len(receiver.bodies) == sent
    assert after.health().problems == ()

    rows.lake = restored
    rows.logs(STRANGE_NAME, *({"requested_at": clock(), "date": clock().date(), "status": 500} for _ in range(200)))
    clock.advance(minutes=1)
    after.refresh()
    after._notifier.run_due(clock())
    assert len(receiver.bodies) > sent
    assert json.loads(receiver.bodies[-1])["alerts"][0]["labels"]["deployment"] == " ".join(STRANGE_NAME.split())


def refreshed(lake: Lake, settings: MonitorSettings, clock: Any) -> Monitor:
    monitor = Monitor(lake, settings, clock)
    for _ in range(3):
        monitor.refresh()
        monitor._notifier.run_due(clock())
    return monitor


def alert_ids(lake: Lake) -> set[tuple[str, str]]:
    tables = [lake.table(ALERTS, name) for name in lake.deployments() if name is not None]
    rows = [row for table in tables for row in table.read().to_pylist()]
    return {(row["alert_id"], row["metric"]) for row in rows}


def test_lines_that_are_in_it_are_not_stored_again(tmp_path: Path) -> None:
    """The collector goes on from where the copy says: what came since the backup is read, the rest is not."""
    log = tmp_path / "aidial.log"
    log.write_bytes(chat_line(1) + b"\n")
    assert collected(Lake(str(tmp_path / "lake")), log) == 1
    shutil.copytree(tmp_path / "lake", tmp_path / "restored")
    log.write_bytes(log.read_bytes() + chat_line(2) + b"\n")
    assert collected(Lake(str(tmp_path / "lake")), log) == 1
    restored = Lake(str(tmp_path / "restored"))
    assert collected(restored, log) == 1
    assert restored.table(PARSED_LOGS, "rag-app").read(["answer"]).num_rows == 2


def collected(lake: Lake, log: Path) -> int:
    collector = Collector(lake, CollectorSettings())
    source = FileSource([str(log)], Storage(), exclude=lake.root)
    source.read_into(collector)
    collector.flush()
    source.close()
    return collector.totals.stored
