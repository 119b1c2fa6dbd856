"""States of tables in folders: deltalake's tables are held of a few, and the others are read again when asked."""

from __future__ import annotations

import gc
import shutil
from datetime import date
from pathlib import Path

import pytest
from deltalake import DeltaTable

from lake.delta_log.log_files import LocalLogFiles
from lake.delta_log.snapshots import TableSnapshot
from lake.spec.schemas import SCORES
from lake.tables.lake import Lake
from lake.tables.table import Table


def row(name: str) -> dict[str, object]:
    return {"score_id": name, "date": date(2026, 11, 20)}


def table_of(folder: Path, name: str, commits: int = 2) -> Table:
    made = Lake(str(folder)).table(SCORES, name)
    for number in range(commits):
        made.append(SCORES.rows([row(f"{name}-{number}")]), {"source": number + 1})
    return made


def opened(table: Table) -> TableSnapshot:
    snapshot = LocalLogFiles(table.uri).open()
    assert snapshot is not None
    return snapshot


def test_the_tables_of_a_few_states_are_held(tmp_path: Path) -> None:
    """Of sixty states that are in use, 32 have deltalake's table in memory."""
    tables = [table_of(tmp_path, f"app-{number}", 1) for number in range(60)]
    states = [opened(table) for table in tables]
    held = [one for one in gc.get_objects() if isinstance(one, DeltaTable) and str(tmp_path) in one.table_uri]
    assert (len(states), len(held)) == (60, 32)


@pytest.mark.parametrize("commits", [2, 7])
def test_a_state_that_is_read_again_is_of_its_version(tmp_path: Path, commits: int) -> None:
    """Files, transactions and deltalake's table are those of the version that was read, whatever came since."""
    table = table_of(tmp_path, "app", commits)
    state = opened(table)
    table.append(SCORES.rows([row("later")]), {"source": 99})
    others = [opened(table_of(tmp_path, f"other-{number}", 1)) for number in range(40)]
    assert len(others) == 40
    # The first commit made the table, and has no rows.
    assert (state.version, len(state.live_files()), state.transaction("source")) == (commits, commits, commits)
    with state.delta() as delta:
        assert delta.version() == commits
    later = state.at(commits + 1)
    assert (later.version, len(later.live_files()), later.transaction("source")) == (commits + 1, commits + 1, 99)


@pytest.mark.parametrize("commits", [1, 5])
def test_a_later_version_of_another_table_is_no_state_of_this_one(tmp_path: Path, commits: int) -> None:
    """The table was removed and made anew, with fewer commits or with more."""
    table = table_of(tmp_path, "app", 2)
    state = opened(table)
    shutil.rmtree(table.uri)
    table_of(tmp_path, "app", commits)
    with pytest.raises(FileNotFoundError, match="has no version 3 of the table"):
        state.at(3)


def test_an_earlier_state_that_was_brought_back_is_no_later_version(tmp_path: Path) -> None:
    table = table_of(tmp_path, "app", 2)
    shutil.copytree(table.uri, tmp_path / "copy")
    table.append(SCORES.rows([row("lost")]))
    state = opened(table)
    shutil.rmtree(table.uri)
    shutil.copytree(tmp_path / "copy", table.uri)
    with pytest.raises(FileNotFoundError, match="has no version 4 of the table"):
        state.at(4)
