"""Benchmark of the page of an incident: a deployment with 10,000 answers a day, each with 10 metrics.

    python -m benchmarks.monitor.incident_page [folder]

The lake has five days of answers of usual size, in 20 commits a day; in the last twelve hours one metric fell. Another
process builds it, so that the peak of memory is that of the monitor and its page. A folder that is named is kept, and
built only once.
"""

from __future__ import annotations

import multiprocessing
import random
import sys
import tempfile
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from benchmarks.monitor.answers import COMMITS, DENSE, answer_row, report, score_rows
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.tables.lake import Lake
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings

DAYS, TEXTS, METRIC, NAME = 5, 500, "metric_1", "app"
_LAST = date(2026, 11, 20)
_END = datetime(_LAST.year, _LAST.month, _LAST.day, tzinfo=UTC) + timedelta(days=1)
_FELL = _END - timedelta(hours=12)


def build(root: str) -> None:
    """Write the lake; texts are used again and again, ids are not."""
    lake, chance = Lake(root), random.Random(1)
    texts = [answer_row(chance, NAME, _LAST, 0) for _ in range(TEXTS)]
    for day in (_LAST - timedelta(days=back) for back in range(DAYS)):
        for begin in range(0, DENSE, DENSE // COMMITS):
            rows = [_row(chance, texts, day, begin + number) for number in range(DENSE // COMMITS)]
            lake.table(PARSED_LOGS, NAME).append(PARSED_LOGS.rows(rows))
            scores = [_fallen(one) for row in rows for one in score_rows(chance, row)]
            lake.table(SCORES, NAME).append(SCORES.rows(scores))


def _row(chance: random.Random, texts: list[dict[str, Any]], day: date, number: int) -> dict[str, Any]:
    at = datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(seconds=number * 8)
    response_id = f"{chance.getrandbits(128):032x}"
    ids = {"event_id": f"{chance.getrandbits(128):032x}", "response_id": response_id, "response_ids": [response_id]}
    return chance.choice(texts) | ids | {"date": day, "requested_at": at, "chat_id": f"{day} {number}"}


def _fallen(score: dict[str, Any]) -> dict[str, Any]:
    is_fallen = score["metric"] == METRIC and score["requested_at"] >= _FELL
    return score | {"value": score["value"] * 0.5} if is_fallen else score


def measure(root: str) -> None:
    """Ask for the page as a browser does."""
    monitor = Monitor(Lake(root), MonitorSettings(), lambda: _END + timedelta(minutes=30))
    monitor.refresh()
    assert monitor.snapshot is not None
    (incident,) = monitor.snapshot.deployments[NAME].incidents
    report("nothing read: the monitor after its first look", lambda: None)
    with TestClient(create_app(monitor)) as client:
        for what, path in (("page", "/incident"), ("JSON", "/incident.json"), ("list", "/incidents")):
            address = f"{path}?id={incident.incident_id}"
            assert client.get(address).status_code == 200
            report(f"{what} of an incident", lambda address=address: client.get(address))
        pairs = client.get(f"/incident.json?id={incident.incident_id}").json()["evidence"]["worst"]
        print(f"{len(pairs)} worst answers, {sum(pair['earlier'] is not None for pair in pairs)} with an earlier one")


def main() -> None:
    """Build the lake unless it is there, and measure."""
    with tempfile.TemporaryDirectory() as made:
        root = sys.argv[1] if len(sys.argv) > 1 else str(Path(made) / "lake")
        if not Path(root).exists():
            builder = multiprocessing.get_context("spawn").Process(target=build, args=[root])
            builder.start()
            builder.join()
        measure(root)


if __name__ == "__main__":
    main()
