"""Files that are renamed, deleted, cut short, packed and copied while they are read."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import Mock

import pytest

from collector.commit.batch import Counts
from collector.commit.batch_committer import BatchCommitter
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from collector.sources.files import open_file
from collector.sources.files.listing import LogFile
from collector.sources.files.source import FileSource
from lake.spec.root_tables import BATCHES, REJECTED
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from lake.tables.storage import Storage
from tests.collector.lines import chat_line


def body(*numbers: int) -> bytes:
    return b"".join(chat_line(number) + b"\n" for number in numbers)


class Follower:
    """A collector that follows `*.log*`, and a clock that tests move. Duplicates are not known: nothing hides them."""

    def __init__(self, folder: Path) -> None:
        self.logs = folder / "logs"
        self.logs.mkdir()
        self.log = self.logs / "aidial.log"
        self.lake = Lake(str(folder / "lake"))
        self.later = timedelta()
        self.restart()

    def restart(self) -> None:
        settings = CollectorSettings(duplicate_window_hours=0, flush_seconds=3600)
        self.collector = Collector(self.lake, settings)
        self.source = FileSource(
            [str(self.logs / "*.log*")], Storage(), lambda: datetime.now(UTC) + self.later, str(self.lake.root)
        )

    def look(self) -> Counts:
        self.source.read_into(self.collector)
        return self.collector.flush()

    def write(self, *numbers: int) -> None:
        with self.log.open("ab") as file:
            file.write(body(*numbers))

    def held_open(self) -> list[str]:
        """Logs that this process holds open, also those that are deleted."""
        held = []
        for link in Path("/proc/self/fd").iterdir():
            with suppress(FileNotFoundError):  # closed meanwhile by another thread
                held.append(str(link.readlink()))
        return [path for path in held if path.startswith(str(self.logs))]

    def answers(self) -> list[str]:
        rows = self.lake.table(PARSED_LOGS, "rag-app").read(["answer"])
        return sorted(rows["answer"].to_pylist())


@pytest.fixture
def follower(tmp_path: Path) -> Iterator[Follower]:
    made = Follower(tmp_path)
    yield made
    made.source.close()


def expected(*numbers: int) -> list[str]:
    return sorted(f"Answer {number}." for number in numbers)


@pytest.mark.parametrize("new_name", ["aidial.log.1", "rotated", None], ids=["matches", "matches-not", "deleted"])
def test_what_was_written_before_a_rotation_is_read(follower: Follower, new_name: str | None) -> None:
    """Lines between the last look and a rename or deletion are rows, once, and so are those of the file after it."""
    follower.write(1, 2)
    follower.look()
    follower.write(3)
    if new_name is None:
        follower.log.unlink()
    else:
        follower.log.rename(follower.logs / new_name)
    follower.write(4)
    assert follower.look() == Counts(lines=2, stored=2)
    assert follower.look() == Counts()
    assert follower.answers() == expected(1, 2, 3, 4)


def test_a_writer_that_is_slow_to_change_over_loses_nothing(follower: Follower) -> None:
    """What is still written to a renamed file is read, under either of its names."""
    follower.write(1)
    follower.look()
    with follower.log.open("ab") as writer:
        follower.log.rename(follower.logs / "rotated")
        follower.look()
        writer.write(body(2))
        writer.flush()
        follower.look()
        (follower.logs / "rotated").rename(follower.logs / "aidial.log.1")
        writer.write(body(3))
    follower.look()
    assert follower.answers() == expected(1, 2, 3)


def test_a_rename_after_a_restart_costs_no_row(follower: Follower) -> None:
    """A file that rested is known under another name by another process too, and read on where it ended."""
    follower.write(1, 2)
    follower.look()
    follower.later = timedelta(minutes=6)
    follower.look()
    follower.restart()
    follower.write(3)
    follower.log.rename(follower.logs / "aidial.log.1")
    assert follower.look() == Counts(lines=1, stored=1)
    assert follower.answers() == expected(1, 2, 3)


@pytest.mark.parametrize("way", ["renamed", "packed", "copied and cut short"])
def test_a_file_that_grows_and_is_rotated_while_no_collector_runs_is_read_on(follower: Follower, way: str) -> None:
    """Also what cannot be read is stored once, whether or not the collector was stopped as it should be."""
    follower.write(1, 2)
    with follower.log.open("ab") as file:
        file.write(b"no json\n")
    follower.look()
    follower.restart()
    follower.write(3)
    rotated = follower.logs / "aidial.log.1"
    if way == "renamed":
        follower.log.rename(rotated)
    else:
        rotated.write_bytes((gzip.compress if way == "packed" else bytes)(follower.log.read_bytes()))
        os.truncate(follower.log, 0)
    follower.write(4)
    assert follower.look() == Counts(lines=2, stored=2)
    assert follower.look() == Counts()
    assert follower.answers() == expected(1, 2, 3, 4)


@pytest.mark.parametrize("restarted", [False, True])
def test_two_files_that_grow_and_greet_alike_are_two(follower: Follower, restarted: bool) -> None:
    """A file that holds so far what another one holds, which is still there, is none that was renamed."""
    follower.log.write_bytes(b"greeting\n")
    follower.look()
    if restarted:
        follower.restart()
    (follower.logs / "aidial.log.other").write_bytes(b"greeting\n" + body(1))
    (follower.logs / "a.log").write_bytes(b"greeting\n" + body(2))
    assert follower.look() == Counts(lines=4, stored=2, rejected=2)


@pytest.mark.parametrize("restarted", [False, True])
def test_a_rotated_file_that_is_packed_is_not_stored_twice(follower: Follower, restarted: bool) -> None:
    """A file that is renamed and then packed gives no row again; the lines that only the packed one has are rows."""
    follower.write(1, 2)
    follower.look()
    follower.log.rename(follower.logs / "rotated")
    follower.look()
    if restarted:
        follower.restart()
    (follower.logs / "aidial.log.1.gz").write_bytes(gzip.compress(body(1, 2)))
    assert follower.look() == Counts()
    (follower.logs / "aidial.log.2.gz").write_bytes(gzip.compress(body(1, 2, 3)))
    assert follower.look() == Counts(lines=1, stored=1)
    assert follower.answers() == expected(1, 2, 3)


@pytest.mark.parametrize("packed", [False, True])
def test_two_files_that_begin_alike_are_two(follower: Follower, packed: bool) -> None:
    """Where first line and length are the same and a line between differs, every line is read."""
    follower.write(1, 2, 3)
    follower.look()
    follower.later = timedelta(minutes=6)
    follower.look()
    other = body(1, 4, 5)
    assert len(other) == len(body(1, 2, 3))
    (follower.logs / "other.log").write_bytes(gzip.compress(other) if packed else other)
    counts = follower.look()
    assert counts.lines == 3
    assert set(follower.answers()) == set(expected(1, 2, 3, 4, 5))


def test_a_file_that_is_cut_short_and_written_anew_is_read_anew(follower: Follower) -> None:
    """As copytruncate does it: the new lines are rows, and those of the copy are not stored again."""
    follower.write(1, 2, 3)
    follower.look()
    (follower.logs / "copy.log.1").write_bytes(follower.log.read_bytes())
    os.truncate(follower.log, 0)
    follower.write(4)
    follower.look()
    follower.write(5)
    follower.look()
    assert follower.answers() == expected(1, 2, 3, 4, 5)


def test_a_file_that_got_shorter_is_new_also_with_its_old_first_line(follower: Follower) -> None:
    """All lines of a file that got shorter are read, also when it grows longer than it was."""
    follower.write(1, 2, 3)
    follower.look()
    follower.log.write_bytes(body(1, 7))
    follower.look()
    follower.restart()
    follower.write(8, 9, 10)
    follower.look()
    assert set(follower.answers()) == set(expected(1, 2, 3, 7, 8, 9, 10))
    assert follower.look() == Counts()


def test_a_file_that_was_written_anew_and_is_longer_by_now_is_new(follower: Follower) -> None:
    """Where no line ends any more at the position that was read, all lines of the file are read."""
    follower.write(1, 2, 3)
    follower.look()
    follower.restart()
    follower.log.write_bytes(body(1, 1_000_000, 7, 8))
    follower.look()
    assert set(follower.answers()) == set(expected(1, 2, 3, 7, 8, 1_000_000))


def test_few_files_are_held_open(follower: Follower, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many files grow, so many descriptors are used at most; files at rest are let go."""
    monkeypatch.setattr(open_file, "MOST_OPEN", 3)
    for number in range(12):
        (follower.logs / f"{number}.log").write_bytes(body(number))
    follower.look()
    assert len(follower.held_open()) == 3
    for number in range(12):
        (follower.logs / f"{number}.log").unlink()
    follower.look()
    follower.later = timedelta(minutes=6)
    follower.look()
    assert follower.held_open() == []


def test_finished_files_are_not_opened_again(follower: Follower, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at files that rest opens none of them, before and after a restart but for one time."""
    for number in range(5):
        (follower.logs / f"{number}.log").write_bytes(body(number))
    follower.later = timedelta(minutes=6)
    follower.look()
    opened: list[str] = []
    really_open = os.open

    def watched(path: str, *how: int, **where: int) -> int:
        opened.extend([Path(path).name] if str(path).startswith(f"{follower.logs}/") else [])
        return really_open(path, *how, **where)

    monkeypatch.setattr(os, "open", watched)
    follower.look()
    assert opened == []
    follower.restart()
    follower.look()
    assert sorted(opened) == [f"{number}.log" for number in range(5)]
    follower.look()
    assert len(opened) == 5


def ends(follower: Follower) -> list[tuple[int, int | None]]:
    """Position and exhausted size of each batch, in the order in which they were committed."""
    rows = (
        follower.lake.table(BATCHES).read(["source", "exhausted_size", "committed_at", "lines"]).sort_by("committed_at")
    )
    return [(row["source"]["offset"], row["exhausted_size"]) for row in rows.to_pylist() if row["lines"]]


@pytest.mark.parametrize("new_name", ["aidial.log.1", "rotated"], ids=["matches", "matches-not"])
def test_the_size_at_the_end_of_a_rolled_file_is_that_at_its_position(follower: Follower, new_name: str) -> None:
    """What was written between two looks of one batch and before the roll counts in both, or in neither."""
    follower.write(1)
    follower.source.read_into(follower.collector)
    follower.write(2)
    follower.log.rename(follower.logs / new_name)
    follower.write(3)
    follower.look()
    assert sorted(ends(follower)) == sorted((size, size) for size in (len(body(3)), len(body(1, 2))))


def test_a_batch_that_does_not_reach_the_end_says_no_size(follower: Follower) -> None:
    """A file whose next line is still being written was not read to its end, though it was before."""
    follower.write(1)
    follower.source.read_into(follower.collector)
    follower.write(2)
    with follower.log.open("ab") as file:
        file.write(body(3)[:50])
    follower.look()
    assert ends(follower) == [(len(body(1, 2)), None)]


def test_a_file_that_grows_behind_its_listing_ends_where_it_was_read_to(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The size is that of the lines that were taken, not that of a moment before."""
    follower.write(1)
    find = follower.source.find

    def found() -> list[LogFile]:
        listed = find()
        follower.write(2)
        return listed

    monkeypatch.setattr(follower.source, "find", found)
    follower.look()
    assert ends(follower) == [(len(body(1, 2)), len(body(1, 2)))]


def test_a_file_that_reaches_the_size_of_the_rolled_one_is_read_on(follower: Follower) -> None:
    """Two files bore the name; how far one was read says nothing about the other."""
    follower.write(1)
    follower.look()
    with follower.log.open("ab") as writer:
        follower.log.rename(follower.logs / "rotated")
        follower.write(3)
        follower.look()
        writer.write(body(2))
        writer.flush()
        follower.look()
    follower.write(4)
    follower.look()
    assert follower.answers() == expected(1, 2, 3, 4)


def cut_off(lake: Lake, logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commit the rows of all files, and then be killed."""
    with monkeypatch.context() as patch:
        patch.setattr(BatchCommitter, "_write_batches", Mock(side_effect=OSError("killed")))
        collector = Collector(lake, CollectorSettings())
        FileSource([str(logs)], Storage()).read_into(collector)
        with pytest.raises(OSError, match="killed"):
            collector.flush()


@pytest.mark.parametrize("new_name", ["0.log", "0.log.1"])
def test_what_a_cut_off_batch_left_is_known_under_another_name(
    lake: Lake, logs: Path, monkeypatch: pytest.MonkeyPatch, new_name: str
) -> None:
    """A file that is renamed after a kill is read anew; what could not be read of it is a row once."""
    (logs / "0.log").write_bytes(b"greeting\nno json\n" + body(1))
    cut_off(lake, logs, monkeypatch)
    (logs / "0.log").rename(logs / new_name)
    for _ in range(2):
        collector = Collector(lake, CollectorSettings())
        FileSource([str(logs)], Storage()).read_into(collector)
        collector.flush()
    assert sorted(lake.table(REJECTED).read()["raw"].to_pylist()) == [b"greeting", b"no json"]
    assert lake.table(PARSED_LOGS, "rag-app").read().num_rows == 1


def test_a_file_of_another_folder_is_not_taken_for_one_that_went(
    lake: Lake, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of a container is gone with its log after a kill, and another one greets alike."""
    for folder in ("a", "b"):
        (logs / folder).mkdir()
    (logs / "a/0.log").write_bytes(b"greeting\n")
    cut_off(lake, logs, monkeypatch)
    (logs / "a/0.log").unlink()
    (logs / "b/0.log").write_bytes(b"greeting\n")
    collector = Collector(lake, CollectorSettings())
    FileSource([str(logs)], Storage()).read_into(collector)
    assert collector.flush() == Counts(lines=1, rejected=1)


def test_a_file_that_is_still_there_is_not_taken_for_its_like(
    lake: Lake, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two files of a folder greet alike; the batch of one was cut off, and it is read anew under its name."""
    (logs / "b.log").write_bytes(b"greeting\n")
    cut_off(lake, logs, monkeypatch)
    (logs / "a.log").write_bytes(b"greeting\n" + body(1))
    collector = Collector(lake, CollectorSettings())
    FileSource([str(logs)], Storage()).read_into(collector)
    assert collector.flush() == Counts(lines=3, stored=1, rejected=2)
    assert lake.table(REJECTED).read().num_rows == 2
