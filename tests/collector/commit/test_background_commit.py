"""Tests of pieces that are added while a batch is being committed, ordered by events instead of a clock."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from collector.commit.background_commit import BackgroundCommit
from collector.commit.batch import Counts
from collector.commit.batch_committer import BatchCommitter
from collector.commit.position import Partition, Piece
from collector.pipeline import collector as pipeline
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from tests.collector.lines import chat_line

FILE, OTHER = Partition("file", "/logs/a.log", "a"), Partition("file", "/logs/b.log", "b")
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


def answers(lake: Lake) -> list[str]:
    return sorted(lake.table(PARSED_LOGS, "rag-app").read(["answer"])["answer"].to_pylist())


class WatchedLock:
    """A lock that can be entered again, and records whether a thread had to wait for it."""

    def __init__(self, waited_for: Callable[[], None]) -> None:
        self._lock = threading.RLock()
        self._waited_for = waited_for
        self.was_waited_for = False

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self.was_waited_for = True
            self._waited_for()
            self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


@pytest.mark.parametrize("second", ["flush", "add"])
def test_a_piece_is_taken_whole_before_another_thread_gets_on(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, second: str
) -> None:
    """While one thread is in the middle of `add`, another one's `flush` or `add` waits: each row is in its batch."""
    collector = Collector(lake, CollectorSettings())
    in_the_middle, goes_on, errors = threading.Event(), threading.Event(), []
    collector._lock = lock = WatchedLock(goes_on.set)  # type: ignore[assignment]
    really_parse = pipeline.parse_piece

    def parse(raw: bytes, *more: Any) -> Any:
        if raw == chat_line(1):
            in_the_middle.set()
            assert goes_on.wait(60)
        return really_parse(raw, *more)

    def attempt(step: Callable[[], object], then: Callable[[], None] = lambda: None) -> None:
        try:
            step()
        except Exception as error:
            errors.append(error)
        then()

    monkeypatch.setattr(pipeline, "parse_piece", parse)
    steps = {"flush": collector.flush, "add": lambda: collector.add(Piece(OTHER, chat_line(2), 1, 0))}
    first = threading.Thread(target=attempt, args=(lambda: collector.add(Piece(FILE, chat_line(1), 1, 0)),))
    first.start()
    assert in_the_middle.wait(60)
    # It waits for the lock, or ends where nothing holds it up: then the first one goes on.
    other = threading.Thread(target=attempt, args=(steps[second], goes_on.set))
    other.start()
    first.join(60)
    other.join(60)
    assert lock.was_waited_for
    collector.flush()
    assert errors == []
    count = 1 if second == "flush" else 2
    assert collector.totals == Counts(lines=count, stored=count)
    assert answers(lake) == ["Answer 1.", "Answer 2."][:count]


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """The first commit begins, and does not end before somebody waits for it; the event says that it has begun."""
    begun, may_end = threading.Event(), threading.Event()
    really_commit, really_wait = BatchCommitter.commit, BackgroundCommit.wait

    def commit(self: BatchCommitter, *batch_and_time: Any) -> None:
        if not begun.is_set():
            begun.set()
            assert may_end.wait(60)
        really_commit(self, *batch_and_time)

    def wait(self: BackgroundCommit) -> BaseException | None:
        may_end.set()
        return really_wait(self)

    monkeypatch.setattr(BatchCommitter, "commit", commit)
    monkeypatch.setattr(BackgroundCommit, "wait", wait)
    return begun


def test_a_full_batch_does_not_overwrite_the_one_under_way(lake: Lake, held: threading.Event) -> None:
    """The next full batch waits until the one before it is committed and counted."""
    collector = Collector(lake, CollectorSettings(flush_bytes=1))
    for number in (1, 2):
        collector.add(Piece(FILE, chat_line(number), number, number - 1))
    assert held.wait(60)
    collector.add(Piece(FILE, chat_line(3), 3, 2))
    collector.flush()
    assert collector.totals == Counts(lines=3, stored=3)
    assert answers(lake) == ["Answer 1.", "Answer 2.", "Answer 3."]


def test_an_old_batch_does_not_overwrite_the_one_under_way(lake: Lake, held: threading.Event) -> None:
    """While a batch is under way an old one stays open, and goes on growing; both are counted."""
    passed = [0.0]
    collector = Collector(lake, CollectorSettings(flush_seconds=30), monotonic=lambda: passed[0])
    for number in (1, 2, 3):
        collector.add(Piece(FILE, chat_line(number), number, number - 1))
        passed[0] += 30
        collector.flush_if_due()
        assert held.wait(60)
    assert [batch.counts().lines for batch in collector.open_batches] == [2, 1]
    collector.flush()
    assert collector.totals == Counts(lines=3, stored=3)
    assert collector.committed_offsets.offset(FILE) == 3
    assert answers(lake) == ["Answer 1.", "Answer 2.", "Answer 3."]
