from __future__ import annotations

import contextlib
import itertools
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from collector import Collector, CollectorSettings, Counts
from collector.commit import table_rows
from collector.commit.batch import Batch, BatchState, IncompleteBatchError
from collector.commit.position import Partition, Piece
from collector.commit.table_rows import RowPosition, TableRows
from lake import BATCHES, PARSED_LOGS, REJECTED, BrokenWriterError, BufferedFiles, Lake, LostRaceError, Table
from lake.tables import writing
from tests.collector.lines import chat_line

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
A, B, HTTP = Partition("file", "a", "a"), Partition("file", "b", "b"), Partition("http", "sender", "run sender")


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture(autouse=True)
def encode_each_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_rows, "_BYTES_AS_TUPLES", 1)


def refuse_once(monkeypatch: pytest.MonkeyPatch, spec: object) -> None:
    commit = Table.commit

    def refuse(self: Table, *args: Any) -> None:
        if self.spec is spec:
            monkeypatch.setattr(Table, "commit", commit)
            raise OSError("the store is away")
        commit(self, *args)

    monkeypatch.setattr(Table, "commit", refuse)


@pytest.mark.parametrize("minutes", [1, 90, -90])
def test_rows_that_waited_long_get_the_time_of_their_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minutes: int
) -> None:
    """`ingested_at` is near the commit, also after an outage or a step of the clock."""
    clock, lake = Clock(), Lake(str(tmp_path))
    collector = Collector(lake, CollectorSettings(), clock)
    collector.add(Piece(A, chat_line(1), 1))
    refuse_once(monkeypatch, PARSED_LOGS)
    with pytest.raises(OSError, match="away"):
        collector.flush()
    clock.now += timedelta(minutes=minutes)
    collector.flush()
    (at,) = lake.table(PARSED_LOGS, "rag-app").read(["ingested_at"])["ingested_at"].to_pylist()
    assert at == (NOW if abs(minutes) < 10 else clock.now)


def test_only_the_line_that_another_collector_stored_is_left_out(tmp_path: Path) -> None:
    """Rows of one line that cannot be read stay where no duplicate of them is known, though the bytes are the same."""
    lake = Lake(str(tmp_path))
    one, other = Collector(lake, CollectorSettings()), Collector(lake, CollectorSettings())
    for number, (partition, line) in enumerate([(A, b"no line"), (HTTP, b"no line"), (HTTP, b"nor this")], 1):
        one.add(Piece(partition, line, number))
    other.add(Piece(Partition("http", "sender", "other"), b"no line", 1))
    other.flush()
    counts = one.flush()
    assert (counts.rejected, counts.duplicates) == (2, 1)
    rows = lake.table(REJECTED).read(["raw", "source"]).to_pylist()
    found = sorted((row["raw"], row["source"]["partition"]) for row in rows)
    assert found == [(b"no line", "a"), (b"no line", "other"), (b"nor this", "run sender")]


def test_rows_that_a_killed_batch_had_stored_are_left_out(tmp_path: Path) -> None:
    """A batch that goes further than the one that was cut off stores only what comes after it."""
    lake = Lake(str(tmp_path))
    died = Collector(lake, CollectorSettings())
    for number in (1, 2):
        died.add(Piece(A, chat_line(number), number))
    died._checkpoint._write_batches = lambda *_: None  # type: ignore[method-assign]
    died.flush()
    again = Collector(lake, CollectorSettings())
    for number in (1, 2, 3):
        again.add(Piece(A, chat_line(number), number))
    again.add(Piece(B, chat_line(4), 1))
    assert again.flush().stored == 4
    answers = lake.table(PARSED_LOGS, "rag-app").read(["answer"])["answer"].to_pylist()
    assert sorted(answers) == [f"Answer {number}." for number in (1, 2, 3, 4)]


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
    fail_at(monkeypatch, pq.ParquetWriter, name, 1)
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


def test_rows_of_different_age_get_the_time_of_their_commit(tmp_path: Path) -> None:
    """The row that has waited longest says whether the rows of a batch have waited too long."""
    clock, lake = Clock(), Lake(str(tmp_path))
    collector = Collector(lake, CollectorSettings(), clock)
    for number, minutes in ((1, 8), (2, 4)):
        collector.add(Piece(A, chat_line(number), number))
        clock.now += timedelta(minutes=minutes)
    collector.flush()
    times = lake.table(PARSED_LOGS, "rag-app").read(["ingested_at"])["ingested_at"].to_pylist()
    assert times == [clock.now, clock.now]
