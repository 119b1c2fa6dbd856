"""Benchmark of a commit's cost: requests to a store, and time, in the usual case and where a commit is not sure.

    python -m benchmarks.lake.commits [--commits 200]

One writer appends small batches of scores, each with the position of a source, to a table in a folder and to one in a
store (moto, which counts requests). `usual`: each commit goes well. `old_files`: the files were written 6 minutes
before their commit. `another_writer`: each commit finds that another one was faster, and is made again. `answer_lost`:
the lake has taken the commit, its answer is lost, and the append is made again. `not_taken`: the same, and the lake has
nothing. In the last two the figures are those of the second append alone.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import boto3

from lake.delta_log.log_files import LocalLogFiles, StoreLogFiles
from lake.spec.schemas import SCORES
from lake.tables.lake import Lake
from lake.tables.storage import Storage
from lake.tables.table import Table
from tests.servers import free_port, wait_for_url

_MINUTES_6 = 360


class Writer:
    """Appends one batch after the other to a table."""

    def __init__(self, lake: Lake) -> None:
        self._lake, self._number = lake, 0
        self.table = self._open()
        self.files: Any = StoreLogFiles if "://" in lake.root else LocalLogFiles
        self.append()

    def _open(self) -> Table:
        return self._lake.table(SCORES, "app")

    def rows(self) -> Any:
        """Give the rows of the next batch."""
        now = datetime.now(UTC)
        return SCORES.rows([{"score_id": f"s-{self._number}", "date": now.date(), "scored_at": now}])

    def append(self, rows: Any = None) -> None:
        """Append a batch; the next one has the next position."""
        self.table.progress(["source"])
        self.table.append(self.rows() if rows is None else rows, {"source": self._number + 1})
        self._number += 1

    def usual(self) -> Callable[[], None]:
        """Prepare nothing."""
        return self.append

    def old_files(self) -> Callable[[], None]:
        """Write files, and let them seem old."""
        files = self.table.write([self.rows()])
        for file in files:
            path = Path(self.table.uri, file.path)
            if path.exists():
                os.utime(path, (time.time() - _MINUTES_6,) * 2)
        if hasattr(files[0], "written"):
            moment = files[0].written
            old = type(moment)(moment.monotonic - _MINUTES_6, moment.wall - _MINUTES_6)
            files = [dataclasses.replace(file, written=old) for file in files]

        def commit() -> None:
            self.table.progress(["source"])
            self.table.commit(files, {"source": self._number + 1})
            self._number += 1

        return commit

    def another_writer(self) -> Callable[[], None]:
        """Let another handle commit after this one has looked."""
        self.table.progress(["source"])
        self._open().append(self.rows())

        def append() -> None:
            self.table.append(self.rows(), {"source": self._number + 1})
            self._number += 1

        return append

    def answer_lost(self, is_taken: bool = True) -> Callable[[], None]:
        """Append in vain."""
        real, rows = self.files.create, self.rows()

        def create(*values: Any) -> bool:
            if is_taken:
                real(*values)
            raise TimeoutError("no answer")

        number = self._number
        with mock.patch.object(self.files, "create", create), suppress(TimeoutError):
            self.append(rows)
        self._number = number

        def again() -> None:
            # Another try knows from the log that the first one went well, or makes the same append.
            done = self.table.progress(["source"]).get("source", 0)
            if done <= number:
                self.table.append(rows, {"source": number + 1})
            self._number = number + 1

        return again

    def not_taken(self) -> Callable[[], None]:
        """Append in vain."""
        return self.answer_lost(is_taken=False)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--commits", type=int, default=200)
    commits = parser.parse_args().commits
    port = free_port()
    server = subprocess.Popen([sys.executable, "-m", "benchmarks.lake.counting_store", str(port)])
    try:
        store = f"http://127.0.0.1:{port}"
        wait_for_url(f"{store}/moto-api/", server)
        keys = {"region_name": "us-east-1", "aws_access_key_id": "key", "aws_secret_access_key": "secret"}
        boto3.client("s3", endpoint_url=store, **keys).create_bucket(Bucket="bucket")
        with tempfile.TemporaryDirectory() as folder:
            for kind in ("usual", "old_files", "another_writer", "answer_lost", "not_taken"):
                _measure(f"folder, {kind}", Writer(Lake(f"{folder}/{kind}")), kind, commits, Counter)
                storage = Storage(store, "us-east-1", "key", "secret")
                writer = Writer(Lake(f"s3://bucket/{kind}", storage))
                _measure(f"store, {kind}", writer, kind, commits, lambda: _counts(store))
    finally:
        server.kill()
        server.wait()


def _measure(name: str, writer: Writer, kind: str, commits: int, counts: Callable[[], Counter[str]]) -> None:
    prepare, taken = getattr(writer, kind), Counter[str]()
    wall, processor = [], []
    for _ in range(commits):
        act = prepare()
        counts()
        began, used = time.perf_counter(), time.process_time()
        act()
        wall.append(time.perf_counter() - began)
        processor.append(time.process_time() - used)
        taken += counts()
    requests = ", ".join(f"{number / commits:.2f} {what}" for what, number in sorted(taken.items()))
    print(
        f"{name:24} wall {statistics.median(wall) * 1000:6.2f} ms, CPU {statistics.median(processor) * 1000:6.2f} ms "
        f"(mean {statistics.mean(processor) * 1000:6.2f})  {requests}",
        flush=True,
    )


def _counts(store: str) -> Counter[str]:
    with urllib.request.urlopen(f"{store}/counts") as answer:
        return Counter(json.load(answer))


if __name__ == "__main__":
    main()
