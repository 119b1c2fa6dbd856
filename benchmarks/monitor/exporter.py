"""Benchmark of `/metrics`: series, bytes and processor time of an answer, by the number of deployments.

    python -m benchmarks.monitor.exporter [--deployments 1000] [--metrics 5] [--runs 5]

Ten deployments with 30 days of scores and requests are written into a lake and read by a monitor; the others have the
figures of one of these.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time

from starlette.testclient import TestClient

from benchmarks.monitor.overview import NOW, Many, write
from lake.tables.lake import Lake
from monitor.pages.app import create_app
from monitor.settings import ExporterSettings, MetricsDetail, MonitorSettings

_WRITTEN = 10
_ANSWERS = 50


def figures(monitor: Many, detail: MetricsDetail, encoding: str, runs: int) -> str:
    """Return a row of the table."""
    client = TestClient(create_app(monitor, MonitorSettings(exporter=ExporterSettings(detail=detail))))
    seconds = []
    for _ in range(runs + 1):
        begun = time.process_time()
        with client.stream("GET", "/metrics", headers={"Accept-Encoding": encoding}) as answer:
            sent = b"".join(answer.iter_raw())
        seconds.append(time.process_time() - begun)
    text = client.get("/metrics", headers={"Accept-Encoding": "identity"}).text
    series = sum(not line.startswith("#") for line in text.splitlines())
    return f"| {detail} | {encoding} | {series:,} | {len(sent) / 1e6:.1f} | {statistics.median(seconds[1:]):.2f} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--deployments", type=int, default=1000)
    parser.add_argument("--metrics", type=int, default=5)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake(folder)
        for number in range(_WRITTEN):
            write(lake, number, _ANSWERS, given.metrics)
        monitor = Many(lake, MonitorSettings(), lambda: NOW)
        monitor.deployments = given.deployments
        monitor.refresh()
        monitor.multiply()
        print("| detail | encoding | series | MB | CPU s |\n|---|---|---|---|---|")
        for detail in MetricsDetail:
            for encoding in ("identity", "gzip"):
                print(figures(monitor, detail, encoding, given.runs))


if __name__ == "__main__":
    main()
