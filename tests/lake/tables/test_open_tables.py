"""Handles of a store that look only where `_changes` says so: nothing is missed for long, and little is asked."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from lake.delta_log import log_files
from lake.delta_log.change import LostRaceError
from lake.delta_log.log_files import StoreLogFiles
from lake.delta_log.news import TRUE_LOOK_SECONDS
from lake.maintenance.compaction import compact
from lake.spec.root_tables import CHANGES, SILENCES
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.tables.history import History
from lake.tables.lake import Lake
from lake.tables.open_tables import OpenTables
from lake.tables.table import Table
from tests.servers import Bucket

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


class Clock:
    """Seconds of a clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def scores(*names: str) -> pa.Table:
    return SCORES.rows([{"score_id": name, "date": NOON.date()} for name in names])


def names_of(table: Table) -> list[str]:
    return sorted(table.read(["score_id"])["score_id"].to_pylist())


@pytest.fixture
def lake(bucket: Bucket) -> Lake:
    return Lake(f"{bucket.uri}/lake", bucket.storage)


def test_rows_are_seen_after_the_next_look(lake: Lake, bucket: Bucket) -> None:
    """Rows of another process are told in `_changes`; a reader that has not looked there keeps what it has."""
    other = Lake(lake.root, bucket.storage)
    opened = OpenTables(lake)
    opened.look()
    table = opened.table(SCORES, "app")
    assert table.version() is None
    other.table(SCORES, "app").append(scores("a"))
    assert table.version() is None
    opened.look()
    assert names_of(table) == ["a"]
    first = table.read_since(None)
    other.table(SCORES, "app").append(scores("b"))
    opened.look()
    assert table.read_since(first.version, ["score_id"]).rows["score_id"].to_pylist() == ["b"]
    assert opened.deployments() == ["app"]


def test_a_change_that_nobody_told_is_found_by_a_true_look(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The row of `_changes` was lost: the table is looked at some minutes later all the same."""
    clock = Clock()
    opened = OpenTables(lake, clock)
    table = opened.table(SCORES, "app")
    lake.table(SCORES, "app").append(scores("a"))
    opened.look()
    assert names_of(table) == ["a"]
    monkeypatch.setattr("lake.tables.changes.ChangeNotes.note", lambda *_: None)
    lake.table(SCORES, "app").append(scores("b"))
    opened.look()
    assert names_of(table) == ["a"]
    clock.now += TRUE_LOOK_SECONDS
    assert names_of(table) == ["a", "b"]


def test_being_told_does_not_put_off_the_true_look(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change that nobody told is found as soon beside others that are told."""
    monkeypatch.setattr("random.uniform", lambda *_: 0.0)
    clock = Clock()
    opened, writer = OpenTables(lake, clock), lake.table(SCORES, "app")
    table = opened.table(SCORES, "app")
    writer.append(scores("a"))
    opened.look()
    assert names_of(table) == ["a"]
    clock.now += TRUE_LOOK_SECONDS - 1
    writer.append(scores("b"))
    opened.look()
    assert names_of(table) == ["a", "b"]
    monkeypatch.setattr("lake.tables.changes.ChangeNotes.note", lambda *_: None)
    lake.table(SCORES, "app").append(scores("c"))
    opened.look()
    assert names_of(table) == ["a", "b"]
    clock.now += 1
    assert names_of(table) == ["a", "b", "c"]


def test_a_told_commit_that_is_not_found_does_not_count_as_read(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store says once that it is not there: the table is looked at, and its rows are read."""
    opened, writer = OpenTables(lake), lake.table(SCORES, "app")
    table = opened.table(SCORES, "app")
    writer.append(scores("a"))
    first = table.read_since(None)
    writer.append(scores("b"))
    opened.look()
    monkeypatch.setattr(StoreLogFiles, "read_told", lambda *_: None)
    assert table.read_since(first.version, ["score_id"]).rows["score_id"].to_pylist() == ["b"]


def test_changes_are_noted_again_after_their_table_was_removed(lake: Lake) -> None:
    """The handle that has met the error is not kept: the next row makes `_changes` anew."""
    writer = lake.table(SCORES, "app")
    writer.append(scores("a"))
    filesystem, path = lake.storage.filesystem(lake.table(CHANGES).uri)
    filesystem.rm(path, recursive=True)
    writer.append(scores("b"))
    writer.append(scores("c"))
    assert lake.table(CHANGES).read(["version"])["version"].to_pylist()[-1:] == [3]
    assert names_of(writer) == ["a", "b", "c"]


def test_quiet_tables_are_not_asked_for(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often a reader asks: one file of the log of `_changes` is all that it reads of a lake without news."""
    opened = OpenTables(lake)
    lake.table(PARSED_LOGS, "app").append(PARSED_LOGS.rows([{"event_id": "a", "date": NOON.date()}]))
    tables = [opened.table(spec, name) for name in ("app", "none") for spec in (PARSED_LOGS, SCORES)]
    for _ in range(2):
        opened.look()
        for table in tables:
            table.version()
    reads: list[str] = []
    real = StoreLogFiles.read

    def read(self: StoreLogFiles, version: int) -> bytes | None:
        reads.append(self._folder)
        return real(self, version)

    monkeypatch.setattr(StoreLogFiles, "read", read)
    for _ in range(5):
        opened.look()
        assert [table.version() for table in tables] == [1, None, None, None]
    assert {CHANGES.name in folder for folder in reads} == {True}
    assert len(reads) == 5


def test_an_append_by_a_handle_that_knows_little_is_as_safe(lake: Lake) -> None:
    """What it has not been told of, another one's commit of the same source, refuses it; other ones do not."""
    opened = OpenTables(lake)
    table, other = opened.table(SCORES, "app"), lake.table(SCORES, "app")
    other.append(scores("a"), {"source": 1})
    assert table.progress(["source"]) == {"source": 1}
    other.append(scores("b"))
    table.append(scores("c"), {"mine": 1})
    assert table.progress(["source"]) == {"source": 1}
    other.progress(["source"])
    other.append(scores("d"), {"source": 2})
    with pytest.raises(LostRaceError):
        table.append(scores("d"), {"source": 2})
    assert names_of(other) == ["a", "b", "c", "d"]


def test_changes_that_are_made_together_are_noted_together(lake: Lake) -> None:
    """One commit of `_changes` names all tables; a table that nobody waits for is not named."""
    with lake.noting_together():
        for name in "abc":
            lake.table(SCORES, name).append(scores(name))
    lake.table(SILENCES).append(SILENCES.rows([{"silence_id": 1}]))
    table = lake.table(CHANGES)
    rows = [(row["deployment"], row["table"], row["version"]) for row in table.read().to_pylist()]
    assert rows == [(name, "scores", 1) for name in "abc"] + [(None, "_silences", 1)]
    assert table.version() == 2


def test_a_lake_whose_changes_cannot_be_read_is_looked_at_by_table(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then each look asks each table, as if there were no `_changes`."""
    opened = OpenTables(lake)
    table = opened.table(SCORES, "app")
    assert table.version() is None
    lake.table(SCORES, "app").append(scores("a"))

    def refuse(self: Table, *_: object) -> None:
        raise ConnectionError("the store is away")

    monkeypatch.setattr(Table, "read_since", refuse)
    opened.look()
    assert table.version() == 1


def test_a_new_deployment_is_listed_after_the_next_look(lake: Lake) -> None:
    """The deployments are listed anew where `_changes` names one that is not known."""
    opened = OpenTables(lake)
    opened.look()
    assert opened.deployments() == []
    lake.table(SCORES, "app").append(scores("a"))
    opened.look()
    assert opened.deployments() == ["app"]


def test_files_that_another_one_merged_are_read_once(lake: Lake) -> None:
    """A handle that knows the files of a table follows what was put in their place."""
    reader, writer = lake.table(SCORES, "app"), lake.table(SCORES, "app")
    for name in "abc":
        writer.append(scores(name))
    assert names_of(reader) == ["a", "b", "c"]
    compact(lake.table(SCORES, "app"))
    writer.append(scores("d"))
    assert names_of(reader) == ["a", "b", "c", "d"]


def test_no_commit_is_put_into_the_place_of_a_removed_table(lake: Lake) -> None:
    """The table was removed from the store since the handle looked: the append is refused, and leaves no log."""
    table = lake.table(SCORES, "app")
    table.append(scores("a"), {"source": 1})
    table.progress(["source"])
    filesystem, path = lake.storage.filesystem(table.uri)
    filesystem.rm(path, recursive=True)
    with pytest.raises(FileNotFoundError, match="is gone"):
        table.append(scores("b"), {"source": 2})
    assert not filesystem.find(f"{path}/_delta_log")


def reads_of(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Files of logs that are read from the store from now on, the tables' folders before them."""
    reads: list[str] = []
    real = StoreLogFiles._fetch

    def fetch(self: StoreLogFiles, path: str) -> bytes:
        reads.append(path)
        return real(self, path)

    monkeypatch.setattr(StoreLogFiles, "_fetch", fetch)
    return reads


def test_after_a_look_ahead_no_table_is_asked_for(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables with rows and such that are not there, and then all rows of one: nothing more of a log is read."""
    lake.table(SCORES, "app").append(scores("a"))
    opened = OpenTables(lake)
    tables = [opened.table(spec, name) for name in ("app", "none") for spec in (PARSED_LOGS, SCORES)]
    log_files._OPENED.clear()
    reads = reads_of(monkeypatch)
    opened.look_ahead()
    assert len([path for path in reads if "app/scores" in path]) == 5
    reads.clear()
    assert [table.version() for table in tables] == [None, 1, None, None]
    history = History(tables[1])
    assert (history.version, dict(history.days)) == (1, {NOON.date(): 1})
    assert reads == []


def test_what_cannot_be_looked_at_ahead_is_met_by_its_reader(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """One table's log is broken: the look ahead says nothing, the other table is there, the reader gets the error."""
    for name in ("app", "broken"):
        lake.table(SCORES, name).append(scores("a"))
    opened = OpenTables(lake)
    table, broken = opened.table(SCORES, "app"), opened.table(SCORES, "broken")
    real = StoreLogFiles._fetch

    def fetch(self: StoreLogFiles, path: str) -> bytes:
        if "broken" in path:
            raise ConnectionError("the store is away")
        return real(self, path)

    monkeypatch.setattr(StoreLogFiles, "_fetch", fetch)
    opened.look_ahead()
    assert table.version() == 1
    with pytest.raises(ConnectionError):
        broken.version()


def test_all_rows_are_read_where_the_log_has_moved_on_from_what_was_told(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told is a version that can only be opened no more, since a checkpoint lies behind it: the newest one is read."""
    writer, opened = lake.table(SCORES, "app"), OpenTables(lake)
    writer.append(scores("0"))
    table = opened.table(SCORES, "app")
    assert table.version() == 1
    for number in range(1, 5):
        writer.append(scores(str(number)))
    opened.look()
    monkeypatch.setattr("lake.tables.changes.ChangeNotes.note", lambda *_: None)
    for number in range(5, 24):
        writer.append(scores(str(number)))
    history = History(table)
    assert (history.version, dict(history.days)) == (24, {NOON.date(): 24})
