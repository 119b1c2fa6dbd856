from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from collector.commit import table_rows
from collector.commit.position import Partition, Piece
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from lake.spec.root_tables import REJECTED
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from lake.tables.table import Table
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
    died._committer._write_batches = lambda *_: None  # type: ignore[method-assign]
    died.flush()
    again = Collector(lake, CollectorSettings())
    for number in (1, 2, 3):
        again.add(Piece(A, chat_line(number), number))
    again.add(Piece(B, chat_line(4), 1))
    assert again.flush().stored == 4
    answers = lake.table(PARSED_LOGS, "rag-app").read(["answer"])["answer"].to_pylist()
    assert sorted(answers) == [f"Answer {number}." for number in (1, 2, 3, 4)]


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
