"""A gateway that gives all answers one id, or none, and one like: from the lines to all that joins them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from collector.commit.position import Partition, Piece
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from collector.signals import ImplicitSignals, SignalSettings
from dialwatch.commands.check.lake_checks import check_signals
from dialwatch.commands.ground_truth.bad import bad_answers
from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.queries.answer_details import read_answer
from lake.queries.answer_filter import AnswerFilter
from lake.queries.answer_search import find_answers
from lake.queries.ground_truth.case_versions import read_cases
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from monitor.exporter.registry import registry_of
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.collector.lines import chat_line, rating_line

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
PEOPLE = range(6)


def line(person: int, response_id: str | None) -> bytes:
    """An answer to a question of a person in a conversation of theirs."""
    row = json.loads(chat_line(person))
    answer = json.loads(row["assembled_response"])
    del answer["id"]
    answer = answer if response_id is None else {"id": response_id} | answer
    body = json.dumps(answer)
    changed = {"assembled_response": body, "response": {"status": "200", "body": body}, "user": {"id": f"u-{person}"}}
    return json.dumps(row | changed).encode()


def rating(number: int, response_id: str | None, about: dict[str, Any], *, like: bool = True) -> bytes:
    row = json.loads(rating_line(number, response_id or "", like=like))
    if response_id is None:
        row["request"]["body"] = json.dumps({"rate": like})
    return json.dumps(row | {"chat": {"id": ""}, "user": {"id": ""}} | about).encode()


def whose(person: int) -> dict[str, Any]:
    return {"chat": {"id": f"chat-{person}"}, "user": {"id": f"u-{person}"}}


@pytest.mark.parametrize("response_id", ["chat", None])
def test_one_like_is_of_one_answer_and_one_dislike_of_another(tmp_path: Path, response_id: str | None) -> None:
    """In the list, on each page, in ground truth, among the bad answers; a like that names nobody is counted."""
    lake = Lake(str(tmp_path / "lake"))
    collector = Collector(lake, CollectorSettings())
    said = [
        rating(90, response_id, whose(2)),
        rating(91, response_id, whose(4), like=False),
        rating(92, response_id, {}),
    ]
    for offset, one in enumerate([*(line(person, response_id) for person in PEOPLE), *said], 1):
        collector.add(Piece(Partition("file", "x.log", "1"), one, offset))
    collector.flush()
    assert ImplicitSignals(lake, SignalSettings(), lambda: NOW).run_once().failed == ()
    Evaluator(lake, EvaluatorSettings(metrics=["context_present"]), clock=lambda: NOW).run_once()

    day = AnswerFilter("rag-app", NOW - timedelta(hours=12), NOW)
    rows = {row.question: row for row in find_answers(lake, day).rows}
    ratings = {question: str(row.rating) for question, row in rows.items() if row.rating != "none"}
    assert ratings == {"Question 2?": "liked", "Question 4?": "disliked"}
    pages = {question: read_answer(lake, "rag-app", row.date, row.event_id) for question, row in rows.items()}
    signals = {question: [one.signal for one in page.signals] for question, page in pages.items() if page}
    assert {question: some for question, some in signals.items() if some} == {
        "Question 2?": ["like"], "Question 4?": ["dislike"],
    }  # fmt: skip
    assert [one.question for one in bad_answers(lake, "rag-app", NOW - timedelta(days=1))] == ["Question 4?"]
    (case,) = read_cases(lake.table(GROUND_TRUTH, "rag-app"))
    assert (case["question"], case["source_response_id"]) == ("Question 2?", rows["Question 2?"].event_id)

    monitor = Monitor(lake, MonitorSettings(), lambda: NOW)
    monitor.refresh()
    monitor.refresh()
    reason = "no_id" if response_id is None else "shared_id"
    labels = {"deployment": "rag-app", "reason": reason}
    assert (
        registry_of(lambda: monitor.snapshot, "staging").get_sample_value(
            "dialwatch_unjoined_signals", labels | {"installation": "staging"}
        )
        == 1
    )
    with TestClient(create_app(monitor)) as client:
        assert "Of 3 signals of the last 7 days 1 belong to no answer" in client.get("/deployment?name=rag-app").text
        chosen = client.get("/ground-truth.json?deployment=rag-app").json()["chosen"]
    assert [one["signal"] for one in chosen["signals"]] == ["like"]
    assert "of 3 signals of the last 7 days 1 are joined with no answer" in check_signals(lake, lambda: NOW)[0].text
    assert lake.table(PARSED_LOGS, "rag-app").read(["event_id"]).num_rows == len(PEOPLE)
