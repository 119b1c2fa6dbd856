"""Messages of an outage of a model that many deployments call, with and without what the log says of who calls it.

    python -m benchmarks.monitor.shared_outage [--deployments 40]

Each deployment has between 1 and 20 requests a minute, each with a call of the model. After two hours every call of the
model fails for an hour, and with it every request; then all is well for two hours. The monitor looks each five minutes
at the lake, with the default settings. A receiver that accepts everything counts what it gets.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from unittest import mock

import numpy as np

import monitor.notify.delivery as delivery
from benchmarks.regression.tables import print_table
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from monitor.detect.limits.callers import Callers
from monitor.notify.delivery import Attempt, DeliveryOutcome
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings

START = datetime(2026, 11, 1, 8, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
OUTAGE, WELL_AGAIN, END, LOOK = 120, 180, 300, 5
MODEL = "gpt-4o"


def log(lake: Lake, rates: Mapping[str, int], begin: int, end: int) -> None:
    """Write the requests of these minutes, and the calls of the model that they lead to."""
    calls = []
    for name, rate in rates.items():
        requests = [_request(name, None, minute, number) for minute in range(begin, end) for number in range(rate)]
        lake.table(PARSED_LOGS, name).append(PARSED_LOGS.rows(requests))
        calls += [_request(MODEL, name, minute, number) for minute in range(begin, end) for number in range(rate)]
    lake.table(PARSED_LOGS, MODEL).append(PARSED_LOGS.rows(calls))


def _request(name: str, parent: str | None, minute: int, number: int) -> dict[str, object]:
    at = START + minute * MINUTE + number * timedelta(seconds=2)
    is_out = OUTAGE <= minute < WELL_AGAIN
    return {
        "event_id": f"{parent} {name} {minute} {number}", "deployment": name, "parent_deployment": parent,
        "date": at.date(), "requested_at": at, "kind": "chat_completion", "is_entry": parent is None,
        "status": 503 if is_out else 200, "answer": None if is_out else "Yes.",
        "finish_reason": None if is_out else "stop",
    }  # fmt: skip


def messages(deployments: int) -> Counter[str]:
    """Count the messages by their status, and those that say how many deployments fail."""
    found: Counter[str] = Counter()
    now = START + OUTAGE * MINUTE

    def receive(_pool: object, _url: str, body: bytes, *_: object) -> Attempt:
        message = json.loads(body)
        found[message["status"]] += 1
        found["naming"] += "deployments that call it" in message["alerts"][0]["annotations"]["summary"]
        return Attempt(DeliveryOutcome.DELIVERED, "answered 200")

    webhook = {"name": "team", "url": "http://127.0.0.1:9/", "secret": "whsec_" + "A" * 44}
    settings = MonitorSettings.model_validate({"webhooks": [webhook], "internal_hosts": ["127.0.0.1"]})
    drawn = np.random.default_rng(0).integers(1, 21, deployments).tolist()
    rates = {f"app-{number}": rate for number, rate in enumerate(drawn)}
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(delivery, "deliver", receive):
        lake = Lake(folder)
        log(lake, rates, 0, OUTAGE)
        monitor = Monitor(lake, settings, lambda: now)
        for minute in range(OUTAGE, END, LOOK):
            now = START + minute * MINUTE
            monitor.refresh()
            now += 2 * MINUTE
            monitor._notifier.run_due(now)
            log(lake, rates, minute, minute + LOOK)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--deployments", type=int, default=40)
    deployments = parser.parse_args().deployments
    rows = []
    for title, patch in (("each deployment", mock.patch.object(Callers, "add")), ("the model and its callers", None)):
        if patch is None:
            found = messages(deployments)
        else:
            with patch:
                found = messages(deployments)
        rows.append([title, *(str(found[name]) for name in ("firing", "naming", "resolved"))])
    head = ["messages of", "that something fails", "of these with the number of deployments", "that it is over"]
    print_table(f"An outage of a model that {deployments} deployments call", head, rows)


if __name__ == "__main__":
    main()
