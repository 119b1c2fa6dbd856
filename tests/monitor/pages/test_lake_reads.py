"""Reads of the lake for pages: who waits, who is next, and who is refused."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from starlette.exceptions import HTTPException

from monitor.access.reader import Reader
from monitor.pages import lake_reads
from monitor.pages.lake_reads import AT_ONCE, OF_ONE_AT_ONCE, OF_ONE_IN_LINE, LakeReads
from tests.servers import wait_for


class Reads:
    """Reads that go on until `go_on` is set, each in a thread."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self.reads = LakeReads()
        self.go_on = threading.Event()
        self._pool = pool

    def start(self, reader: str, session: str | None = None) -> Future[str]:
        """Begin a read, and wait until it has a place, is in the line, or has ended."""
        before = self._inside()
        found = self._pool.submit(self.reads.run, Reader(session=session, address=reader), lambda: self._read(reader))
        wait_for(lambda: self._inside() > before or found.done())
        return found

    def running(self) -> list[str]:
        """Who has a place."""
        with self.reads._change:
            return list(self.reads._running)

    def _inside(self) -> int:
        with self.reads._change:
            return len(self.reads._running) + len(self.reads._line)

    def _read(self, reader: str) -> str:
        assert self.go_on.wait(30)
        return reader


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reads]:
    monkeypatch.setattr(lake_reads, "WAIT_SECONDS", 60)
    with ThreadPoolExecutor(100) as pool:
        reads = Reads(pool)
        yield reads
        reads.go_on.set()


def refusal(read: Future[str]) -> str:
    error = read.exception(30)
    assert isinstance(error, HTTPException)
    assert (error.status_code, error.headers) == (503, {"Retry-After": "2"})
    return str(error.detail)


def test_sixty_searches_of_one_client_leave_the_others_their_answers(reads: Reads) -> None:
    """Two run, four wait, the others are refused at once; another's search runs meanwhile."""
    flood = [reads.start("10.0.0.7") for _ in range(60)]
    assert reads.running() == ["10.0.0.7"] * OF_ONE_AT_ONCE
    assert sum(one.done() for one in flood) == 60 - OF_ONE_AT_ONCE - OF_ONE_IN_LINE
    assert "your own searches" in refusal(flood[-1])
    other = reads.start("10.0.0.8")
    assert reads.running()[-1] == "10.0.0.8"
    reads.go_on.set()
    assert other.result(30) == "10.0.0.8"
    assert all(one.result(30) == "10.0.0.7" for one in flood[: OF_ONE_AT_ONCE + OF_ONE_IN_LINE])


def test_a_read_waits_for_a_free_place(reads: Reads) -> None:
    """Never more than a few at a time, and those that wait are given what they asked for in the end."""
    given = [reads.start(name) for name in "abcdef"]
    assert reads.running() == list("abc")
    reads.go_on.set()
    assert [one.result(30) for one in given] == list("abcdef")
    assert reads.running() == []


def test_who_has_their_share_lets_the_next_pass(reads: Reads) -> None:
    """The one in front waits for a read of its own to end, and those behind do not wait for it."""
    for name in "aaab":
        reads.start(name)
    assert reads.running() == ["a", "a", "b"]


def test_a_wait_has_an_end(reads: Reads, monkeypatch: pytest.MonkeyPatch) -> None:
    """After it the answer is to come again, and the place in the line is free."""
    monkeypatch.setattr(lake_reads, "WAIT_SECONDS", 0.2)
    for name in "abc":
        reads.start(name)
    assert "got no turn" in refusal(reads.start("d"))
    assert reads.reads._line == []


def test_the_line_is_bounded(reads: Reads, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many readers there are: each that waits holds a thread."""
    monkeypatch.setattr(lake_reads, "IN_LINE", 5)
    waiting = [reads.start(str(number)) for number in range(AT_ONCE + 5)]
    assert "Other people's searches are running" in refusal(reads.start("one more"))
    assert not any(one.done() for one in waiting)


def test_people_of_one_address_are_told_apart_by_their_sessions(reads: Reads) -> None:
    """Behind a proxy all have its address; who is signed in is counted by themselves."""
    for session in ("ann", "ann", "bob"):
        reads.start("10.0.0.7", session)
    assert len(reads.running()) == AT_ONCE


def test_a_read_that_fails_gives_its_place_back(reads: Reads) -> None:
    """Its words, which may quote a text, are not shown."""
    for _ in range(2 * AT_ONCE):
        with pytest.raises(HTTPException) as caught:
            reads.reads.run(Reader(address="a"), lambda: 1 // 0)
        assert "division" not in caught.value.detail
    reads.go_on.set()
    assert reads.start("a").result(30) == "a"
