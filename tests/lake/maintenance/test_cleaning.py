from __future__ import annotations

import os
import signal
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from benchmarks.lake.opening import build
from lake.maintenance.cleaning import clean_log, remove_history, vacuum
from lake.maintenance.compaction import compact
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.schemas import SCORES
from lake.spec.table_spec import TableSpec
from lake.tables.lake import Lake
from lake.tables.table import Table
from tests.killing import KILLED, run
from tests.servers import Bucket

DAY = timedelta(days=1)
TODAY = datetime.now(UTC).date()
"""One date for all rows, also at midnight: files of other dates are not merged."""


def append(table: Table, name: str) -> None:
    table.append(SCORES.rows([{"score_id": name, "date": TODAY, "scored_at": datetime.now(UTC)}]))


def age(folder: Path, by: timedelta) -> None:
    then = time.time() - by.total_seconds()
    for path in folder.rglob("*"):
        os.utime(path, (then, then))


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Lake(str(tmp_path)).table(SCORES, "rag-app")


def test_what_was_replaced_goes_after_the_grace(table: Table) -> None:
    """Files stay for the grace after they were replaced, however old they are, so that a reader finds them."""
    for name in "abc":
        append(table, name)
    age(Path(table.uri), 3 * DAY)
    compact(table)
    assert vacuum(table, DAY) == []
    age(Path(table.uri), 3 * DAY)
    assert len(list(Path(table.uri).rglob("*.parquet"))) == 4


def test_files_that_no_commit_has_go_after_the_grace(table: Table) -> None:
    """A file of a writer that was refused or killed is removed when it is older than the grace, and not before."""
    append(table, "a")
    orphan = table.write([SCORES.rows([{"score_id": "x", "date": TODAY}])])[0]
    path = Path(table.uri, orphan.path)
    assert vacuum(table, DAY) == []
    age(path.parent, 2 * DAY)
    assert vacuum(table, DAY, dry_run=True) == [orphan.path]
    assert path.exists()
    assert vacuum(table, DAY) == [orphan.path]
    assert not path.exists()
    assert table.read().num_rows == 1


@pytest.mark.parametrize("spec", [SCORES, GROUND_TRUTH], ids=lambda spec: spec.name)
def test_half_written_files_go_after_the_grace(tmp_path: Path, spec: TableSpec) -> None:
    """What a killed writer has begun is removed when it is older than the grace, with and without dates."""
    table = Lake(str(tmp_path)).table(spec, "rag-app")
    table.append(spec.rows([{"deployment": "rag-app"} | ({"date": TODAY} if spec.by_date else {})]))
    folder = next(Path(table.uri).rglob("part-*.parquet")).parent
    old, young = folder / ".part-old.parquet", folder / ".part-young.parquet"
    for half in (old, young):
        half.write_bytes(b"PAR1")
    os.utime(old, (time.time() - 2 * 86400,) * 2)
    assert vacuum(table, DAY, dry_run=True) == [str(old.relative_to(table.uri))]
    assert old.exists()
    assert vacuum(table, DAY) == [str(old.relative_to(table.uri))]
    assert (old.exists(), young.exists()) == (False, True)
    assert table.read().num_rows == 1


def _die_before_the_commit_has_its_name(root: str) -> None:
    os.link = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    append(Lake(root).table(SCORES, "rag-app"), "b")


@pytest.mark.integration
def test_a_commit_that_a_killed_writer_left_goes_after_the_grace(tmp_path: Path) -> None:
    """It is whole and has no name of a version: it goes once it is older than the grace; the log stays."""
    table = Lake(str(tmp_path)).table(SCORES, "rag-app")
    append(table, "a")
    log = Path(table.uri, "_delta_log")
    before = set(log.iterdir())
    assert run(_die_before_the_commit_has_its_name, str(tmp_path)) == KILLED
    [left] = set(log.iterdir()) - before
    assert vacuum(table, DAY) == []
    age(Path(table.uri), 2 * DAY)
    name = str(left.relative_to(table.uri))
    assert name in vacuum(table, DAY, dry_run=True)
    assert left.exists()
    assert name in vacuum(table, DAY)
    assert before <= set(log.iterdir())
    assert not left.exists()
    assert table.read()["score_id"].to_pylist() == ["a"]


class FasterCleaner:
    """A file system where another cleaner removes each file just before this one does."""

    def __init__(self, filesystem: Any) -> None:
        self._filesystem = filesystem

    def __getattr__(self, name: str) -> Any:
        return getattr(self._filesystem, name)

    def delete_file(self, path: str) -> None:
        self._filesystem.delete_file(path)
        self._filesystem.delete_file(path)


def test_two_that_clean_at_once(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file or an entry of the log that another one has just removed is no error."""
    for name in "ab":
        append(table, name)
    compact(table)
    DeltaTable(table.uri).create_checkpoint()
    age(Path(table.uri), 8 * DAY)
    filesystem = FasterCleaner(table.files())
    with monkeypatch.context() as patch:
        patch.setattr(Table, "files", lambda _: filesystem)
        gone, _ = remove_history(table, datetime.now(UTC))
    assert len(gone) == 2
    assert len(list(Path(table.uri).rglob("*.parquet"))) == 2
    assert table.read().num_rows == 2


def test_a_vacuum_that_finds_nothing_commits_nothing(table: Table) -> None:
    """A table at rest does not grow by being looked after."""
    append(table, "a")
    version = table.version()
    vacuum(table, DAY)
    assert table.version() == version


@pytest.mark.parametrize("grace", [timedelta(0), 8 * DAY], ids=["none", "eight days"])
def test_a_grace_that_cannot_be_kept_is_refused(table: Table, grace: timedelta) -> None:
    """No grace would take files from under writers; one over 7 days the log does not remember."""
    with pytest.raises(ValueError, match="is not between"):
        vacuum(table, grace)


def test_old_entries_of_the_log_go(table: Table) -> None:
    """Entries over the retention that lie before a checkpoint of that age go; the table opens as before."""
    for name in "abc":
        append(table, name)
    DeltaTable(table.uri).create_checkpoint()
    age(Path(table.uri), 8 * DAY)
    append(table, "d")
    assert clean_log(table, datetime.now(UTC), dry_run=True).removed == 3
    assert clean_log(table, datetime.now(UTC)).removed == 3
    left = sorted(path.name for path in Path(table.uri, "_delta_log").glob("*.json"))
    assert left == [f"{version:020}.json" for version in (3, 4)]
    again = Table(table.uri, SCORES, "rag-app", table._storage)
    assert sorted(again.read(["score_id"])["score_id"].to_pylist()) == list("abcd")
    append(again, "e")
    assert table.read().num_rows == 5


def test_the_log_stays_whole_without_an_old_checkpoint(table: Table) -> None:
    """Where nothing but the entries themselves says what the table holds, they stay, however old."""
    append(table, "a")
    age(Path(table.uri), 100 * DAY)
    assert clean_log(table, datetime.now(UTC)).removed == 0


def test_the_log_on_a_store_is_cleaned(bucket: Bucket) -> None:
    """The same on an object store."""
    table = Lake(bucket.uri, bucket.storage).table(SCORES, "rag-app")
    append(table, "a")
    delta = table.snapshot()
    assert delta is not None
    delta.create_checkpoint()
    append(table, "b")
    assert clean_log(table, datetime.now(UTC) + 8 * DAY).removed == 1
    assert Table(table.uri, SCORES, "rag-app", bucket.storage).read().num_rows == 2


def test_of_young_checkpoints_the_newest_and_one_a_day_stay(table: Table) -> None:
    """Checkpoints that newer ones supersede go, so that the log does not hold each source's position many times."""
    for name in "abcde":
        append(table, name)
        DeltaTable(table.uri).create_checkpoint()
        if name == "b":
            age(Path(table.uri), DAY)
    assert clean_log(table, datetime.now(UTC)).removed == 1
    left = sorted(path.name[:20] for path in Path(table.uri, "_delta_log").glob("*.checkpoint.parquet"))
    assert left == [f"{version:020}" for version in (1, 3, 4, 5)]
    assert DeltaTable(table.uri, version=2).version() == 2
    assert Table(table.uri, SCORES, "rag-app", table._storage).read().num_rows == 5


@pytest.mark.slow
def test_a_log_of_nine_days_holds_little_more_than_seven(table: Table) -> None:
    """A table that is written every 30 seconds, and cleaned once a day, keeps no more than eight days of log."""
    now = datetime.now(UTC)
    build(table, commits=9 * 2880, now=now)
    clean_log(table, now)
    commits = list(Path(table.uri, "_delta_log").glob("*.json"))
    assert 7 * 2880 <= len(commits) <= 8 * 2880
    before = time.process_time()
    assert DeltaTable(table.uri).version() == 9 * 2880 - 1
    assert time.process_time() - before < 1
