"""A machine whose clock is set while dialwatch runs."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from lake.spec.root_tables import SERVICES
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.tables.lake import Lake
from tests.collector.lines import chat_line
from tests.servers import free_port, wait_for

pytestmark = pytest.mark.integration

# The clock of all modules that ask for it goes otherwise from the signal on; the monotonic one is the machine's.
CHILD = """
import signal, sys
from datetime import datetime, timedelta
from apscheduler.schedulers import base
import collector.pipeline, collector.signals.implicit_pass, collector.sources.files, evaluator.service.passes
from dialwatch.services import running
from dialwatch.cli import main

class AnyDatetime(type):
    def __instancecheck__(cls, one):
        return isinstance(one, datetime)

class SetClock(datetime, metaclass=AnyDatetime):
    by = timedelta(0)

    @classmethod
    def now(cls, tz=None):
        return datetime.now(tz) + cls.by

    @classmethod
    def __get_pydantic_core_schema__(cls, _, handler):
        return handler(datetime)

ours = ("collector", "dialwatch", "evaluator", "lake", "monitor", "runtime")
for name, module in list(sys.modules.items()):
    if name.partition(".")[0] in ours or module is base:
        if getattr(module, "datetime", None) is datetime:
            module.datetime = SetClock

config, hours = sys.argv[1:]
sys.argv[1:] = ["up", "-c", config]

def set_clock(*_):
    SetClock.by = timedelta(hours=float(hours))

signal.signal(signal.SIGUSR1, set_clock)
main()
"""


@pytest.mark.parametrize("hours", [-1, 3])
def test_all_parts_go_on_where_the_clock_is_set(tmp_path: Path, hours: int) -> None:
    """Lines that come then are stored and scored, looks go on, no age is negative, and health is good."""
    log, port = tmp_path / "aidial.log", free_port()
    log.write_bytes(chat_line(1) + b"\n")
    config = tmp_path / "dialwatch.yaml"
    config.write_text(
        f"""
lake: {{root: {tmp_path}/lake}}
collector: {{files: {{paths: ["{log}"], poll_seconds: 0.2}}, flush_seconds: 1}}
evaluator: {{every: 1s, context_grace: 0s}}
monitor: {{listen: "127.0.0.1:{port}", refresh_seconds: 1}}
"""
    )
    lake = Lake(f"{tmp_path}/lake")

    def scored() -> set[str]:
        return set(lake.table(SCORES, "rag-app").read(["event_id"])["event_id"].to_pylist())

    def stored() -> int:
        return lake.table(PARSED_LOGS, "rag-app").read(["event_id"]).num_rows

    command = [sys.executable, "-c", CHILD, str(config), str(hours)]
    with (tmp_path / "log").open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            wait_for(lambda: len(scored()) == 1, 120)
            process.send_signal(signal.SIGUSR1)
            with log.open("ab") as more:
                more.write(chat_line(2) + b"\n")
            wait_for(lambda: (stored(), len(scored())) == (2, 2), 60)
            health = wait_for(lambda: httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=30)).json()
            assert 0 <= health["last_refresh_age_seconds"] < 60
            assert health["healthy"], health
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        finally:
            process.kill()
    assert set(lake.table(SERVICES).read(["state"])["state"].to_pylist()) == {"running", "stopped"}
    assert "the clock of this machine was set by" in (tmp_path / "log").read_text()
