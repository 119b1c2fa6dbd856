from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

import lake.maintenance.compaction
from lake.delta_log.change import LostRaceError
from lake.delta_log.delta_log import live_files
from lake.maintenance.compaction import compact
from lake.maintenance.retention import drop_before
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.tables.lake import Lake
from lake.tables.rewriting import batches, replace
from lake.tables.table import Table

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@pytest.fixture
def table(lake_of_each_kind: Lake) -> Table:
    return lake_of_each_kind.table(PARSED_LOGS, "rag-app")


def append(table: Table, *names: str, days_ago: int = 0) -> None:
    day = NOW - timedelta(days=days_ago)
    rows = [
        {"event_id": name, "date": day.date(), "question": f"SECRET {name}", "contexts": [{"text": "c"}]}
        | {"requested_at": day, "ingested_at": NOW}
        for name in names
    ]
    table.append(PARSED_LOGS.rows(rows))


def ids(table: Table) -> list[str]:
    return sorted(table.read(["event_id"])["event_id"].to_pylist())


def test_small_files_of_a_date_become_one(table: Table) -> None:
    """Each date with several small files has one afterwards; rows and readers stay as they are."""
    for name in "abc":
        append(table, name)
    append(table, "d", days_ago=1)
    append(table, "e", days_ago=1)
    append(table, "f", days_ago=2)
    before, seen = table.read().sort_by("event_id"), table.read_since(None)
    done = compact(table)
    assert (done.files_before, done.files_after) == (6, 3)
    assert table.read().sort_by("event_id").equals(before)
    assert table.read_since(seen.version, newest=seen.newest).rows.num_rows == 0
    assert compact(table).rewritten_bytes == 0


def test_a_file_grows_to_the_target_and_no_further(table: Table) -> None:
    """Files are merged up to the target; those of at least half of it are left alone."""
    for name in "abcdef":
        append(table, name)
    delta = table.snapshot()
    assert delta is not None
    size = live_files(delta)[0].size
    assert compact(table, target_bytes=3 * size + 100).files_after == 2
    assert ids(table) == list("abcdef")


def test_a_dry_run_changes_nothing(table: Table) -> None:
    """A dry run says what would be done."""
    append(table, "a")
    append(table, "b")
    version = table.version()
    assert compact(table, dry_run=True).files_after == 1
    assert table.version() == version


def test_writers_are_not_disturbed(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is appended while files are merged is there afterwards, and so is what others had looked at before."""
    append(table, "a")
    append(table, "b")
    writer = table.__class__(table.uri, table.spec, "rag-app", table._storage)
    assert writer.progress(["source"]) == {}

    def merge_and_append(*given: object, **named: object) -> None:
        append(table, "c")
        replace(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(lake.maintenance.compaction, "replace", merge_and_append)
    assert compact(table).files_after == 1
    writer.append(PARSED_LOGS.rows([{"event_id": "d", "date": NOW.date()}]), progress={"source": 1})
    assert ids(table) == list("abcd")


def test_of_two_rewrites_of_one_file_the_second_is_refused(table: Table) -> None:
    """Two compactions, or a compaction and an erasure, never bring a row twice: the later commit is given up."""
    append(table, "a")
    append(table, "b")
    delta = table.snapshot()
    assert delta is not None
    files = live_files(delta)
    compact(table)
    stored = len(table.files().get_file_info(_everything()))
    with pytest.raises(LostRaceError, match="replaced files"):
        replace(table, delta, files, table.write(batches(table, files)))
    assert ids(table) == ["a", "b"]
    assert len(table.files().get_file_info(_everything())) == stored


def _everything() -> object:
    from pyarrow import fs

    return fs.FileSelector("", recursive=True)


def test_merged_files_are_like_the_writers(tmp_path: Path) -> None:
    """A merged file has the writer's compression, and no text stands in its footer or in the log."""
    table = Lake(str(tmp_path)).table(PARSED_LOGS, "rag-app")
    append(table, "a" * 5000)
    append(table, "b" * 5000)
    compact(table)
    path = DeltaTable(table.uri).file_uris()[0]
    group = pq.read_metadata(path.removeprefix("file://")).row_group(0)
    columns = [group.column(i) for i in range(group.num_columns)]
    assert {c.path_in_schema for c in columns if c.compression == "ZSTD"} == {"event_id", "question"}
    assert [c.path_in_schema for c in columns if c.statistics is not None and c.physical_type == "BYTE_ARRAY"] == []
    assert "SECRET" not in "".join(log.read_text() for log in Path(table.uri, "_delta_log").glob("*.json"))


def test_positions_survive(table: Table) -> None:
    """How far a source is remembered as committed stays so through a compaction and a dropped date."""
    table.append(PARSED_LOGS.rows([{"event_id": "a", "date": NOW.date()}]), progress={"file:1": 7})
    append(table, "b")
    compact(table)
    drop_before(table, NOW.date() + timedelta(days=1))
    assert table.read().num_rows == 0
    assert table.committed("file:1") == 7


def test_a_table_without_dates_is_merged_too(tmp_path: Path) -> None:
    """Tables without partitions have their files merged as well."""
    from lake.spec.case_tables import GROUND_TRUTH

    table = Lake(str(tmp_path)).table(GROUND_TRUTH, "rag-app")
    for name in "ab":
        table.append(GROUND_TRUTH.rows([{"case_id": name}]))
    assert compact(table).files_after == 1
    assert sorted(table.read(["case_id"])["case_id"].to_pylist()) == ["a", "b"]


def test_nothing_to_do_for_a_table_that_is_not_there(tmp_path: Path) -> None:
    """A table that nobody wrote has no files, and is not made."""
    table = Lake(str(tmp_path)).table(SCORES, "rag-app")
    assert compact(table).files_before == 0
    assert not Path(table.uri).exists()
