from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable
from hypothesis import given
from hypothesis import strategies as st

from lake.delta_log.listed_files import ListedFiles, listed_files
from lake.delta_log.log_files import LocalLogFiles
from lake.maintenance.compaction import compact
from lake.spec.schemas import PARSED_LOGS
from lake.store.log_copy import LAST_CHECKPOINT, Read
from lake.tables.lake import Lake
from lake.tables.rewriting import replace
from lake.tables.table import Table

DAY = datetime(2026, 11, 1, tzinfo=UTC)
STEPS = st.one_of(st.sampled_from(["compact", "remove"]), st.lists(st.integers(0, 3), max_size=3))


def by_deltalake(table: Table, first: date = date.min, last: date = date.max) -> ListedFiles:
    """List the files as where the log is out of the ordinary."""
    return listed_files(lambda _: None, lambda: DeltaTable(table.uri), first, last)


def listed(table: Table, read: Read, first: date = date.min, last: date = date.max) -> ListedFiles:
    """List the files by the log alone."""

    def fail() -> DeltaTable:
        raise AssertionError("deltalake was asked")

    return listed_files(read, fail, first, last)


def add(table: Table, days: list[int | None], hour: int = 0) -> None:
    """Add a row of each day, without a time where the day is None."""
    times = [None if one is None else DAY + timedelta(days=one, hours=hour) for one in days]
    rows = [{"event_id": "e", "requested_at": at, "date": (at or DAY).date()} for at in times]
    table.append(PARSED_LOGS.rows(rows))


def log_of(folder: Path) -> tuple[Table, Read]:
    table = Lake(str(folder)).table(PARSED_LOGS, "app")
    return table, LocalLogFiles(table.uri).entry


@given(st.lists(STEPS, max_size=26))
def test_the_files_are_those_that_deltalake_lists(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str | list[int]]
) -> None:
    """With any commits, checkpoints, compactions and removals in the log, for all days and for some."""
    table, read = log_of(tmp_path_factory.mktemp("lake"))
    add(table, [0])
    for number, step in enumerate(steps):
        if step == "compact":
            compact(table)
        elif step == "remove":
            replace(table, DeltaTable(table.uri), table.live_files()[:1], [])
        else:
            add(table, [*step], number)
    for days in ((date.min, date.max), (date(2026, 11, 2), date(2026, 11, 3)), (date(2025, 1, 1), date(2025, 1, 2))):
        found, expected = listed(table, read, *days), by_deltalake(table, *days)
        assert found.version == expected.version
        assert found.files.sort_by("path").equals(expected.files.sort_by("path"))
        order = [(one["date"], one["written"]) for one in found.files.to_pylist()]
        assert order == sorted(order)


def test_times_are_told_only_of_files_whose_rows_all_have_one(tmp_path: Path) -> None:
    """Rows without a time are in no statistics: a reader of a period must open their file."""
    table, read = log_of(tmp_path)
    add(table, [1, 1, 2])
    add(table, [None, 0])
    times = [(one["since"], one["until"]) for one in listed(table, read).files.to_pylist()]
    assert times == [(None, None), *((DAY + timedelta(days=one),) * 2 for one in (1, 2))]
    assert listed(table, read).files.equals(by_deltalake(table).files)


@pytest.mark.parametrize("lost", [f"{20:020}.checkpoint.parquet", LAST_CHECKPOINT, f"{21:020}.json"])
def test_a_log_that_is_out_of_the_ordinary_is_left_to_deltalake(tmp_path: Path, lost: str) -> None:
    """It is one with a damaged entry, or in a later version of the protocol."""
    table, read = log_of(tmp_path)
    for hour in range(23):
        add(table, [hour % 3], hour)
    with pytest.raises(AssertionError, match="deltalake was asked"):
        listed(table, lambda name: b"{" if name == lost else read(name))
    later = json.dumps({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7}}).encode()
    with pytest.raises(AssertionError, match="deltalake was asked"):
        listed(table, lambda name: later if name == f"{22:020}.json" else read(name))
    found = listed_files(lambda name: b"{" if name == lost else read(name), lambda: DeltaTable(table.uri),
                         date.min, date.max)  # fmt: skip
    assert found.files.num_rows == listed(table, read).files.num_rows == 23


def test_there_are_no_files_where_there_is_no_table(tmp_path: Path) -> None:
    """Many deployments never get some of their tables."""
    table, _ = log_of(tmp_path)
    found = LocalLogFiles(table.uri).listed(date.min, date.max)
    assert (found.version, found.files.num_rows) == (None, 0)
