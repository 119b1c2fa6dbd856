"""Logs that are fetched by name: deltalake reads the same table from the copy, at any version."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from lake.delta_log.snapshots import CopiedSnapshot, DeltaSnapshot
from lake.maintenance.compaction import compact
from lake.spec.schemas import SCORES
from lake.store.log_copy import (
    LAST_CHECKPOINT,
    LOG,
    UnusualLogError,
    checkpoint_name,
    checkpoint_of,
    commit_name,
    copied_table,
    log_entries,
)
from lake.tables.lake import Lake
from lake.tables.table import Table

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def table_of(folder: Path, commits: int) -> Table:
    table = Lake(str(folder)).table(SCORES, "app")
    for number in range(commits):
        rows = SCORES.rows([{"score_id": str(number), "date": NOON.date()}])
        table.append(rows, {f"source {number % 3}": number + 1})
    return table


def reader_of(table: Table) -> Callable[[str], bytes | None]:
    def read(name: str) -> bytes | None:
        path = Path(table.uri, LOG, name)
        return path.read_bytes() if path.exists() else None

    return read


def snapshot_of(found: dict[str, bytes]) -> CopiedSnapshot:
    return CopiedSnapshot.of(found, lambda _: found, lambda _: pytest.fail("it is not opened again"))


@pytest.mark.parametrize("commits", [1, 5, 19, 20, 21, 45])
def test_the_copy_of_a_log_says_what_deltalake_says(tmp_path: Path, commits: int) -> None:
    """Before, at and after checkpoints, and after a compaction: version, files, transactions, columns and protocol."""
    table = table_of(tmp_path, commits)
    compact(table)
    found = log_entries(reader_of(table))
    assert found is not None
    delta = table.snapshot()
    assert delta is not None
    copied, real = snapshot_of(dict(found)), DeltaSnapshot(delta, lambda _: delta, found.get)
    assert (copied.version, copied.live_files()) == (real.version, real.live_files())
    assert (copied.columns, copied.writer_protocol) == (real.columns, real.writer_protocol)
    for name in ("source 0", "source 1", "source 2", "dialwatch:rewrite", "unknown"):
        assert copied.transaction(name) == real.transaction(name)


def test_of_a_checkpoint_on_only_what_is_needed_is_fetched(tmp_path: Path) -> None:
    """The commits before the last checkpoint are not asked for."""
    table = table_of(tmp_path, 45)
    asked: list[str] = []
    read = reader_of(table)

    def noted(name: str) -> bytes | None:
        asked.append(name)
        return read(name)

    assert log_entries(noted) is not None
    assert {LAST_CHECKPOINT, checkpoint_name(40), commit_name(41), commit_name(45), commit_name(46)} <= set(asked)
    assert commit_name(40) not in asked
    assert len(asked) <= 12


def test_a_short_log_costs_few_reads(tmp_path: Path) -> None:
    """Of a table with its first commit and one more, only the next two are asked for in vain."""
    read, asked = reader_of(table_of(tmp_path, 1)), list[str]()
    found = log_entries(lambda name: asked.append(name) or read(name))  # type: ignore[func-returns-value]
    assert list(found or {}) == [commit_name(0), commit_name(1)]
    assert sorted(asked) == [*map(commit_name, range(4)), LAST_CHECKPOINT]


def test_no_table_is_known_by_two_reads(tmp_path: Path) -> None:
    """Neither a checkpoint nor a first commit is there."""
    asked: list[str] = []
    assert log_entries(lambda name: asked.append(name)) is None  # type: ignore[func-returns-value]
    assert asked == [LAST_CHECKPOINT, commit_name(0)]
    assert not list(tmp_path.iterdir())


def test_a_log_is_read_up_to_a_version(tmp_path: Path) -> None:
    """What was committed later is not in it; a version that is not there is an error."""
    table = table_of(tmp_path, 30)
    found = log_entries(reader_of(table), 25)
    assert found is not None
    assert snapshot_of(dict(found)).version == 25
    with pytest.raises(UnusualLogError):
        log_entries(reader_of(table), 31)
    with pytest.raises(UnusualLogError):
        log_entries(reader_of(table), 10)


@pytest.mark.parametrize(
    "pointer",
    [
        b"",
        b"[]",
        b'{"version": "x"}',
        json.dumps({"version": 20, "parts": 2}).encode(),
        json.dumps({"version": 20, "v2Checkpoint": {"path": "x"}}).encode(),
        json.dumps({"version": 19}).encode(),
    ],
)
def test_what_another_program_wrote_is_left_to_deltalake(tmp_path: Path, pointer: bytes) -> None:
    """A checkpoint in several files or of another kind, one that is gone, and a pointer that is no JSON."""
    table = table_of(tmp_path, 25)
    Path(table.uri, LOG, LAST_CHECKPOINT).write_bytes(pointer)
    with pytest.raises(UnusualLogError):
        log_entries(reader_of(table))


def test_a_checkpoint_of_a_copy_is_one_of_the_table(tmp_path: Path) -> None:
    """The table is opened from it alone, with all rows and transactions."""
    table = table_of(tmp_path, 7)
    found = log_entries(reader_of(table))
    assert found is not None
    made = checkpoint_of(found)
    assert list(made) == [checkpoint_name(7), LAST_CHECKPOINT]
    for name, content in made.items():
        Path(table.uri, LOG, name).write_bytes(content)
    for version in range(7):
        Path(table.uri, LOG, commit_name(version)).unlink()
    again = Lake(str(tmp_path)).table(SCORES, "app")
    assert sorted(again.read(["score_id"])["score_id"].to_pylist()) == [str(number) for number in range(7)]
    assert again.committed("source 0") == 7
    with copied_table(dict(made)) as delta:
        assert pa.table(delta.get_add_actions(flatten=True)).num_rows == 7


def test_a_log_is_copied_from_its_checkpoint_up_to_a_version() -> None:
    """Exactly that of the checkpoint and that of the last commit are there; one before or beyond is not."""
    files = {LAST_CHECKPOINT: b'{"version": 10}', checkpoint_name(10): b"rows"}
    files |= {commit_name(version): b"{}" for version in (9, 10, 11, 12)}
    copied = {LAST_CHECKPOINT, checkpoint_name(10)}
    for until, names in [
        (10, copied), (11, copied | {commit_name(11)}), (12, copied | {commit_name(11), commit_name(12)}),
        (None, copied | {commit_name(11), commit_name(12)}),
    ]:  # fmt: skip
        found = log_entries(files.get, until)
        assert found is not None
        assert found.keys() == names
    for until in (9, 13):
        with pytest.raises(UnusualLogError):
            log_entries(files.get, until)
