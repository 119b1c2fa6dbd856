"""Benchmark of opening a table that was written every 30 seconds for a month and maintained every hour.

    python -m benchmarks.lake.opening [commits]

The commits are written as log entries, with their times, rather than through deltalake, which takes 20 ms for each;
their data files do not exist. Every hour the files become one, every 100 commits there is a checkpoint, a fifth of
what the lake's tables make, and each day the log is cleaned. Each commit carries the position of a source file of its
own: the worst case.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from deltalake import DeltaTable

from lake.maintenance.cleaning import clean_log
from lake.spec.schemas import SCORES
from lake.tables.lake import Lake
from lake.tables.table import Table

MONTH = 30 * 2880
_SECONDS = 30
_AN_HOUR = 120
_A_DAY = 2880
_CHECKPOINT = 100


def build(table: Table, commits: int, now: datetime) -> None:
    """Write a table with that many commits, the last of them now."""
    at = now - timedelta(seconds=_SECONDS * commits)
    table.append(SCORES.rows([{"score_id": "0", "date": at.date()}]))
    log = Path(table.uri, "_delta_log")
    live: list[str] = []
    for version in range(2, commits):
        at += timedelta(seconds=_SECONDS)
        milliseconds, day = int(at.timestamp() * 1000), {"date": at.date().isoformat()}
        path = f"date={day['date']}/part-{uuid.uuid4()}.parquet"
        statistics = json.dumps({"numRecords": 100})
        add = {"path": path, "partitionValues": day, "size": 50_000, "modificationTime": milliseconds}
        actions: list[dict[str, object]] = [
            {"commitInfo": {"timestamp": milliseconds, "operation": "WRITE"}},
            {"add": add | {"dataChange": True, "stats": statistics}},
            {"txn": {"appId": f"file:{uuid.uuid4().hex}", "version": version}},
        ]
        if version % _AN_HOUR == 0:
            gone = {"dataChange": False, "deletionTimestamp": milliseconds, "partitionValues": day, "size": 50_000}
            actions += [{"remove": gone | {"path": old, "extendedFileMetadata": True}} for old in live]
            live = []
        live.append(path)
        _write(log / f"{version:020}.json", "\n".join(map(json.dumps, actions)), at)
        if version % _CHECKPOINT == 0:
            DeltaTable(table.uri).create_checkpoint()
            _date(log / f"{version:020}.checkpoint.parquet", at)
        if version % _A_DAY == 0:
            clean_log(table, at)


def seconds(step: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds of a step."""
    wall, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    step()
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - wall, cpu


def _write(path: Path, text: str, at: datetime) -> None:
    path.write_text(text)
    _date(path, at)


def _date(path: Path, at: datetime) -> None:
    os.utime(path, (at.timestamp(),) * 2)


def main() -> None:
    """Build, open, print."""
    commits = int(sys.argv[1]) if len(sys.argv) > 1 else MONTH
    with tempfile.TemporaryDirectory() as root:
        table = Lake(root).table(SCORES, "rag-app")
        built = seconds(lambda: build(table, commits, datetime.now(UTC)))
        sizes = [path.stat().st_size for path in Path(table.uri, "_delta_log").iterdir()]
        opened = min(seconds(lambda: DeltaTable(table.uri)) for _ in range(3))
        position = min(seconds(lambda: Lake(root).table(SCORES, "rag-app").committed("file:1")) for _ in range(3))
        cleaned = seconds(lambda: clean_log(table, datetime.now(UTC)))
        print(f"{commits:,} commits, built in {built[0]:.0f} s")
        print(f"log: {len(sizes):,} entries, {sum(sizes) / 2**20:.1f} MiB")
        print(f"open: {opened[0]:.2f} s wall, {opened[1]:.2f} s CPU")
        print(f"open and look up a source's position: {position[0]:.2f} s wall, {position[1]:.2f} s CPU")
        print(f"clean the log: {cleaned[0]:.2f} s wall, {cleaned[1]:.2f} s CPU")


if __name__ == "__main__":
    main()
