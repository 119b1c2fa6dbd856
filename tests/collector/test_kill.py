"""SIGKILL at any moment of a first run, and then another run: the tables of an undisturbed one."""

from __future__ import annotations

import itertools
import os
import random
import time
from datetime import timedelta
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from benchmarks.collector.gen_dial_logs import lines
from collector.commit import table_rows
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from collector.sources.files.source import FileSource
from lake.delta_log import writing
from lake.delta_log.delta_log import live_files
from lake.maintenance.cleaning import vacuum
from lake.maintenance.maintenance import all_tables
from lake.spec.root_tables import BATCHES, REJECTED
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from lake.tables.buffered_files import BufferedFiles
from lake.tables.lake import Lake
from lake.tables.storage import Storage
from lake.tables.table import Table
from tests.killing import KILLED, Moment, die, kill, run, start

SMALL_BATCHES = 1_500_000
KEYS = {PARSED_LOGS: "event_id", USER_SIGNALS: "signal_id", REJECTED: "raw"}


def collect(logs: Path, root: Path, flush_bytes: int = SMALL_BATCHES) -> None:
    collector = Collector(Lake(str(root)), CollectorSettings(flush_bytes=flush_bytes))
    FileSource([str(logs)], Storage()).read_into(collector)
    collector.flush()


def collect_and_die(logs: Path, root: Path, at: int, moment: Moment) -> None:
    """A collector that dies around a commit; several threads commit at once."""
    die(moment, Table, "commit", at=at)
    collect(logs, root)


def collect_and_die_writing(logs: Path, root: Path, at: int, moment: Moment, owner: type, method: str) -> None:
    """A collector with tiny row groups that dies around the writing of one, or of the files of a batch."""
    mock.patch.object(table_rows, "_BYTES_AS_TUPLES", 20_000).start()
    mock.patch.object(writing, "_ROW_GROUP_BYTES", 50_000).start()
    die(moment, owner, method, at=at)
    collect(logs, root)


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


def committed_counts(root: Path) -> dict[str, int]:
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
    """A lake that was written in one run, and the number of its commits."""
    root = tmp_path_factory.mktemp("undisturbed")
    with mock.patch.object(Table, "commit", autospec=True, side_effect=Table.commit) as commit:
        collect(logs, root)
    return root, len(commit.call_args_list)


def assert_same(root: Path, undisturbed: Path) -> None:
    expected, found = tables(undisturbed), tables(root)
    assert found.keys() == expected.keys()
    for name, rows in expected.items():
        assert found[name].equals(rows), name
    assert committed_counts(root) == committed_counts(undisturbed)


@pytest.mark.slow
def test_the_undisturbed_run_accounts_for_every_line(undisturbed: tuple[Path, int]) -> None:
    """What the other tests compare with holds rows of every kind, and its counts in `_batches` add up."""
    root, appends = undisturbed
    assert appends > 40
    counted = committed_counts(root)
    assert counted["lines"] == sum(count for name, count in counted.items() if name != "lines")
    assert counted["duplicates"] >= 30
    assert counted["rejected"] >= 1
    assert counted["stored"] == sum(
        rows.num_rows for name, rows in tables(root).items() if name.endswith(PARSED_LOGS.name)
    )


@pytest.mark.integration
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize(
    "share", [0.0, 0.45, 1.0, pytest.param(0.2, marks=pytest.mark.slow), pytest.param(0.7, marks=pytest.mark.slow)]
)
def test_killed_around_a_commit(
    logs: Path, undisturbed: tuple[Path, int], tmp_path: Path, share: float, moment: str
) -> None:
    """Killed just before or after any table's commit, the next run leaves the same rows and counts."""
    expected, appends = undisturbed
    kill_at = max(1, round(share * appends))
    assert run(collect_and_die, logs, tmp_path, kill_at, moment) == KILLED
    # Other batches than before: what a table has must not depend on where a batch ended.
    collect(logs, tmp_path, flush_bytes=SMALL_BATCHES // 2)
    assert_same(tmp_path, expected)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("owner", "method", "at", "moment"),
    [
        (writing._File, "_write_row_group", 1, "after"),
        (writing._File, "_write_row_group", 60, "after"),
        (BufferedFiles, "store", 2, "after"),
        pytest.param(writing._File, "_write_row_group", 60, "before", marks=pytest.mark.slow),
        pytest.param(BufferedFiles, "store", 30, "before", marks=pytest.mark.slow),
        pytest.param(BufferedFiles, "store", 30, "after", marks=pytest.mark.slow),
    ],
)
def test_killed_between_a_row_group_and_its_commit(
    logs: Path, undisturbed: tuple[Path, int], tmp_path: Path, owner: type, method: str, at: int, moment: Moment
) -> None:
    """Row groups that were encoded, and files that were stored, count for nothing before their commit.

    What the killed run left beside the tables goes with the next vacuum of files that nobody committed.
    """
    expected, _ = undisturbed
    assert run(collect_and_die_writing, logs, tmp_path, at, moment, owner, method) == KILLED
    collect(logs, tmp_path, flush_bytes=SMALL_BATCHES // 2)
    assert_same(tmp_path, expected)
    for path in tmp_path.rglob("*.parquet"):
        os.utime(path, (0, 0))
    for _, table in all_tables(Lake(str(tmp_path))):
        vacuum(table, timedelta(hours=1))
        left = {str(path.relative_to(table.uri)) for path in Path(table.uri).rglob("date=*/*")}
        assert left == {file.path for file in live_files(DeltaTable(table.uri))}


@pytest.mark.integration
def test_killed_again_and_again_at_random_moments(logs: Path, undisturbed: tuple[Path, int], tmp_path: Path) -> None:
    """However often it is killed, inside a commit too, in the end the tables are those of an undisturbed run."""
    expected, _ = undisturbed
    pauses = random.Random(3)
    for _ in range(6):
        child = start(collect, logs, tmp_path, SMALL_BATCHES // 5)
        deadline = time.monotonic() + 60
        while child.is_alive() and not (tmp_path / "_batches").exists() and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(pauses.uniform(0.0, 0.8))
        kill(child)
    collect(logs, tmp_path)
    assert_same(tmp_path, expected)
