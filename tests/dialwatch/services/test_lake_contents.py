from __future__ import annotations

import logging
from datetime import timedelta
from pathlib import Path

import pytest

from collector import Collector, CollectorSettings, FileSource
from dialwatch.services.lake_contents import contents_of, log_contents
from lake import Lake, Storage
from tests.collector.lines import chat_line


def test_a_lake_says_what_it_has(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """An empty one, or one that is not there, is told, and stays as it was; else the deployments and the newest row."""
    caplog.set_level(logging.INFO)
    lake = Lake(f"{tmp_path}/lake")
    log_contents(lake)
    assert f"the lake {lake.root} is empty: this is its first start, or lake.root is mistyped" in caplog.text
    assert contents_of(lake) is None
    assert not Path(lake.root).exists()
    (tmp_path / "core.log").write_bytes(chat_line(1) + b"\n")
    shared = Collector(lake, CollectorSettings())
    FileSource([f"{tmp_path}/core.log"], Storage()).read_into(shared)
    shared.flush()
    shared_at = shared.meter.committed.at
    assert str(contents_of(lake, lambda: shared_at + timedelta(minutes=3))) == "1 deployment, newest row 3 minutes ago"
    log_contents(lake)
    assert f"the lake {lake.root} has 1 deployment, newest row 0 seconds ago" in caplog.text
