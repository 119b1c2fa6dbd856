"""Benchmark of the monitor's start on a year of scores: time and memory until its first snapshot.

    python -m benchmarks.regression.year [--deployments 200] [--metrics 10] [--answers 10] [--days 365] [--lake FOLDER]

`--answers` are those of a deployment and day, in chats of two, more by day than by night; each has a score of every
metric. One parquet file a day, as after a compaction. FOLDER keeps the lake; one that is there is read as it is. The
monitor runs in a process of its own: first it reads the history and saves its states, then another one begins with
these. Linux only.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lake.spec.schemas import SCORES
from lake.spec.state_tables import MONITOR_STATE, ROOT_STATE
from lake.spec.vocabulary import Direction, JudgeKind
from lake.tables.lake import Lake
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings

_END = datetime(2026, 11, 1, tzinfo=UTC)
_BY_HOUR = np.where((np.arange(24) >= 8) & (np.arange(24) < 20), 0.06, 0.28 / 12)
_TURNS = 2
_STEPS = 20


def scores(deployment: str, seed: int, days: int, answers: int, metrics: int) -> pa.Table:
    """Rows of one deployment, by time: means of metrics from 0.7 to 0.9, chats that are better and worse."""
    generator = np.random.default_rng(seed)
    hours = np.arange(days * 24)
    chats = generator.poisson(np.tile(_BY_HOUR, days) * answers / _TURNS)
    begin = np.sort(np.repeat(hours, chats) * 3600.0 + generator.uniform(0, 3000, chats.sum()))
    at = (begin[:, None] + np.arange(_TURNS) * 300.0).ravel()
    luck = np.repeat(generator.normal(0, 0.1, len(begin)), _TURNS)
    mean, noise = np.linspace(0.7, 0.9, metrics), generator.normal(0, 0.15, (len(at), metrics))
    values = np.clip(np.round((mean + luck[:, None] + noise) * _STEPS) / _STEPS, 0, 1).ravel()
    start = int((_END - timedelta(days=days)).timestamp())
    moments = np.repeat(((start + at) * 1_000_000).astype(np.int64), metrics)
    requested_at = pa.array(moments).cast(pa.timestamp("us", "UTC"))
    ids = [hashlib.blake2b(f"{deployment} {n}".encode(), digest_size=16).hexdigest() for n in range(len(at))]
    events = pa.array(ids).take(pa.array(np.repeat(np.arange(len(at)), metrics)))
    chat_ids = pa.array(ids).take(pa.array(np.repeat(np.arange(len(at)) // _TURNS * _TURNS, metrics)))
    known = {
        "score_id": pc.binary_join_element_wise(events, pa.array([str(n) for n in range(metrics)] * len(at)), "-"),
        "event_id": events,
        "response_id": pc.binary_join_element_wise(pa.scalar("chatcmpl"), events, "-"),
        "chat_id": chat_ids,
        "deployment": _always(deployment, len(moments)),
        "date": requested_at.cast(pa.date32()),
        "requested_at": requested_at,
        "scored_at": pc.add(requested_at, pa.scalar(timedelta(minutes=5))),
        "metric": pa.array([f"metric_{n}" for n in range(metrics)] * len(at)),
        "metric_version": _always("1", len(moments)),
        "judge": _always(JudgeKind.LEXICAL, len(moments)),
        "value": pa.array(values),
        "sampling_probability": _always(1.0, len(moments)),
        "direction": _always(Direction.UP, len(moments)),
        "low": _always(0.0, len(moments)),
        "high": _always(1.0, len(moments)),
    }
    columns = [known.get(field.name, pa.nulls(len(moments), field.type)) for field in SCORES.schema]
    return pa.table([_flat(column) for column in columns], schema=SCORES.schema)


def _always(value: str | float, times: int) -> pa.Array:
    return pa.array([value]).take(pa.array(np.zeros(times, dtype=np.int32)))


def _flat(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


class Memory:
    """The most memory that this process has had, in MiB, looked at every half second."""

    def __init__(self) -> None:
        self.most = 0.0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._is_over.wait(0.5):
            self.most = max(self.most, _megabytes())


def _megabytes() -> float:
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def read(root: str) -> None:
    """Start a monitor, wait for its first snapshot, print what that took, and save its states."""
    wall, memory = time.perf_counter(), Memory()
    monitor = Monitor(Lake(root), MonitorSettings(), lambda: _END + timedelta(hours=1))
    with memory:
        monitor.refresh()
    wall, cpu = time.perf_counter() - wall, time.process_time()
    snapshot = monitor.snapshot
    if snapshot is None or monitor.failures:
        raise RuntimeError(f"no snapshot of {root} without failures: {monitor.health().problems}")
    rows = sum(state.scores.evaluations for state in snapshot.deployments.values())
    streams = sum(len(state.readings) for state in snapshot.deployments.values())
    print(
        f"{rows:,} scores of {streams:,} streams: {wall:.1f} s wall, {cpu:.1f} s CPU, {memory.most:,.0f} MiB at most; "
        f"the snapshot took {snapshot.refresh_seconds:.1f} s",
        flush=True,
    )
    for _ in range(2):
        begin = time.process_time()
        monitor.refresh()
        print(
            f"  a refresh without news, and states that are still to be saved: {time.process_time() - begin:.2f} s CPU"
        )
    while monitor.saves_states():
        monitor.refresh()
    states = sum(file.stat().st_size for file in Path(root).glob(f"*/{MONITOR_STATE.name}/*.parquet"))
    print(f"  the states in the lake: {states / 2**20:,.0f} MiB", flush=True)


def main() -> None:
    """Write a lake where there is none, then read it in another process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--deployments", type=int, default=200)
    parser.add_argument("--metrics", type=int, default=10)
    parser.add_argument("--answers", type=int, default=10)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--lake", type=Path)
    parser.add_argument("--read", action="store_true", help="only read, in this process")
    given = parser.parse_args()
    if given.read:
        read(str(given.lake))
        return
    with tempfile.TemporaryDirectory() as folder:
        root = given.lake or Path(folder)
        if not root.exists() or not any(root.iterdir()):
            for number in range(given.deployments):
                name = f"app-{number:03}"
                rows = scores(name, number, given.days, given.answers, given.metrics)
                Lake(str(root)).table(SCORES, name).append(rows)
        for folder_of_state in [*root.glob(f"*/{MONITOR_STATE.name}"), *root.glob(ROOT_STATE.name)]:
            shutil.rmtree(folder_of_state)
        for _ in ("without states", "with states"):
            subprocess.run(
                [sys.executable, "-m", "benchmarks.regression.year", "--read", "--lake", str(root)], check=True
            )


if __name__ == "__main__":
    main()
