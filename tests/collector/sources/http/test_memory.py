"""Tests of the memory that small bodies take in the endpoint, which runs as a process of its own."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from lake.spec.root_tables import REJECTED
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from tests.collector.lines import chat_line
from tests.servers import free_port, wait_for_url

MIB = 1 << 20
LIKE = b'{"deployment":"a","response_id":"b","signal":"like"}'
HEADERS = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="a process's peak is read from /proc"),
]


class Endpoint:
    """`dialwatch collect http`, whose peak is known."""

    def __init__(self, url: str, pid: int) -> None:
        self.url = url
        self._status = Path(f"/proc/{pid}/status")

    def peak(self) -> int:
        """The most memory that it ever held, in MiB."""
        [line] = [line for line in self._status.read_text().splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) >> 10

    def send(self, path: str, body: bytes) -> tuple[int, str, int]:
        """Status, reason, and by how much the peak grew."""
        before = self.peak()
        answer = httpx.post(f"{self.url}{path}", content=gzip.compress(body), headers=HEADERS, timeout=300)
        return answer.status_code, answer.text, self.peak() - before


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[Endpoint]:
    address = f"127.0.0.1:{free_port()}"
    command = [sys.executable, "-m", "dialwatch", "collect", "http", "--listen", address, "--lake", str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            wait_for_url(f"http://{address}/healthz", process)
            yield Endpoint(f"http://{address}", process.pid)
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        ("/signals", b"[" + b"1," * (4 * MIB) + b"1]", "more than 1048576 JSON values"),
        ("/signals", b"[" + b"1," * (31 * MIB) + b"1]", "more than 1048576 JSON values"),
        ("/signals", b"[" + b"{}," * 300_000 + b"{}]", "more than 134217 lines or items"),
        ("/signals", LIKE + b"\n{}" * (4 * MIB), "more than"),
        ("/data", b"[" + b"{}," * (3 * MIB) + b"{}]", "more than 1048576 JSON values"),
        ("/data", b"{}\n" * (3 * MIB), "more than 134217 lines or items"),
    ],
    ids=["ones", "60-MiB-of-ones", "empty-signals", "empty-signal-lines", "empty-items", "empty-lines"],
)
def test_what_bytes_become_is_bounded_before_it_is_made(endpoint: Endpoint, path: str, body: bytes, says: str) -> None:
    """A few KiB on the wire take no more memory than their unpacked bytes, a few times, and are refused with 413."""
    status, reason, grown = endpoint.send(path, body)
    assert (status, says in reason, "send smaller batches" in reason) == (413, True, True)
    assert grown < 100 + 4 * len(body) / MIB


@pytest.mark.parametrize(
    ("path", "lines", "answer"), [("/signals", 1, 413), ("/signals", 1_000, 413), ("/data", 1, 200)]
)
def test_a_broken_line_hides_nothing_of_the_next_ones(endpoint: Endpoint, path: str, lines: int, answer: int) -> None:
    """Behind a line with a lone quote or backslash 45 MiB of empty objects are counted, in one line or in many."""
    crumbs = LIKE[:-1] + b',"k":[' + b"{}," * (15 * MIB // lines) + b"{}]}"
    for first in (b'"', b"\\", b'"\\'):
        status, reason, grown = endpoint.send(path, b"\n".join([first, *[crumbs] * lines]))
        assert (status, "more than 1048576 JSON values" in reason) == (answer, answer == 413)
        assert grown < 400


def test_nesting_without_end_is_one_rejection(endpoint: Endpoint, tmp_path: Path) -> None:
    """Millions of brackets are kept as they came, and nothing is made of them."""
    body = b"[" * 900_000
    status, _, grown = endpoint.send("/data", body)
    assert status == 200
    assert grown < 100
    assert Lake(str(tmp_path)).table(REJECTED).read(["raw"])["raw"].to_pylist() == [body]


def test_an_ordinary_big_delivery_is_taken(endpoint: Endpoint, tmp_path: Path) -> None:
    """Vector's array of 20 MiB of envelopes is stored, each line a row."""
    lines = [chat_line(number, noise="It said, [1] and {2}. " * 500) for number in range(2_000)]
    envelope = {"file": "/app/log/a.log", "host": "core-0", "source_type": "file", "timestamp": "2026-11-20T10:00:00Z"}
    body = json.dumps([envelope | {"message": line.decode()} for line in lines]).encode()
    assert len(body) > 20 * MIB
    status, _, _ = endpoint.send("/data", body)
    assert status == 200
    assert Lake(str(tmp_path)).table(PARSED_LOGS, "rag-app").read(["event_id"]).num_rows == len(lines)
    assert Lake(str(tmp_path)).table(REJECTED).read(["reason"]).num_rows == 0
