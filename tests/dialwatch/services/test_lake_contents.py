from __future__ import annotations

import logging
import re
from datetime import timedelta
from pathlib import Path

import pytest

from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from collector.sources.files.source import FileSource
from dialwatch.commands.check.finding import Verdict
from dialwatch.commands.check.lake_checks import check_retention
from dialwatch.services.lake_contents import contents_of, log_contents
from lake.maintenance.maintenance import LakeMaintenanceSettings
from lake.maintenance.text_retention import begin_lake
from lake.tables.lake import Lake
from lake.tables.storage import Storage
from tests.collector.lines import chat_line


def test_a_lake_says_what_it_has(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """An empty one, or one that is not there, is told, and stays as it was; else the deployments and the newest row."""
    caplog.set_level(logging.INFO)
    lake = Lake(f"{tmp_path}/lake")
    log_contents(lake, LakeMaintenanceSettings())
    assert f"the lake {lake.root} is empty: this is its first start, or lake.root is mistyped" in caplog.text
    assert contents_of(lake) is None
    assert not Path(lake.root).exists()
    (tmp_path / "core.log").write_bytes(chat_line(1) + b"\n")
    shared = Collector(lake, CollectorSettings())
    FileSource([f"{tmp_path}/core.log"], Storage()).read_into(shared)
    shared.flush()
    shared_at = shared.meter.committed.at
    assert str(contents_of(lake, lambda: shared_at + timedelta(minutes=3))) == "1 deployment, newest row 3 minutes ago"
    log_contents(lake, LakeMaintenanceSettings())
    assert re.search(rf"the lake {re.escape(lake.root)} has 1 deployment, newest row \d+ seconds? ago", caplog.text)


def test_how_long_texts_of_people_stay_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """At the start and by `dialwatch check`: a warning in a lake of before, until a setting decides it."""
    new, old = Lake(f"{tmp_path}/new"), Lake(f"{tmp_path}/old")
    (tmp_path / "core.log").write_bytes(chat_line(1) + b"\n")
    begin_lake(new)
    for lake in (new, old):
        shared = Collector(lake, CollectorSettings())
        FileSource([f"{tmp_path}/core.log"], Storage()).read_into(shared)
        shared.flush()
    settings = LakeMaintenanceSettings()
    [well], [open_], [empty] = (check_retention(lake, settings) for lake in (new, old, Lake(f"{tmp_path}/none")))
    assert [one.verdict for one in (well, open_, empty)] == [Verdict.OK, Verdict.WARNING, Verdict.OK]
    assert "rows of parsed_logs, user_signals, _rejected are deleted after 90 days" in well.text
    assert "a new lake: rows of parsed_logs, user_signals, _rejected will be deleted after 90 days" in empty.text
    assert "texts of people stay in parsed_logs, user_signals, _rejected for ever" in open_.text
    assert "lake.maintenance.retention: {parsed_logs: 90d, user_signals: 90d, _rejected: 90d}, or null" in open_.text
    log_contents(old, settings)
    assert [record.getMessage() for record in caplog.records] == [open_.text]
    decided = LakeMaintenanceSettings.model_validate(
        {"retention": {"parsed_logs": "30d", "user_signals": None, "_rejected": "30d"}}
    )
    log_contents(old, decided)
    assert len(caplog.records) == 1
    assert check_retention(old, decided)[0].verdict is Verdict.OK
