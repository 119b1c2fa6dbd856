from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient

from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.schemas import USER_SIGNALS
from lake.tables.lake import Lake
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from tests.monitor.conftest import NOW, ScoreColumns

TODAY = NOW.date()
ANSWER = "The allowance is 30 days. It is paid in gold."
CONTEXTS = [
    {"text": "The allowance is 30 days a year.", "title": "Handbook.pdf", "url": "files/handbook.pdf", "page": 4},
    {"text": "Ask your manager.", "title": None, "url": "files/other.pdf", "page": None},
]
Client = Callable[..., Any]


@pytest.fixture
def client(monitor: Monitor) -> Iterator[TestClient]:
    """Pages of a monitor that listens on loopback, after a refresh."""
    monitor.refresh()
    with TestClient(create_app(monitor), follow_redirects=False) as client:
        yield client


@pytest.fixture
def one_answer(rows: ScoreColumns, lake: Lake) -> str:
    """One answer with all that there can be; gives the path of its page."""
    messages = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": [{"type": "text", "text": "How can I help?"}]},
        {"role": "user", "content": "How long is the leave?"},
    ]
    call = {"trace_id": "a" * 32, "requested_at": NOW, "date": TODAY}
    rows.logs(
        "rag",
        call
        | {"event_id": "e1", "response_id": "r1", "response_ids": ["r1", "r1b"], "question": "How long is the leave?"}
        | {"answer": ANSWER, "contexts": CONTEXTS, "contexts_origin": "retrieval_response", "span_id": "1" * 16}
        | {
            "request_body": json.dumps({"messages": messages}),
            "assembled_response": '{"id": "r1"}',
            "duration_ms": 1234,
        }
        | {"price": 0.25, "model": "gpt-4o", "message_count": 3},
    )
    rows.logs(
        "gpt-4o",
        call
        | {"event_id": "e2", "response_id": "r1", "span_id": "2" * 16, "parent_span_id": "1" * 16}
        | {"parent_deployment": "rag", "is_entry": False, "requested_at": NOW + timedelta(seconds=1)},
    )
    claims = [
        {"fact": "The leave is 30 days.", "sentence": 1, "contexts": [0], "verdict": "S"},
        {"fact": "It is paid in gold.", "sentence": 2, "contexts": [], "verdict": "N", "reason": "no chunk says so"},
    ]
    facts = {"facts_ranks": [0, -1], "facts_places": [[4, 24], None], "ignored_facts": 0, "case_id": "case-1"}
    rows.scores(
        "rag",
        *(
            {"event_id": "e1", "response_id": "r1", "score_id": metric, "metric": metric, "value": value}
            | {"details": json.dumps(details), "judge": judge}
            for metric, value, details, judge in (
                ("faithfulness_kprecision", 0.7, {"unsupported": [[29, 44]]}, "lexical"),
                ("facts_recall", 0.5, facts, "lexical"),
                ("faithfulness_claims", 0.5, {"facts": claims}, "strict"),
            )
        ),
        {"event_id": "e1", "response_id": "r1", "score_id": "x", "metric": "toxicity", "reason": "no_answer"},
    )
    case = {"case_id": "case-1", "deployment": "rag", "facts": ["allowance is 30 days", "Carry over is 5 days"]}
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows([case | {"updated_at": NOW - timedelta(days=1)}]))
    signal = {"signal_id": "s1", "response_id": "r1b", "deployment": "rag", "date": TODAY, "signaled_at": NOW}
    signal |= {"signal": "dislike", "origin": "explicit", "details": json.dumps({"comment": "Gold? Really?"})}
    lake.table(USER_SIGNALS, "rag").append(USER_SIGNALS.rows([signal]))
    return f"/answer?deployment=rag&date={TODAY}&event_id=e1"


@pytest.fixture
def many_answers(rows: ScoreColumns) -> None:
    """60 answers in two days, each with a score, every tenth failed."""
    logs, scores = [], []
    for number in range(60):
        at = NOW - timedelta(minutes=30 * number)
        both = {
            "event_id": f"e{number:02}",
            "response_id": f"answer-{number:02}",
            "requested_at": at,
            "date": at.date(),
        }
        logs.append(both | {"question": f"Question {number}", "status": 500 if number % 10 == 9 else 200})
        scores.append(both | {"value": number / 100, "score_id": f"s{number}"})
    rows.logs("rag", *logs)
    rows.scores("rag", *scores)
    rows.logs("empty", {"is_entry": False})
