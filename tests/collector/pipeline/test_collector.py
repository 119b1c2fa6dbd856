from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from collector.commit.batch import Counts
from collector.commit.position import Partition, Piece
from collector.parsing import SignalRecord
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from lake.delta_log.change import LostRaceError
from lake.spec.root_tables import BATCHES, REJECTED
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from lake.tables.lake import Lake
from tests.collector.lines import chat_line, rating_line
from tests.servers import wait_for

FILE = Partition("file", "/logs/a.log", "a")
KAFKA_PARTITION = Partition("kafka", "topic", "0")
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


def collect(lake: Lake, *raws: bytes, start: int = 0, **settings: object) -> Counts:
    collector = Collector(lake, CollectorSettings.model_validate(settings))
    for offset, raw in enumerate(raws, start + 1):
        collector.add(Piece(FILE, raw, offset))
    return collector.flush()


def answers(lake: Lake) -> list[str]:
    return sorted(lake.table(PARSED_LOGS, "rag-app").read(["answer"])["answer"].to_pylist())


def test_every_line_ends_somewhere(lake: Lake) -> None:
    """Lines are stored, signals, duplicates, rejected or filtered; the five add up and are in `_batches`."""
    embeddings = json.loads(chat_line(7))
    embeddings["request"]["uri"] = "/openai/deployments/rag-app/embeddings"
    raws = [chat_line(1), rating_line(2, "r-1"), chat_line(1), b"no json", json.dumps(embeddings).encode(), b"", b" "]
    counts = collect(lake, *raws, leave_out=["embedding"])
    assert counts == Counts(lines=5, stored=1, signals=1, duplicates=1, rejected=1, filtered=1)
    assert counts.add_up()
    (row,) = lake.table(BATCHES).read().to_pylist()
    assert {name: row[name] for name in vars(counts)} == vars(counts)
    assert (row["first_offset"], row["source"]["offset"]) == (0, 7)
    assert row["newest_requested_at"] == datetime(2026, 11, 20, 10, 0, 17, 500_000, tzinfo=UTC)
    assert lake.table(REJECTED).read().to_pylist()[0]["raw"] == b"no json"
    assert lake.table(USER_SIGNALS, "rag-app").read().to_pylist()[0]["response_id"] == "r-1"


def test_a_row_knows_where_its_line_stands(lake: Lake) -> None:
    """`source` names the file and the position after the line."""
    collect(lake, chat_line(1), chat_line(2))
    rows = lake.table(PARSED_LOGS, "rag-app").read(["source"]).to_pylist()
    assert [row["source"]["offset"] for row in rows] == [1, 2]
    assert rows[0]["source"]["name"] == "/logs/a.log"


def test_a_line_that_is_sent_again_is_counted_and_not_stored(lake: Lake) -> None:
    """A duplicate is known across restarts, whatever position it comes from."""
    assert collect(lake, chat_line(1)).stored == 1
    again = collect(lake, chat_line(1), chat_line(2), start=10)
    assert (again.stored, again.duplicates) == (1, 1)
    assert answers(lake) == ["Answer 1.", "Answer 2."]


def test_a_source_moves_on_where_the_lines_before_are_known_from_another(lake: Lake) -> None:
    """A file that was renamed or copied begins where the other one was read to; what was begun is not moved."""
    collector, copy = Collector(lake, CollectorSettings()), Partition("file", "/logs/a.log.1", "b")
    collector.add(Piece(FILE, chat_line(1), 10))
    with pytest.raises(LostRaceError, match=r"lines of /logs/a\.log was given up"):
        collector.move(copy, 11, FILE)
    collector.move(copy, 10, FILE)
    assert (collector.offset(copy), collector.offset(FILE)) == (10, 10)
    with pytest.raises(LostRaceError, match="it is read again"):
        collector.move(copy, 10, FILE)
    collector.flush()
    assert Collector(lake, CollectorSettings()).offset(copy) == 10
    assert answers(lake) == ["Answer 1."]


def test_a_duplicate_outside_the_window_is_a_row(lake: Lake) -> None:
    """The window is by arrival and can be set."""
    clock = iter([NOW] * 20).__next__
    first = Collector(lake, CollectorSettings(duplicate_window_hours=1), clock)
    first.add(Piece(FILE, chat_line(1), 1))
    first.flush()
    later = Collector(lake, CollectorSettings(duplicate_window_hours=1), lambda: NOW + timedelta(hours=3))
    later.add(Piece(FILE, chat_line(1), 2))
    assert later.flush().stored == 1


def test_a_batch_is_committed_when_it_is_full(lake: Lake) -> None:
    """The size of the open batch is bounded: the next line sends it off, the one after a full one waits for it."""
    collector = Collector(lake, CollectorSettings(flush_bytes=1))
    collector.add(Piece(FILE, chat_line(1), 1))
    assert collector.totals.lines == 0
    collector.add(Piece(FILE, chat_line(2), 2))
    collector.add(Piece(FILE, chat_line(3), 3))
    assert collector.totals.lines == 1
    assert answers(lake)[:1] == ["Answer 1."]
    assert collector.offset(FILE) == 3
    assert collector.flush().lines == 2
    assert answers(lake) == ["Answer 1.", "Answer 2.", "Answer 3."]


def test_a_batch_is_committed_when_it_is_old(lake: Lake) -> None:
    """A line does not wait longer than `flush_seconds` for others."""
    passed = [0.0]
    collector = Collector(lake, CollectorSettings(flush_seconds=30), monotonic=lambda: passed[0])
    collector.add(Piece(FILE, chat_line(1), 1))
    collector.flush_if_due()
    assert collector.totals.lines == 0
    passed[0] += 30
    collector.flush_if_due()
    wait_for(lambda: collector.flush_if_due() or collector.totals.lines == 1)
    assert answers(lake) == ["Answer 1."]


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_clock_that_is_set_makes_no_batch_older_or_younger(lake: Lake, hours: int) -> None:
    """A batch waits for as long as its line has waited, whatever the machine's clock is set to meanwhile."""
    now, passed = [NOW], [0.0]
    collector = Collector(lake, CollectorSettings(flush_seconds=30), lambda: now[0], lambda: passed[0])
    collector.add(Piece(FILE, chat_line(1), 1))
    now[0] += timedelta(hours=hours)
    passed[0] += 29
    collector.flush_if_due()
    assert len(collector.open_batches) == 1
    passed[0] += 1
    wait_for(lambda: collector.flush_if_due() or collector.totals.lines == 1)
    assert answers(lake) == ["Answer 1."]


def test_a_commit_that_failed_halfway_is_finished_later(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """When a table cannot be written the batch stays, and the next try writes just what is missing."""
    collector = Collector(lake, CollectorSettings())
    collector.add(Piece(FILE, chat_line(1), 1))
    collector.add(Piece(FILE, rating_line(2, "r-1"), 2))
    real = lake.table

    def no_signals(spec: object, deployment: str | None = None) -> object:
        if spec is USER_SIGNALS:
            raise OSError("the disk is full")
        return real(spec, deployment)  # type: ignore[arg-type]

    monkeypatch.setattr(lake, "table", no_signals)
    with pytest.raises(OSError, match="disk is full"):
        collector.flush()
    assert answers(lake) == ["Answer 1."]
    monkeypatch.setattr(lake, "table", real)
    assert collector.offset(FILE) == 2
    assert collector.flush() == Counts(lines=2, stored=1, signals=1)
    assert answers(lake) == ["Answer 1."]
    assert lake.table(USER_SIGNALS, "rag-app").read().num_rows == 1
    assert lake.table(BATCHES).read().num_rows == 1


def test_two_collectors_on_one_source_store_each_line_once(lake: Lake) -> None:
    """A collector that comes second finds its rows in the tables and writes none again, also not to `_batches`."""
    one, other = Collector(lake, CollectorSettings()), Collector(lake, CollectorSettings())
    for number in (1, 2):
        for collector in (one, other):
            collector.add(Piece(FILE, chat_line(number), number))
        one.flush()
        other.flush()
    assert answers(lake) == ["Answer 1.", "Answer 2."]
    assert [row["stored"] for row in lake.table(BATCHES).read().to_pylist()] == [1, 1]


@pytest.mark.parametrize("reaches", [2, 4])
def test_a_collector_that_lost_its_partition_is_refused(lake: Lake, reaches: int) -> None:
    """Lines that another collector has committed are refused with their batch, and counted once in `_batches`."""
    stale, owner = Collector(lake, CollectorSettings()), Collector(lake, CollectorSettings())
    for number in range(1, reaches + 1):
        stale.add(Piece(KAFKA_PARTITION, chat_line(number), number - 1))
    for number in (1, 2, 3):
        owner.add(Piece(KAFKA_PARTITION, chat_line(number), number - 1))
    owner.flush()
    with pytest.raises(LostRaceError, match=r"topic \(0\) is committed up to 2, this batch begins after -1"):
        stale.flush()
    assert stale.offset(KAFKA_PARTITION) == 2
    stale.add(Piece(KAFKA_PARTITION, chat_line(4), 3, 2))
    assert stale.flush() == Counts(lines=1, stored=1)
    assert len(answers(lake)) == 4
    assert sum(lake.table(BATCHES).read(["lines"])["lines"].to_pylist()) == 4


def test_a_collector_that_is_overtaken_while_it_commits_is_refused(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """If another collector commits between the data rows of a batch and its `_batches` rows, the batch is refused."""
    stale, owner = Collector(lake, CollectorSettings()), Collector(lake, CollectorSettings())
    for collector, last in ((owner, 3), (stale, 4)):
        for number in range(1, last):
            collector.add(Piece(KAFKA_PARTITION, chat_line(number), number - 1))
    committer = stale._committer
    append = committer._append

    def overtaken(*arguments: Any) -> None:
        owner.flush()
        append(*arguments)

    monkeypatch.setattr(committer, "_append", overtaken)
    with pytest.raises(LostRaceError):
        stale.flush()
    assert stale.offset(KAFKA_PARTITION) == 1
    stale.add(Piece(KAFKA_PARTITION, chat_line(3), 2, 1))
    assert stale.flush().lines == 1
    assert len(answers(lake)) == 3
    assert sum(lake.table(BATCHES).read(["lines"])["lines"].to_pylist()) == 3


def test_a_lost_race_starts_again_from_the_lake(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """When a table refuses a batch because another writer was faster, the batch is dropped and the position re-read."""
    collector = Collector(lake, CollectorSettings())
    collector.add(Piece(FILE, chat_line(1), 1))

    def overtaken(*_: object) -> None:
        Collector(lake, CollectorSettings()).add(Piece(FILE, b"", 0))
        raise LostRaceError("another writer has committed")

    monkeypatch.setattr(collector._committer, "commit", overtaken)
    with pytest.raises(LostRaceError):
        collector.flush()
    assert collector.offset(FILE) == 0
    collector.add(Piece(FILE, chat_line(1), 1))
    assert collector.flush().stored == 1


CHUNKS = "<context>\n<doc id='1' source='a.pdf' page_number='3'>\nThirty days.\n</doc>\n</context>"


def child_line(number: int, parent: int, text: str = CHUNKS) -> bytes:
    """The model call that request `parent` made, with the chunks in its prompt."""
    line = json.loads(chat_line(number, deployment="gpt-4o", parent_deployment="rag-app"))
    line["trace"] = {
        "trace_id": f"{parent + 1:032x}",
        "core_span_id": f"{number + 1:016x}",
        "core_parent_span_id": f"{parent + 1:016x}",
    }
    parts = [{"type": "text", "text": text}, {"type": "text", "text": "Question?"}]
    line["request"]["body"] = json.dumps({"messages": [{"role": "user", "content": parts}]})
    return json.dumps(line).encode()


def test_a_piece_of_crumbs_does_not_fill_the_memory(lake: Lake) -> None:
    """A line of nothing but tiny values ends as a few rejections that hold all its bytes."""
    raw = b"{}" * 100_000
    counts = collect(lake, raw, b"[" + b"0," * 100_000 + b"0]", chat_line(1))
    assert counts.stored == 1
    assert counts.rejected < 300
    kept = lake.table(REJECTED).read(["raw"])["raw"].to_pylist()
    assert sum(entry.count(b"{}") for entry in kept) == 100_000


def test_a_table_that_was_erased_is_made_again(lake: Lake) -> None:
    """When an administrator removes a deployment's folder the collector goes on, with a new table."""
    collector = Collector(lake, CollectorSettings())
    for number in (1, 2):
        collector.add(Piece(FILE, chat_line(number), number, number - 1))
        collector.flush()
    shutil.rmtree(Path(lake.root, "rag-app"))
    collector.add(Piece(FILE, chat_line(3), 3, 2))
    with pytest.raises(FileNotFoundError, match="is gone"):
        collector.flush()
    assert collector.flush().stored == 1
    assert answers(lake) == ["Answer 3."]


@pytest.mark.parametrize("restart", [False, True])
def test_contexts_of_an_application_that_shows_none_come_from_its_child(lake: Lake, restart: bool) -> None:
    """The chunks in the prompt of the application's own model call are its contexts, also across a restart."""
    if restart:
        collect(lake, child_line(50, parent=1))
        collect(lake, chat_line(1), chat_line(2), start=1)
    else:
        collect(lake, child_line(50, parent=1), chat_line(1), chat_line(2))
    columns = ["response_id", "contexts", "contexts_origin"]
    rows = {row["response_id"]: row for row in lake.table(PARSED_LOGS, "rag-app").read(columns).to_pylist()}
    assert rows["r-1"]["contexts_origin"] == "child_call"
    assert [context["text"].strip() for context in rows["r-1"]["contexts"]] == ["Thirty days."]
    assert rows["r-2"]["contexts_origin"] == "none"
    child = lake.table(PARSED_LOGS, "gpt-4o").read(["contexts_origin", "is_entry"]).to_pylist()
    assert child == [{"contexts_origin": "prompt", "is_entry": False}]


def test_a_batch_that_failed_on_its_way_is_tried_again(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error comes with the next call; meanwhile lines are taken until the next batch is full, and none is lost."""
    collector = Collector(lake, CollectorSettings(flush_bytes=1))
    real = lake.table

    def is_full(spec: object, deployment: str | None = None) -> object:
        raise OSError("the disk is full")

    monkeypatch.setattr(lake, "table", is_full)
    collector.add(Piece(FILE, chat_line(1), 1, 0))
    collector.add(Piece(FILE, chat_line(2), 2, 1))
    for _ in range(5):
        with pytest.raises(OSError, match="disk is full"):
            collector.add(Piece(FILE, chat_line(3), 3, 2))
    assert collector.offset(FILE) == 2
    monkeypatch.setattr(lake, "table", real)
    # The last try may still have met the full disk.
    wait_for(lambda: collector.flush().add_up())
    collector.add(Piece(FILE, chat_line(3), 3, 2))
    collector.flush()
    assert collector.totals == Counts(lines=3, stored=3)
    assert answers(lake) == ["Answer 1.", "Answer 2.", "Answer 3."]


def test_a_race_lost_on_the_way_gives_up_what_is_open(lake: Lake) -> None:
    """When another collector has taken over the source, all that is open is given up and nothing is stored twice."""
    collector, other = Collector(lake, CollectorSettings(flush_bytes=1)), Collector(lake, CollectorSettings())
    collector.add(Piece(FILE, chat_line(1), 1, 0))
    collector.flush()
    collector.add(Piece(FILE, chat_line(2), 2, 1))
    collector._committer._table((PARSED_LOGS, "rag-app")).progress = lambda _: {"file:a": 1}  # type: ignore[method-assign]
    other.refresh(FILE)
    other.add(Piece(FILE, chat_line(2), 2, 1))
    other.flush()
    collector.add(Piece(FILE, chat_line(3), 3, 2))
    with pytest.raises(LostRaceError):
        collector.flush()
    assert collector.offset(FILE) == 2
    collector.add(Piece(FILE, chat_line(3), 3, 2))
    collector.flush()
    assert answers(lake) == ["Answer 1.", "Answer 2.", "Answer 3."]


def test_a_lake_that_is_away_when_a_race_was_lost_is_read_later(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is taken before what must be remembered could be read again."""
    collector = Collector(lake, CollectorSettings())
    collector.add(Piece(FILE, chat_line(1), 1, 0))
    collector.flush()
    collector._give_up()
    with monkeypatch.context() as patch:
        patch.setattr(lake, "deployments", lambda: (_ for _ in ()).throw(OSError("away")))
        for _ in range(2):
            with pytest.raises(OSError, match="away"):
                collector.add(Piece(FILE, chat_line(1), 5, 1))
    collector.add(Piece(FILE, chat_line(1), 5, 1))
    assert collector.flush().duplicates == 1


def test_every_record_is_redacted_before_it_is_stored(lake: Lake) -> None:
    """What `settings.redaction` names is in no row, no signal and no rejection, as a line or from the source itself."""
    redaction = {"own": {"fruit": "plum[0-9]"}, "key": "a key of sixteen letters"}
    settings = CollectorSettings.model_validate({"redaction": redaction, "keep_raw_response": True})
    collector = Collector(lake, settings)
    raws = [chat_line(1).replace(b"Answer", b"plum1"), rating_line(2, "plum2"), b"no json plum3"]
    for offset, raw in enumerate(raws, 1):
        collector.add(Piece(FILE, raw, offset))
    collector.add(Piece(FILE, b"cut plum4", 4, problem=("broken_gzip", "it ends early")))
    assert collector.flush() == Counts(lines=4, stored=1, signals=1, rejected=2)
    tables = [lake.table(PARSED_LOGS, "rag-app"), lake.table(USER_SIGNALS, "rag-app"), lake.table(REJECTED)]
    assert all("plum" not in str(table.read().to_pylist()) for table in tables)
    assert "[FRUIT]" in answers(lake)[0]


def test_a_signal_that_is_no_line_is_stored_once(lake: Lake) -> None:
    """A piece may carry a signal; it counts as a line, and one that is sent again is a duplicate."""
    endpoint = Partition("http", "/signals", "run")
    signal = SignalRecord(
        signal_id="not a hash", response_id="r-1", deployment="rag-app", date=NOW.date(), signaled_at=NOW,
        signal="like", value=1.0, confidence=1.0, origin="explicit", user_id=None, chat_id=None, details=None,
    )  # fmt: skip
    collector = Collector(lake, CollectorSettings())
    collector.commit([Piece(endpoint, b"{}", 1, record=signal), Piece(endpoint, b"{}", 2, record=signal)])
    assert collector.totals == Counts(lines=2, signals=1, duplicates=1)
    restarted = Collector(lake, CollectorSettings())
    restarted.commit([Piece(endpoint, b"{}", 3, record=signal)])
    assert restarted.totals == Counts(lines=1, duplicates=1)


def test_the_raw_response_is_kept_where_it_is_asked_for(lake: Lake) -> None:
    """`response_body` is null unless `keep_raw_response` is set."""
    collect(lake, chat_line(1))
    collect(lake, chat_line(2), start=1, keep_raw_response=True)
    rows = lake.table(PARSED_LOGS, "rag-app").read(["answer", "response_body"]).sort_by("answer").to_pylist()
    assert rows[0]["response_body"] is None
    assert "Answer 2." in rows[1]["response_body"]
