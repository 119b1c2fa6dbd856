"""Commits that fail, and lines that come between a failed one and the next one that goes well."""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from collector.commit import table_rows
from collector.commit.batch import Batch, BatchState, Counts, IncompleteBatchError
from collector.commit.committed_offsets import CommittedOffsets
from collector.commit.position import Partition, Piece
from collector.commit.table_rows import RowPosition, TableRows
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from lake.delta_log import writing
from lake.delta_log.change import LostRaceError
from lake.delta_log.writing import BrokenWriterError
from lake.spec.root_tables import BATCHES
from lake.spec.schemas import PARSED_LOGS
from lake.tables.buffered_files import BufferedFiles
from lake.tables.lake import Lake
from lake.tables.table import Table
from tests.collector.lines import chat_line

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
A, B = Partition("file", "a", "a"), Partition("file", "b", "b")
HTTP = Partition("http", "/data", "run/data")


@pytest.fixture(autouse=True)
def encode_each_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_rows, "_BYTES_AS_TUPLES", 1)


def fail_at(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, at: int) -> None:
    """The call of this number of a method raises MemoryError, and the others do what they should."""
    real, calls = getattr(owner, name), itertools.count(1)

    def fail(self: Any, *args: Any, **options: Any) -> Any:
        if next(calls) == at:
            raise MemoryError("no more")
        return real(self, *args, **options)

    monkeypatch.setattr(owner, name, fail)


def answers(lake: Lake) -> list[str]:
    return sorted(lake.table(PARSED_LOGS, "rag-app").read(["answer"])["answer"].to_pylist())


@pytest.mark.parametrize(
    ("owner", "name"), [(BufferedFiles, "add"), (TableRows, "_as_arrow"), (writing._File, "_write_row_group")]
)
@pytest.mark.parametrize("at", [1, 2, 4])
def test_rows_are_kept_where_memory_runs_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, at: int
) -> None:
    """Rows that cannot be encoded once, as they come or at the commit, are encoded by the next try, each once."""
    monkeypatch.setattr(writing, "_ROW_GROUP_BYTES", 1)
    lake = Lake(str(tmp_path))
    fail_at(monkeypatch, owner, name, at)
    collector = Collector(lake, CollectorSettings())
    for number in range(1, 5):
        collector.add(Piece(A, chat_line(number), number))
    with contextlib.suppress(MemoryError):
        collector.flush()
    collector.flush()
    assert answers(lake) == [f"Answer {number}." for number in range(1, 5)]
    assert collector.totals == Counts(lines=4, stored=4)


@pytest.mark.parametrize("name", ["write_table", "close"])
def test_a_half_written_row_group_is_never_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Where memory runs out in Arrow's writer, rows and positions are dropped, and the lines are read again."""
    monkeypatch.setattr(writing, "_ROW_GROUP_BYTES", 1)
    lake = Lake(str(tmp_path))
    # Others of this class may be closed by the garbage collection at any time.
    failing = type("FailingWriter", (pq.ParquetWriter,), {})
    fail_at(monkeypatch, failing, name, 1)
    monkeypatch.setattr(pq, "ParquetWriter", failing)
    collector, errors = Collector(lake, CollectorSettings()), []
    for _ in range(5):
        try:
            for number in range(collector.offset(A) + 1, 5):
                collector.add(Piece(A, chat_line(number), number, number - 1))
            collector.flush()
        except (MemoryError, BrokenWriterError, LostRaceError) as error:
            errors.append(type(error))
    assert BrokenWriterError in errors
    assert answers(lake) == [f"Answer {number}." for number in range(1, 5)]
    batches = lake.table(BATCHES).read(["lines", "stored"]).to_pydict()
    assert (sum(batches["lines"]), sum(batches["stored"])) == (4, 4)


@pytest.mark.parametrize("lose", ["tuples", "files", "counts"])
def test_a_batch_with_fewer_rows_than_it_counts_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lose: str
) -> None:
    """Whatever makes a row go missing, nothing of the batch is committed, and its lines are read again."""
    monkeypatch.setattr(table_rows, "_BYTES_AS_TUPLES", 1 << 20)
    lake = Lake(str(tmp_path))
    collector = Collector(lake, CollectorSettings())
    for number in (1, 2):
        collector.add(Piece(A, chat_line(number), number))
    rows = collector._batch.rows[PARSED_LOGS, "rag-app"]
    if lose == "tuples":
        del rows._tuples[0]
    elif lose == "files":
        monkeypatch.setattr(rows, "_files", BufferedFiles(PARSED_LOGS))
        monkeypatch.setattr(rows, "_tuples", [])
    else:
        collector._batch.sections[A].counts.stored += 1
    with pytest.raises(IncompleteBatchError, match="please report it"):
        collector.flush()
    assert lake.table(BATCHES).version() is None
    assert lake.table(PARSED_LOGS, "rag-app").version() is None
    assert collector.offset(A) == 0
    for number in (1, 2):
        collector.add(Piece(A, chat_line(number), number, number - 1))
    assert collector.flush() == Counts(lines=2, stored=2)
    assert answers(lake) == ["Answer 1.", "Answer 2."]


def test_only_a_filling_batch_takes_lines() -> None:
    """A sealed batch refuses rows and sections, and a batch cannot skip a state."""
    batch = Batch(0.0)
    batch.section(A, 0)
    with pytest.raises(RuntimeError, match="filling, where it must be sealed"):
        batch.advance(BatchState.STORED)
    batch.advance(BatchState.SEALED)
    with pytest.raises(RuntimeError, match="sealed, where it must be filling"):
        batch.section(A, 0)
    with pytest.raises(RuntimeError, match="sealed, where it must be filling"):
        batch.put((PARSED_LOGS, "rag-app"), RowPosition(A, 1, 1), (), 1, NOW)


@pytest.mark.parametrize("took_effect", [False, True])
@pytest.mark.parametrize("table", [PARSED_LOGS, BATCHES], ids=lambda spec: spec.name)
@pytest.mark.parametrize("rows", ["tuples", "encoded"])
def test_lines_that_come_after_a_failed_commit_are_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: Any, rows: str, *, took_effect: bool
) -> None:
    """Requests that are sent again until they are answered with 200, and a file's lines, are in the table once."""
    monkeypatch.setattr(table_rows, "_BYTES_AS_TUPLES", 1 if rows == "encoded" else 1 << 20)
    lake, commit, refusals = Lake(str(tmp_path)), Table.commit, itertools.count()
    collector, waiting, offsets = Collector(lake, CollectorSettings()), [1, 2], itertools.count(1)

    def refuse(self: Table, *args: Any) -> None:
        fails = self.spec is table and next(refusals) < 4
        if not fails or took_effect:
            commit(self, *args)
        if fails:
            raise OSError("the store refuses")

    monkeypatch.setattr(Table, "commit", refuse)
    for number in range(3, 9):
        collector.add(Piece(A, chat_line(number), number, collector.offset(A)))
        for sent in list(waiting):
            with contextlib.suppress(OSError):
                collector.commit([Piece(HTTP, chat_line(sent), next(offsets))])
                waiting.remove(sent)
    assert waiting == []
    assert collector.flush().add_up()
    assert answers(lake) == [f"Answer {number}." for number in range(1, 9)]
    batches = lake.table(BATCHES).read(["stored", "source"]).to_pylist()
    assert sum(row["stored"] for row in batches) == 8


@pytest.mark.parametrize("fails_at", [1, 2, 3])
def test_a_piece_is_added_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int) -> None:
    """An error between two rows of a piece drops them with the position, and the ids of dropped rows are forgotten."""
    lake = Lake(str(tmp_path))
    collector = Collector(lake, CollectorSettings())
    collector.commit([Piece(A, chat_line(1), 1)])
    fail_at(monkeypatch, TableRows, "add", fails_at)
    raw = json.dumps([{"message": chat_line(number).decode()} for number in (2, 3)]).encode()
    for _ in range(2):
        with contextlib.suppress(MemoryError):
            for offset, line in [(2, raw), (3, chat_line(4))]:
                if collector.offset(A) < offset:
                    collector.add(Piece(A, line, offset, offset - 1))
    assert collector.flush() == Counts(lines=3, stored=3)
    assert answers(lake) == [f"Answer {number}." for number in range(1, 5)]


def test_an_error_in_a_piece_waits_for_the_commit_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The batch that is being committed meanwhile is counted, and its lines are known when they come again."""
    lake, passed = Lake(str(tmp_path)), [0.0]
    collector = Collector(lake, CollectorSettings(flush_seconds=1), monotonic=lambda: passed[0])
    collector.add(Piece(A, chat_line(1), 1, 0))
    passed[0] += 1
    collector.flush_if_due()
    fail_at(monkeypatch, TableRows, "add", 1)
    with contextlib.suppress(MemoryError):
        collector.add(Piece(A, chat_line(2), 2, 1))
    assert collector.totals == Counts(lines=1, stored=1)
    collector.add(Piece(A, chat_line(2), 2, 1))
    collector.add(Piece(B, chat_line(1), 1, 0))
    assert collector.flush() == Counts(lines=2, stored=1, duplicates=1)
    assert answers(lake) == ["Answer 1.", "Answer 2."]


def test_a_commit_that_could_not_begin_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system gives no thread, the batch stays, and no line is lost."""
    lake, passed = Lake(str(tmp_path)), [0.0]
    collector = Collector(lake, CollectorSettings(flush_seconds=1), monotonic=lambda: passed[0])
    collector.add(Piece(A, chat_line(1), 1, 0))
    passed[0] += 1
    fail_at(monkeypatch, threading.Thread, "start", 1)
    with pytest.raises(MemoryError):
        collector.flush_if_due()
    collector.add(Piece(A, chat_line(2), 2, 1))
    collector.flush()
    assert collector.totals == Counts(lines=2, stored=2)
    assert answers(lake) == ["Answer 1.", "Answer 2."]


def test_a_committed_batch_is_recorded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the lake does not answer after a commit, the next try counts the batch, and commits nothing again."""
    lake = Lake(str(tmp_path))
    one, other = Collector(lake, CollectorSettings()), Collector(lake, CollectorSettings())
    other.commit([Piece(B, chat_line(1), 1)])
    one.add(Piece(A, chat_line(2), 1, 0))
    fail_at(monkeypatch, CommittedOffsets, "refresh", 1)
    with pytest.raises(MemoryError):
        one.flush()
    assert one.totals == Counts()
    assert one.open_batches[1].state is BatchState.COMMITTED
    one.add(Piece(A, chat_line(1), 2, 1))
    one.flush()
    assert one.totals == Counts(lines=2, stored=1, duplicates=1)
    assert answers(lake) == ["Answer 1.", "Answer 2."]
    assert sorted(lake.table(BATCHES).read(["stored"])["stored"].to_pylist()) == [0, 1, 1]


def test_few_lines_are_taken_while_none_can_be_encoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where memory is short, a batch is sent off at once, and its rows are not encoded again and again meanwhile."""
    lake, tries = Lake(str(tmp_path)), itertools.count()
    collector = Collector(lake, CollectorSettings())

    def fail(*_: object) -> None:
        next(tries)
        raise MemoryError("no more")

    raw = json.dumps([{"message": chat_line(number).decode()} for number in range(50)]).encode()
    with monkeypatch.context() as patch:
        patch.setattr(TableRows, "_as_arrow", fail)
        collector.add(Piece(A, raw, 1, 0))
        assert next(tries) == 1
        for offset in range(2, 6):
            with contextlib.suppress(MemoryError, LostRaceError):
                collector.add(Piece(A, chat_line(100 + offset), offset, offset - 1))
        assert sum(batch.counts().lines for batch in collector.open_batches) == 51
    collector.flush()
    assert collector.totals == Counts(lines=51, stored=51)


def test_no_more_than_two_batches_are_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While every commit fails, lines are taken until the second batch is full, and refused then."""
    collector = Collector(Lake(str(tmp_path)), CollectorSettings(flush_bytes=10_000))

    def refuse(*_: object) -> None:
        raise OSError("the store refuses")

    monkeypatch.setattr(Table, "commit", refuse)
    for number in range(1, 40):
        with contextlib.suppress(OSError):
            collector.add(Piece(A, chat_line(number), number, number - 1))
        with contextlib.suppress(OSError, LostRaceError):
            collector.commit([Piece(HTTP, chat_line(1000 + number), number)])
    assert len(collector.open_batches) == 2
    assert sum(batch.bytes for batch in collector.open_batches) < 2 * 10_000 + 2 * 3_000
