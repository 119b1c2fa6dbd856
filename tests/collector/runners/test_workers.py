"""Files read by several processes: the rows of one, each once, and no process left behind."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from deltalake.exceptions import DeltaError

from benchmarks.collector.gen_dial_logs import lines
from collector.commit.batch import Counts
from collector.commit.committed_offsets import CommittedOffsets
from collector.pipeline.collector import Collector
from collector.runners.file_worker import CollectedFiles
from collector.runners.workers import WorkerError, collect_with_workers
from collector.settings import CollectorSettings
from collector.sources.files.source import FileSource
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from lake.tables.storage import Storage
from tests.servers import wait_for

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four files, with lines that stand in two of them."""
    folder = tmp_path_factory.mktemp("logs")
    made = [raw for raw, _ in itertools.islice(lines(seed=5, malformed=0.1), 100)]
    for number in range(4):
        (folder / f"{number}.log").write_bytes(b"\n".join(made[number * 20 : number * 20 + 40]) + b"\n")
    return folder


def event_ids(lake: Lake) -> list[str]:
    tables = [lake.table(PARSED_LOGS, deployment) for deployment in lake.deployments()]
    return sorted(event_id for table in tables for event_id in table.read(["event_id"])["event_id"].to_pylist())


def collected_alone(logs: Path, root: Path) -> tuple[Lake, Counts]:
    lake = Lake(str(root))
    collector = Collector(lake, CollectorSettings())
    FileSource([str(logs)], Storage()).read_into(collector)
    collector.flush()
    return lake, collector.totals


@pytest.mark.integration
def test_two_workers_store_what_one_collector_does(logs: Path, tmp_path: Path) -> None:
    """The rows and the counts are those of one process, also where a line comes through both."""
    alone, counts = collected_alone(logs, tmp_path / "alone")
    lake = Lake(str(tmp_path / "lake"))
    settings = CollectorSettings(flush_bytes=500_000)
    found, together = collect_with_workers(lake, settings, [str(logs)], Storage(), workers=2)
    assert found == 4
    assert together == CollectedFiles(counts, {})
    assert event_ids(lake) == event_ids(alone)
    assert collect_with_workers(lake, settings, [str(logs)], Storage(), workers=2) == (4, CollectedFiles(Counts(), {}))


@pytest.mark.integration
def test_workers_end_when_their_parent_is_interrupted(logs: Path, tmp_path: Path) -> None:
    """Ctrl+C in a terminal: no process is left behind, and the next run brings the rest."""
    parent = started_parent(logs, tmp_path)
    workers = wait_for(lambda: workers_of(parent.pid))
    parent.send_signal(signal.SIGINT)
    assert parent.wait() != 0
    assert not any(map(_is_alive, workers))
    lake = Lake(str(tmp_path / "lake"))
    collect_with_workers(lake, CollectorSettings(), [str(logs)], Storage(), 2)
    assert event_ids(lake) == event_ids(collected_alone(logs, tmp_path / "alone")[0])


@pytest.mark.integration
def test_a_worker_that_is_killed_is_an_error(logs: Path, tmp_path: Path) -> None:
    """The parent says so, leaves no process behind, and the next run brings the rest."""
    lake = Lake(str(tmp_path / "lake"))

    def kill_one() -> None:
        both = wait_for(lambda: len(found := workers_of(os.getpid())) == 2 and found)
        os.kill(both[0], signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    with pytest.raises(WorkerError, match=r"exit code -9.*run it again"):
        collect_with_workers(lake, CollectorSettings(), [str(logs)], Storage(), 2)
    killer.join()
    assert workers_of(os.getpid()) == []
    collect_with_workers(lake, CollectorSettings(), [str(logs)], Storage(), 2)
    assert event_ids(lake) == event_ids(collected_alone(logs, tmp_path / "alone")[0])


@pytest.mark.integration
def test_an_error_in_a_worker_is_raised(logs: Path, tmp_path: Path) -> None:
    """It is the error itself, and no process is left behind."""
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "_batches").write_text("no folder")
    with pytest.raises((OSError, DeltaError)):
        collect_with_workers(Lake(str(tmp_path / "lake")), CollectorSettings(), [str(logs)], Storage(), 2)
    assert workers_of(os.getpid()) == []


def test_no_files_are_no_workers(tmp_path: Path) -> None:
    """Where no file is found none is read."""
    lake = Lake(str(tmp_path / "lake"))
    assert collect_with_workers(lake, CollectorSettings(), [f"{tmp_path}/*.log"], Storage(), 2) == (
        0,
        CollectedFiles(Counts(), {}),
    )


_PARENT = """
import signal, sys
from collector.settings import CollectorSettings
from collector.runners.workers import collect_with_workers
from lake import Lake, Storage
if __name__ == "__main__":
    # A shell that starts the tests in the background has them ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    collect_with_workers(Lake(sys.argv[2]), CollectorSettings(flush_bytes=20_000), [sys.argv[1]], Storage(), 2)
"""


@pytest.mark.integration
def started_parent(logs: Path, folder: Path) -> subprocess.Popen[bytes]:
    script = folder / "parent.py"
    script.write_text(_PARENT)
    environment = os.environ | {"PYTHONPATH": str(Path.cwd())}
    return subprocess.Popen([sys.executable, str(script), str(logs), str(folder / "lake")], env=environment)


def test_workers_end_with_their_parent(logs: Path, tmp_path: Path) -> None:
    """When the parent is killed its workers end, and the next run makes the tables whole."""
    parent = started_parent(logs, tmp_path)
    wait_for(lambda: (tmp_path / "lake" / "_batches").exists())
    workers = workers_of(parent.pid)
    assert workers
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    wait_for(lambda: not any(_is_alive(pid) for pid in workers))
    lake = Lake(str(tmp_path / "lake"))
    committed = CommittedOffsets(lake)
    assert sum(committed.is_finished(str(path), path.stat().st_size) for path in logs.iterdir()) < 2
    collect_with_workers(lake, CollectorSettings(), [str(logs)], Storage(), 2)
    assert event_ids(lake) == event_ids(collected_alone(logs, tmp_path / "alone")[0])


def workers_of(pid: int) -> list[int]:
    children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [child for child in children if b"worker_pool" in Path(f"/proc/{child}/cmdline").read_bytes()]


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
