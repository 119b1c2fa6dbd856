"""What may still be named by a commit: on its way, without an answer, and when its fate is known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lake.delta_log.file_age import FilesGoneError
from lake.delta_log.log_files import LocalLogFiles
from lake.delta_log.log_tail import LogTail
from lake.delta_log.pending_commits import PendingCommits
from lake.delta_log.writing import NewFile
from lake.spec.schemas import SCORES
from lake.tables.lake import Lake

FILE = "date=2026-11-20/part-1.parquet"


class Sending(LocalLogFiles):
    """Files of a log of which the next commit is made, or not, by a function."""

    def __init__(self, uri: str, create: Callable[[Callable[[], bool]], bool]) -> None:
        super().__init__(uri)
        self._made_by = create

    def create(self, version: int, commit: bytes) -> bool:
        return self._made_by(lambda: LocalLogFiles.create(self, version, commit))


@pytest.fixture
def uri(tmp_path: Path) -> str:
    table = Lake(str(tmp_path)).table(SCORES, "app")
    table.append(SCORES.rows([]), {"first": 1})
    (Path(table.uri) / FILE).parent.mkdir()
    (Path(table.uri) / FILE).touch()
    return table.uri


def sent(uri: str, create: Callable[[Callable[[], bool]], bool]) -> tuple[bool | Exception, PendingCommits]:
    """Append a file; what came of it, and the commits that are pending then."""
    pending = PendingCommits()

    def watched(make: Callable[[], bool]) -> bool:
        assert pending.may_name(FILE)
        assert not pending.unanswered()
        return create(make)

    files = Sending(uri, watched)
    snapshot = files.open()
    assert snapshot is not None
    try:
        found: bool | Exception = LogTail(files, snapshot, uri, pending).append([NewFile(FILE, 1, {}, "{}")], {"a": 1})
    except OSError as error:
        found = error
    return found, pending


def fails(error: Exception, *, after: bool) -> Callable[[Callable[[], bool]], bool]:
    """A store that does not answer, after it has taken the commit or without having it."""

    def create(make: Callable[[], bool]) -> bool:
        if after:
            make()
        raise error

    return create


def test_files_of_a_commit_that_has_landed_are_named_by_the_log_alone(uri: str) -> None:
    """Whether the store said so, or it was found there after no answer."""
    for create in (lambda make: make(), fails(OSError("no answer"), after=True)):
        found, pending = sent(uri, create)
        assert found is True
        assert not pending.may_name(FILE)


def test_a_commit_that_meets_itself_has_landed(uri: str) -> None:
    """A store may take a request twice, and answers the second that there is such a version."""
    found, pending = sent(uri, lambda make: make() and make())
    assert found is True
    assert not pending.may_name(FILE)


def test_files_of_a_commit_without_an_answer_may_still_be_named(uri: str) -> None:
    found, pending = sent(uri, fails(OSError("no answer"), after=False))
    assert str(found) == "no answer"
    assert pending.may_name(FILE)
    assert [one.progress for one in pending.unanswered()] == [{"a": 1}]
    assert not pending.has_up_to(pending.unanswered()[0].version - 1)
    assert pending.has_up_to(pending.unanswered()[0].version)


def test_files_of_a_lost_race_and_files_that_are_gone_are_named_by_nobody(uri: str) -> None:
    def overtaken(make: Callable[[], bool]) -> bool:
        Lake(str(Path(uri).parents[1])).table(SCORES, "app").append(SCORES.rows([]))
        return make()

    found, pending = sent(uri, overtaken)
    assert found is False
    assert not pending.may_name(FILE)
    gone, pending = sent(uri, fails(FilesGoneError("gone"), after=False))
    assert isinstance(gone, FilesGoneError)
    assert not pending.may_name(FILE)
    assert not pending.unanswered()
