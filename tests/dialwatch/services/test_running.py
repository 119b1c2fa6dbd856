"""All services in one process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from tests.collector.lines import chat_line
from tests.servers import free_port

pytestmark = pytest.mark.integration

# An evaluator's pass over a hundred deployments takes minutes here, and SIGTERM comes in the middle of it.
CHILD = """
import os, signal, sys, threading, time
import evaluator.service.passes
from dialwatch.services import running
from dialwatch.cli import main

wait = running.wait_for_signal

def slow(*_):
    time.sleep(1)
    return 0

def wait_and_be_stopped():
    threading.Timer(3, os.kill, [os.getpid(), signal.SIGTERM]).start()
    wait()

evaluator.service.passes.propose_cases = slow
running.wait_for_signal = wait_and_be_stopped
sys.argv = ["dialwatch", "up", "-c", sys.argv[1]]
main()
"""


def test_sigterm_ends_up_in_the_middle_of_a_long_pass(tmp_path: Path) -> None:
    """What was read is in the lake once, and what the pass had still to do is left to the next start."""
    root, log = tmp_path / "lake", tmp_path / "aidial.log"
    for number in range(100):
        (root / f"app-{number:03}").mkdir(parents=True)
    log.write_bytes(chat_line(1) + b"\n")
    config = tmp_path / "dialwatch.yaml"
    config.write_text(
        f"""
lake: {{root: {root}}}
collector: {{files: {{paths: ["{log}"], poll_seconds: 0.1}}, flush_seconds: 60}}
monitor: {{listen: "127.0.0.1:{free_port()}"}}
"""
    )
    command = [sys.executable, "-c", CHILD, str(config)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert ended.returncode == 0, ended.stderr
    collect = [sys.executable, "-m", "dialwatch", "collect", "files", str(log), "--lake", str(root)]
    subprocess.run(collect, check=True, capture_output=True)
    assert Lake(str(root)).table(PARSED_LOGS, "rag-app").read(["answer"]).num_rows == 1
