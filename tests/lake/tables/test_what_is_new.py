"""Whatever happens to a table between two looks, a reader that drops known ids gets every row once."""

from __future__ import annotations

import os
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lake.delta_log.change import Change
from lake.maintenance.cleaning import clean_log, remove_history
from lake.maintenance.compaction import compact
from lake.spec.schemas import PARSED_LOGS
from lake.store import whole_files
from lake.tables.lake import Lake
from lake.tables.table import Table
from tests.servers import Bucket

START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
MONTH = timedelta(days=30)


def rows_of(name: str, at: datetime) -> object:
    return PARSED_LOGS.rows([{"event_id": name, "date": at.date(), "ingested_at": at}])


class Reader:
    """What a reader that misses nothing and repeats nothing has to keep: a position, and the ids that it had."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.position = Change(PARSED_LOGS.schema.empty_table(), None)
        self.taken: list[str] = []
        self.fell_behind = 0

    def look(self) -> None:
        self.position = self.table.read_since(self.position.version, ["event_id"], self.position.newest)
        names = self.position.rows["event_id"].to_pylist()
        self.fell_behind += self.position.repeats
        self.taken += [name for name in names if not self.position.repeats or name not in self.taken]


def make_old(folder: str) -> None:
    then = time.time() - 3600
    for path in Path(folder).rglob("*"):
        os.utime(path, (then, then))


steps = st.lists(st.sampled_from(["one", "other", "read", "compact", "clean", "reopen", "late"]), max_size=25)


@pytest.mark.slow
@settings(max_examples=40)
@example(steps=["one", "read", "other", "compact", "clean"], skew=25)
@given(steps=steps, skew=st.integers(-25, 25))
def test_every_row_exactly_once(steps: list[str], skew: int) -> None:
    """Two writers whose clocks differ, compactions, and history that is removed from log and folder alike."""
    with tempfile.TemporaryDirectory() as root:
        lake = Lake(root)
        tables = {name: lake.table(PARSED_LOGS, "rag-app") for name in ("one", "other", "late")}
        reader, written, clock = Reader(lake.table(PARSED_LOGS, "rag-app")), [], START
        offsets = {"one": timedelta(minutes=skew), "other": timedelta(0), "late": -timedelta(minutes=5)}
        for number, step in enumerate([*steps, "read"]):
            clock += timedelta(minutes=7)
            if step in tables:
                tables[step].append(rows_of(f"{number}", clock + offsets[step]))
                written.append(f"{number}")
            elif step == "read":
                reader.look()
            elif step == "compact":
                compact(tables["one"])
            elif step == "clean" and tables["one"].version() is not None:
                make_old(tables["one"].uri)
                remove_history(tables["one"], datetime.now(UTC))
            elif step == "reopen":
                reader.table = lake.table(PARSED_LOGS, "rag-app")
        assert sorted(reader.taken) == sorted(written)


def test_a_reader_that_is_a_month_behind(tmp_path: Path) -> None:
    """When log and files of its last look are gone it gets what came since by `ingested_at`, and the result says so."""
    table = Lake(str(tmp_path)).table(PARSED_LOGS, "rag-app")
    reader = Reader(Lake(str(tmp_path)).table(PARSED_LOGS, "rag-app"))
    for number in range(3):
        table.append(rows_of(f"old {number}", START + timedelta(hours=2 * number)))
    reader.look()
    for day in range(30):
        table.append(rows_of(f"day {day}", START + timedelta(days=day + 1)))
    compact(table)
    make_old(table.uri)
    remove_history(table, datetime.now(UTC))
    assert clean_log(table, datetime.now(UTC)).entries < 5
    reader.look()
    assert reader.fell_behind == 1
    assert reader.position.rows.num_rows == 31, "the newest of the old rows, within the overlap, and 30 new ones"
    assert sorted(reader.taken) == sorted([f"old {n}" for n in range(3)] + [f"day {n}" for n in range(30)])


def test_a_reader_without_a_time_gets_all_rows(tmp_path: Path) -> None:
    """A reader that kept only a version, and came too late, gets every row; the result says that some may repeat."""
    table = Lake(str(tmp_path)).table(PARSED_LOGS, "rag-app")
    table.append(rows_of("a", START))
    seen = table.read_since(None)
    table.append(rows_of("b", START + MONTH))
    make_old(table.uri)
    remove_history(table, datetime.now(UTC))
    late = Lake(str(tmp_path)).table(PARSED_LOGS, "rag-app").read_since(0, ["event_id"])
    assert (sorted(late.rows["event_id"].to_pylist()), late.repeats) == (["a", "b"], True)
    assert seen.newest == START
    assert late.newest == START + MONTH


def test_on_a_store_too(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same on an object store, where the log is there and a file of it is not, and where the log is gone."""
    # As in another process than the one that has written the files.
    monkeypatch.setattr(whole_files, "_KEPT", whole_files._Kept(0))
    lake = Lake(bucket.uri, bucket.storage)
    table, reader = lake.table(PARSED_LOGS, "rag-app"), Reader(lake.table(PARSED_LOGS, "rag-app"))
    table.append(rows_of("a", START))
    reader.look()
    table.append(rows_of("b", START))
    late = Reader(lake.table(PARSED_LOGS, "rag-app"))
    late.position = reader.position
    late.taken = ["a"]
    replaced = DeltaTable(table.uri, storage_options=bucket.storage.delta_options()).file_uris()
    compact(table)
    for uri in replaced:
        table.files().delete_file(uri.removeprefix(f"{table.uri}/"))
    reader.look()
    assert (sorted(reader.taken), reader.fell_behind) == (["a", "b"], 1)
    remove_history(table, datetime.now(UTC) + timedelta(hours=1))
    late.look()
    assert (sorted(late.taken), late.fell_behind) == (["a", "b"], 1)


def test_what_is_new_may_be_asked_of_a_text_and_of_some_days_only(tmp_path: Path) -> None:
    """An expression is worked out where the rows are read; a day that is not asked for gives none."""
    table = Lake(str(tmp_path)).table(PARSED_LOGS, "rag-app")
    asked = {"event_id": pc.field("event_id"), "says": pc.is_valid(pc.field("answer"))}
    today = pc.field("date") >= START.date()

    def look(version: int | None) -> Change:
        return table.read_since(version, asked, where=today)

    assert look(None).version is None
    for number, day in enumerate([-1, 0, 0]):
        at = START + timedelta(days=day)
        row = {"event_id": str(number), "date": at.date(), "ingested_at": at, "answer": "secret" if number else None}
        table.append(PARSED_LOGS.rows([row, row | {"event_id": f"{number} silent", "answer": None}]))
    both = [{"event_id": name, "says": says} for name, says in (("1", True), ("1 silent", False))]
    last = [{"event_id": name, "says": says} for name, says in (("2", True), ("2 silent", False))]
    assert sorted(look(None).rows.to_pylist(), key=lambda row: row["event_id"]) == [*both, *last]
    newest = look(None).version
    assert newest is not None
    assert look(newest - 1).rows.to_pylist() == last
    assert look(newest - 3).rows.to_pylist() == [*both, *last]
    assert look(newest).rows.to_pylist() == []
    assert look(newest).rows.schema == look(newest - 1).rows.schema
