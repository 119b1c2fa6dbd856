"""Positions, counts and rows of a batch, and which offset of a partition is the committed one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.commit import committed_offsets, table_rows
from collector.commit.batch import Batch, BatchState, Counts, IncompleteBatchError, PartitionSection
from collector.commit.batch_committer import BatchCommitter, is_stale
from collector.commit.committed_offsets import CommittedOffset, CommittedOffsets
from collector.commit.concurrent_collectors import SeenState, rejection_id, stored_since
from collector.commit.duplicates import id_number
from collector.commit.position import Partition
from collector.commit.table_rows import RowPosition, TableRows
from lake.delta_log.change import LostRaceError
from lake.spec.root_tables import BATCHES, REJECTED
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from lake.tables.lake import Lake
from lake.tables.table import Table

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
FILE, OTHER, TOPIC = (
    Partition("file", "/a.log", "12-1"),
    Partition("file", "/b.log", "12-2"),
    Partition("kafka", "t", "3"),
)
SECOND = timedelta(seconds=1)


@pytest.fixture
def lake(tmp_path: Any) -> Lake:
    return Lake(str(tmp_path / "lake"))


def test_a_partition_is_named_by_its_kind_and_key() -> None:
    """Kafka counts messages from 0, so that nothing is before -1; other offsets are ends of lines."""
    assert [one.app_id for one in (FILE, TOPIC)] == ["file:12-1", "t-3"]
    assert [one.start for one in (FILE, TOPIC, Partition("http", "/data", "run"))] == [0, -1, 0]
    assert TOPIC.source(9) == {"kind": "kafka", "name": "t", "partition": "3", "offset": 9}


def batch_row(partition: Partition, offset: int, seconds: int, size: int | None = None) -> dict[str, Any]:
    at = NOW + seconds * SECOND
    return {"date": at.date(), "source": partition.source(offset), "exhausted_size": size, "committed_at": at}


@pytest.mark.parametrize("at_once", [1, 3, 200_000])
def test_the_committed_offset_is_that_of_the_last_commit(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """Of those at the same time the greatest; a file of the same name that came later is the one that is finished."""
    monkeypatch.setattr(committed_offsets, "_ROWS_AT_ONCE", at_once)
    later = Partition("file", FILE.name, "12-9")
    rows = [
        batch_row(FILE, 30, 3, 40), batch_row(FILE, 10, 1), batch_row(FILE, 40, 3), batch_row(FILE, 20, 2, 20),
        batch_row(TOPIC, 0, 1), batch_row(OTHER, 5, 5, 5), batch_row(later, 7, 9, 7),
    ]  # fmt: skip
    for row in rows:
        lake.table(BATCHES).append(BATCHES.rows([row]))
    found = CommittedOffsets(lake)
    assert [found.offset(one) for one in (FILE, TOPIC, OTHER, later)] == [40, 0, 5, 7]
    assert found.offset(Partition("kafka", "t", "4")) == -1
    assert [found.is_exhausted(FILE, size) for size in (20, 40)] == [False, False]
    assert [found.is_exhausted(OTHER, size) for size in (4, 5)] == [False, True]
    assert [found.is_finished(FILE.name, size) for size in (7, 40)] == [True, False]
    assert not found.is_finished("/never.log", 0)
    unread = CommittedOffsets(lake, read=False)
    assert unread.offset(FILE) == 0


def test_a_position_moves_on_only(lake: Lake) -> None:
    """An earlier one changes nothing, the same one may say that the end was reached; another collector's counts too."""
    found = CommittedOffsets(lake)
    for offset, size, expected in [(10, None, 10), (5, 5, 10), (10, 10, 10)]:
        found.advance(FILE, CommittedOffset(offset, size))
        assert found.offset(FILE) == expected
    assert found.is_exhausted(FILE, 10)
    assert found.is_finished(FILE.name, 10)
    lake.table(BATCHES).append(BATCHES.rows([batch_row(FILE, 10, 0)]), progress={FILE.app_id: 10})
    found.refresh(FILE)
    assert found.is_exhausted(FILE, 10)
    lake.table(BATCHES).append(BATCHES.rows([batch_row(FILE, 12, 1)]), progress={FILE.app_id: 12, OTHER.app_id: 3})
    found.refresh(FILE, TOPIC)
    assert [found.offset(one) for one in (FILE, TOPIC, OTHER)] == [12, -1, 0]
    assert not found.is_exhausted(FILE, 10)
    found.advance(FILE, CommittedOffset(20, None))
    found.refresh(FILE, OTHER)
    assert [found.offset(one) for one in (FILE, OTHER)] == [20, 3]


COUNTS = st.builds(Counts, *[st.integers(0, 9)] * 6)


@given(COUNTS, COUNTS)
def test_counts_add_up_field_by_field(one: Counts, other: Counts) -> None:
    """And to the lines, where each line has one outcome."""
    both = one + other
    assert [getattr(both, name) for name in vars(one)] == [vars(one)[name] + vars(other)[name] for name in vars(one)]
    outcomes = one.stored + one.signals + one.duplicates + one.rejected + one.filtered
    assert one.add_up() is (one.lines == outcomes)


def test_a_row_that_another_has_stored_is_a_duplicate_once() -> None:
    """Of its own section, in a sealed batch; a batch moves through its states in order."""
    batch = Batch(1.0)
    for partition, spec, outcome in [(FILE, PARSED_LOGS, "stored"), (OTHER, USER_SIGNALS, "signals")]:
        section = batch.section(partition, 3)
        section.counts = Counts(lines=1, **{outcome: 1})
        values = (None,) * 100
        batch.rows[spec, "rag"] = TableRows(spec, [])
        batch.rows[spec, "rag"].positions.append(RowPosition(partition, 4, 7))
        assert section is batch.section(partition, 9)
        assert (section.first_offset, section.offset, len(values)) == (3, 3, 100)
    batch.require_all_rows()
    batch.sections[FILE].counts.stored = 0
    with pytest.raises(IncompleteBatchError, match="a batch counts 0 lines as stored and holds 1 rows for parsed_logs"):
        batch.require_all_rows()
    batch.sections[FILE].counts.stored = 1
    with pytest.raises(RuntimeError, match="the batch is filling, where it must be sealed"):
        batch.drop((PARSED_LOGS, "rag"), 0)
    batch.advance(BatchState.SEALED)
    for _ in range(2):
        batch.drop((PARSED_LOGS, "rag"), 0)
        assert batch.counts() == Counts(lines=2, signals=1, duplicates=1)
        batch.require_all_rows()
    assert batch.sections[OTHER].counts == Counts(lines=1, signals=1)
    for state in (BatchState.STORED, BatchState.COMMITTED):
        batch.advance(state)
    with pytest.raises(RuntimeError, match="the batch is committed, where it must be sealed"):
        batch.advance(BatchState.STORED)


@pytest.mark.parametrize(
    ("committed", "is_refused"), [(None, False), (3, False), (4, True), (8, True), (9, False), (2, False), (10, True)]
)
def test_a_batch_is_refused_where_another_has_committed_some_of_its_lines(
    lake: Lake, committed: int | None, is_refused: bool
) -> None:
    """One that ends where it ends may be its own; one that ends before it begins is none of its lines."""
    table = lake.table(BATCHES)
    if committed is not None:
        table.append(BATCHES.rows([batch_row(FILE, committed, 0)]), progress={FILE.app_id: committed})
    batch = Batch(0.0)
    batch.sections[FILE] = PartitionSection(3, 9, counts=Counts(lines=2, filtered=2), bytes=20)
    batch.advance(BatchState.SEALED)
    committer = BatchCommitter(lake, {}, timedelta(hours=48))
    if is_refused:
        with pytest.raises(LostRaceError, match=f"committed up to {committed}, this batch begins after 3"):
            committer.commit(batch, NOW)
        return
    committer.commit(batch, NOW)
    committer.commit(batch, NOW)
    rows = [row for row in table.read().to_pylist() if row["first_offset"] == 3]
    assert len(rows) == (0 if committed == 9 else 1)
    for row in rows:
        assert (row["lines"], row["filtered"], row["bytes"], row["committed_at"]) == (2, 2, 20, NOW)
        assert (row["source"]["offset"], row["exhausted_size"], row["newest_requested_at"]) == (9, None, None)


def test_an_end_of_a_file_without_lines_is_written(lake: Lake) -> None:
    """A section that moved nowhere, and found no end, is not."""
    batch = Batch(0.0)
    progress = {FILE.app_id: 9, OTHER.app_id: 9}
    lake.table(BATCHES).append(BATCHES.rows([batch_row(OTHER, 9, 0)]), progress=progress)
    batch.sections[FILE] = PartitionSection(9, 9, exhausted_size=9)
    batch.sections[OTHER] = PartitionSection(9, 9)
    batch.advance(BatchState.SEALED)
    BatchCommitter(lake, {}, timedelta(hours=48)).commit(batch, NOW)
    _, row = lake.table(BATCHES).read().sort_by("first_offset").to_pylist()[::-1]
    assert (row["source"]["name"], row["exhausted_size"]) == ("/a.log", 9)


def test_tables_are_opened_anew_after_a_commit_that_failed(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was erased meanwhile is useless as it is open; without a failure each is opened once."""
    opened, table, append = list[str](), Lake.table, Table.append

    def noted(one: Lake, spec: Any, *of: Any) -> Table:
        opened.append(spec.name)
        return table(one, spec, *of)

    monkeypatch.setattr(Lake, "table", noted)
    committer = BatchCommitter(lake, {}, timedelta(hours=48))

    def commit(offset: int) -> None:
        batch = Batch(0.0)
        batch.sections[FILE] = PartitionSection(offset - 1, offset, counts=Counts(lines=1, filtered=1))
        batch.advance(BatchState.SEALED)
        committer.commit(batch, NOW)

    for offset in (1, 2):
        commit(offset)
    assert opened == ["_batches"]

    def refuse(*_: Any, **__: Any) -> None:
        monkeypatch.setattr(Table, "append", append)
        raise OSError("away")

    monkeypatch.setattr(Table, "append", refuse)
    with pytest.raises(OSError, match="away"):
        commit(3)
    commit(3)
    assert opened == ["_batches"] * 2


NAMES = ("event_id", "contexts")


def rows_of(monkeypatch: pytest.MonkeyPatch, least: int) -> TableRows:
    monkeypatch.setattr(table_rows, "_BYTES_AS_TUPLES", least)
    return TableRows(PARSED_LOGS, NAMES)


CONTEXT = {"text": "x", "title": None, "url": "u", "page": 3, "id": "i"}


@pytest.mark.parametrize("least", [1, 20, 21, 1000])
def test_rows_are_files_as_they_came(monkeypatch: pytest.MonkeyPatch, least: int) -> None:
    """Lists of structs too, null and empty ones apart; each with its own position, and the earliest time of all."""
    rows = rows_of(monkeypatch, least)
    given: list[Any] = [None, [], [CONTEXT], [CONTEXT | {"text": "y"}, CONTEXT]]
    for number, contexts in enumerate(given):
        partition = TOPIC if number % 2 else FILE
        position = RowPosition(partition, number, number)
        rows.add(position, (f"e{number}", contexts), 10, NOW + number * SECOND)
        assert rows.held > 0
        assert (rows.encoded_at is not None) is (10 * (number + 1) >= least)
    assert rows.app_ids() == {FILE.app_id, TOPIC.app_id}
    files = rows.files(NOW + 9 * SECOND)
    found = pa.Table.from_batches(files.rows()).to_pylist()
    assert [row["event_id"] for row in found] == ["e0", "e1", "e2", "e3"]
    assert [row["contexts"] for row in found] == given
    assert [row["source"] for row in found] == [(TOPIC if number % 2 else FILE).source(number) for number in range(4)]
    assert {row["answer"] for row in found} == {None}
    assert rows.encoded_at == {1: NOW, 20: NOW + SECOND, 21: NOW + 2 * SECOND}.get(least, NOW + 9 * SECOND)
    assert min(row["ingested_at"] for row in found) == rows.encoded_at


@pytest.mark.parametrize(("minutes", "expected"), [(-10, True), (-9.9, False), (0, False), (9.9, False), (10, True)])
def test_rows_are_stale_after_ten_minutes_of_either_sign(
    monkeypatch: pytest.MonkeyPatch, minutes: float, expected: bool
) -> None:
    """Rows that are not encoded yet have no age."""
    rows = rows_of(monkeypatch, 1)
    assert not is_stale(rows, NOW)
    rows.add(RowPosition(FILE, 1, 1), ("e", None), 10, NOW)
    assert is_stale(rows, NOW + timedelta(minutes=minutes)) is expected


def test_what_cannot_be_read_is_known_by_its_bytes() -> None:
    """In the form of an event id."""
    assert len({rejection_id(raw) for raw in (b"", b"a", b"b")}) == 3
    assert rejection_id(b"a") == "27c35e6e9373877f29e562464e46497e"
    assert REJECTED.name == "_rejected"


@pytest.mark.parametrize("kind", ["file", "http"])
def test_lines_of_others_are_those_of_the_window(lake: Lake, kind: str) -> None:
    """The moment at which it begins is in it; of what cannot be read only what a sender sent is a duplicate."""
    partition = Partition(kind, "n", "k")
    for spec, column, ids in ((PARSED_LOGS, "event_id", ["0", "1", "2"]), (REJECTED, "raw", [b"0", b"1", b"2"])):
        rows = [
            {column: one, "ingested_at": NOW + number * SECOND, "date": NOW.date(), "source": partition.source(number)}
            for number, one in enumerate(ids)
        ]
        deployment = "rag" if spec is PARSED_LOGS else None
        lake.table(spec, deployment).append(spec.rows(rows))
        found = stored_since(lake.table(spec, deployment), SeenState(None, None), NOW + SECOND)
        is_read = spec is PARSED_LOGS or kind == "http"
        assert sorted(found.values(), key=lambda one: one[1]) == ([(partition, 1), (partition, 2)] if is_read else [])
        if spec is REJECTED and is_read:
            assert found.keys() == {id_number(rejection_id(one)) for one in ids[1:]}


def test_a_batch_holds_what_all_of_its_tables_hold() -> None:
    """So that the limit of memory is one of all of them."""
    batch = Batch(0.0)
    for number, name in enumerate(("a", "b", "a")):
        batch.put((PARSED_LOGS, name), RowPosition(FILE, number, number), (None,) * 100, 10, NOW)
        assert batch.held == sum(rows.held for rows in batch.rows.values()) == 10 * (number + 1)
