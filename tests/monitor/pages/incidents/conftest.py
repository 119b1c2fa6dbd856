from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient

from lake.spec.schemas import USER_SIGNALS
from monitor import Monitor, create_app
from tests.monitor.conftest import NOW, ScoreColumns

HOURS, PER_HOUR = 72, 10
GOOD, BAD = "Staff have 30 days of leave.", "I do not know."


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
