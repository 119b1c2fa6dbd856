"""Several collectors write to one lake: a line that came through two of them is stored once."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable

from collector.commit.position import Partition, Piece
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from lake.maintenance.cleaning import remove_history
from lake.spec.root_tables import BATCHES, REJECTED
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from lake.tables.lake import Lake
from lake.tables.table import Table
from tests.collector.lines import chat_line, rating_line

COUNTS = ("lines", "stored", "signals", "duplicates", "rejected", "filtered")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


def file(name: str) -> Partition:
    return Partition("file", f"/logs/{name}.log", name)


def collector(lake: Lake, **settings: object) -> Collector:
    return Collector(lake, CollectorSettings.model_validate(settings))


def answers(lake: Lake) -> list[str]:
    return sorted(lake.table(PARSED_LOGS, "rag-app").read(["answer"])["answer"].to_pylist())


def committed_counts(lake: Lake) -> dict[str, int]:
    rows = lake.table(BATCHES).read(list(COUNTS))
    return {name: sum(rows[name].to_pylist()) for name in COUNTS}


def test_a_line_through_two_collectors_is_stored_once(lake: Lake) -> None:
    """What another collector has stored since this one looked is counted as a duplicate, rating and rejection too."""
    one, other = collector(lake), collector(lake)
    lines = [chat_line(1), rating_line(2, "r-1"), b"no json"]
    for number, line in enumerate(lines, 1):
        one.add(Piece(Partition("http", "/data", "one"), line, number))
        other.add(Piece(Partition("http", "/data", "other"), line, number))
    assert one.flush().duplicates == 0
    assert other.flush().duplicates == 3
    assert lake.table(PARSED_LOGS, "rag-app").read().num_rows == 1
    assert lake.table(USER_SIGNALS, "rag-app").read().num_rows == 1
    assert lake.table(REJECTED).read().num_rows == 1
    assert committed_counts(lake) == dict(zip(COUNTS, (6, 1, 1, 3, 1, 0), strict=True))


def test_a_line_is_known_as_soon_as_its_table_was_looked_at(lake: Lake) -> None:
    """Lines of others found at one commit are duplicates afterwards, and those that were open meanwhile too."""
    one, other = collector(lake), collector(lake)
    one.add(Piece(file("a"), chat_line(1), 1))
    one.add(Piece(file("a"), chat_line(2), 2))
    one.flush()
    other.add(Piece(file("b"), chat_line(3), 1))
    assert other.flush().duplicates == 0
    other.add(Piece(file("b"), chat_line(1), 2))
    assert other.flush().duplicates == 1
    assert answers(lake) == ["Answer 1.", "Answer 2.", "Answer 3."]


def test_a_line_taken_while_its_duplicate_was_found_is_dropped(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that is read while the batch before it meets its duplicate in the table is compared again."""
    one, other = collector(lake), collector(lake, flush_bytes=1)
    one.add(Piece(file("a"), chat_line(1), 1))
    one.flush()
    looked, may_go_on = threading.Event(), threading.Event()
    write = Table.write

    def write_slowly(self: Table, rows: object) -> object:
        looked.set()
        assert may_go_on.wait(30)
        return write(self, rows)  # type: ignore[arg-type]

    monkeypatch.setattr(Table, "write", write_slowly)
    other.add(Piece(file("b"), chat_line(2), 1))
    other.flush_if_due()
    assert looked.wait(30)
    other._batch.bytes = 0
    other.add(Piece(file("b"), chat_line(1), 2))
    may_go_on.set()
    assert other.flush().duplicates == 1
    assert answers(lake) == ["Answer 1.", "Answer 2."]


def test_a_race_is_decided_by_the_table(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """A collector whose commit comes just after another's is refused, looks again, and drops what is there."""
    one, other = collector(lake), collector(lake)
    for number in (1, 2):
        one.add(Piece(file("a"), chat_line(number), number))
    for number in (2, 3):
        other.add(Piece(file("b"), chat_line(number), number))
    commit = Table.commit

    def overtaken(self: Table, *args: object) -> None:
        monkeypatch.setattr(Table, "commit", commit)
        other.flush()
        commit(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(Table, "commit", overtaken)
    counts = one.flush()
    assert (counts.stored, counts.duplicates) == (1, 1)
    assert answers(lake) == ["Answer 1.", "Answer 2.", "Answer 3."]
    table = lake.table(PARSED_LOGS, "rag-app").uri
    on_disk = {str(path.relative_to(table)) for path in Path(table).rglob("*.parquet")}
    assert on_disk == set(DeltaTable(table).file_uris()) or len(on_disk) == 2


@pytest.mark.slow
def test_collectors_that_race_for_the_same_lines_store_each_once(lake: Lake) -> None:
    """Four collectors get the same lines in other orders, each many times at once: every line is one row."""
    numbers = range(40)

    def collect(which: int) -> None:
        own = collector(lake, flush_bytes=4000)
        order = sorted(numbers, key=lambda number: (number * (which + 3)) % 41)
        for place, number in enumerate(order, 1):
            own.add(Piece(file(str(which)), chat_line(number), place))
        own.flush()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(collect, range(4)))
    assert answers(lake) == sorted(f"Answer {number}." for number in numbers)
    assert committed_counts(lake) == dict(zip(COUNTS, (160, 40, 0, 120, 0, 0), strict=True))


@pytest.mark.parametrize("log_is_there", [True, False])
def test_what_others_stored_before_the_window_is_not_read(lake: Lake, log_is_there: bool) -> None:
    """A line is no duplicate of one that another collector stored longer ago than the window, though it is news."""
    now = datetime.now(UTC)
    one = Collector(lake, CollectorSettings(), lambda: now - timedelta(days=60))
    one.add(Piece(file("a"), chat_line(1), 1))
    one.flush()
    other = collector(lake)
    one.add(Piece(file("a"), chat_line(2), 2))
    one.flush()
    recent = collector(lake)
    recent.add(Piece(file("c"), chat_line(3), 1))
    recent.flush()
    if not log_is_there:
        remove_history(lake.table(PARSED_LOGS, "rag-app"), now + timedelta(days=1))
    for number in (1, 2, 3):
        other.add(Piece(file("b"), chat_line(number), number))
    counts = other.flush()
    assert (counts.stored, counts.duplicates) == (2, 1)


def test_alone_nothing_is_read_again(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as no other collector writes to a table none of its rows are read."""
    own = collector(lake)

    def read(*_: object) -> None:
        raise AssertionError("the table was read")

    monkeypatch.setattr(Table, "read_since", read)
    for number in range(1, 5):
        own.add(Piece(file("a"), chat_line(number), number))
        own.flush()
    assert len(answers(lake)) == 4


def test_a_batch_cut_off_by_its_collectors_end_is_finished_by_another(lake: Lake) -> None:
    """Rows of a collector that died before it wrote to `_batches` are no duplicates of the lines that come again."""
    survivor = collector(lake)
    died = collector(lake)
    died.add(Piece(file("a"), chat_line(1), 1))
    died.add(Piece(file("a"), chat_line(2), 2))
    died._committer._write_batches = lambda *_: None  # type: ignore[method-assign]
    died.flush()
    survivor.add(Piece(file("b"), chat_line(3), 1))
    survivor.add(Piece(file("b"), chat_line(2), 2))
    counts = survivor.flush()
    assert (counts.stored, counts.duplicates) == (1, 1)
    survivor.refresh(file("a"))
    assert survivor.offset(file("a")) == 0
    for number in (1, 2):
        survivor.add(Piece(file("a"), chat_line(number), number, number - 1))
    assert survivor.flush().stored == 2
    assert answers(lake) == ["Answer 1.", "Answer 2.", "Answer 3."]
    assert committed_counts(lake)["stored"] == 3


def test_a_partition_that_another_took_over_is_read_from_its_committed_offset(lake: Lake) -> None:
    """After `refresh` the position is the one that the other collector has committed."""
    one, other = collector(lake), collector(lake)
    one.add(Piece(file("a"), chat_line(1), 7))
    one.flush()
    assert other.offset(file("a")) == 0
    other.refresh(file("a"), file("b"))
    assert other.offset(file("a")) == 7
    assert other.offset(file("b")) == 0


_EXIT = """
import sys
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from collector.commit.position import Partition, Piece
from lake import Lake
from tests.collector.lines import chat_line
own = Collector(Lake(sys.argv[1]), CollectorSettings(flush_bytes=1))
for number in (1, 2):
    own.add(Piece(Partition("file", "a", "a"), chat_line(number), number))
raise SystemExit(3)
"""


@pytest.mark.integration
def test_a_process_that_ends_lets_the_commit_finish(lake: Lake) -> None:
    """A batch that is on its way when the process ends is whole in the lake, and nothing keeps the process alive."""
    done = subprocess.run([sys.executable, "-c", _EXIT, lake.root], check=False, timeout=60, cwd=Path.cwd())
    assert done.returncode == 3
    assert answers(lake) == ["Answer 1."]
    assert committed_counts(lake)["stored"] == 1
