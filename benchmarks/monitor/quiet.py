"""Benchmark of a monitor whose deployments have no news: processor time of a refresh, memory, and starts.

    python -m benchmarks.monitor.quiet [--deployments 1000] [--days 30]

A lake in a folder has three answers a day of each deployment, and five scores of each answer. One process reads it for
the first time and saves what it has learned; another one starts with that, and refreshes `--refreshes` times, 5 seconds
of its clock apart, without news. `share of a core` is what that takes with the default `monitor.refresh_seconds`.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta

import numpy as np

from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.tables.lake import Lake
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings

_NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
_METRICS = ("faithfulness_kprecision", "answer_relevance_terms", "context_present", "refusal", "repeated_text")
_A_DAY = 3
_ROOT = "--root"


def write_lake(root: str, deployments: int, days: int) -> None:
    """Write a lake."""
    lake, generator = Lake(root), np.random.default_rng(1)
    times = [_NOW - timedelta(days=days) + timedelta(days=number / _A_DAY) for number in range(days * _A_DAY)]
    for number in range(deployments):
        name = f"app-{number:05}"
        answers = [
            {"deployment": name, "requested_at": at, "date": at.date(), "response_id": f"{name}-{at:%j%H}"}
            for at in times
        ]
        answered = {"kind": "chat_completion", "status": 200, "is_entry": True, "answer": "It is so."}
        lake.table(PARSED_LOGS, name).append(PARSED_LOGS.rows([one | answered for one in answers]))
        scored = {
            "metric_version": "1",
            "judge": "lexical",
            "sampling_probability": 1.0,
            "direction": "up",
            "low": 0.0,
            "high": 1.0,
        }
        rows = [
            one | scored | {"metric": metric, "value": float(generator.beta(8, 2)), "scored_at": one["requested_at"]}
            for one in answers
            for metric in _METRICS
        ]
        lake.table(SCORES, name).append(SCORES.rows(rows))


def refresh(root: str, refreshes: int) -> None:
    """Start a monitor, refresh it, and print what that takes."""
    now = _NOW

    def clock() -> datetime:
        return now

    monitor = Monitor(Lake(root), MonitorSettings(), clock)
    began = time.process_time()
    monitor.refresh()
    print(f"start: {time.process_time() - began:.1f} CPU seconds", flush=True)
    while monitor.saves_states():
        now += timedelta(seconds=5)
        monitor.refresh()
    # Each refresh looks at what one deployment asks of its models, until all were looked at that day.
    for _ in monitor.snapshot.deployments if monitor.snapshot and refreshes else ():
        now += timedelta(seconds=5)
        monitor.refresh()
    began = time.process_time()
    for _ in range(refreshes):
        now += timedelta(seconds=5)
        monitor.refresh()
    if refreshes:
        seconds = (time.process_time() - began) / refreshes
        share = seconds / MonitorSettings().refresh_seconds
        print(f"refresh without news: {seconds * 1000:.0f} CPU ms, {share:.1%} of a core")
    mebibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"largest memory: {mebibytes:.0f} MiB", flush=True)


def main() -> None:
    """Write a lake, and start two monitors on it, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deployments", type=int, default=1000)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--refreshes", type=int, default=48)
    parser.add_argument(_ROOT, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.root:
        refresh(options.root, options.refreshes)
        return
    with tempfile.TemporaryDirectory(prefix="dialwatch-bench-") as folder:
        write_lake(f"{folder}/lake", options.deployments, options.days)
        for title, refreshes in (("first", 0), ("second", options.refreshes)):
            print(f"{title} process, {options.deployments} deployments", flush=True)
            command = [sys.executable, "-m", "benchmarks.monitor.quiet", _ROOT, f"{folder}/lake"]
            subprocess.run([*command, "--refreshes", str(refreshes)], check=True)


if __name__ == "__main__":
    main()
