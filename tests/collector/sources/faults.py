"""A log that grows and a client that sends again, a collector as a process, and the way to a store that fails."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import httpx

from lake.spec.root_tables import BATCHES
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from lake.tables.storage import Storage
from tests.collector.lines import chat_line
from tests.servers import free_port, wait_for, wait_for_url


def body(*numbers: int, size: int = 0) -> bytes:
    return b"".join(chat_line(number, noise=os.urandom(size // 2).hex()) + b"\n" for number in numbers)


def answers(lake: Lake) -> list[str]:
    return sorted(lake.table(PARSED_LOGS, "rag-app").read(["answer"])["answer"].to_pylist())


def expected(count: int) -> list[str]:
    return sorted(f"Answer {number}." for number in range(count))


class Door:
    """The way to a store: a proxy that tests replace by one with other faults, or by none, at the same address."""

    def __init__(self, endpoint: str) -> None:
        self.port, self._target = free_port(), endpoint.rpartition(":")[2]
        self.storage = Storage(f"http://127.0.0.1:{self.port}", "us-east-1", "key", "secret")
        self._process: subprocess.Popen[bytes] | None = None
        self.open()

    def open(self, *faults: str) -> None:
        """Let all through, or what these arguments of the proxy do."""
        self.shut()
        command = [
            sys.executable,
            "-m",
            "tests.fault_proxy",
            str(self.port),
            self._target,
            "7",
            *(faults or ("0", "0")),
        ]
        self._process = subprocess.Popen(command)
        wait_for(self._is_open)

    def _is_open(self) -> bool:
        with socket.create_connection(("127.0.0.1", self.port)):
            return True

    def shut(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


class Senders:
    """A log file that grows all the time, and a client that sends each line until it is answered with 200."""

    def __init__(self, log: Path, url: str) -> None:
        self.written = self.answered = self.refused = 0
        self._log, self._url, self._ended = log, url, threading.Event()
        self._threads = [threading.Thread(target=self._write), threading.Thread(target=self._post)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _write(self) -> None:
        while not self._ended.wait(0.02):
            with self._log.open("ab") as file:
                file.write(body(2 * self.written))
            self.written += 1

    def _post(self) -> None:
        with httpx.Client(headers={"Content-Type": "application/json"}, timeout=120) as client:
            while not self._ended.is_set():
                # Two lines that wait: each comes between a failed commit of the other and its next try.
                lines = [chat_line(2 * number + 1) for number in (self.answered, self.answered + 1)]
                while lines:
                    codes = [_code(client, self._url, line) for line in lines]
                    lines = [line for line, code in zip(lines, codes, strict=True) if code != 200]
                    self.answered += codes.count(200)
                    self.refused += len(lines)


def _code(client: httpx.Client, url: str, line: bytes) -> int:
    """Code of the answer to a line; 0 where the collector was killed before it answered."""
    try:
        return client.post(url, content=line).status_code
    except httpx.TransportError:
        return 0


class CollectorProcess:
    """The command as a process that follows files and takes lines over HTTP."""

    def __init__(self, logs: Path, root: str, folder: Path, storage: str = "") -> None:
        self._address, self._config, self._log = f"127.0.0.1:{free_port()}", folder / "dialwatch.yaml", folder / "log"
        self.url = f"http://{self._address}/data"
        self._logs = logs
        self._process: subprocess.Popen[bytes] | None = None
        self._config.write_text(f"""
lake: {{root: "{root}", {storage}}}
collector:
  flush_seconds: 0.2
  http: {{listen: "{self._address}", commit_seconds: 0.05}}
  signals: {{implicit: false}}
""")

    def start(self) -> None:
        arguments = ["collect", "files", "--follow", str(self._logs), "-c", str(self._config)]
        keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
        with self._log.open("ab") as log:
            command = [sys.executable, "-m", "dialwatch", *arguments]
            self._process = subprocess.Popen(command, stderr=log, stdout=log, env=os.environ | keys)
        wait_for_url(f"http://{self._address}/healthz", self._process)

    def stop(self) -> None:
        """Ask it to end, and see that it does so in order."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(120) == 0

    def kill(self) -> None:
        """End it by SIGKILL, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@contextmanager
def collector_of(logs: Path, root: str, tmp_path: Path, storage: str = "") -> Iterator[str]:
    """A collector while the block lasts; gives its URL, and ends it in order."""
    collector = CollectorProcess(logs, root, tmp_path, storage)
    try:
        collector.start()
        yield collector.url
        collector.stop()
    finally:
        collector.kill()


def assert_each_once(lake: Lake, senders: Senders) -> None:
    """Every line that was written or answered is one row, and `_batches` counts just the rows that are there."""
    assert_rows_once(lake, senders)
    batches = lake.table(BATCHES).read(["lines", "stored", "duplicates"]).to_pydict()
    assert sum(batches["stored"]) == len(answers(lake))
    assert sum(batches["lines"]) == sum(batches["stored"]) + sum(batches["duplicates"])


def assert_rows_once(lake: Lake, senders: Senders) -> None:
    """Every line that was written or answered is one row."""
    files, answered = range(0, 2 * senders.written, 2), range(1, 2 * senders.answered, 2)
    wait_for(lambda: len(answers(lake)) >= len(files) + len(answered), seconds=120)
    assert answers(lake) == sorted(f"Answer {number}." for number in (*files, *answered))
