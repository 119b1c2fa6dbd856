"""All services in one process, and signals that end it while they begin and when they are up."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
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
from dialwatch.commands import services
from dialwatch.cli import main

wait = services.wait_for_signal

def slow(*_):
    time.sleep(1)
    return 0

def wait_and_be_stopped():
    threading.Timer(3, os.kill, [os.getpid(), signal.SIGTERM]).start()
    wait()

evaluator.service.passes.propose_cases = slow
services.wait_for_signal = wait_and_be_stopped
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


# The monitor, behind which the collector would begin, does not come to its end: it waits, or is in a call that no
# signal interrupts, as a request to a store that is away.
STARTING = """
import hashlib, sys, time
from dialwatch.cli import main
import monitor.service.monitor as service

def hang(*_):
    print("begins", flush=True)
    {hangs}

service.Monitor._begin = hang
sys.argv = ["dialwatch", sys.argv[1], "-c", sys.argv[2]]
main()
"""


@pytest.mark.parametrize("hangs", ["time.sleep(300)", "hashlib.pbkdf2_hmac('sha256', b'', b'', 2**31 - 1)"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_process_whose_services_begin(tmp_path: Path, number: signal.Signals, hangs: str) -> None:
    """Soon, and as one whose services are up: with exit code 0 and without a traceback."""
    config = tmp_path / "dialwatch.yaml"
    config.write_text(
        f"""
lake: {{root: {tmp_path}/lake}}
collector: {{files: {{paths: ["{tmp_path}/*.log"]}}}}
monitor: {{listen: "127.0.0.1:{free_port()}"}}
"""
    )
    command = [sys.executable, "-c", STARTING.replace("{hangs}", hangs), "up", str(config)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "begins\n"
            sent = time.monotonic()
            process.send_signal(number)
            _, log = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0, log
    assert time.monotonic() - sent < 30
    assert "Traceback" not in log
    assert "Aborted" not in log


def test_a_signal_ends_a_process_that_has_not_read_its_settings(tmp_path: Path) -> None:
    """What a service imports takes seconds on a slow machine."""
    child = """
import os, signal, sys
from dialwatch.cli import main
from dialwatch.commands import evaluate, services

evaluate.settings_of = services.settings_of = lambda *_, **__: os.kill(os.getpid(), signal.SIGTERM)
sys.argv = ["dialwatch", *sys.argv[1:]]
main()
"""
    for command in (
        ["up"],
        ["monitor"],
        ["evaluate"],
        ["collect", "http"],
        ["collect", "kafka"],
        ["collect", "files", "--follow", "x"],
    ):
        ended = subprocess.run([sys.executable, "-c", child, *command], capture_output=True, timeout=60, check=False)
        assert (ended.returncode, ended.stderr) == (0, b""), command


def test_a_second_signal_ends_a_start_that_is_slow_to_end() -> None:
    """Also where it waits for a store that is away."""
    child = """
import os, signal, time
from dialwatch.services import ending

ending.end_by_signals()
try:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(20)
finally:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(20)
"""
    began = time.monotonic()
    assert subprocess.run([sys.executable, "-c", child], timeout=60, check=False).returncode == 0
    assert time.monotonic() - began < 15


ENDING = """
import os, signal, threading, time
from dialwatch.services import ending

ending._STUCK_SECONDS = 0.2
ending.end_by_signals()
unset = signal.set_wakeup_fd

def unset_late(*given, **named):
    os.kill(os.getpid(), signal.SIGTERM)
    return unset(*given, **named)

class Swallows:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.1)

class Interrupted(threading.Event):
    def set(self):
        with self._cond:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.1)
        super().set()

{happens}
try:
    ending.wait_for_signal()
finally:
    time.sleep(1)
    print("ended in order")
"""


@pytest.mark.parametrize(
    "happens",
    [
        pytest.param("signal.set_wakeup_fd = unset_late", id="while services come up"),
        pytest.param("Swallows()", id="where SystemExit is swallowed"),
        pytest.param("ending._start.cannot_be_stuck = Interrupted()", id="while the end of the start is told"),
    ],
)
def test_a_signal_at_an_odd_moment_of_the_start_ends_a_process_in_order(happens: str) -> None:
    """What is up takes longer to end than a start may, and is not cut off; nobody has to send the signal again."""
    child = [sys.executable, "-c", ENDING.replace("{happens}", happens)]
    ended = subprocess.run(child, capture_output=True, text=True, timeout=20, check=False)
    assert (ended.returncode, ended.stdout) == (0, "ended in order\n"), ended.stderr
