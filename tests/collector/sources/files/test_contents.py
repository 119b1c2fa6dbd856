from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import shutil
import threading
import time
from pathlib import Path

import pytest
from deltalake import write_deltalake

from collector.commit.batch import Counts
from collector.commit.position import Piece
from collector.parsing.records import Rejection
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from collector.sources.files.contents import KnownContents
from collector.sources.files.listing import LogFile
from collector.sources.files.open_file import OpenFile
from collector.sources.files.source import FileSource
from lake.delta_log.change import LostRaceError
from lake.spec.root_tables import BATCHES
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from lake.tables.storage import Storage
from lake.tables.table import Table
from tests.collector.lines import chat_line


def body(*numbers: int) -> bytes:
    return b"".join(chat_line(number) + b"\n" for number in numbers)


def rested(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    os.utime(path, (time.time() - 3600, time.time() - 3600))


def collector_of(lake: Lake) -> Collector:
    """A collector that knows no duplicates, so that nothing hides a line that is read twice."""
    return Collector(lake, CollectorSettings(duplicate_window_hours=0))


def run_once(lake: Lake, logs: Path) -> Counts:
    collector, source = collector_of(lake), FileSource([str(logs)], Storage())
    source.read_into(collector)
    counts = collector.flush()
    source.close()
    return counts


def test_a_later_run_knows_what_was_renamed_and_packed(lake: Lake, logs: Path) -> None:
    """Of files that one run has read, the next run reads nothing under new names, but for what is new in them."""
    for number in range(3):
        rested(logs / f"{number}.log", body(number, number + 10))
    assert run_once(lake, logs).stored == 6
    (logs / "0.log").rename(logs / "old-0.log")
    (logs / "1.log").unlink()
    rested(logs / "1.log.gz", gzip.compress(body(1, 11)))
    (logs / "2.log").unlink()
    rested(logs / "2.log.1", body(2, 12, 22))
    assert run_once(lake, logs) == Counts(lines=1, stored=1)
    assert run_once(lake, logs) == Counts()


def test_a_content_costs_no_row_and_no_transaction(lake: Lake, logs: Path) -> None:
    """However many files are finished, each is one transaction of a table; its content is in the row of its lines."""
    for number in range(20):
        rested(logs / f"{number}.log", body(number))
    run_once(lake, logs)
    run_once(lake, logs)
    for table in (lake.table(BATCHES), lake.table(PARSED_LOGS, "rag-app")):
        lines = [
            line for path in Path(table.uri, "_delta_log").glob("*.json") for line in path.read_bytes().splitlines()
        ]
        transactions = [action["txn"]["appId"] for action in map(json.loads, lines) if "txn" in action]
        assert len([app_id for app_id in transactions if app_id.startswith("file:")]) == 20
    rows = lake.table(BATCHES).read().to_pylist()
    assert len(rows) == 20
    assert sum(row["lines"] for row in rows) == sum(row["stored"] for row in rows) == 20
    assert len({row["content"] for row in rows}) == 20


def test_only_lines_that_were_taken_are_known(lake: Lake, logs: Path) -> None:
    """A content is known while its lines are in an open batch or committed, not after the batch was given up."""
    log = logs / "a.log"
    rested(log, body(1, 2))
    collector, source = collector_of(lake), FileSource([str(log)], Storage())
    contents = KnownContents(collector)
    file = OpenFile.open(LogFile(str(log), str(log), log.stat().st_size, source.find()[0].modified_at), Storage())
    assert file is not None
    file.find_place(contents, None)
    source.read_into(collector)
    file.go_to(log.stat().st_size)
    file.know_checksum()
    file.note_content(contents)
    file.close()
    packed = io.BytesIO(gzip.compress(body(1, 2, 3)))
    taken = contents.find(packed, file.begins)
    assert taken == (len(body(1, 2)), file.partition, file.content())
    collector._give_up()
    assert contents.find(packed, file.begins) is None
    assert KnownContents(collector).find(packed, file.begins) is None
    source.read_into(collector)
    collector.flush()
    assert KnownContents(collector).find(packed, file.begins) == taken


@pytest.mark.parametrize("is_packed", [False, True], ids=["renamed", "packed"])
def test_lines_that_are_given_up_while_their_file_is_found_under_a_new_name_are_read_again(
    lake: Lake, logs: Path, monkeypatch: pytest.MonkeyPatch, is_packed: bool
) -> None:
    """Another source's thread gives the batch up between the question for the position and the move to it."""
    log, real, threads = logs / "a.log", Collector.add, list[threading.Thread]()
    (rested if is_packed else Path.write_bytes)(log, body(1, 2))
    collector, source = collector_of(lake), FileSource([str(logs)], Storage())
    source.read_into(collector)

    def refuse(*_: object) -> None:
        raise LostRaceError("another collector was faster")

    def give_up() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(Table, "commit", refuse)
            with pytest.raises(LostRaceError):
                collector.flush()

    def add(self: Collector, piece: Piece) -> list[Rejection]:
        if not piece.raw:
            threads.append(threading.Thread(target=give_up))
            threads[0].start()
            # It cannot end while the position is moved under the collector's lock.
            threads[0].join(0.5)
        return real(self, piece)

    log.unlink() if is_packed else log.rename(logs / "b.log")
    if is_packed:
        rested(logs / "a.log.gz", gzip.compress(body(1, 2)))
    monkeypatch.setattr(Collector, "add", add)
    with contextlib.suppress(LostRaceError):
        source.read_into(collector)
    threads[0].join()
    monkeypatch.setattr(Collector, "add", real)
    source.read_into(collector)
    collector.flush()
    assert lake.table(PARSED_LOGS, "rag-app").read().num_rows == 2


def test_files_that_an_earlier_version_read_are_known(lake: Lake, logs: Path) -> None:
    """Contents of complete files had rows of their own; those of files that grew are known once they grow."""
    rested(logs / "a.log", body(1, 2))
    (logs / "b.log").write_bytes(body(3, 4))
    run_once(lake, logs)
    batches = lake.table(BATCHES)
    written = batches.read().to_pylist()
    shutil.rmtree(batches.uri)
    apart = next(row for row in written if row["source"]["name"].endswith("a.log"))
    begins, checksum = apart["content"].split(":")
    key = f"content:{begins}:{apart['source']['offset']}:{checksum}"
    source = apart["source"] | {"name": "content of files", "partition": key}
    rows = [row | {"content": None} for row in (*written, apart | {"source": source, "lines": 0, "stored": 0})]
    schema = BATCHES.schema.remove(BATCHES.schema.get_field_index("content"))
    write_deltalake(batches.uri, BATCHES.rows(rows).select(schema.names), partition_by=["date"])
    lake = Lake(lake.root)
    with (logs / "b.log").open("ab") as file:
        file.write(body(5))
    (logs / "a.log").rename(logs / "a.log.1")
    assert run_once(lake, logs) == Counts(lines=1, stored=1)
    (logs / "b.log").rename(logs / "b.log.1")
    assert run_once(lake, logs) == Counts()
