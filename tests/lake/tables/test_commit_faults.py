"""Commits whose answer is lost, late or wrong: each row is in the table once, and no file that a commit names goes."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake.delta_log import log_files, log_tail
from lake.delta_log.change import LostRaceError, TableReplacedError
from lake.delta_log.file_age import LOOK_AFTER, WRITER_GRACE, FilesGoneError, Moment
from lake.delta_log.log_files import LocalLogFiles, StoreLogFiles
from lake.maintenance.cleaning import remove_history, vacuum
from lake.spec.schemas import SCORES
from lake.store.whole_files import WholeFiles
from lake.tables.lake import Lake
from lake.tables.open_tables import OpenTables
from lake.tables.storage import is_remote
from lake.tables.table import Table
from tests.servers import Bucket

DAY = date(2026, 11, 20)
HOURS = 2 * 3600


@pytest.fixture
def lake(lake_of_each_kind: Lake) -> Lake:
    return lake_of_each_kind


def scores(*names: str) -> pa.Table:
    return SCORES.rows([{"score_id": name, "date": DAY, "scored_at": datetime.now(UTC)} for name in names])


def open_table(lake: Lake) -> Table:
    return lake.table(SCORES, "app")


def names_by_deltalake(lake: Lake) -> list[str]:
    table = open_table(lake)
    rows = DeltaTable(table.uri, storage_options=table._storage_options).to_pyarrow_table(columns=["score_id"])
    return sorted(rows["score_id"].to_pylist())


def files_in(table: Table) -> set[str]:
    filesystem, path = table._storage.filesystem(table.uri)
    return {str(file).rpartition("/")[2] for file in filesystem.find(path) if str(file).endswith(".parquet")}


class LateStore:
    """Holds back the first commit after `hold`, and says that nobody answers; it lands when it is told to."""

    def __init__(self, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
        self._files = StoreLogFiles if is_remote(lake.root) else LocalLogFiles
        self._real: Callable[..., bool] = self._files.create
        self._held: Callable[[], bool] | None = None
        self._is_holding = self.lands_before_next = False
        monkeypatch.setattr(self._files, "create", lambda *values: self._create(*values))

    def hold(self) -> None:
        self._is_holding = True

    def land(self) -> None:
        assert self._held is not None
        assert self._held()
        self._held = None

    def _create(self, files: LocalLogFiles | StoreLogFiles, version: int, commit: bytes) -> bool:
        if self._is_holding:
            self._is_holding = False
            self._held = lambda: self._real(files, version, commit)
            raise TimeoutError("no answer")
        if self.lands_before_next and self._held is not None:
            self.land()
        return self._real(files, version, commit)


@pytest.fixture
def store(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> LateStore:
    return LateStore(lake, monkeypatch)


@pytest.mark.parametrize("progress", [{"source": 2}, {}], ids=["with a source", "rows alone"])
@pytest.mark.parametrize("is_new_handle", [False, True], ids=["same handle", "new handle"])
@pytest.mark.parametrize("lands", ["before the retry", "while it is sent again", "never"])
def test_a_commit_that_lands_late_adds_its_rows_once(
    lake: Lake, store: LateStore, lands: str, is_new_handle: bool, progress: dict[str, int]
) -> None:
    """Whenever it lands, the append that is tried again goes well; a reader that follows gets each row once."""
    table, follower = open_table(lake), open_table(lake)
    table.append(scores("a"), {"source": 1})
    first = follower.read_since(None, ["score_id"])
    table.progress(["source"])
    store.hold()
    rows = scores("b", "c")
    with pytest.raises(TimeoutError):
        table.append(rows, progress)
    if is_new_handle:
        table = open_table(lake)
        table.progress(["source"])
    if lands == "before the retry":
        store.land()
    store.lands_before_next = lands == "while it is sent again"
    table.append(rows, progress)
    assert names_by_deltalake(lake) == ["a", "b", "c"]
    new = follower.read_since(first.version, ["score_id"])
    assert sorted(new.rows["score_id"].to_pylist()) == ["b", "c"]
    table.progress(["source"])
    table.append(scores("d"), {"source": 3})
    assert names_by_deltalake(lake) == ["a", "b", "c", "d"]
    assert follower.read_since(new.version, ["score_id"]).rows["score_id"].to_pylist() == ["d"]


def test_files_of_a_commit_without_an_answer_stay_although_they_are_discarded(lake: Lake, store: LateStore) -> None:
    """It may land after its writer has given up: its rows are there then, and can be read."""
    table = open_table(lake)
    table.append(scores("a"), {"source": 1})
    files = table.write([scores("b")])
    store.hold()
    with pytest.raises(TimeoutError):
        table.commit(files, {"source": 2})
    table.discard(files)
    store.land()
    table.discard(files)
    assert names_by_deltalake(lake) == ["a", "b"]


def test_files_can_be_committed_again_after_no_answer(lake: Lake, store: LateStore) -> None:
    """The same files after the commit has landed late: they are not added twice."""
    table = open_table(lake)
    table.append(scores("a"), {"source": 1})
    files = table.write([scores("b")])
    store.hold()
    with pytest.raises(TimeoutError):
        table.commit(files, {"source": 2})
    store.land()
    table.commit(files, {"source": 2})
    table.discard(files)
    assert names_by_deltalake(lake) == ["a", "b"]


def test_a_race_lost_to_another_writer_is_raised_after_no_answer_too(lake: Lake, store: LateStore) -> None:
    """Another writer has committed for the source meanwhile: the files of the new try go, its rows are not there."""
    table, other = open_table(lake), open_table(lake)
    table.append(scores("a"), {"source": 1})
    table.progress(["source"])
    store.hold()
    with pytest.raises(TimeoutError):
        table.append(scores("b"), {"source": 2})
    other.progress(["source"])
    other.append(scores("c"), {"source": 2})
    before = files_in(table)
    files = table.write([scores("b")])
    assert len(files_in(table) - before) == 1
    with pytest.raises(LostRaceError):
        table.commit(files, {"source": 2})
    table.discard(files)
    assert files_in(table) == before
    assert names_by_deltalake(lake) == ["a", "c"]


@pytest.mark.parametrize("answer", ["exists", "none"])
@pytest.mark.parametrize("lies", [1, 2])
def test_a_wrong_answer_about_a_commit_does_not_remove_its_files(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, answer: str, lies: int
) -> None:
    """The store took the commit, its answer was lost, and asked for the commit it says that there is none."""
    table = open_table(lake)
    table.append(scores("a"), {"source": 1})
    files = StoreLogFiles if is_remote(lake.root) else LocalLogFiles
    create, read = files.create, files.read
    left = [0]

    def take_without_an_answer(self: LocalLogFiles, version: int, commit: bytes) -> bool:
        created = create(self, version, commit)
        if created and not left[0]:
            left[0] = lies
            if answer == "none":
                raise TimeoutError("no answer")
            return False
        return created

    def lie(self: LocalLogFiles, version: int) -> bytes | None:
        if version == 2 and left[0] > 0:
            left[0] -= 1
            return None
        return read(self, version)

    monkeypatch.setattr(files, "create", take_without_an_answer)
    monkeypatch.setattr(files, "read", lie)
    table.progress(["source"])
    rows = scores("b")
    try:
        table.append(rows, {"source": 2})
    except TimeoutError:
        table.append(rows, {"source": 2})
    assert names_by_deltalake(lake) == ["a", "b"]


def age(table: Table) -> None:
    for path in Path(table.uri).rglob("*.parquet"):
        os.utime(path, (time.time() - HOURS,) * 2)


CLEAN = {
    "vacuum": lambda table: vacuum(table, WRITER_GRACE),
    "erasure": lambda table: remove_history(table, datetime.now(UTC)),
    "nothing": lambda table: None,
}


@pytest.mark.parametrize("clean", list(CLEAN))
@pytest.mark.parametrize("before", ["the look at the files", "the commit"])
def test_a_writer_that_slept_before_its_commit_writes_its_rows_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clean: str, before: str
) -> None:
    """Its files were taken for those of a killed writer and removed: no commit names a file that is gone."""
    lake = Lake(str(tmp_path))
    table = open_table(lake)
    table.append(scores("a"), {"source": 1})
    owner, name = (Table, "write") if before == "the look at the files" else (LocalLogFiles, "create")
    real, slept = getattr(owner, name), []

    def sleep(*values: object) -> object:
        found = None
        if name == "write":
            found = real(*values)
        if not slept:
            slept.append(1)
            age(table)
            CLEAN[clean](open_table(lake))
        return found if name == "write" else real(*values)

    monkeypatch.setattr(owner, name, sleep)
    table.progress(["source"])
    table.append(scores("b"), {"source": 2})
    assert slept
    assert names_by_deltalake(lake) == ["a", "b"]
    assert vacuum(open_table(lake), WRITER_GRACE, dry_run=True) == []


def test_files_that_are_gone_are_named_to_who_writes_and_commits_by_itself(tmp_path: Path) -> None:
    """`commit` refuses them, and the table is as it was."""
    table = open_table(Lake(str(tmp_path)))
    table.append(scores("a"))
    files = table.write([scores("b")])
    Path(table.uri, files[0].path).unlink()
    with pytest.raises(FilesGoneError, match="written anew"):
        table.commit(files)
    assert table.read().num_rows == 1


@pytest.mark.parametrize("is_gone", [True, False])
def test_old_files_of_a_store_are_looked_at_before_their_commit(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, is_gone: bool
) -> None:
    """Written hours ago by the clock of the writer: written anew if gone, or old for the store too."""
    table = open_table(Lake(f"{bucket.uri}/lake", bucket.storage))
    table.append(scores("a"), {"source": 1})
    real, written = Table.write, []

    def write(self: Table, *values: object) -> object:
        files = real(self, *values)  # type: ignore[arg-type]
        if self.spec is not SCORES:
            return files
        written.extend(files)
        if len(written) > 1:
            return files
        if is_gone:
            self.remove(files[0].path)
        else:
            monkeypatch.setattr(WholeFiles, "age", lambda *_: 2 * LOOK_AFTER)
        moment = Moment(time.monotonic() - HOURS, time.time() - HOURS)
        return [dataclasses.replace(file, written=moment) for file in files]

    monkeypatch.setattr(Table, "write", write)
    table.append(scores("b"), {"source": 2})
    assert len(written) == 2
    assert table.read().num_rows == 2
    assert {file.path for file in table.live_files()} >= {written[1].path}


@pytest.mark.parametrize("tells_parent", [True, False], ids=["", "commits of an earlier version"])
@pytest.mark.parametrize("commits", [1, 2, 3, 4, 6])
def test_a_table_made_anew_is_noticed_by_who_is_told_of_changes(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, commits: int, tells_parent: bool
) -> None:
    """With fewer, as many, or more versions than the one that was read: the reader is refused, and then reads all."""
    # As the commits of another process, which this one has not in memory.
    monkeypatch.setattr(log_files, "keep", lambda *_: None)
    if not tells_parent:
        monkeypatch.setattr(log_tail, "_parent_in", lambda _: None)
    writer = open_table(Lake(f"{bucket.uri}/lake", bucket.storage))
    for number in range(3):
        writer.append(scores(f"old-{number}"))
    opened = OpenTables(Lake(f"{bucket.uri}/lake", bucket.storage))
    opened.look()
    table = opened.table(SCORES, "app")
    first = table.read_since(None, ["score_id"])
    assert first.rows.num_rows == 3
    filesystem, path = bucket.storage.filesystem(writer.uri)
    filesystem.rm(path, recursive=True)
    other = open_table(Lake(f"{bucket.uri}/lake", bucket.storage))
    wanted = [f"new-{number}" for number in range(commits)]
    for name in wanted:
        other.append(scores(name))
    opened.look()
    with pytest.raises(TableReplacedError):
        table.read_since(first.version, ["score_id"])
    assert sorted(table.read_since(None, ["score_id"]).rows["score_id"].to_pylist()) == wanted
