from __future__ import annotations

import gzip
import itertools
import os
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from collector.commit.batch import Counts
from collector.metrics.last_lines import LastLines
from collector.pipeline.collector import Collector
from collector.runners.follow import follow_files
from collector.settings import CollectorSettings
from collector.sources.files.settings import FilesSettings
from collector.sources.files.source import NO_FILE, FileSource
from lake.delta_log.change import LostRaceError
from lake.spec.root_tables import REJECTED
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from lake.tables.storage import Storage
from tests.collector.lines import chat_line
from tests.servers import Bucket


def collect(lake: Lake, *paths: object, storage: Storage | None = None, later: timedelta = timedelta()) -> Counts:
    collector = Collector(lake, CollectorSettings())
    source = FileSource([str(path) for path in paths], storage or Storage(), lambda: datetime.now(UTC) + later)
    source.read_into(collector)
    collector.flush()
    return collector.totals


def answers(lake: Lake) -> list[str]:
    return sorted(lake.table(PARSED_LOGS, "rag-app").read(["answer"])["answer"].to_pylist())


def body(*numbers: int) -> bytes:
    return b"".join(chat_line(number) + b"\n" for number in numbers)


def test_files_are_read_once(lake: Lake, logs: Path) -> None:
    """The second run over the same files brings not one row more, and takes no line again."""
    (logs / "aidial-2026-11-20.0.log").write_bytes(body(1, 2))
    (logs / "aidial-2026-11-20.1.log.gz").write_bytes(gzip.compress(body(3)))
    assert collect(lake, logs / "*.log*") == Counts(lines=3, stored=3)
    assert collect(lake, logs / "*.log*") == Counts()
    assert answers(lake) == ["Answer 1.", "Answer 2.", "Answer 3."]


def test_a_folder_names_all_files_under_it(lake: Lake, logs: Path) -> None:
    """A folder is read with its folders, hidden files left out; a file that two patterns name is read once."""
    (logs / "deep").mkdir()
    (logs / "deep" / "a.log").write_bytes(body(1))
    (logs / ".checkpoint").write_bytes(b"state of the shipper")
    assert collect(lake, logs, logs / "deep" / "a.log") == Counts(lines=1, stored=1)


def test_a_growing_file_is_read_on(lake: Lake, logs: Path) -> None:
    """Lines that are added later are read later, and only they."""
    log = logs / "a.log"
    log.write_bytes(body(1))
    collect(lake, logs)
    with log.open("ab") as file:
        file.write(body(2))
    assert collect(lake, logs) == Counts(lines=1, stored=1)


def test_a_line_that_is_being_written_waits(lake: Lake, logs: Path) -> None:
    """Half a line is not taken while its file may still grow; when it is whole it is one row."""
    log = logs / "a.log"
    whole = body(1, 2)
    log.write_bytes(whole[:-40])
    assert collect(lake, logs) == Counts(lines=1, stored=1)
    log.write_bytes(whole)
    assert collect(lake, logs) == Counts(lines=1, stored=1)
    assert answers(lake) == ["Answer 1.", "Answer 2."]


def test_a_whole_last_line_needs_no_newline(lake: Lake, logs: Path) -> None:
    """A last line that is whole JSON is taken at once, and its newline later changes nothing."""
    log = logs / "a.log"
    log.write_bytes(chat_line(1))
    assert collect(lake, logs).stored == 1
    log.write_bytes(body(1, 2))
    assert collect(lake, logs) == Counts(lines=1, stored=1)


def test_half_a_line_at_the_end_of_a_file_that_rests_is_reported(lake: Lake, logs: Path) -> None:
    """Five minutes after the last change nothing more will come: what is there is taken for what it is."""
    (logs / "a.log").write_bytes(body(1) + b'{"apiType":"DialOpenAI","chat"')
    assert collect(lake, logs).rejected == 0
    assert collect(lake, logs, later=timedelta(minutes=6)).rejected == 1
    assert lake.table(REJECTED).read(["raw"]).to_pylist() == [{"raw": b'{"apiType":"DialOpenAI","chat"'}]


def test_a_name_that_is_used_again_is_a_new_file(lake: Lake, logs: Path) -> None:
    """A rolled file under an old name is read from its beginning, also when it is as long as the old one."""
    log = logs / "aidial.log"
    log.write_bytes(body(1))
    collect(lake, logs)
    log.write_bytes(body(2))
    assert collect(lake, logs) == Counts(lines=1, stored=1)
    assert answers(lake) == ["Answer 1.", "Answer 2."]


def test_a_file_is_not_finished_before_its_clock_has_gone_on(lake: Lake, logs: Path) -> None:
    """A file that is written anew in the same tick of its clock, with as many bytes, is read."""
    log, changed_at = logs / "aidial.log", datetime(2026, 11, 20, 12, tzinfo=UTC)
    collector = Collector(lake, CollectorSettings())
    source = FileSource([str(logs)], Storage(), lambda: changed_at + timedelta(seconds=1))
    for number in (1, 2):
        log.write_bytes(body(number))
        os.utime(log, (changed_at.timestamp(), changed_at.timestamp()))
        source.read_into(collector)
    assert collector.flush() == Counts(lines=2, stored=2)


def test_a_file_that_was_moved_gives_nothing_again(lake: Lake, logs: Path) -> None:
    """A file that is renamed between two runs, though it was just written to, is known by its content."""
    log = logs / "a.log"
    log.write_bytes(body(1, 2))
    collect(lake, logs)
    log.rename(logs / "b.log")
    assert collect(lake, logs) == Counts()


def test_a_cut_gzip_keeps_what_came_before_the_cut(lake: Lake, logs: Path) -> None:
    """The whole lines of a gzip that ends early are rows; that it ends early is one rejection with its reason."""
    packed = gzip.compress(b"".join(chat_line(n, noise=os.urandom(2000).hex()) + b"\n" for n in range(50)))
    (logs / "a.log.gz").write_bytes(packed[: len(packed) // 2])
    waiting = collect(lake, logs)
    assert 15 < waiting.stored < 35
    assert waiting.rejected == 0
    rested = collect(lake, logs, later=timedelta(minutes=6))
    assert rested.add_up()
    reasons = lake.table(REJECTED).read(["reason"])["reason"].to_pylist()
    assert reasons.count("broken_gzip") == 1
    assert collect(lake, logs, later=timedelta(minutes=6)) == Counts()


def test_an_empty_file_is_nothing(lake: Lake, logs: Path) -> None:
    """Files without a line cost nothing, plain or packed."""
    (logs / "a.log").write_bytes(b"")
    (logs / "b.log.gz").write_bytes(gzip.compress(b""))
    (logs / "c.log").write_bytes(b"\n\n")
    assert collect(lake, logs).lines == 0


def test_a_file_that_cannot_be_read_costs_only_itself(
    lake: Lake, logs: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The files after it are read, the log says once what to do, and when it is mended it is read too."""
    for number in (1, 2, 3):
        (logs / f"{number}.log").write_bytes(body(number))
    really_open = os.open

    def refused(path: str, *how: int, **where: int) -> int:
        # As root, which tests may run as, a mode of 000 refuses nobody.
        if str(path) == str(logs / "2.log"):
            raise PermissionError(13, "Permission denied")
        return really_open(path, *how, **where)

    collector, source = Collector(lake, CollectorSettings()), FileSource([str(logs)], Storage())
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refused)
        for _ in range(3):
            source.read_into(collector)
    assert list(source.unreadable) == [str(logs / "2.log")]
    assert caplog.text.count("give the collector the right to read it") == 1
    collector.flush()
    assert answers(lake) == ["Answer 1.", "Answer 3."]
    source.read_into(collector)
    assert source.unreadable == {}
    assert collector.flush().stored == 1


def test_the_name_of_a_file_may_be_any_bytes(lake: Lake, logs: Path) -> None:
    """A name that is no Unicode is stored with a replacement, and the file is read once."""
    (Path(os.fsdecode(bytes(logs) + b"/\xff.log"))).write_bytes(body(1))
    assert collect(lake, logs).stored == 1
    assert collect(lake, logs) == Counts()
    source = lake.table(PARSED_LOGS, "rag-app").read(["source"])["source"].to_pylist()[0]
    assert source["name"].endswith("/\ufffd.log")


@pytest.mark.parametrize(
    ("name", "pattern"),
    [("app[1].log", "app[1].log"), ("what?.log", "what?.log"), ("[p]/a.log", "[p]/a.log"), ("[p]/a.log", "[p]/*.log")],
)
def test_a_name_that_looks_like_a_glob_names_what_is_there(lake: Lake, logs: Path, name: str, pattern: str) -> None:
    """Of a file, and of a folder with files; what the glob would match is not meant."""
    (logs / name).parent.mkdir(exist_ok=True)
    for number, one in enumerate((name, "app1.log", "whatX.log")):
        (logs / one).write_bytes(chat_line(number) + b"\n")
    source = FileSource([f"{logs}/{pattern}"], Storage())
    assert [file.uri for file in source.find()] == [str(logs / name)]
    collector = Collector(lake, CollectorSettings())
    source.read_into(collector)
    assert collector.flush().stored == 1


def test_an_empty_path_is_refused() -> None:
    """It would be the current folder, where a shell's variable was not set."""
    with pytest.raises(ValidationError, match=r"a path is empty: name a file, a folder or a glob"):
        FilesSettings(paths=["/var/log/a.log", ""])


def test_a_lake_among_the_logs_is_not_read(tmp_path: Path) -> None:
    """The collector does not feed on the tables that it writes."""
    lake = Lake(str(tmp_path / "lake-data"))
    (tmp_path / "a.log").write_bytes(body(1))
    source = FileSource([str(tmp_path)], Storage(), exclude=lake.root)
    for _ in range(3):
        collector = Collector(lake, CollectorSettings())
        assert source.read_into(collector) == 1
        collector.flush()
    assert lake.table(REJECTED).read().num_rows == 0


def test_stopping_does_not_wait_for_the_backlog(lake: Lake, logs: Path) -> None:
    """Asked to stop, the source hands over no further line; the next run goes on there."""
    (logs / "a.log").write_bytes(body(*range(10)))
    (logs / "b.log").write_bytes(body(10))
    collector = Collector(lake, CollectorSettings())
    answered = iter([False] * 4)
    FileSource([str(logs)], Storage()).read_into(collector, lambda: next(answered, True))
    assert collector.flush().stored == 4
    assert collect(lake, logs).stored == 7


def test_a_file_that_is_held_open_is_read_again_from_its_beginning(lake: Lake, logs: Path) -> None:
    """A file of which nothing is committed yet is read again where the batch with its first lines was given up."""
    collector, source = Collector(lake, CollectorSettings()), FileSource([str(logs)], Storage())
    (logs / "a.log").write_bytes(body(1, 2))
    source.read_into(collector)
    collector._give_up()
    for _ in range(2):
        source.read_into(collector)
    assert collector.flush() == Counts(lines=2, stored=2)
    assert answers(lake) == ["Answer 1.", "Answer 2."]


def test_a_batch_that_was_given_up_is_read_again(lake: Lake, logs: Path) -> None:
    """When another source's commit loses a race in the middle of a file, no line of the file is passed over."""
    (logs / "a.log").write_bytes(body(*range(6)))
    collector = Collector(lake, CollectorSettings())
    calls = itertools.count()

    def lose_a_race_at_the_third_line() -> bool:
        if next(calls) == 3:
            collector._give_up()
        return False

    source = FileSource([str(logs)], Storage())
    with pytest.raises(LostRaceError, match="read again"):
        source.read_into(collector, lose_a_race_at_the_third_line)
    source.read_into(collector)
    assert collector.flush() == Counts(lines=6, stored=6)
    assert collect(lake, logs) == Counts()


def test_objects_of_a_store_are_read_once(bucket: Bucket) -> None:
    """Vector's objects on an S3-like store, packed or not, become rows of a lake on the same store."""
    lake = Lake(f"{bucket.uri}/lake", bucket.storage)
    filesystem, root = bucket.storage.filesystem(f"{bucket.uri}/raw")
    filesystem.pipe(f"{root}/date=2026-11-201763632000-1c.log.gz", gzip.compress(body(1, 2)))
    filesystem.pipe(f"{root}/date=2026-11-201763632300-2d.log", body(3)[:-1])
    pattern = f"{bucket.uri}/raw/date=*"
    assert collect(lake, pattern, storage=bucket.storage) == Counts(lines=3, stored=3)
    assert collect(lake, pattern, storage=bucket.storage) == Counts()
    assert answers(lake) == ["Answer 1.", "Answer 2.", "Answer 3."]


def test_following_reads_what_comes_until_it_is_asked_to_stop(lake: Lake, logs: Path) -> None:
    """Lines that come while it runs are stored, and what is open at the end is committed."""
    collector, stop = Collector(lake, CollectorSettings(flush_seconds=3600)), threading.Event()
    source = FileSource([str(logs)], Storage())
    thread = threading.Thread(target=follow_files, args=(source, collector, 0.01, stop))
    thread.start()
    partial = body(1, 2)
    (logs / "a.log").write_bytes(partial[:100])
    time.sleep(0.1)
    (logs / "a.log").write_bytes(partial)
    deadline = time.monotonic() + 60
    while collector._batch.counts().lines < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    stop.set()
    thread.join()
    assert collector.totals == Counts(lines=2, stored=2)
    assert answers(lake) == ["Answer 1.", "Answer 2."]


def test_a_file_of_a_container_is_read_while_its_lines_are_written_in_parts(lake: Lake, logs: Path) -> None:
    """A line that containerd writes in parts is one row once its last part is there; other lines do not wait."""
    log, line = logs / "0.log", chat_line(2)
    stamp = b"2026-11-24T09:00:00.1Z stdout %b "
    log.write_bytes(stamp % b"F" + chat_line(1) + b"\n" + stamp % b"P" + line[:200] + b"\n")
    assert collect(lake, logs) == Counts(lines=1, stored=1)
    with log.open("ab") as file:
        file.write(stamp % b"P" + line[200:300] + b"\n")
    assert collect(lake, logs) == Counts()
    with log.open("ab") as file:
        file.write(stamp % b"F" + line[300:] + b"\n" + stamp % b"F" + chat_line(3) + b"\n")
    assert collect(lake, logs) == Counts(lines=2, stored=2)
    assert collect(lake, logs) == Counts()
    assert answers(lake) == ["Answer 1.", "Answer 2.", "Answer 3."]


def test_a_rotated_file_of_a_container_is_known_by_its_content(lake: Lake, logs: Path) -> None:
    """Compressed under another name, a file with lines in parts brings no line again."""
    log, line = logs / "0.log", chat_line(1)
    stamp = b"2026-11-24T09:00:00.1Z stdout %b "
    body = stamp % b"P" + line[:200] + b"\n" + stamp % b"F" + line[200:] + b"\n"
    log.write_bytes(body)
    assert collect(lake, logs, later=timedelta(minutes=6)).stored == 1
    assert collect(lake, logs, later=timedelta(minutes=6)) == Counts()
    log.unlink()
    (logs / "0.log.1.gz").write_bytes(gzip.compress(body))
    assert collect(lake, logs, later=timedelta(minutes=6)) == Counts()


def test_a_file_that_was_truncated_under_its_writer_loses_no_line(lake: Lake, logs: Path) -> None:
    """After copytruncate a writer goes on at its old place, behind a hole that may be larger than the longest line."""
    log = logs / "a.log"
    log.write_bytes(body(1))
    collect(lake, logs)
    with log.open("r+b") as file:
        file.truncate(0)
        file.seek(65 << 20)
        file.write(body(2, 3))
    assert collect(lake, logs).stored == 2
    with log.open("ab") as file:
        file.write(body(4))
    assert collect(lake, logs) == Counts(lines=1, stored=1)
    assert answers(lake) == ["Answer 1.", "Answer 2.", "Answer 3.", "Answer 4."]


def test_each_path_says_what_it_lacks_and_when_it_got_a_line(lake: Lake, logs: Path) -> None:
    """A path that matches no file, or whose folder was renamed, is told apart from one whose writer is silent."""
    seconds, collector = [0.0], Collector(lake, CollectorSettings())
    lines = LastLines(monotonic=lambda: seconds[0])
    paths = [f"{logs}/a/*.log", f"{logs}/b/*.log", f"{logs}/typo/*.log"]
    source = FileSource(paths, Storage(), last_lines=lines)
    for folder in ("a", "b"):
        (logs / folder).mkdir()
        (logs / folder / "core.log").write_bytes(body(1))
    source.read_into(collector)
    assert [name for name, at in lines.newest().items() if at is None] == [f"file {logs}/typo/*.log"]
    (logs / "a").rename(logs / "renamed")
    for _ in range(2):
        source.read_into(collector)
        seconds[0] += 60
    assert lines.problem(3600) == f"file {logs}/a/*.log: {NO_FILE}; file {logs}/typo/*.log: {NO_FILE}"
    (logs / "renamed").rename(logs / "a")
    (logs / "typo").symlink_to(logs / "a")
    seconds[0] += 3600
    (logs / "a" / "core.log").write_bytes(body(1, 2))
    source.read_into(collector)
    silent = "no line came for 62 minutes: see that its writer is at work and still writes there"
    assert lines.problem(3600) == f"file {logs}/b/*.log: {silent}"


def test_files_that_cannot_be_read_are_a_problem_until_they_can_or_are_gone(lake: Lake, logs: Path) -> None:
    """The first is named with its reason, the others are counted."""
    collector, source = Collector(lake, CollectorSettings()), FileSource([f"{logs}/*"], Storage())
    for name, of in (("a", "self"), ("b", "thread-self")):
        # Nobody can read these, whatever the account.
        (logs / name).symlink_to(f"/proc/{of}/mem")
    one = FileSource([f"{logs}/a", f"{logs}/b"], Storage())
    assert one.problem is source.problem is None
    one.read_into(collector)
    assert one.problem is not None
    assert f"{logs}/a cannot be read now" in one.problem
    assert "(1 more files cannot be read)" in one.problem
    (logs / "a").unlink()
    (logs / "b").unlink()
    one.read_into(collector)
    assert one.problem is None
