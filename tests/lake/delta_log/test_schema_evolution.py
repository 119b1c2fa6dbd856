from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable, write_deltalake

from lake.erasure.erasure import erase
from lake.erasure.erasure_scope import Subject
from lake.maintenance.compaction import compact
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake

NOW = datetime.now(UTC)
NEW_COLUMNS = ("prefix_hash", "parent_history_hash", "response_body", "repairs", "origin")


def rows(*ids: str, schema: pa.Schema = PARSED_LOGS.schema) -> pa.Table:
    stored: list[dict[str, Any]] = [
        {"event_id": one, "date": date(2026, 11, 20), "ingested_at": NOW, "requested_at": NOW, "user_id": one}
        for one in ids
    ]
    return pa.Table.from_arrays([pa.array([row.get(f.name) for row in stored], f.type) for f in schema], schema=schema)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A lake with a table that an older version has made, with change data and without some columns."""
    lake = Lake(str(tmp_path))
    uri = lake.table(PARSED_LOGS, "rag-app").uri
    Path(uri).mkdir(parents=True)
    old = pa.schema([field for field in PARSED_LOGS.schema if field.name not in NEW_COLUMNS])
    feed = {"delta.enableChangeDataFeed": "true"}
    DeltaTable.create(uri, schema=old, partition_by=["date"], name="rag-app", configuration=feed)
    write_deltalake(uri, rows("a", "b", schema=old), mode="append")
    return lake


def test_an_older_table_is_read_with_the_new_columns_null(lake: Lake) -> None:
    """Whole, by a filter on a new column, and as what is new."""
    table = lake.table(PARSED_LOGS, "rag-app")
    assert table.read(["event_id", *NEW_COLUMNS])["response_body"].to_pylist() == [None, None]
    assert table.read(["event_id"], ds.field("prefix_hash").is_null()).num_rows == 2
    assert table.read_since(None).rows.num_rows == 2
    assert table.read_since(0).rows.num_rows == 2


def test_an_append_gives_an_older_table_the_new_columns(lake: Lake) -> None:
    """Every reader, not only this package, then finds them; no row is lost, and appends stay exactly-once."""
    table = lake.table(PARSED_LOGS, "rag-app")
    before = table.version()
    table.append(rows("c"), {"k": 1})
    assert set(NEW_COLUMNS) <= {field.name for field in DeltaTable(table.uri).schema().fields}
    assert table.read_since(before).rows["event_id"].to_pylist() == ["c"]
    assert lake.table(PARSED_LOGS, "rag-app").committed("k") == 1
    assert sorted(table.read(["event_id"])["event_id"].to_pylist()) == ["a", "b", "c"]


def test_two_writers_meet_an_older_table_at_once(lake: Lake) -> None:
    """The second one finds that its view of the table is out of date, and appends all the same."""
    one, other = lake.table(PARSED_LOGS, "rag-app"), lake.table(PARSED_LOGS, "rag-app")
    assert (one.progress(["x"]), other.progress(["y"])) == ({}, {})
    one.append(rows("c"), {"x": 1})
    other.append(rows("d"), {"y": 1})
    assert sorted(one.read(["event_id"])["event_id"].to_pylist()) == ["a", "b", "c", "d"]


def test_an_older_table_is_looked_after(lake: Lake) -> None:
    """Compaction and erasure work on it."""
    table = lake.table(PARSED_LOGS, "rag-app")
    table.append(rows("c"))
    compact(table)
    assert erase(lake, Subject(user="a"), NOW).found == 1
    assert sorted(table.read(["event_id"])["event_id"].to_pylist()) == ["b", "c"]


def test_a_change_of_the_table_between_a_look_and_an_append_costs_nothing(lake: Lake) -> None:
    """deltalake refuses such an append; as nobody else has appended for the same source, it is made again."""
    table = lake.table(PARSED_LOGS, "rag-app")
    table.append(rows("c"), {"x": 1})
    assert table.progress(["x"]) == {"x": 1}
    DeltaTable(table.uri).alter.set_table_properties({"delta.logRetentionDuration": "interval 8 days"})
    table.append(rows("d"), {"x": 2})
    assert sorted(table.read(["event_id"])["event_id"].to_pylist()) == ["a", "b", "c", "d"]
