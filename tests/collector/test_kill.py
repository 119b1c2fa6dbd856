"""SIGKILL at any moment of a first run, and then another run: the tables of an undisturbed one."""

from __future__ import annotations

import itertools
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from benchmarks.gen_dial_logs import lines
from lake import BATCHES, PARSED_LOGS, REJECTED, USER_SIGNALS, Lake

SMALL_BATCHES = 1_500_000
COLLECT = """
import itertools, os, signal, sys
from collector import Collector, CollectorSettings, FileSource
from lake import Lake, Storage, Table

logs, root, flush_bytes, kill_at, moment = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:5]), sys.argv[5]
commit, calls = Table.commit, itertools.count(1)

def commit_or_die(self, *args, **kwargs):
    call = next(calls)  # several threads commit at once
    if call == kill_at and moment == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    commit(self, *args, **kwargs)
    if call == kill_at and moment == "after":
        os.kill(os.getpid(), signal.SIGKILL)

Table.commit = commit_or_die
collector = Collector(Lake(root), CollectorSettings(flush_bytes=flush_bytes))
FileSource([logs], Storage()).read_into(collector)
collector.flush()
print(next(calls) - 1)
"""
KEYS = {PARSED_LOGS: "event_id", USER_SIGNALS: "signal_id", REJECTED: "raw"}


def collect(logs: Path, root: Path, kill_at: int = 0, moment: str = "", flush_bytes: int = SMALL_BATCHES) -> int:
    """Run a collector in a process of its own; gives its number of commits, or 0 where it was killed."""
    command = [sys.executable, "-c", COLLECT, str(logs), str(root), str(flush_bytes), str(kill_at), moment]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if kill_at and done.returncode == -signal.SIGKILL:
        return 0
    assert done.returncode == 0
    return int(done.stdout)


def tables(root: Path) -> dict[str, pa.Table]:
    """All rows but the time of their writing, in a fixed order, by table."""
    lake, found = Lake(str(root)), {}
    for deployment in lake.deployments():
        for spec in (PARSED_LOGS, USER_SIGNALS):
            found[f"{deployment}/{spec.name}"] = lake.table(spec, deployment).read()
    found[REJECTED.name] = lake.table(REJECTED).read()
    key_of = {spec.name: key for spec, key in KEYS.items()}
    return {
        name: rows.sort_by(key_of[name.rsplit("/", 1)[-1]]).drop_columns(["ingested_at"]).combine_chunks()
        for name, rows in found.items()
    }


def books(root: Path) -> dict[str, int]:
    rows = Lake(str(root)).table(BATCHES).read(["lines", "stored", "signals", "duplicates", "rejected", "filtered"])
    return {name: sum(rows[name].to_pylist()) for name in rows.column_names}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some 8 MB of Core's lines in three files, with malformed and repeated ones."""
    folder = tmp_path_factory.mktemp("logs")
    made = [raw for raw, _ in itertools.islice(lines(seed=5, malformed=0.1), 140)]
    for number in range(3):
        part = made[number * 40 : number * 40 + 60]  # 20 lines of each stand in the next one too
        (folder / f"aidial-2026-11-20.{number}.log").write_bytes(b"\n".join(part) + b"\n")
    return folder


@pytest.fixture(scope="module")
def undisturbed(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    root = tmp_path_factory.mktemp("undisturbed")
    return root, collect(logs, root)


def assert_same(root: Path, undisturbed: Path) -> None:
    expected, found = tables(undisturbed), tables(root)
    assert found.keys() == expected.keys()
    for name, rows in expected.items():
        assert found[name].equals(rows), name
    assert books(root) == books(undisturbed)


def test_the_undisturbed_run_accounts_for_every_line(undisturbed: tuple[Path, int]) -> None:
    """What the other tests compare with holds rows of every kind, and its books add up."""
    root, appends = undisturbed
    assert appends > 40
    counted = books(root)
    assert counted["lines"] == sum(count for name, count in counted.items() if name != "lines")
    assert counted["duplicates"] >= 30
    assert counted["rejected"] >= 1
    assert counted["stored"] == sum(
        rows.num_rows for name, rows in tables(root).items() if name.endswith(PARSED_LOGS.name)
    )


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize(
    "share", [0.0, 0.45, 1.0, pytest.param(0.2, marks=pytest.mark.slow), pytest.param(0.7, marks=pytest.mark.slow)]
)
def test_killed_around_a_commit(
    logs: Path, undisturbed: tuple[Path, int], tmp_path: Path, share: float, moment: str
) -> None:
    """Killed just before or after any table's commit, the next run leaves the same tables and books."""
    expected, appends = undisturbed
    kill_at = max(1, round(share * appends))
    assert collect(logs, tmp_path, kill_at, moment) == 0
    # Other batches than before: what a table has must not depend on where a batch ended.
    collect(logs, tmp_path, flush_bytes=SMALL_BATCHES // 2)
    assert_same(tmp_path, expected)


def test_killed_again_and_again_at_random_moments(logs: Path, undisturbed: tuple[Path, int], tmp_path: Path) -> None:
    """However often it is killed, inside a commit too, in the end the tables are those of an undisturbed run."""
    expected, _ = undisturbed
    pauses = random.Random(3)
    command = [sys.executable, "-c", COLLECT, str(logs), str(tmp_path), "300000", "0", ""]
    for _ in range(6):
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while child.poll() is None and not (tmp_path / "_batches").exists() and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(pauses.uniform(0.0, 0.8))
        child.send_signal(signal.SIGKILL)
        child.wait()
    collect(logs, tmp_path)
    assert_same(tmp_path, expected)
