"""Benchmark of the overview: time of the server for a page of all deployments, from the snapshot alone.

    python -m benchmarks.monitor.overview [--deployments 500] [--metrics 5] [--answers 200] [--runs 20] [--page FILE]

Ten deployments with 30 days of scores and requests are written into a lake and read by a monitor; the others have the
figures of one of these. The pages are then asked for without a network, and without the lake: it is removed before.
FILE keeps the page of 7 days.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from fastapi import FastAPI

from benchmarks.regression.year import scores
from lake.spec.schemas import PARSED_LOGS, SCORES, USER_SIGNALS
from lake.spec.vocabulary import Kind, Signal, SignalOrigin
from lake.tables.lake import Lake
from monitor.detect.stats.period_sums import PeriodSums
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.service.snapshot import DeploymentState, Snapshot
from monitor.settings import MonitorSettings

NOW = datetime(2026, 11, 1, tzinfo=UTC)
_WRITTEN = 10
_DAYS = 30
_ADDRESSES = ("/?days=1", "/", "/?days=30", "/?days=90", "/?sort=change&days=30", "/?q=team-1", "/overview.json")


class Many(Monitor):
    """A monitor whose snapshot has more deployments than its lake."""

    deployments = 0

    @property
    def snapshot(self) -> Snapshot | None:
        """The snapshot with deployments added that have the figures of others."""
        return self._many

    def multiply(self) -> None:
        """Take the snapshot of the last refresh as a model."""
        found = super().snapshot
        if found is None:
            raise SystemExit(f"the lake could not be read: {self.failures}")
        states = list(found.deployments.values())
        many = {f"team-{number % 40}/app-{number}": states[number % len(states)] for number in range(self.deployments)}
        self._many = Snapshot(
            found.taken_at, many, found.collector_stats, 0, found.refresh_seconds, silences=found.silences
        )


def write(lake: Lake, number: int, answers: int, metrics: int, days: int = _DAYS) -> None:
    """Write a deployment: every third falls in the last two days, every fifth has failures and dislikes."""
    name = f"deployment-{number}"
    table = scores(name, number, days, answers, metrics)
    if number % 3 == 0:
        late = pc.greater(table["requested_at"], pa.scalar(NOW - timedelta(days=2), table["requested_at"].type))
        lower = pc.if_else(late, pc.max_element_wise(pc.subtract(table["value"], 0.3), 0.0), table["value"])
        table = table.set_column(table.schema.get_field_index("value"), SCORES.schema.field("value"), lower)
    lake.table(SCORES, name).append(table)
    times = table["requested_at"].to_pylist()[::metrics]
    fails = np.random.default_rng(number).uniform(size=len(times)) < (0.1 if number % 5 == 0 else 0.01)
    common = {"deployment": name, "kind": Kind.CHAT_COMPLETION, "is_entry": True}
    rows = [
        common | {"requested_at": at, "date": at.date(), "status": (429, 503)[at.second % 2] if fail else 200}
        for at, fail in zip(times, fails, strict=True)
    ]
    lake.table(PARSED_LOGS, name).append(PARSED_LOGS.rows(rows))
    signals = [
        {"signal_id": str(place), "deployment": name, "response_id": str(place), "signaled_at": at, "date": at.date()}
        | {"signal": Signal.DISLIKE if place % 5 else Signal.LIKE, "origin": SignalOrigin.EXPLICIT}
        for place, at in enumerate(times[::20])
    ]
    lake.table(USER_SIGNALS, name).append(USER_SIGNALS.rows(signals))


def sums_bytes(*held: PeriodSums) -> int:
    """Bytes of sums over periods."""
    return sum(bins.numbers.nbytes + bins.sums.nbytes for one in held for bins in (one.hours, one.days))


def state_bytes(state: DeploymentState) -> int:
    """Bytes of the sums over periods of one deployment."""
    requests = state.requests
    held: list[PeriodSums] = [requests.by_time, requests.rated_by_time, *requests.failed_by_time.values()]
    held += [sums for metric in state.watched.values() for sums in (metric.means_by_time, metric.scored_by_time)]
    return sums_bytes(*held, *state.scores.unscored_by_time.values(), *state.judge_costs.by_time.values())


def measure(app: FastAPI, address: str, runs: int) -> tuple[str, httpx.Response]:
    """Give a row of the table of figures, and the last answer."""

    async def ask() -> tuple[list[float], list[float], httpx.Response]:
        transport = httpx.ASGITransport(app=app)
        walls, processor = [], []
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            for _ in range(runs + 1):
                wall, cpu = time.perf_counter(), time.process_time()
                answer = await client.get(address)
                walls.append(time.perf_counter() - wall)
                processor.append(time.process_time() - cpu)
        return walls[1:], processor[1:], answer

    walls, processor, answer = asyncio.run(ask())
    answer.raise_for_status()
    figures = f"{1000 * statistics.median(processor):.0f} | {1000 * statistics.median(walls):.0f}"
    return f"| `{address}` | {figures} | {1000 * max(walls):.0f} | {len(answer.content) / 1000:,.0f} |", answer


def main() -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("deployments", 500), ("metrics", 5), ("answers", 200), ("runs", 20)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--page", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake(str(Path(folder) / "lake"))
        for number in range(_WRITTEN):
            write(lake, number, chosen.answers, chosen.metrics)
        monitor = Many(lake, MonitorSettings(), lambda: NOW)
        monitor.deployments = chosen.deployments
        monitor.refresh()
    monitor.multiply()
    app = create_app(monitor)
    print("| address | CPU ms | wall ms | wall ms, worst | KB |\n|---|---|---|---|---|")
    for address in _ADDRESSES:
        row, answer = measure(app, address, chosen.runs)
        print(row, flush=True)
        if chosen.page and address == "/":
            chosen.page.write_bytes(answer.content)
    states = monitor.snapshot.deployments.values() if monitor.snapshot else ()
    print(f"sums over periods: {sum(map(state_bytes, states)) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
