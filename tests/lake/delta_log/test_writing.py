from __future__ import annotations

import resource
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyarrow import fs

from lake.delta_log.change import LostRaceError
from lake.delta_log.log_files import LocalLogFiles
from lake.delta_log.writing import FileWriter, remove_files
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.tables.lake import Lake
from lake.tables.table import Table

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def requests(*days: int, text: str = "x") -> pa.Table:
    return PARSED_LOGS.rows(
        [
            {
                "event_id": str(number),
                "date": date(2026, 11, day),
                "requested_at": NOON.replace(day=day),
                "answer": text,
            }
            for number, day in enumerate(days)
        ]
    )


@pytest.fixture
def table(lake_of_each_kind: Lake) -> Table:
    return lake_of_each_kind.table(PARSED_LOGS, "rag-app")


def test_rows_of_several_days_come_back(table: Table) -> None:
    """One append writes a file a day, and readers of all kinds find each row once, filters on times included."""
    table.append(iter(requests(20, 21, 20, 22).to_batches()))
    assert sorted(table.read(["event_id"])["event_id"].to_pylist()) == ["0", "1", "2", "3"]
    assert table.read_since(0, ["event_id"]).rows.num_rows == 4
    late = table.read(["event_id"], ds.field("requested_at") >= NOON.replace(day=21))
    assert sorted(late["event_id"].to_pylist()) == ["1", "3"]
    rows = table.dataset()
    assert duckdb.sql("select count(*) from rows where date = '2026-11-20'").fetchall() == [(2,)]
    assert rows.count_rows() == 4


def test_row_groups_are_small(tmp_path: Path) -> None:
    """A row group holds some 8 MiB however large an append is, so that little memory is needed to write and to read."""
    texts = [chr(97 + number % 26) * 100_000 for number in range(200)]
    rows = PARSED_LOGS.rows([{"date": NOON.date(), "answer": text} for text in texts])
    files = FileWriter(PARSED_LOGS, fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()), upload=None).write(
        [rows]
    )
    (found,) = files
    metadata = pq.read_metadata(tmp_path / found.path)
    sizes = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    assert sum(sizes) == 200
    assert max(sizes) <= 90
    answer = metadata.row_group(0).column(metadata.schema.names.index("answer"))
    assert "RLE_DICTIONARY" not in answer.encodings
    assert answer.compression == "ZSTD"


def test_the_log_counts_nulls_of_all_row_groups(table: Table) -> None:
    """Not those of one of them: a reader skips files by it."""
    rows = [
        {"date": NOON.date(), "answer": chr(97 + number % 26) * 100_000, "status": None if number < 120 else 200}
        for number in range(200)
    ]
    table.append(PARSED_LOGS.rows(rows))
    actions = DeltaTable(table.uri, storage_options=table._storage_options).get_add_actions(flatten=True)
    found = pa.table(actions).to_pylist()
    assert [(file["num_records"], file["null_count.status"]) for file in found] == [(200, 120)]


def test_only_what_is_large_takes_zstd(tmp_path: Path) -> None:
    """To begin with a page of zstd takes longer than to read a small one; texts, also those in a list, need it."""
    text = "a word " * 1000
    known = {"date": NOON.date(), "answer": text, "contexts": [{"text": text}], "question": "why?", "status": 200}
    filesystem = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    (found,) = FileWriter(PARSED_LOGS, filesystem, upload=None).write([PARSED_LOGS.rows([known])])
    group = pq.read_metadata(tmp_path / found.path).row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]
    large = {column.path_in_schema for column in columns if column.compression == "ZSTD"}
    assert large == {"answer", *(f"contexts.list.element.{name}" for name in ("text", "title", "url", "page", "id"))}
    assert {column.compression for column in columns} == {"ZSTD", "SNAPPY"}


def test_an_append_to_very_many_days(tmp_path: Path) -> None:
    """Rows of more days than a process may have open files are written, each once and under its day."""
    days = [NOON.date() - timedelta(days=number) for number in range(300)]
    table = Lake(str(tmp_path)).table(SCORES, "rag-app")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(list(Path("/proc/self/fd").iterdir())) + 100, hard))
    try:
        table.append(SCORES.rows([{"score_id": f"{day}", "date": day} for day in days + days]))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    rows = table.read(["score_id", "date"]).to_pylist()
    assert sorted(row["date"] for row in rows) == sorted(days + days)
    assert all(row["score_id"] == row["date"].isoformat() for row in rows)


def test_times_of_long_ago_are_found(tmp_path: Path) -> None:
    """A filter by time finds rows of a year with fewer than four digits too."""
    table = Lake(str(tmp_path)).table(SCORES, "rag-app")
    old = datetime(999, 12, 31, tzinfo=UTC)
    table.append(SCORES.rows([{"score_id": "old", "date": old.date(), "requested_at": old}]))
    table.append(SCORES.rows([{"score_id": "new", "date": NOON.date(), "requested_at": NOON}]))
    assert table.read(["score_id"], ds.field("requested_at") > old.replace(year=500)).num_rows == 2


def test_an_append_that_fails_leaves_no_file(tmp_path: Path) -> None:
    """When the rows cannot all be had, what was written of them is removed."""
    table = Lake(str(tmp_path)).table(PARSED_LOGS, "rag-app")

    def broken() -> Iterator[pa.RecordBatch]:
        yield from requests(20, 21).to_batches()
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        table.append(broken())
    assert list(tmp_path.rglob("*.parquet")) == []
    assert table.read().num_rows == 0


def test_a_lost_race_leaves_no_file(table: Table, tmp_path: Path) -> None:
    """A writer that is refused removes its files, and the table holds the other's rows alone."""
    table.append(requests(20), progress={"app": 1})
    stale = Table(table.uri, table.spec, "rag-app", table._storage)
    assert stale.committed("app") == 1
    table.append(requests(20), progress={"app": 2})
    with pytest.raises(LostRaceError):
        stale.append(requests(21), progress={"app": 2})
    assert sorted(Path(uri).name for uri in _files_under(table)) == sorted(
        Path(uri).name for uri in DeltaTable(table.uri, storage_options=table._storage_options).file_uris()
    )


def test_a_commit_whose_answer_was_lost_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the store took a commit and its repetition meets itself, the append has succeeded, and its files stay."""
    table = Lake(str(tmp_path)).table(SCORES, "rag-app")
    rows = SCORES.rows([{"score_id": "a", "date": NOON.date()}])
    table.append(rows, progress={"app": 1})
    real = LocalLogFiles.create

    def twice(self: LocalLogFiles, version: int, commit: bytes) -> bool:
        return real(self, version, commit) and real(self, version, commit)

    monkeypatch.setattr(LocalLogFiles, "create", twice)
    table.append(rows, progress={"app": 2})
    assert table.read().num_rows == 2
    assert table.committed("app") == 2


def test_a_file_that_is_gone_already_is_no_error(tmp_path: Path) -> None:
    """Removing what no commit has added is done as far as it can be."""
    filesystem = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    files = FileWriter(PARSED_LOGS, filesystem, upload=None).write([requests(20)])
    remove_files(filesystem, [*files, *files])
    assert list(tmp_path.rglob("*.parquet")) == []


def _files_under(table: Table) -> list[str]:
    selector = fs.FileSelector("", recursive=True)
    return [info.path for info in table.files().get_file_info(selector) if info.path.endswith(".parquet")]
