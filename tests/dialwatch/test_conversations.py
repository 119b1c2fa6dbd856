"""Conversations, from Core's lines to their scores, and from their scores to an alert in a person's words."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from collector.commit.position import Partition, Piece
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from evaluator.service.passes import Evaluator
from lake.spec.schemas import ALERTS, PARSED_LOGS, SCORES
from lake.tables.lake import Lake
from monitor.detect.regression import RegressionSettings
from monitor.pages.app import create_app, create_metrics_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.evaluator.conftest import Traffic
from tests.evaluator.conversing import Talk
from tests.evaluator.judged import settings
from tests.evaluator.judges.scripted_server import Request, ScriptedServer, Send, says, serving

LINES = Path(__file__).with_name("deleted_turn.jsonl").read_bytes().splitlines()
METRICS = ["conversation_completeness", "knowledge_retention", "repetition"]
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOURS, FELL, AN_HOUR = 100, 70, 5


async def judges(request: Request, send: Send) -> None:
    """What people wanted they got, unless they had asked for the moon."""
    text = request.body["messages"][1]["content"]
    numbers = re.findall(r"^<assistant (\d+) ", text, re.MULTILINE)
    turns = [{"turn": int(number), "forgot": False, "repeats": False} for number in numbers]
    intents = [{"intent": "It", "met": "the moon" not in text.partition("TASK.")[0]}]
    await says(json.dumps({"intents": intents, "turns": turns}))(request, send)


@pytest.fixture(scope="module")
def stage() -> Iterator[ScriptedServer]:
    with serving() as stage:
        server = stage.fresh()
        server.always = judges
        yield server


def get(app: object, path: str) -> str:
    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get(path)

    answer = asyncio.run(ask())
    assert answer.status_code == 200
    return answer.text


def test_a_deleted_turn_is_no_part_of_the_conversation(stage: ScriptedServer, tmp_path: Path) -> None:
    """Of an agent whose client packs its state into the history: the judge reads what the person has left of it."""
    lake, now = Lake(str(tmp_path / "lake")), [datetime.now(UTC)]
    evaluator = Evaluator(lake, settings(stage.url, tmp_path, metrics=METRICS), lambda: now[0])
    collector = Collector(lake, CollectorSettings())
    collector.add(Piece(Partition("file", "/logs/a.log", "a"), LINES[0], 1, 0))
    collector.flush()
    evaluator.run_once()
    for number, line in enumerate(LINES[1:], 1):
        collector.add(Piece(Partition("file", "/logs/a.log", "a"), line, number + 1, number))
    collector.flush()
    now[0] += timedelta(hours=2)
    assert evaluator.run_once().failures == ()
    evaluator.close()
    rows = lake.table(SCORES, "shop-agent").read().to_pylist()
    assert {row["metric"]: row["value"] for row in rows} == dict(zip(METRICS, (1.0, 1.0, 0.0), strict=True))
    assert {row["chat_id"] for row in rows} == {"conv1"}
    logged = lake.table(PARSED_LOGS, "shop-agent").read(["event_id", "question"]).to_pylist()
    (last,) = {row["event_id"] for row in rows}
    assert next(row["question"] for row in logged if row["event_id"] == last) == "Ok, and parcel 98?"
    (asked,) = [request for request in stage.requests if "parcel" in request.body["messages"][1]["content"]]
    transcript = asked.body["messages"][1]["content"].partition("TASK.")[0]
    texts = ("parcel 99?", "I cannot find it.", "In Basel.", "look again", "Thanks!")
    assert [text in transcript for text in texts] == [True, True, True, False, False]


@pytest.mark.slow
def test_people_who_leave_without_what_they_wanted_are_told_in_words(stage: ScriptedServer, tmp_path: Path) -> None:
    """Alert, page and Prometheus name the metric of conversations; one that stays is not told."""
    lake = Lake(str(tmp_path / "lake"))
    traffic, rows, now = Traffic(lake, "rag"), [], [NOON - timedelta(minutes=1)]
    traffic.log(traffic.answer("before", -1000))
    evaluator = Evaluator(lake, settings(stage.url, tmp_path, metrics=METRICS), lambda: now[0])
    evaluator.run_once()
    for number in range(HOURS * AN_HOUR):
        minute = number * 60 // AN_HOUR
        wanted = "the moon" if minute >= FELL * 60 and number % 4 else "a refund"
        first, talk = Talk(traffic, f"chat-{number}", f"user-{number}").turn(
            f"I want {wanted} {number}", "Why?", minute
        )
        rows += [first, talk.turn(f"Because {number}", "I see.", minute + 1)[0]]
    traffic.log(*rows)
    now[0] = NOON + timedelta(hours=HOURS + 2)
    assert evaluator.run_once().failures == ()
    evaluator.close()
    learned = RegressionSettings.model_validate({"reference_observations": 200})
    monitor = Monitor(lake, MonitorSettings(regression=learned), clock=lambda: now[0])
    monitor.refresh()
    fired = [row for row in lake.table(ALERTS, "rag").read().to_pylist() if row["change"] == "firing"]
    assert {row["metric"] for row in fired} == {"conversation_completeness"}
    fell = NOON + timedelta(hours=FELL)
    assert abs(fired[0]["since"] - fell) < timedelta(hours=4)
    page = get(create_app(monitor), "/deployment?name=rag")
    assert "wishes met in conversations" in page.lower()
    exported = get(create_metrics_app(monitor), "/metrics")
    assert 'metric="conversation_completeness"' in exported
