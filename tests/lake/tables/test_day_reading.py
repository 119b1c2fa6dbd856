"""Reader of a few days of a table."""

from __future__ import annotations

import tempfile
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow.dataset as ds
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake.delta_log.delta_log import live_files
from lake.maintenance.compaction import compact
from lake.spec.schemas import PARSED_LOGS
from lake.tables.day_reading import DayReader, RequestPeriod
from lake.tables.lake import Lake
from lake.tables.table import Table

START = datetime(2026, 11, 20, tzinfo=UTC)
DAY = timedelta(days=1)
KEYS = ["response_id", "response_ids"]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Lake(str(tmp_path / "lake")).table(PARSED_LOGS, "rag")


def row(number: int, at: datetime | None = START, **columns: Any) -> dict[str, Any]:
    return {
        "event_id": f"e{number}",
        "date": (at or START).date(),
        "requested_at": at,
        "answer": f"A{number}",
    } | columns


def write(table: Table, *rows: dict[str, Any]) -> None:
    table.append(PARSED_LOGS.rows(rows))


def reader(table: Table, days: int = 0) -> DayReader:
    return DayReader(table, START.date(), (START + days * DAY).date())


IDS = st.sampled_from(["a", "b", "c", None])
ROWS = st.lists(st.tuples(IDS, st.none() | st.lists(IDS, max_size=3), st.integers(-1, 2)), max_size=12)


@settings(max_examples=40, deadline=None)
@given(ROWS, st.sets(st.sampled_from(["a", "b", "x"])), st.integers(1, 4))
def test_rows_are_found_by_any_of_their_ids_whatever_groups_they_are_in(
    given_rows: list[tuple[str | None, list[str | None] | None, int]], wanted: set[str], at_once: int
) -> None:
    """Just those of the days, each with all columns that are asked for."""
    rows = [
        row(number, START + day * DAY, response_id=one, response_ids=many)
        for number, (one, many, day) in enumerate(given_rows)
    ]
    with tempfile.TemporaryDirectory() as folder, mock.patch("lake.delta_log.writing._ROW_GROUP_BYTES", 1):
        table = Lake(folder).table(PARSED_LOGS, "rag")
        for begin in range(0, len(rows), at_once):
            write(table, *rows[begin : begin + at_once])
        found = reader(table, 1).read_rows(KEYS, wanted, ["answer", "date"]).to_pylist()
    days = (START.date(), (START + DAY).date())
    right = [one for one in rows if wanted & {one["response_id"], *(one["response_ids"] or ())} and one["date"] in days]
    assert sorted(one["answer"] for one in found) == sorted(one["answer"] for one in right)
    assert {(one["answer"], one["date"]) for one in found} == {(one["answer"], one["date"]) for one in right}


def test_columns_and_rows_are_chosen_as_in_a_read_of_the_table(table: Table) -> None:
    """With the types of the table, and nothing where there is none."""
    assert reader(table).read(["event_id", "contexts"]).num_rows == 0
    assert reader(table).read_rows(["event_id"], ["e1"], ["event_id"]).num_rows == 0
    assert reader(table).days() == []
    write(table, row(1, contexts=[{"text": "one"}]), row(2), row(3, START + DAY), row(4, START + 2 * DAY))
    only = ds.field("event_id") != "e2"
    found = reader(table, 1).read(["event_id", "contexts", "date"], only)
    day = ds.field("date") <= date(2026, 11, 21)
    assert found.sort_by("event_id") == table.read(["event_id", "contexts", "date"], only & day).sort_by("event_id")
    assert reader(table, 5).days() == [(START + days * DAY).date() for days in (2, 1, 0)]
    second = reader(table, 5).read(["event_id"], days=[(START + DAY).date()])
    assert second["event_id"].to_pylist() == ["e3"]


def test_files_without_a_row_of_the_period_are_not_opened(table: Table) -> None:
    """But those with rows whose time is not known are, and those that statistics round by a millisecond."""
    moment = START + timedelta(hours=5, microseconds=999)
    for number, at in enumerate((START, moment, START + timedelta(hours=9))):
        write(table, row(number, at))
    write(table, row(7, START), row(8, None, response_id="no time"))
    early, _, late, _ = live_files(table.snapshot() or pytest.fail("no table"))
    for file in (early, late):
        Path(table.uri, file.path).write_bytes(b"not to be read")
    for period in (
        RequestPeriod(moment, moment),
        RequestPeriod(moment + timedelta(microseconds=1), moment + timedelta(hours=1)),
    ):
        assert set(reader(table).read(["event_id"], period=period)["event_id"].to_pylist()) == {"e1", "e7", "e8"}
        assert reader(table).read_rows(["event_id"], ["e1"], ["answer"], period=period).to_pylist() == [
            {"answer": "A1"}
        ]


def test_what_was_replaced_since_it_was_opened_is_read_again(table: Table) -> None:
    """A compaction and a vacuum may come between two reads."""
    write(table, row(1))
    write(table, row(2))
    opened = reader(table)
    assert opened.days() == [START.date()]
    old = live_files(table.snapshot() or pytest.fail("no table"))
    compact(table)
    for file in old:
        Path(table.uri, file.path).unlink()
    assert opened.read_rows(["event_id"], ["e1", "e2"], ["answer"]).num_rows == 2
    opened = reader(table)
    assert opened.days() == [START.date()]
    write(table, row(3))
    (compacted, _) = live_files(table.snapshot() or pytest.fail("no table"))
    Path(table.uri, compacted.path).unlink()
    with pytest.raises(FileNotFoundError):
        opened.read(["event_id"])


def test_a_file_that_is_no_parquet_is_named(table: Table) -> None:
    """As in any other read of the table."""
    write(table, row(1))
    (file,) = live_files(table.snapshot() or pytest.fail("no table"))
    Path(table.uri, file.path).write_bytes(b"no parquet")
    with pytest.raises(Exception, match=file.path):
        reader(table).read_rows(["event_id"], ["e1"], ["answer"])


def test_a_store_gives_the_same(lake_of_each_kind: Lake) -> None:
    """Where files are read side by side."""
    table = lake_of_each_kind.table(PARSED_LOGS, "rag")
    for number in range(5):
        write(table, row(number, response_ids=["a"] if number % 2 else None))
    found = reader(table).read_rows(KEYS, ["a"], ["event_id", "date"]).to_pylist()
    assert found == [{"event_id": name, "date": START.date()} for name in ("e1", "e3")]
    assert reader(table).read(["event_id"])["event_id"].to_pylist() == [f"e{number}" for number in range(5)]


def test_members_of_a_list_of_structs_are_read_alone(table: Table) -> None:
    """Titles of chunks without their texts, also of a file that has no chunks, and after a compaction."""
    chunk = {"text": "long", "title": "Handbook", "url": "u", "page": 1, "id": "i"}
    write(table, row(1, contexts=[chunk, None]), row(2))
    write(table, row(3, contexts=[]), row(4, contexts=[chunk]))

    def read() -> dict[str, Any]:
        rows = reader(table).read_rows(
            ["event_id"], ["e1", "e2", "e3"], ["event_id", "contexts", "answer"], members={"contexts": ("title", "url")}
        )
        return {one["event_id"]: (one["contexts"], one["answer"]) for one in rows.to_pylist()}

    expected = {"e1": ([{"title": "Handbook", "url": "u"}, None], "A1"), "e2": (None, "A2"), "e3": ([], "A3")}
    assert read() == expected
    compact(table)
    assert read() == expected
