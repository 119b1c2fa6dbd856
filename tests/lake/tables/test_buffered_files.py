from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake import PARSED_LOGS, BufferedFiles, Lake, Table
from lake.tables import writing

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
