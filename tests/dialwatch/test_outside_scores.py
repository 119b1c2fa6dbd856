"""Scores that another program sends, from `POST /scores` to the alert and the pages."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from collector.sources.http.app import create_app as endpoint
from collector.sources.http.settings import HttpSettings
from dialwatch.serving.server import BackgroundServer
from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.spec.schemas import ALERTS, PARSED_LOGS
from lake.tables.lake import Lake
from monitor.detect.regression import RegressionSettings
from monitor.pages.app import create_app, create_metrics_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOURS, FELL_BEFORE, AN_HOUR = 240, 72, 12


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


@pytest.fixture
def url(lake: Lake) -> Iterator[str]:
    app = endpoint(
        Collector(lake, CollectorSettings()), HttpSettings.model_validate({"commit_seconds": 0}), lambda: NOW
    )
    with BackgroundServer(app, "127.0.0.1:0") as server:
        yield server.url


def asked_at(number: int) -> datetime:
    return NOW - timedelta(hours=HOURS) + timedelta(hours=number // AN_HOUR, minutes=number % AN_HOUR)


def log_answers(lake: Lake) -> int:
    count = (HOURS - 4) * AN_HOUR
    answer = {"deployment": "rag", "kind": "chat_completion", "status": 200, "is_entry": True, "finish_reason": "stop"}
    rows = [
        answer
        | {
            "event_id": f"event-{number}",
            "response_id": f"r-{number}",
            "response_ids": [f"r-{number}"],
            "chat_id": f"chat-{number}",
            "requested_at": asked_at(number),
            "date": asked_at(number).date(),
            "question": "Where?",
            "answer": "There.",
        }
        for number in range(count)
    ]
    lake.table(PARSED_LOGS, "rag").append(PARSED_LOGS.rows(rows))
    return count


def get(app: object, path: str) -> str:
    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get(path)

    answer = asyncio.run(ask())
    assert answer.status_code == 200
    return answer.text


@pytest.mark.slow
def test_scores_that_fall_fire_an_alert_and_stand_on_the_pages(url: str, lake: Lake) -> None:
    """Of stars from 1 to 5 that fall from 4 to 3 the alert, the pages and the metrics say so in stars.

    Words of signals are watched beside them: one whose values stay as they are is quiet, one of which more come fires.
    """
    chance, count = random.Random(1), log_answers(lake)
    stars, signals = [], []
    for number in range(count):
        fell = asked_at(number) > NOW - timedelta(hours=FELL_BEFORE)
        at = (asked_at(number) + timedelta(minutes=30)).isoformat()
        about = {"deployment": "rag", "response_id": f"r-{number}"}
        value = chance.choice([2, 3, 4] if fell else [3, 4, 5])
        stars.append(about | {"name": "stars", "value": value, "range": [1, 5], "scored_at": at})
        signals.append(about | {"signal": "thumbs", "value": chance.choice([1, -1]), "signaled_at": at})
        if chance.random() < (0.3 if fell else 0.05):
            signals.append(about | {"signal": "ticket_reopened", "signaled_at": at})
    for path, items in (("scores", stars), ("signals", signals)):
        answer = httpx.post(f"{url}/{path}", json=items, timeout=60)
        assert (answer.status_code, answer.json()["accepted"]) == (200, len(items))
    settings = EvaluatorSettings.model_validate(
        {"metrics": ["refusal"], "signal_shares": {"ticket_reopened": {"within": "1h"}}}
    )
    assert Evaluator(lake, settings, clock=lambda: NOW).run_once().outside == 3 * count
    monitor = Monitor(
        lake, MonitorSettings(regression=RegressionSettings(reference_observations=100)), clock=lambda: NOW
    )
    monitor.refresh()
    fired = {row["metric"]: row for row in lake.table(ALERTS, "rag").read().to_pylist() if row["change"] == "firing"}
    assert fired.keys() == {"stars", "ticket_reopened"}
    since = NOW - timedelta(hours=FELL_BEFORE)
    for row in fired.values():
        assert abs(row["since"] - since) < timedelta(hours=12)
        assert json.loads(row["details"])["tier"] == "page"
    assert abs(fired["stars"]["reference_mean"] - 4) < 0.2
    assert abs(fired["stars"]["current_mean"] - 3) < 0.2
    assert abs(fired["ticket_reopened"]["current_mean"] - 0.3) < 0.1
    app = create_app(monitor)
    metric = json.loads(get(app, "/deployment.json?name=rag"))
    assert "stars" in json.dumps(metric)
    answer = get(app, f"/answer?deployment=rag&date={asked_at(count - 1).date()}&event_id=event-{count - 1}")
    assert ">stars<" in answer
    assert 'deployment="rag",installation="lake",metric="stars"' in get(create_metrics_app(monitor), "/metrics")
