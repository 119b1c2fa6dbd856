from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient

from lake.spec.root_tables import AUDIT
from lake.spec.schemas import USER_SIGNALS
from lake.tables.lake import Lake
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.monitor.conftest import NOW, Clock, ScoreColumns

HOURS, PER_HOUR = 72, 10
GOOD, BAD = "Staff have 30 days of leave.", "I do not know."
GROUPS = {
    "on-call": {"deployments": ["rag-*"], "rights": ["texts", "act"]},
    "readers": {"deployments": ["rag-*"], "rights": ["texts"]},
    "watchers": {"deployments": ["*"]},
    "others": {"deployments": ["other-*"], "rights": ["texts", "act"]},
}
ACCESS = {"proxy": {"addresses": ["10.0.0.7"], "groups": GROUPS}}
METRIC = "faithfulness_kprecision"


def incident_id(monitor: Monitor, deployment: str = "rag-search") -> str:
    assert monitor.snapshot is not None
    (incident,) = monitor.snapshot.deployments[deployment].incidents
    return incident.incident_id


def dislike(
    monitor: Monitor, number: int, comment: str, hours: int = 1, deployment: str = "rag-search", **columns: str
) -> None:
    """Write a dislike with a comment, `number` minutes after so many hours ago."""
    at = NOW - timedelta(hours=hours, minutes=-number)
    row = {"signal_id": f"signal-{number}", "deployment": deployment, "signaled_at": at, "date": at.date()}
    row |= {"signal": "dislike", "details": json.dumps({"comment": comment})} | columns
    monitor.lake.table(USER_SIGNALS, deployment).append(USER_SIGNALS.rows([row]))


@pytest.fixture
def regression(rows: ScoreColumns) -> None:
    """rag-search lost its faithfulness 10 hours ago; each score has an answer with a question and a text."""
    rows.batch(stored=1)
    scored, logs = [], []
    for left in range(HOURS, 0, -1):
        for number in range(PER_HOUR):
            at = NOW - timedelta(hours=left) + timedelta(minutes=6 * number)
            place = {"event_id": f"event-{left}-{number}", "response_id": f"answer-{left}-{number}"}
            place |= {"requested_at": at, "date": at.date()}
            value = (0.9 if left > 10 else 0.3) + 0.01 * number
            texts = {"question": f"How many days of leave has team {number}?", "answer": GOOD if left > 10 else BAD}
            scored.append(place | {"value": value, "score_id": place["event_id"]})
            logs.append(place | texts)
    rows.scores("rag-search", *scored)
    rows.logs("rag-search", *logs)


@pytest.fixture
def client(monitor: Monitor, regression: None) -> Iterator[TestClient]:
    """Pages of a monitor that listens on loopback, after a refresh."""
    monitor.refresh()
    with TestClient(create_app(monitor), follow_redirects=False) as client:
        yield client


def of(*groups: str) -> dict[str, str]:
    return {"X-Forwarded-User": "ann", "X-Forwarded-Groups": ",".join(groups)}


@pytest.fixture
def proxied(monitor: Monitor, clock: Clock, regression: None) -> Iterator[TestClient]:
    monitor.refresh()
    clock.advance(seconds=1)
    app = create_app(monitor, MonitorSettings.model_validate({"access": ACCESS}))
    with TestClient(app, client=("10.0.0.7", 5000), follow_redirects=False) as client:
        yield client


def sent(client: TestClient, monitor: Monitor, act: str, *groups: str, **fields: str) -> Any:
    """Fill in the form of the page and send it."""
    path = f"/incident?id={incident_id(monitor)}"
    tokens = re.findall(r'name="form_token" value="([^"]*)"', client.get(path, headers=of("on-call")).text)
    usual = {"form_token": tokens[0], "id": incident_id(monitor), "length": "4", "at": "2026-11-20T02:00"}
    return client.post(f"/incident/{act}", data=usual | fields, headers=of(*groups or ("on-call",)))


def noted(monitor: Monitor, lake: Lake) -> list[tuple[Any, ...]]:
    monitor.audit.write()
    rows = lake.table(AUDIT).read().to_pylist()
    return [(row["who"], row["action"], row["deployment"]) for row in rows if row["action"] != "read_texts"]
