"""Bodies that a store, or a proxy before it, cuts short."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lake.store import counted_s3
from lake.tables.storage import Storage

CONTENT = b"0123456789" * 1000
PAUSES = counted_s3._PAUSES


class CuttingStore(ThreadingHTTPServer):
    """Answers each GET with the same bytes; of the first `cuts` answers it sends the beginning only."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Cutter)
        self.cuts = self.requests = 0


class Cutter(BaseHTTPRequestHandler):
    server: CuttingStore

    def do_GET(self) -> None:
        self.server.requests += 1
        is_cut = self.server.requests <= self.server.cuts
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.send_header("ETag", '"a"')
        self.end_headers()
        self.wfile.write(CONTENT[:4000] if is_cut else CONTENT)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[CuttingStore]:
    monkeypatch.setattr(counted_s3, "_PAUSES", (0.0, 0.0, 0.0))
    with CuttingStore() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def read(store: CuttingStore) -> bytes:
    fetch = Storage(f"http://127.0.0.1:{store.server_port}", "us-east-1", "key", "secret").fetch("s3://bucket/table")
    assert fetch is not None
    # Of a name of its own: what was read stays in memory.
    return fetch(f"part-{store.server_port}.parquet")


@pytest.mark.parametrize("cuts", [0, 1, 3])
def test_a_body_that_is_cut_short_is_read_again(store: CuttingStore, cuts: int) -> None:
    """With one request more for each cut, the reader gets all of the file."""
    store.cuts = cuts
    assert read(store) == CONTENT
    assert store.requests == cuts + 1


def test_a_body_that_is_always_cut_short_is_an_error(store: CuttingStore) -> None:
    """It names the file, after a few requests."""
    store.cuts = 100
    assert PAUSES == (0.1, 0.4, 1.0)
    with pytest.raises(OSError, match=r"bucket/table/part-\d+\.parquet could not be read to its end"):
        read(store)
    assert store.requests == 4
