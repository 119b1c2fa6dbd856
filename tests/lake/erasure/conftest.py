"""A lake with rows of a person, and all that was made of them."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from lake.spec.case_tables import GROUND_TRUTH, REPLAYS
from lake.spec.root_tables import REJECTED
from lake.spec.schemas import ALERTS, PARSED_LOGS, SCORES, USER_SIGNALS
from lake.tables.lake import Lake
from tests.lake.erasure.planted_rows import ANSWER, NOW, QUESTION, call, history, put


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A person's call with its child, a later turn of the chat, all that was made of it, and a stranger's call."""
    lake = Lake(str(tmp_path))
    mine = {"user_id": "planted-user", "chat_id": "planted-chat"}
    put(lake, PARSED_LOGS, call("aa", trace_id="t1", question=QUESTION, answer=ANSWER, request_body=history(QUESTION),
                                history_hash="h1", **mine))  # fmt: skip
    put(lake, PARSED_LOGS, call("bb", trace_id="t1", request_body=history("chunks", QUESTION)), deployment="gpt-4o")
    put(lake, PARSED_LOGS, call("cc", trace_id="t2", question="And then?", request_body=history(QUESTION, ANSWER),
                                parent_history_hash="h1", requested_at=NOW + timedelta(minutes=1), **mine))  # fmt: skip
    put(lake, PARSED_LOGS, call("dd", trace_id="t3", user_id="stranger", chat_id="other", question="Hello there?"),
        deployment="rag-app")  # fmt: skip
    put(lake, USER_SIGNALS, {"signal_id": "s1", "response_id": "r-aa", "user_id": "planted-user",
                             "details": '{"comment": "PLANTEDCOMMENT"}'},
        {"signal_id": "s2", "response_id": "r-dd", "user_id": "stranger"})  # fmt: skip
    claims = '{"claims": ["PLANTEDCLAIM"], "case_id": "k1"}'
    put(lake, SCORES, {"score_id": "1", "event_id": "aa", "response_id": "r-aa", "details": '["PLANTEDCLAIM"]',
                       "value": 0.5},
        {"score_id": "2", "event_id": "dd", "response_id": "r-dd", "details": claims, "value": 0.25})  # fmt: skip
    put(lake, GROUND_TRUTH, {"case_id": "k1", "question": QUESTION, "answer": ANSWER, "source_response_id": "r-aa"},
        {"case_id": "k2", "question": "Another?", "source_response_id": "r-zz"})  # fmt: skip
    put(lake, REPLAYS, {"replay_id": "1", "case_id": "k1", "answer": "PLANTEDANSWER again"})
    worst = [{"response_id": "r-aa", "value": 0.1}, {"response_id": "r-dd", "value": 0.2}]
    put(
        lake,
        ALERTS,
        {"change_id": "c1", "change": "firing", "details": json.dumps({"worst": worst, "observations": 3})},
    )
    cut = json.dumps({"chat": {"id": "planted-chat"}, "body": history(QUESTION)}).encode()[:-3]
    lake.table(REJECTED).append(
        REJECTED.rows([{"raw": cut, "date": NOW.date()}, {"raw": b"{nothing}", "date": NOW.date()}]), {"file:1": 9}
    )
    return lake
