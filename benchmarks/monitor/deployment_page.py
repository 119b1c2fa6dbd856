"""Benchmark of a deployment's page: time of the server for a page with many metrics, from the snapshot alone.

    python -m benchmarks.monitor.deployment_page [--metrics 15] [--days 95] [--answers 200] [--runs 20] [--page FILE]

A deployment with scores in every hour is written into a lake and read by a monitor; its page is then asked for without
a network. Also says how much memory the sums over periods take, of one metric and of 500 deployments with 8 metrics.
FILE keeps the page of 90 days.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.monitor.overview import NOW, measure, sums_bytes, write
from lake.tables.lake import Lake
from monitor.detect.stats.period_sums import PeriodSums
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings

_DEPLOYMENTS, _METRICS = 500, 8


def main() -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("metrics", 15), ("days", 95), ("answers", 200), ("runs", 20)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--page", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake(str(Path(folder) / "lake"))
        write(lake, 0, chosen.answers, chosen.metrics, chosen.days)
        monitor = Monitor(lake, MonitorSettings(), lambda: NOW)
        monitor.refresh()
        app = create_app(monitor)
        print("| address | CPU ms | wall ms | wall ms, worst | KB |\n|---|---|---|---|---|")
        for days in (1, 7, 30, 90):
            for path in ("deployment", "deployment.json"):
                row, answer = measure(app, f"/{path}?name=deployment-0&days={days}", chosen.runs)
                print(row, flush=True)
                if chosen.page and days == 90 and path == "deployment":
                    chosen.page.write_bytes(answer.content)
        if monitor.snapshot is None:
            raise SystemExit(f"the lake could not be read: {monitor.failures}")
        state = monitor.snapshot.deployments["deployment-0"]
        metric = next(iter(state.scores.metrics.values()))
        one = sums_bytes(metric.means_by_time, metric.scored_by_time)
        held: list[PeriodSums] = [state.requests.by_time, state.requests.rated_by_time]
        own = sums_bytes(*held, *state.requests.failed_by_time.values())
        print(f"sums of a metric: {one / 1e3:.1f} KB; of a deployment's requests and ratings: {own / 1e3:.1f} KB")
        print(f"{_DEPLOYMENTS} deployments, {_METRICS} metrics: {_DEPLOYMENTS * (own + _METRICS * one) / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
