"""The HTTP endpoint as a process of its own that is asked to end while clients send."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from lake.spec.root_tables import BATCHES
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from tests.collector.lines import chat_line
from tests.servers import free_port, wait_for, wait_for_url

pytestmark = pytest.mark.integration

CLIENTS, LINES = 8, 5


@contextmanager
def endpoint(root: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    address = f"127.0.0.1:{free_port()}"
    command = [sys.executable, "-m", "dialwatch", "collect", "http", "--listen", address, "--lake", str(root)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            wait_for_url(f"http://{address}/healthz", process)
            yield f"http://{address}/data", process
        finally:
            process.kill()


def send(client: httpx.Client, url: str, request: int) -> bool:
    """Whether the lines of a request were answered with 200."""
    lines = [chat_line(number).decode() for number in range(request * LINES, (request + 1) * LINES)]
    try:
        return client.post(url, content=json.dumps([{"message": line} for line in lines])).status_code == 200
    except httpx.TransportError:
        return False


def requests_in(lake: Lake) -> dict[int, int]:
    """How many rows there are of each request."""
    answers = lake.table(PARSED_LOGS, "rag-app").read(["answer"])["answer"].to_pylist()
    assert len(answers) == len(set(answers))
    return Counter(int(answer.removeprefix("Answer ").rstrip(".")) // LINES for answer in answers)


@pytest.mark.slow
def test_sigterm_under_load_keeps_what_was_answered(tmp_path: Path) -> None:
    """After SIGTERM it ends soon; what it answered with 200 is in the lake, all else is stored once later."""
    lake, numbers = Lake(str(tmp_path)), itertools.count()
    answered: set[int] = set()
    refused: set[int] = set()
    ended = threading.Event()

    def pour(url: str) -> None:
        with httpx.Client(headers={"Content-Type": "application/json"}, timeout=60) as client:
            while not ended.is_set():
                request = next(numbers)
                (answered if send(client, url, request) else refused).add(request)
                if request in refused:
                    return

    with endpoint(tmp_path) as (url, process), ThreadPoolExecutor(CLIENTS) as pool:
        pouring = [pool.submit(pour, url) for _ in range(CLIENTS)]
        wait_for(lambda: len(answered) >= 3 * CLIENTS)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
        ended.set()
        for future in pouring:
            future.result()
    assert refused
    found = requests_in(lake)
    assert found.keys() >= answered
    assert {found[request] for request in answered} == {LINES}
    with (
        endpoint(tmp_path) as (url, _),
        httpx.Client(headers={"Content-Type": "application/json"}, timeout=60) as client,
    ):
        assert all(send(client, url, request) for request in sorted(refused))
    assert requests_in(lake) == dict.fromkeys(answered | refused, LINES)
    batches = lake.table(BATCHES).read(["lines", "stored", "duplicates"]).to_pydict()
    assert sum(batches["lines"]) == sum(batches["stored"]) + sum(batches["duplicates"])
