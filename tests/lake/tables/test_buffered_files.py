from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake.delta_log import writing
from lake.delta_log.writing import BrokenWriterError
from lake.spec.schemas import PARSED_LOGS
from lake.tables.buffered_files import BufferedFiles
from lake.tables.lake import Lake
from lake.tables.table import Table

DAYS = st.one_of(st.none(), st.integers(1, 28).map(lambda day: date(2026, 11, day)))


def requests(days: list[date | None], first: int = 0) -> pa.RecordBatch:
    rows = [
        {
            "event_id": str(number),
            "date": day,
            "requested_at": datetime(2026, 11, 20, tzinfo=UTC),
            "documents": [f"document {number}"],
            "contexts": [{"text": "a text", "title": None, "url": None, "page": number, "id": None}],
            "source": {"kind": "file", "name": "a", "partition": "a", "offset": number},
        }
        for number, day in enumerate(days, first)
    ]
    return PARSED_LOGS.rows(rows).to_batches()[0]


@pytest.fixture
def table(lake_of_each_kind: Lake) -> Table:
    return lake_of_each_kind.table(PARSED_LOGS, "rag-app")


def in_order(rows: pa.Table) -> list[dict[str, object]]:
    return sorted(rows.to_pylist(), key=lambda row: int(row["event_id"]))


@given(st.lists(st.lists(DAYS, min_size=1, max_size=8), min_size=1, max_size=4))
def test_rows_come_back_as_they_were_added(parts: list[list[date | None]]) -> None:
    """Every row once, whatever the days; those of a day in their order."""
    files, added = BufferedFiles(PARSED_LOGS), []
    for part in parts:
        added.append(requests(part, sum(batch.num_rows for batch in added)))
        files.add(added[-1])
    found = pa.Table.from_batches(files.rows(), schema=PARSED_LOGS.schema)
    assert in_order(found) == in_order(pa.Table.from_batches(added))
    days: dict[object, list[int]] = {}
    for row in found.to_pylist():
        days.setdefault(row["date"], []).append(int(row["event_id"]))
    assert all(ids == sorted(ids) for ids in days.values())


def test_nothing_is_in_the_table_before_the_commit(table: Table) -> None:
    """Files are written by `store`, which may be called again, and counted with the commit."""
    files = BufferedFiles(PARSED_LOGS)
    files.add(requests([date(2026, 11, 20), date(2026, 11, 21)]))
    assert table.version() is None
    assert files.store(table) == files.store(table)
    assert table.version() is None
    table.commit(files.store(table))
    assert sorted(table.read(["event_id"])["event_id"].to_pylist()) == ["0", "1"]
    with pytest.raises(ValueError, match="no row can be added"):
        files.add(requests([date(2026, 11, 20)]))


def test_full_row_groups_take_the_memory_of_their_encoded_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that compress well take less as soon as their row group is full."""
    monkeypatch.setattr(writing, "_ROW_GROUP_BYTES", 100_000)
    files, text = BufferedFiles(PARSED_LOGS), "word " * 10_000
    for _ in range(20):
        files.add(PARSED_LOGS.rows([{"date": date(2026, 11, 20), "answer": text}]).to_batches()[0])
        assert files.held < 150_000


def test_a_file_that_cannot_be_stored_leaves_none(tmp_path: Path) -> None:
    """A store that refuses the second file does not keep the first, and the next try writes both."""
    table = Lake(str(tmp_path)).table(PARSED_LOGS, "rag-app")
    files = BufferedFiles(PARSED_LOGS)
    files.add(requests([date(2026, 11, 20), date(2026, 11, 21)]))
    blocked = Path(table.uri, "date=2026-11-21")
    blocked.parent.mkdir(parents=True)
    blocked.write_bytes(b"")
    with pytest.raises(OSError, match="2026-11-21"):
        files.store(table)
    assert list(Path(table.uri).rglob("*.parquet")) == []
    blocked.unlink()
    table.commit(files.store(table))
    assert table.read(["event_id"]).num_rows == 2


def test_files_that_were_given_out_stay(tmp_path: Path) -> None:
    """A commit may name them though its answer was lost: a later try that fails removes none of them."""
    table = Lake(str(tmp_path)).table(PARSED_LOGS, "rag-app")
    files = BufferedFiles(PARSED_LOGS)
    files.add(requests([date(2026, 11, 20), date(2026, 11, 21)]))
    files.store(table)
    stored = sorted(Path(table.uri).rglob("*.parquet"))
    folder = stored[1].parent
    folder.rename(folder.with_suffix(".away"))
    folder.write_bytes(b"")
    with pytest.raises(OSError, match="2026-11-21"):
        files.store(table)
    assert stored[0].exists()
    folder.unlink()
    folder.with_suffix(".away").rename(folder)
    table.commit(files.store(table))
    assert sorted(Path(table.uri).rglob("*.parquet")) == stored
    assert table.read(["event_id"]).num_rows == 2


@pytest.mark.parametrize("name", ["_write_row_group", "close", "make_room"])
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_what_failed_once_is_done_again(monkeypatch: pytest.MonkeyPatch, name: str, moment: str, at: int) -> None:
    """Rows are added all or none, whatever fails; what is written then has each row once, with its statistics."""
    monkeypatch.setattr(writing, "_ROW_GROUP_BYTES", 1)
    real, calls = getattr(writing._File, name), []

    def fail(self: Any, *args: Any) -> Any:
        calls.append(name)
        if moment == "after":
            result = real(self, *args)
        if len(calls) == at:
            raise MemoryError("no more")
        return result if moment == "after" else real(self, *args)

    monkeypatch.setattr(writing._File, name, fail)
    files = BufferedFiles(PARSED_LOGS)
    for number in range(4):
        rows = requests([date(2026, 11, 20), date(2026, 11, 21)], 2 * number)
        try:
            files.add(rows)
        except MemoryError:
            files.add(rows)
    try:
        found = files.count()
    except MemoryError:
        found = files.count()
    assert found == 8
    assert [row["event_id"] for row in in_order(pa.Table.from_batches(files.rows()))] == list(map(str, range(8)))
    assert [json.loads(file.statistics)["numRecords"] for file in files._finished()] == [4, 4]


def test_rows_of_many_dates_that_were_added_in_part_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """More dates than files may be open: where some of them were taken, the files take no more rows."""
    files, days = BufferedFiles(PARSED_LOGS), [date(2026, 1 + number // 28, 1 + number % 28) for number in range(40)]
    files.add(requests([days[0]]))
    make_room = writing._File.make_room

    def fail(self: Any, *args: Any) -> None:
        if f"date={days[-1]}" in self.path:
            raise MemoryError("no more")
        make_room(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(writing._File, "make_room", fail)
        with pytest.raises(MemoryError):
            files.add(requests(days, 1))
    with pytest.raises(BrokenWriterError, match="not all rows"):
        files.add(requests(days, 1))
