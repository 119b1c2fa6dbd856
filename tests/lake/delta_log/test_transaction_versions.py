from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable
from hypothesis import given
from hypothesis import strategies as st

from lake.delta_log import snapshots
from lake.delta_log.log_files import LocalLogFiles
from lake.delta_log.transaction_versions import transactions_at
from lake.maintenance.compaction import compact
from lake.spec.schemas import SCORES
from lake.store.log_copy import LAST_CHECKPOINT
from lake.tables.lake import Lake

NAMES = [f"source {number}" for number in range(40)]


@given(st.lists(st.one_of(st.none(), st.sets(st.sampled_from(NAMES), min_size=1, max_size=5)), max_size=45))
def test_all_that_are_read_at_once_are_those_that_deltalake_tells(
    tmp_path_factory: pytest.TempPathFactory, steps: list[set[str] | None]
) -> None:
    """With any commits, checkpoints and compactions in the log, and for names that have none."""
    table = Lake(str(tmp_path_factory.mktemp("lake"))).table(SCORES, "app")
    table.append(SCORES.rows([]), {"first": 1})
    for number, names in enumerate(steps, 1):
        if names is None:
            compact(table)
        else:
            table.append(SCORES.rows([]), dict.fromkeys(names, number))
    delta = DeltaTable(table.uri)
    expected = {name: told for name in ["first", *NAMES] if (told := delta.transaction_version(name)) is not None}
    assert Lake(str(Path(table.uri).parents[1])).table(SCORES, "app").progress(["first", *NAMES]) == expected


@pytest.mark.parametrize("content", [None, b"{"])
@pytest.mark.parametrize("lost", [f"{20:020}.checkpoint.parquet", f"{21:020}.json"])
def test_a_log_that_is_not_as_usual_is_left_to_deltalake(tmp_path: Path, lost: str, content: bytes | None) -> None:
    """Nothing is told where an entry is missing or damaged; without a checkpoint all commits are read."""
    table = Lake(str(tmp_path)).table(SCORES, "app")
    expected = {NAMES[number]: number for number in range(1, 23)}
    for name, number in expected.items():
        table.append(SCORES.rows([]), {name: number})
    read = LocalLogFiles(table.uri).entry
    assert transactions_at(read, 22) == expected
    assert transactions_at(lambda name: None if name == LAST_CHECKPOINT else read(name), 22) == expected
    assert transactions_at(lambda name: content if name == lost else read(name), 22) is None
    assert transactions_at(read, 19) is None


@pytest.mark.parametrize("commits", [1, 10])
def test_the_log_is_read_once_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commits: int) -> None:
    """A thousand new names cost one look, in a short log and in a long one, also where they are asked for singly."""
    table = Lake(str(tmp_path)).table(SCORES, "app")
    for number in range(commits):
        table.append(SCORES.rows([]), {"first": number + 1})
    looks: list[object] = []
    monkeypatch.setattr(snapshots, "transactions_at", lambda *args: looks.append(args) or transactions_at(*args))
    again = Lake(str(tmp_path)).table(SCORES, "app")
    assert again.progress([*(f"new {number}" for number in range(1000)), "first"]) == {"first": commits}
    assert len(looks) == 1


def test_all_are_read_again_once_for_a_later_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known of an earlier version says nothing of it."""
    table = Lake(str(tmp_path)).table(SCORES, "app")
    table.append(SCORES.rows([]), {"first": 1})
    looks: list[object] = []
    monkeypatch.setattr(snapshots, "transactions_at", lambda *args: looks.append(args) or transactions_at(*args))
    snapshot = LocalLogFiles(table.uri).open()
    assert snapshot is not None
    assert [snapshot.transaction(name) for name in ("first", "second", "first")] == [1, None, 1]
    table.append(SCORES.rows([]), {"second": 2})
    later = snapshot.at(snapshot.version + 1)
    assert [later.transaction(name) for name in ("first", "second", "third")] == [1, 2, None]
    assert len(looks) == 2
