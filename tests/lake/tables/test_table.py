from __future__ import annotations

import itertools
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from lake.delta_log.change import LostRaceError, TableReplacedError
from lake.spec.root_tables import REJECTED
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.tables.lake import Lake
from lake.tables.table import Table
from tests.killing import kill, start
from tests.servers import wait_for

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def scores(*names: str) -> pa.Table:
    return SCORES.rows([{"score_id": name, "date": NOW.date(), "scored_at": NOW} for name in names])


def names_of(rows: pa.Table) -> list[str]:
    return rows["score_id"].to_pylist()


@pytest.fixture
def lake(lake_of_each_kind: Lake) -> Lake:
    return lake_of_each_kind


@pytest.fixture
def table(lake: Lake) -> Table:
    return lake.table(SCORES, "rag-app")


def test_rows_come_back_with_their_types(lake: Lake) -> None:
    """What was appended is read back equal, nested columns, time zones and nulls included."""
    row = {
        "event_id": "e",
        "deployment": "rag-app",
        "date": NOW.date(),
        "requested_at": NOW,
        "status": 200,
        "is_entry": True,
        "response_ids": ["a", "b"],
        "contexts": [{"text": "t", "title": None, "url": "u", "page": 3, "id": "0.3"}],
        "source": {"kind": "file", "name": "n", "partition": "p", "offset": 7},
    }
    rows = PARSED_LOGS.rows([row])
    table = lake.table(PARSED_LOGS, "rag-app")
    table.append(rows)
    assert table.read().equals(rows)
    assert table.read_since(None).rows.equals(rows)


def test_a_table_that_is_not_there_is_empty(table: Table) -> None:
    """Reading before the first append gives no rows, no version and no error."""
    assert table.read().schema.equals(SCORES.schema)
    assert table.read().num_rows == 0
    assert table.version() is None
    assert table.committed("app") is None
    assert table.read_since(None).version is None


def test_a_stale_writer_is_refused(lake: Lake) -> None:
    """Of two writers with one app_id the second is refused, and none of its rows is there."""
    one, other = lake.table(SCORES, "rag-app"), lake.table(SCORES, "rag-app")
    one.append(scores("first"), progress={"app": 1})
    assert other.committed("app") == 1
    one.append(scores("second"), progress={"app": 2})
    with pytest.raises(LostRaceError, match="app"):
        other.append(scores("again"), progress={"app": 2})
    assert sorted(names_of(other.read())) == ["first", "second"]
    assert other.committed("app") == 2


def test_a_reader_of_its_own_table_is_fenced_too(lake: Lake) -> None:
    """What counts is what `progress` gave: reading the table afterwards does not hide another writer's commit."""
    one, other = lake.table(SCORES, "rag-app"), lake.table(SCORES, "rag-app")
    assert other.committed("app") is None
    one.append(scores("first"), progress={"app": 1})
    assert names_of(other.read()) == ["first"]
    with pytest.raises(LostRaceError, match="version 1 of 'app'"):
        other.append(scores("again"), progress={"app": 2})
    assert other.committed("app") == 1
    other.append(scores("second"), progress={"app": 2})
    assert sorted(names_of(one.read())) == ["first", "second"]


def test_a_version_that_is_not_new_is_refused(table: Table) -> None:
    """An append that would repeat a version is an error that names both versions."""
    table.append(scores("first"), progress={"app": 5})
    with pytest.raises(ValueError, match=r"already has version 5 .*; 5 is not new"):
        table.append(scores("again"), progress={"app": 5})


def test_one_commit_carries_the_progress_of_several_sources(table: Table) -> None:
    """The rows of many files need one commit, and each file's position is remembered."""
    table.append(scores("a", "b"), progress={"file:1": 10, "file:2": 20})
    assert table.progress(["file:1", "file:2", "file:3"]) == {"file:1": 10, "file:2": 20}


def test_an_empty_append_remembers_its_version(table: Table) -> None:
    """A pass that found nothing to write can still say how far it came."""
    table.append(scores(), progress={"app": 3})
    assert table.committed("app") == 3
    assert table.read().num_rows == 0


def test_what_is_new_since_a_version(lake: Lake, table: Table) -> None:
    """A reader gets each row once and in the order of the commits, and nothing when there is nothing new."""
    table.append(scores("a"))
    table.append(scores("b"))
    reader = lake.table(SCORES, "rag-app")
    first = reader.read_since(None)
    assert sorted(names_of(first.rows)) == ["a", "b"]
    assert reader.read_since(first.version).rows.num_rows == 0
    table.append(scores("c"))
    table.append(scores("d"))
    second = reader.read_since(first.version, columns=["score_id"])
    assert second.rows.to_pylist() == [{"score_id": "c"}, {"score_id": "d"}]
    assert reader.read_since(second.version).version == second.version


@pytest.mark.parametrize("is_open", [False, True])
def test_a_version_of_a_table_that_was_replaced_is_refused(tmp_path: Path, is_open: bool) -> None:
    """A reader that comes with a version of an earlier table gets an error, whether it had that one open or not."""
    lake = Lake(str(tmp_path))
    old, reader = lake.table(SCORES, "rag-app"), lake.table(SCORES, "rag-app")
    for name in "abc":
        old.append(scores(name))
    seen = reader.read_since(None).version
    shutil.rmtree(old.uri)
    anew = lake.table(SCORES, "rag-app")
    anew.append(scores("d"))
    reader = reader if is_open else lake.table(SCORES, "rag-app")
    with pytest.raises(TableReplacedError, match="has version 1 and is not the table whose version 3 was read"):
        reader.read_since(seen)
    assert names_of(reader.read_since(None).rows) == ["d"]


def test_a_compaction_adds_nothing_new(lake: Lake, table: Table) -> None:
    """After files were merged a reader that knew all rows finds none new, and the rows are all there."""
    for name in "abc":
        table.append(scores(name))
    seen = table.read_since(None)
    options = lake.storage.delta_options() if "://" in lake.root else {}
    DeltaTable(table.uri, storage_options=options).optimize.compact()
    assert table.read_since(seen.version).rows.num_rows == 0
    assert sorted(names_of(table.read())) == ["a", "b", "c"]


def test_only_the_rows_that_are_asked_for(table: Table) -> None:
    """A filter and a choice of columns are pushed to the files."""
    table.append(SCORES.rows([{"score_id": str(i), "value": i / 4, "date": NOW.date()} for i in range(5)]))
    found = table.read(["score_id"], where=ds.field("value") > 0.5)
    assert found.to_pylist() == [{"score_id": "3"}, {"score_id": "4"}]


def test_a_bare_parquet_reader_sees_each_row_once_after_clean_up(tmp_path: Path) -> None:
    """After compact and a full vacuum `pandas.read_parquet` on the folder gives the table's rows."""
    lake = Lake(str(tmp_path))
    table, stale = lake.table(SCORES, "rag-app"), lake.table(SCORES, "rag-app")
    table.append(scores("a"), progress={"app": 1})
    assert stale.committed("app") == 1
    table.append(scores("b"), progress={"app": 2})
    with pytest.raises(LostRaceError):
        stale.append(scores("b"), progress={"app": 2})
    delta = DeltaTable(table.uri)
    delta.optimize.compact()
    delta.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False, full=True)
    assert sorted(pd.read_parquet(table.uri)["score_id"]) == ["a", "b"]
    assert sorted(names_of(lake.table(SCORES, "rag-app").read_since(None).rows)) == ["a", "b"]


def test_texts_carry_no_statistics(tmp_path: Path) -> None:
    """No text, not even an id, is in the table's log or in a file's footer: what is erased must not be left there."""
    table = Lake(str(tmp_path)).table(PARSED_LOGS, "rag-app")
    texts = {f.name: "SECRETWORD" for f in PARSED_LOGS.schema if f.type == pa.string()}
    row = {"date": NOW.date(), "status": 200, "contexts": [{"text": "SECRETWORD"}], "documents": ["SECRETWORD"]}
    table.append(PARSED_LOGS.rows([texts | row | {"source": {"name": "SECRETWORD"}}]))
    log = "".join(path.read_text() for path in Path(table.uri, "_delta_log").glob("*.json"))
    assert "SECRETWORD" not in log
    assert '"maxValues": {"status": 200}' in log.replace("\\", "")
    row_group = pq.read_metadata(next(Path(table.uri).rglob("*.parquet"))).row_group(0)
    columns = [row_group.column(i) for i in range(row_group.num_columns)]
    assert [c.path_in_schema for c in columns if "SECRETWORD" in str(c.statistics)] == []


def _append_many(root: str, writer: int) -> None:
    table = Lake(root).table(SCORES, "rag-app")
    for number in range(10):
        table.append(scores(f"{writer}-{number}"), progress={f"writer-{writer}": number})


@pytest.mark.integration
def test_writers_of_different_sources_do_not_conflict(tmp_path: Path) -> None:
    """Four processes that append to a new table at once lose nothing and repeat nothing."""
    writers = [start(_append_many, str(tmp_path), number) for number in range(4)]
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * 4
    expected = sorted(f"{writer}-{number}" for writer in range(4) for number in range(10))
    assert sorted(names_of(Lake(str(tmp_path)).table(SCORES, "rag-app").read())) == expected


def _append_for_ever(root: str) -> None:
    table = Lake(root).table(SCORES, "rag-app")
    for number in itertools.count():
        table.append(SCORES.rows([{"score_id": str(number)}]), progress={"app": number})


@pytest.mark.integration
def test_a_killed_writer_leaves_whole_commits(tmp_path: Path) -> None:
    """After SIGKILL the table opens, and holds just the rows up to the version that it remembers."""
    writer = start(_append_for_ever, str(tmp_path))
    wait_for(lambda: (Lake(str(tmp_path)).table(SCORES, "rag-app").committed("app") or 0) > 4)
    kill(writer)
    table = Lake(str(tmp_path)).table(SCORES, "rag-app")
    last = table.committed("app")
    assert last is not None
    assert sorted(names_of(table.read()), key=int) == [str(n) for n in range(last + 1)]


def test_tables_that_are_not_per_deployment_stand_under_the_root(tmp_path: Path) -> None:
    """What cannot be read has one table, whatever deployment it may be of."""
    lake = Lake(str(tmp_path))
    lake.table(REJECTED).append(REJECTED.rows([{"reason": "not_json", "raw": b"\xff", "date": NOW.date()}]))
    assert (tmp_path / "_rejected" / "date=2026-11-20").is_dir()
    assert lake.deployments() == []


def test_a_table_that_was_moved_away_is_named_and_takes_rows_again_when_it_is_back(tmp_path: Path) -> None:
    """The error says what is gone and what to do, in its place stands no file, and afterwards nothing is missing."""
    lake = Lake(str(tmp_path / "lake"))
    table = lake.table(SCORES, "rag")
    table.append(scores("one"))
    (tmp_path / "lake").rename(tmp_path / "elsewhere")
    with pytest.raises(FileNotFoundError, match=r"scores is gone, which had version \d+: .* bring it back"):
        table.append(scores("two"))
    assert not (tmp_path / "lake").exists()
    (tmp_path / "elsewhere").rename(tmp_path / "lake")
    table.append(scores("two"))
    assert sorted(names_of(table.read())) == ["one", "two"]
