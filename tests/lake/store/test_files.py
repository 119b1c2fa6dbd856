"""Files of a store without a store: uploads, files that are kept, ages, and counts of requests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import fsspec
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from lake.spec.service_vocabulary import RequestKind, StoreUser
from lake.store import request_metrics, requests, upload, whole_files
from lake.store.request_metrics import StoreRequests
from lake.store.requests import RequestCounts, kind_of, store_requests
from lake.store.upload import Upload
from lake.store.whole_files import WholeFiles, keep, kept

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


class Store:
    """Files in memory, of which it is known how each was written, and what was asked for."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[Any] = []
        self.has_date = True

    def pipe_file(self, path: str, content: bytes) -> None:
        self.asked.append(("whole", path))
        self.files[path] = content

    def open(self, path: str, mode: str, block_size: int) -> Any:
        self.asked.append(("parts", path, mode, block_size))
        return Parts(self, path)

    def cat_file(self, path: str, max_concurrency: int) -> bytes:
        self.asked.append(("read", path, max_concurrency))
        return self.files[path]

    def rm_file(self, path: str) -> None:
        del self.files[path]

    def info(self, path: str) -> Any:
        return self.files[path]

    def call_s3(self, operation: str, **names: str) -> Any:
        self.asked.append((operation, names))
        headers = {"date": "Fri, 20 Nov 2026 12:00:00 GMT"} if self.has_date else {}
        modified = NOW - timedelta(minutes=5)
        return {"LastModified": modified, "ResponseMetadata": {"HTTPHeaders": headers}}


class Parts:
    def __init__(self, store: Store, path: str) -> None:
        self.store, self.path = store, path
        self.content = b""
        self.closed = self.is_discarded = False

    def write(self, content: Any) -> None:
        self.content += bytes(content)

    def close(self) -> None:
        self.store.files[self.path] = self.content

    def discard(self) -> None:
        self.is_discarded = True
        raise OSError("nothing was begun")


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of ten bytes in all are kept, of up to six each."""
    monkeypatch.setattr(whole_files, "_KEPT", whole_files._Kept(10))
    monkeypatch.setattr(whole_files, "_MOST_BYTES_OF_A_FILE", 6)


@pytest.mark.parametrize(("sizes", "in_parts"), [([3, 4], False), ([3, 5], True), ([8], True), ([4, 4, 9], True)])
def test_a_file_is_sent_in_parts_from_the_size_of_a_part_on(
    store: Store, monkeypatch: pytest.MonkeyPatch, sizes: list[int], in_parts: bool
) -> None:
    """Each byte once, in order, and there only once it is closed."""
    assert upload._PART_BYTES == 8 << 20
    monkeypatch.setattr(upload, "_PART_BYTES", 8)
    file, written = Upload(store, "b/k"), b""
    for number, size in enumerate(sizes):
        content = bytes([65 + number]) * size
        assert file.write(memoryview(content)) == size
        written += content
        assert (file.tell(), file.writable()) == (len(written), True)
        file.flush()
        assert store.files == {}
    for _ in range(2):
        file.close()
        assert store.files == {"b/k": written}
    assert store.asked == [("parts", "b/k", "wb", 8) if in_parts else ("whole", "b/k")]
    assert file.closed


@pytest.mark.parametrize("size", [3, 9])
def test_a_file_that_is_discarded_is_not_there(store: Store, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Also where its parts cannot be taken back; closing it later sends nothing."""
    monkeypatch.setattr(upload, "_PART_BYTES", 8)
    file = Upload(store, "b/k")
    file.write(b"x" * size)
    file.discard()
    file.close()
    assert (store.files, file.closed) == ({}, True)
    if size == 9:
        assert (file._parts.is_discarded, file._parts.closed) == (True, True)


def test_what_was_written_is_kept_and_what_was_asked_for_longest_goes(store: Store) -> None:
    """Up to so many bytes in all; one that is too large is not kept when it is written."""
    for name, size in (("a", 4), ("b", 4), ("large", 7)):
        file = Upload(store, f"f/{name}")
        file.write(b"x" * size)
        file.close()
    files = WholeFiles(store, "f")
    store.asked.clear()
    assert (files("a"), files("b"), store.asked) == (b"xxxx", b"xxxx", [])
    assert files("large") == b"x" * 7
    assert store.asked == [("read", "f/large", 1)]
    store.asked.clear()
    assert (files("large"), store.asked) == (b"x" * 7, [])
    files("a")
    assert store.asked == [("read", "f/a", 1)]


def test_the_bytes_that_are_kept_are_those_of_the_last_put() -> None:
    """One that is put again counts once; exactly as many bytes as are allowed stay."""
    keep("a", b"x" * 6)
    keep("a", b"y" * 6)
    keep("b", b"z" * 4)

    def absent() -> bytes:
        raise FileNotFoundError

    assert (kept("a", absent), kept("b", absent)) == (b"yyyyyy", b"zzzz")
    keep("c", b"1")
    with pytest.raises(FileNotFoundError):
        kept("a", absent)
    assert kept("b", absent) == b"zzzz"


def test_a_file_that_was_asked_for_lately_stays(store: Store) -> None:
    """Of those that are kept the one goes that nobody has asked for longest."""
    keep("f/a", b"aaaa")
    keep("f/b", b"bbbb")
    files = WholeFiles(store, "f")
    assert files("a") == b"aaaa"
    keep("f/c", b"cccc")
    assert (files("a"), files("c"), store.asked) == (b"aaaa", b"cccc", [])
    store.files["f/b"] = b"again"
    assert files("b") == b"again"


def test_the_age_of_a_file_is_by_the_stores_clock(store: Store) -> None:
    """Zero where that does not tell; who has no clock is asked whether the file is there."""
    files = WholeFiles(store, "bucket/folder")
    assert files.age("a/k") == timedelta(minutes=5)
    assert store.asked == [("head_object", {"Bucket": "bucket", "Key": "folder/a/k"})]
    store.has_date = False
    assert files.age("a/k") == timedelta(0)
    memory = fsspec.filesystem("memory", skip_instance_cache=True)
    memory.pipe_file("/age/k", b"x")
    other = WholeFiles(memory, "/age")
    assert other.age("k") == timedelta(0)
    other.remove("k")
    with pytest.raises(FileNotFoundError):
        other.age("k")


@pytest.mark.parametrize(
    ("operation", "method", "expected"),
    [
        ("ListObjectsV2", "GET", RequestKind.LIST),
        ("ListMultipartUploads", "GET", RequestKind.LIST),
        ("GetObject", "GET", RequestKind.GET),
        ("HeadObject", "HEAD", RequestKind.HEAD),
        ("PutObject", "PUT", RequestKind.PUT),
        ("DeleteObjects", "POST", RequestKind.POST),
        ("DeleteObject", "DELETE", RequestKind.DELETE),
    ],
)
def test_the_kind_of_a_request_is_its_method_but_for_lists(operation: str, method: str, expected: RequestKind) -> None:
    assert kind_of(operation, method) == expected


def test_requests_are_counted_by_part_and_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read stays as it was; the metric shows the parts that it is for, in order."""
    counts = RequestCounts()
    monkeypatch.setattr(requests, "REQUESTS", counts)
    first, second = sorted(StoreUser)[:2]
    for user, kind in [(second, RequestKind.PUT), (first, RequestKind.GET), (first, RequestKind.GET)]:
        counts.add(user, kind)
    before = store_requests()
    counts.add(first, RequestKind.LIST)
    assert before == {(first, RequestKind.GET): 2, (second, RequestKind.PUT): 1}
    assert request_metrics.store_requests() == before | {(first, RequestKind.LIST): 1}

    def shown(*users: StoreUser) -> list[str]:
        registry = CollectorRegistry()
        registry.register(StoreRequests(users) if users else StoreRequests())
        lines = generate_latest(registry).decode().splitlines()
        return [line for line in lines if not line.startswith("#")]

    name = "dialwatch_store_requests_total"
    of_first = [f'{name}{{kind="get",part="{first}"}} 2.0', f'{name}{{kind="list",part="{first}"}} 1.0']
    of_second = [f'{name}{{kind="put",part="{second}"}} 1.0']
    assert (shown(first), shown(second), shown()) == (of_first, of_second, [*of_first, *of_second])
