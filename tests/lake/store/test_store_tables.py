"""Tables of a store: what is written without deltalake it reads, after checkpoints too, and requests are counted."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake.maintenance.compaction import compact
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.spec.service_vocabulary import RequestKind, StoreUser
from lake.store import upload, whole_files
from lake.store.log_copy import LAST_CHECKPOINT, LOG
from lake.store.requests import store_requests
from lake.tables.buffered_files import BufferedFiles
from lake.tables.lake import Lake
from lake.tables.table import Table
from tests.servers import Bucket

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("s3")]

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def scores(*names: str) -> pa.Table:
    return SCORES.rows([{"score_id": name, "date": NOON.date()} for name in names])


def names_of(table: Table) -> list[str]:
    return sorted(table.read(["score_id"])["score_id"].to_pylist())


def by_kind(user: StoreUser) -> Counter[RequestKind]:
    return Counter({kind: number for (one, kind), number in store_requests().items() if one == user})


def test_deltalake_and_new_handles_read_what_was_written(bucket: Bucket) -> None:
    """Two writers, three checkpoints and a compaction: all rows, once, and the position of each writer."""
    lake = Lake(f"{bucket.uri}/lake", bucket.storage)
    writers, early = [lake.table(SCORES, "app") for _ in range(2)], lake.table(SCORES, "app")
    seen: list[str] = []
    version = None
    for number in range(65):
        writer = writers[number % 2]
        writer.progress([f"writer {number % 2}"])
        writer.append(scores(f"{number:02}"), {f"writer {number % 2}": number + 1})
        if number % 9 == 0:
            change = early.read_since(version, ["score_id"])
            seen, version = seen + change.rows["score_id"].to_pylist(), change.version
        if number == 30:
            compact(writer)
    change = early.read_since(version, ["score_id"])
    written = [f"{number:02}" for number in range(65)]
    assert sorted(seen + change.rows["score_id"].to_pylist()) == written
    late = lake.table(SCORES, "app")
    assert names_of(late) == names_of(writers[0]) == written
    assert sorted(late.dataset().to_table(["score_id"])["score_id"].to_pylist()) == written
    assert late.progress(["writer 0", "writer 1", "nobody"]) == {"writer 0": 65, "writer 1": 64}
    delta = DeltaTable(late.uri, storage_options=bucket.storage.delta_options())
    assert sorted(delta.to_pyarrow_table(columns=["score_id"])["score_id"].to_pylist()) == written
    assert delta.transaction_version("writer 0") == 65


def test_an_append_is_two_writes_and_two_reads(bucket: Bucket) -> None:
    """The requests of a user of the lake are counted as such, one for one."""
    lake = Lake(f"{bucket.uri}/lake", bucket.storage).used_by(StoreUser.EVALUATOR)
    table = lake.table(SCORES, "app")
    with lake.noting_together():
        table.append(scores("a"))
        before = by_kind(StoreUser.EVALUATOR)
        for number in range(3):
            table.progress(["writer"])
            table.append(scores("b"), {"writer": number + 1})
        made = by_kind(StoreUser.EVALUATOR) - before
    assert made == {RequestKind.GET: 6, RequestKind.PUT: 6}


def test_what_this_process_has_written_it_does_not_fetch(bucket: Bucket) -> None:
    """A reader that is told a version reads the rows without a request."""
    lake = Lake(f"{bucket.uri}/lake", bucket.storage)
    writer, reader = lake.table(SCORES, "app"), lake.used_by(StoreUser.MONITOR).table(SCORES, "app")
    writer.append(scores("a"))
    assert names_of(reader) == ["a"]
    before = by_kind(StoreUser.MONITOR)
    writer.append(scores("b"))
    assert names_of(reader) == ["a", "b"]
    # The next commit, the last known one, and that there is no later one.
    assert by_kind(StoreUser.MONITOR) - before == {RequestKind.GET: 3}


def test_a_large_file_is_sent_in_parts_and_a_failed_one_is_not_there(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows come back as they were; where the rows end with an error no file is left."""
    monkeypatch.setattr(upload, "_PART_BYTES", 5 << 20)
    monkeypatch.setattr(whole_files, "_KEPT", whole_files._Kept(0))
    lake = Lake(f"{bucket.uri}/lake", bucket.storage)
    table = lake.table(PARSED_LOGS, "app")
    texts = [NOON.isoformat() + bytes((7 * n + k) % 94 + 33 for k in range(200)).decode() * 40 for n in range(4000)]
    cells = [{"event_id": str(n), "date": NOON.date(), "answer": text[n % 90 :]} for n, text in enumerate(texts)]
    rows = PARSED_LOGS.rows(cells)
    monkeypatch.setattr("lake.delta_log.writing._compression", lambda *_: {"compression": "none"})
    table.append(rows)
    assert by_kind(StoreUser.OTHER)[RequestKind.POST] >= 2
    read = table.read(["event_id", "answer"]).sort_by("event_id")
    assert read.equals(rows.select(["event_id", "answer"]).sort_by("event_id"))

    def broken():  # type: ignore[no-untyped-def]
        yield rows
        raise ValueError("no more")

    files, path = bucket.storage.filesystem(table.uri)
    before = sorted(files.find(path))
    with pytest.raises(ValueError, match="no more"):
        table.write(broken())
    assert sorted(files.find(path)) == before


def test_encoded_rows_are_sent_in_parts_and_each_request_is_counted(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large file is begun, sent and ended, a small one put; what a store refuses is not there, and sent again."""
    lake = Lake(f"{bucket.uri}/lake", bucket.storage).used_by(StoreUser.COLLECTOR)
    table, files = lake.table(PARSED_LOGS, "app"), BufferedFiles(PARSED_LOGS)
    monkeypatch.setattr("lake.delta_log.writing._compression", lambda *_: {"compression": "none"})
    monkeypatch.setattr(whole_files, "_KEPT", whole_files._Kept(0))
    text = "a text " * 30_000
    cells = [{"event_id": str(n), "date": date(2026, 11, 20 + n // 90), "answer": f"{n}{text}"} for n in range(91)]
    rows = PARSED_LOGS.rows(cells)
    files.add(rows.to_batches()[0])
    store, path = bucket.storage.filesystem(table.uri)
    close = upload.Upload.close

    def refused(file: upload.Upload) -> None:
        if file.tell() < 1 << 20:
            raise PermissionError("no")
        close(file)

    with monkeypatch.context() as patch:
        patch.setattr(upload.Upload, "close", refused)
        with pytest.raises(PermissionError):
            files.store(table)
    assert store.find(path) == []
    with lake.noting_together():
        before = by_kind(StoreUser.COLLECTOR)
        table.commit(files.store(table))
        made = by_kind(StoreUser.COLLECTOR) - before
    # Parts of 8 MiB and the rest, the small file, and two commits: the table is made by the first one.
    assert (made[RequestKind.POST], made[RequestKind.PUT]) == (2, 3 + 1 + 2)
    read = table.read(["event_id", "answer"])
    assert read.sort_by("event_id").equals(rows.select(["event_id", "answer"]).sort_by("event_id"))


def test_a_log_whose_checkpoint_another_program_wrote_is_read_all_the_same(bucket: Bucket) -> None:
    """deltalake opens it then."""
    lake = Lake(f"{bucket.uri}/lake", bucket.storage)
    table = lake.table(SCORES, "app")
    table.append(scores("a"))
    files, path = bucket.storage.filesystem(table.uri)
    files.pipe_file(f"{path}/{LOG}/{LAST_CHECKPOINT}", b'{"version": 1, "parts": 2}')
    other = lake.table(SCORES, "app")
    assert names_of(other) == ["a"]
    for number in range(25):
        other.append(scores(f"b{number:02}"))
    assert len(names_of(lake.table(SCORES, "app"))) == 26


def test_a_table_that_another_handle_has_open_costs_two_reads(bucket: Bucket) -> None:
    """The last commit is in its place and none follows: nothing else is asked. After a commit all is read anew."""
    lake = Lake(f"{bucket.uri}/lake", bucket.storage)
    for number in range(5):
        lake.table(SCORES, "app").append(scores(str(number)), {"source": number + 1})
    reader, before = lake.used_by(StoreUser.MONITOR), by_kind(StoreUser.MONITOR)
    first, second = reader.table(SCORES, "app"), reader.table(SCORES, "app")
    assert first.version() == 5
    between = by_kind(StoreUser.MONITOR)
    assert between - before > Counter({RequestKind.GET: 6})
    assert second.version() == 5
    assert by_kind(StoreUser.MONITOR) - between == {RequestKind.GET: 2}
    assert (second.progress(["source"]), names_of(second)) == ({"source": 5}, [*"01234"])
    lake.table(SCORES, "app").append(scores("5"), {"source": 6})
    third = reader.table(SCORES, "app")
    assert (third.progress(["source"]), names_of(third)) == ({"source": 6}, [*"012345"])


def test_a_table_that_was_made_anew_is_not_the_one_that_is_open(bucket: Bucket) -> None:
    """Another table at its place, also with more commits, is read by a new handle as what it is."""
    lake = Lake(f"{bucket.uri}/lake", bucket.storage)
    table = lake.table(SCORES, "app")
    table.append(scores("old"), {"source": 7})
    assert table.version() == 1
    filesystem, path = bucket.storage.filesystem(table.uri)
    filesystem.rm(path, recursive=True)
    for number in range(3):
        lake.table(SCORES, "app").append(scores(f"new {number}"))
    again = lake.table(SCORES, "app")
    assert (again.version(), again.progress(["source"])) == (3, {})
    assert names_of(again) == ["new 0", "new 1", "new 2"]
