"""States of tables in folders: deltalake's tables are held of a few, and of the others opened again when asked for."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from lake.delta_log.log_files import LocalLogFiles
from lake.delta_log.news import WatchedNews
from lake.delta_log.snapshots import DeltaSnapshot, TableSnapshot
from lake.maintenance.cleaning import clean_log
from lake.maintenance.compaction import compact
from lake.spec.schemas import SCORES
from lake.tables.lake import Lake
from lake.tables.table import Table

SCORE_ID = {"score_id": ds.field("score_id")}


def row(name: str) -> dict[str, object]:
    return {"score_id": name, "date": date(2026, 11, 20)}


def append(table: Table, first: int, count: int) -> None:
    for number in range(first, first + count):
        table.append(SCORES.rows([row(f"s-{number:02}")]), {"source": number, f"source-{number}": 1})


def table_of(folder: Path, name: str = "app", commits: int = 2) -> Table:
    made = Lake(str(folder)).table(SCORES, name)
    append(made, 1, commits)
    return made


def opened(table: Table) -> TableSnapshot:
    snapshot = LocalLogFiles(table.uri).open()
    assert snapshot is not None
    return snapshot


def let_go(folder: Path) -> None:
    """Ask so many other states that deltalake's tables of the earlier ones are held no more."""
    other = table_of(folder, "other", 1)
    for _ in range(40):
        opened(other)


def clean(table: Table) -> None:
    """Remove all of the log that the newest state does not need."""
    assert clean_log(table, datetime.now(UTC) + timedelta(days=8)).removed


def test_the_tables_of_a_few_states_are_held(tmp_path: Path) -> None:
    """Of sixty states in use 32 at most have deltalake's table in memory."""
    table = table_of(tmp_path)
    states = [opened(table) for _ in range(60)]
    # Not `isinstance`: it asks some objects of other modules for their class, which imports what they stand for.
    held = [one for one in gc.get_objects() if type(one) is DeltaTable and str(tmp_path) in one.table_uri]
    assert len(states) == 60
    assert 0 < len(held) <= 32


@pytest.mark.parametrize("commits", [2, 7])
def test_a_state_that_is_opened_again_is_of_its_version(tmp_path: Path, commits: int) -> None:
    """Files, transactions and deltalake's table are those of the version that was read, whatever came since."""
    table = table_of(tmp_path, commits=commits)
    state = opened(table)
    append(table, 99, 1)
    let_go(tmp_path)
    # The first commit made the table, and has no rows.
    assert (state.version, len(state.live_files()), state.transaction("source")) == (commits, commits, commits)
    with state.delta() as delta:
        assert delta.version() == commits
    later = state.at(commits + 1)
    assert (later.version, len(later.live_files()), later.transaction("source")) == (commits + 1, commits + 1, 99)


def test_a_state_that_the_log_cannot_give_any_more_is_not_mixed_with_a_later_one(tmp_path: Path) -> None:
    """Only a transaction is told as it is now."""
    table = table_of(tmp_path, commits=5)
    state = opened(table)
    append(table, 6, 40)
    clean(table)
    let_go(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"read at version 5, cannot be read on: .* has version 45"):
        state.live_files()
    with pytest.raises(FileNotFoundError), state.delta():
        pass
    assert [state.transaction(f"source-{number}") for number in range(1, 47)] == [1] * 45 + [None]
    assert state.transaction("source") == 45
    later = state.at(45)
    assert (later.version, len(later.live_files())) == (45, 45)


@pytest.mark.parametrize("is_held", [True, False])
def test_a_state_is_read_on_where_the_log_was_cleaned(tmp_path: Path, is_held: bool) -> None:
    table = table_of(tmp_path, commits=5)
    state = opened(table)
    append(table, 6, 40)
    clean(table)
    if not is_held:
        let_go(tmp_path)
    later = state.at(45)
    assert (later.version, len(later.live_files()), later.transaction("source")) == (45, 45, 45)


@pytest.mark.parametrize("commits", [1, 5])
def test_a_later_version_of_another_table_is_no_state_of_this_one(tmp_path: Path, commits: int) -> None:
    """The table was removed and made anew, with fewer commits or with more."""
    table = table_of(tmp_path)
    state = opened(table)
    shutil.rmtree(table.uri)
    table_of(tmp_path, commits=commits)
    let_go(tmp_path)
    with pytest.raises(FileNotFoundError, match="read at version 2, cannot be read on"):
        state.at(3)


def test_an_earlier_state_that_was_brought_back_is_no_later_version(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    shutil.copytree(table.uri, tmp_path / "copy")
    append(table, 3, 1)
    state = opened(table)
    shutil.rmtree(table.uri)
    shutil.copytree(tmp_path / "copy", table.uri)
    let_go(tmp_path)
    for read in (lambda: state.at(4), state.live_files, lambda: state.transaction("source")):
        with pytest.raises(FileNotFoundError, match=r"read at version 3, cannot be read on: .* has version 2"):
            read()


@pytest.mark.parametrize("commits", [0, 3, 9])
def test_a_state_of_a_table_that_is_gone_is_not_that_of_another(tmp_path: Path, commits: int) -> None:
    """The table was removed, or made anew with fewer commits or with more."""
    table = table_of(tmp_path, commits=7)
    state = opened(table)
    shutil.rmtree(table.uri)
    if commits:
        table_of(tmp_path, commits=commits)
    let_go(tmp_path)
    for read in (state.live_files, lambda: state.transaction("source")):
        with pytest.raises((FileNotFoundError, DeltaError)):
            read()


def test_the_newest_version_is_found_where_a_cleaning_comes_between(tmp_path: Path) -> None:
    """What deltalake has listed is removed before it is read; the second time it lists what is left."""
    table = table_of(tmp_path)
    asked: list[int | None] = []

    def open_at(version: int | None) -> DeltaTable:
        asked.append(version)
        if len(asked) == 2:
            raise DeltaError("a commit is gone")
        return DeltaTable(table.uri, version=version)

    state = DeltaSnapshot(open_at(None), open_at, lambda _: None)
    let_go(tmp_path)
    assert (len(state.live_files()), asked) == (2, [None, 2, None])


@pytest.mark.parametrize(
    "read",
    [
        lambda table: sorted(table.dataset().to_table()["score_id"].to_pylist()),
        lambda table: sorted(table.read(["score_id"])["score_id"].to_pylist()),
        lambda table: sorted(table.read_since(None).rows["score_id"].to_pylist()),
        lambda table: sorted(table.read_files(table.live_files(), SCORE_ID)["score_id"].to_pylist()),
        lambda table: sorted(table.read_files(table.files_of_version()[1], SCORE_ID)["score_id"].to_pylist()),
    ],
    ids=["dataset", "read", "read_since", "live_files", "files_of_version"],
)
def test_a_handle_whose_version_was_cleaned_away_reads_the_newest_one(
    tmp_path: Path, read: Callable[[Table], list[str]]
) -> None:
    """The handle looked before the cleaning, and reads after it, as where both come at the same time."""
    writer = table_of(tmp_path, commits=6)
    handle = Lake(str(tmp_path)).table(SCORES, "app", WatchedNews())
    assert handle.progress(["source"]) == {"source": 6}
    append(writer, 7, 37)
    compact(writer)
    append(writer, 44, 20)
    clean(writer)
    let_go(tmp_path)
    assert handle.seen_version() == 6
    assert not handle.may_have_news()
    assert handle.progress(["source-50"]) == {"source-50": 1}
    assert read(handle) == [f"s-{number:02}" for number in range(1, 64)]
