"""A store that fails at random, a disk that is full, and SIGTERM under load: nothing lost, nothing repeated."""

from __future__ import annotations

import contextlib
import gzip
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from collector.commit.position import Partition, Piece
from collector.pipeline.collector import Collector
from collector.runners.follow import follow_files
from collector.settings import CollectorSettings
from collector.sources.files.source import FileSource
from lake.spec.root_tables import BATCHES
from lake.tables.lake import Lake
from lake.tables.storage import Storage
from tests.collector.lines import chat_line
from tests.collector.sources.faults import Door, Senders, answers, assert_each_once, body, collector_of, expected
from tests.servers import Bucket, free_port, wait_for, wait_for_url

pytestmark = pytest.mark.integration


@pytest.fixture
def faulty_endpoint(s3_endpoint: str) -> Iterator[str]:
    port, target = free_port(), s3_endpoint.rpartition(":")[2]
    command = [sys.executable, "-m", "tests.fault_proxy", str(port), target, "7", "0.15", "0.3"]
    process = subprocess.Popen(command)
    try:
        wait_for_url(f"http://127.0.0.1:{port}/", process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


@pytest.mark.slow
def test_a_store_that_fails_at_random_costs_no_row(bucket: Bucket, faulty_endpoint: str) -> None:
    """Objects are read from, and the lake is written to, a store with 15 % faults: every line is a row once."""
    filesystem, root = bucket.storage.filesystem(f"{bucket.uri}/raw")
    for number in range(6):
        lines = body(*range(number * 10, number * 10 + 10))
        filesystem.pipe(f"{root}/date=2026-11-201763632{number:03d}-x.log.gz", gzip.compress(lines))
    faulty = Storage(faulty_endpoint, "us-east-1", "key", "secret")
    settings = CollectorSettings(flush_bytes=40_000, flush_seconds=2)
    whole = Lake(f"{bucket.uri}/lake", bucket.storage)
    stop = threading.Event()

    def follow() -> None:
        while not stop.is_set():
            try:
                collector = Collector(Lake(f"{bucket.uri}/lake", faulty), settings)
                follow_files(FileSource([f"{bucket.uri}/raw/date=*"], faulty), collector, 0.05, stop)
            except Exception as error:  # A collector that could not start, or not end, is started again.
                print(type(error).__name__, error)

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        wait_for(lambda: len(answers(whole)) >= 60, seconds=240)
    finally:
        stop.set()
        thread.join()
    assert answers(whole) == expected(60)
    # Lines whose rows were written, and whose position was not when it ended, are read again.
    collector = Collector(whole, settings)
    FileSource([f"{bucket.uri}/raw/date=*"], bucket.storage).read_into(collector)
    collector.flush()
    assert answers(whole) == expected(60)
    assert sum(whole.table(BATCHES).read(["stored"])["stored"].to_pylist()) == 60


REFUSES, SILENT = ("1", "0", "503", "PUT,POST"), ("1", "0", "hung")


@pytest.mark.slow
@pytest.mark.parametrize("faults", [REFUSES, (), SILENT], ids=["refuses-to-write", "dead", "silent"])
def test_a_store_that_is_away_is_reported_and_used_again_without_a_restart(
    door: Door, bucket: Bucket, tmp_path: Path, caplog: pytest.LogCaptureFixture, faults: tuple[str, ...]
) -> None:
    """While the lake's store is away the log says so again and again, little is held, and then all rows are there."""
    collector = Collector(Lake(f"{bucket.uri}/lake", door.storage), CollectorSettings(flush_bytes=20_000))
    collector.commit([Piece(Partition("http", "/data", "a run"), chat_line(0), 1)])
    for number in range(15):
        (tmp_path / f"{number:02d}.log").write_bytes(body(number, number + 15, number + 30, size=4000))
    if faults:
        door.open(*faults)
    else:
        door.shut()
    stop = threading.Event()
    source = FileSource([str(tmp_path)], Storage())
    thread = threading.Thread(target=follow_files, args=(source, collector, 0.05, stop))
    thread.start()
    whole = Lake(f"{bucket.uri}/lake", bucket.storage)
    try:
        wait_for(lambda: caplog.text.count("could not collect") >= 2, seconds=120)
        assert "see that the lake and the logs can be reached" in caplog.text
        assert sum(batch.bytes for batch in collector.open_batches) < 60_000
        door.open()
        wait_for(lambda: len(answers(whole)) >= 40, seconds=120)
    finally:
        stop.set()
        thread.join()
    assert answers(whole) == expected(45)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 3 MB; it needs the right to mount."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)]
    if os.geteuid() != 0 and shutil.which("sudo"):
        command = ["sudo", "-n", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        message = f"a small disk cannot be mounted ({done.stderr.strip()}): THIS TEST DID NOT RUN; run it as root"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    if os.geteuid() != 0:
        subprocess.run(["sudo", "-n", "chmod", "777", str(folder)], check=True)
    yield folder
    subprocess.run([*command[: command.index("mount")], "umount", "-l", str(folder)], check=True)


def test_a_full_disk_is_reported_and_used_again_without_a_restart(
    small_disk: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """While the lake's disk is full the log says so and no more is read; with space again all rows are there, once."""
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 2_900_000)
    logs = tmp_path / "logs"
    logs.mkdir()
    for number in range(20):
        (logs / f"{number:02d}.log").write_bytes(body(*range(number * 5, number * 5 + 5), size=4000))
    lake = Lake(str(small_disk / "lake"))
    collector, stop = Collector(lake, CollectorSettings(flush_bytes=100_000, flush_seconds=1)), threading.Event()
    source = FileSource([str(logs)], Storage())
    thread = threading.Thread(target=follow_files, args=(source, collector, 0.05, stop))
    thread.start()
    try:
        wait_for(lambda: caplog.text.count("could not collect") >= 5)
        assert "No space left on device" in caplog.text
        assert "see that the lake and the logs can be reached and that there is space" in caplog.text
        taken = sum(section.counts.lines for section in collector._batch.sections.values())
        assert taken < 60
        ballast.unlink()
        wait_for(lambda: len(answers(lake)) == 100)
    finally:
        stop.set()
        thread.join()
    assert answers(lake) == expected(100)


class Outages:
    """A disk that can be made read-only or full, and that works again after the block."""

    def __init__(self, disk: Path) -> None:
        self.root, self.storage = str(disk / "lake"), Storage()
        self._disk = disk

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """No file can be opened for writing."""
        self._remount("ro")
        try:
            yield
        finally:
            self._remount("rw")

    @contextmanager
    def full(self) -> Iterator[None]:
        """Files and folders can be made, and nothing can be written to them."""
        ballast = self._disk / "ballast"
        with ballast.open("wb", 0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"x" * 4096)
        try:
            yield
        finally:
            ballast.unlink()

    def _remount(self, option: str) -> None:
        sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
        command = [*sudo, "mount", "-o", f"remount,{option}", str(self._disk)]
        # The disk is busy while a file is open for writing.
        wait_for(lambda: subprocess.run(command, check=False).returncode == 0)


def test_lines_that_come_while_a_disk_refuses_are_stored_once(small_disk: Path, tmp_path: Path, logs: Path) -> None:
    """A disk that is read-only, or full, again and again: lines of a file and over HTTP come all the while."""
    outages = Outages(small_disk)
    with collector_of(logs, outages.root, tmp_path) as url:
        with Senders(logs / "a.log", url) as senders:
            for outage in (outages.read_only, outages.full) * 3:
                refused = senders.refused
                with outage():
                    wait_for(lambda refused=refused: senders.refused >= refused + 6)
                answered = senders.answered
                wait_for(lambda answered=answered: senders.answered >= answered + 4, seconds=120)
        assert_each_once(Lake(outages.root), senders)


LOST = ("1", "0", "lost", "PUT,POST")


@pytest.mark.slow
def test_lines_that_come_while_a_store_refuses_are_stored_once(
    door: Door, bucket: Bucket, tmp_path: Path, logs: Path
) -> None:
    """A store that refuses writes, or takes them without an answer: lines come from a file and over HTTP meanwhile."""
    storage = f'storage: {{endpoint_url: "http://127.0.0.1:{door.port}", region: us-east-1}}'
    with collector_of(logs, f"{bucket.uri}/lake", tmp_path, storage) as url:
        with Senders(logs / "a.log", url) as senders:
            wait_for(lambda: senders.answered >= 2, seconds=120)
            for faults in (REFUSES, LOST):
                refused = senders.refused
                door.open(*faults)
                wait_for(lambda refused=refused: senders.refused >= refused + 2, seconds=240)
                door.open()
                answered = senders.answered
                wait_for(lambda answered=answered: senders.answered >= answered + 4, seconds=240)
        assert_each_once(Lake(f"{bucket.uri}/lake", bucket.storage), senders)


FOLLOW = """
import signal, sys, threading
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from collector.sources.files.source import FileSource
from collector.runners.follow import follow_files
from lake import Lake, Storage
stop = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stop.set())
collector = Collector(Lake(sys.argv[2]), CollectorSettings(flush_bytes=200_000))
print("ready", flush=True)
follow_files(FileSource([sys.argv[1]], Storage()), collector, 0.05, stop)
"""


def test_sigterm_under_load_loses_and_repeats_nothing(tmp_path: Path) -> None:
    """Asked to end while lines pour in, a collector ends soon, and the next one goes on with the next line."""
    logs = tmp_path / "logs"
    logs.mkdir()
    written, writing = 0, threading.Event()

    def write() -> None:
        nonlocal written
        with (logs / "aidial.log").open("ab") as file:
            while not writing.is_set() and written < 3000:
                file.write(body(written))
                file.flush()
                written += 1
                time.sleep(0.001)

    writer = threading.Thread(target=write)
    writer.start()
    command = [sys.executable, "-c", FOLLOW, str(logs), str(tmp_path / "lake")]
    for _ in range(3):
        child = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(0.5)
        child.send_signal(signal.SIGTERM)
        assert child.wait(timeout=60) == 0
        child.stdout.close()
    writing.set()
    writer.join()
    lake = Lake(str(tmp_path / "lake"))
    collector = Collector(lake, CollectorSettings())
    FileSource([str(logs)], Storage()).read_into(collector)
    assert collector.flush().duplicates == 0
    assert answers(lake) == expected(written)
