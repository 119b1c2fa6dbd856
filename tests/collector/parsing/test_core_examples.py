"""One line of each shape that Core writes, as it writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from collector.parsing import LogRecord, SignalRecord, core_lines, parse_line

LINES = (Path(__file__).parent / "core_examples.jsonl").read_bytes().splitlines()
EXPECTED: list[dict[str, Any]] = [
    {"response_id": "r-100", "answer": "30 days [1].", "question": "What is the refund window?", "stream": False,
     "chat_id": "conversations/b1/rag-app__Refunds", "price": 0.0031, "is_entry": True, "error": None},
    {"response_id": "r-101", "answer": "Hello", "stream": True, "response_ids": ["r-101"], "is_entry": True,
     "finish_reason": "stop", "total_tokens": 23, "error": None},
    {"kind": "embedding", "deployment": "text-embedding-3", "parent_deployment": "rag-app", "is_entry": False,
     "deployment_price": 5e-7, "parent_span_id": "a000000000000002", "answer": None, "error": None},
    {"signal": "dislike", "value": -1.0, "response_id": "r-101", "deployment": "rag-app", "origin": "explicit"},
    {"kind": "route", "deployment": "rag-app", "is_entry": False},
    {"status": 400, "answer": None, "is_entry": False, "deployment": "gpt-4o"},
    {"status": 200, "answer": "Hello", "response_id": "r-101", "is_entry": True},
    {"answer": None, "response_id": None, "request_body": None, "project_id": "hr-key", "total_tokens": 23,
     "user_id": None, "error": None},
    {"deployment": "rag-app", "answer": "Hello", "is_entry": True, "parent_deployment": None,
     "execution_path": ["pii-in", "pii-out", "rag-app"]},
]  # fmt: skip
NAMES = ["plain", "stream", "embeddings", "rate", "route", "upstream-400", "mid-stream", "secured", "interceptors"]


@pytest.mark.parametrize(("raw", "expected"), list(zip(LINES, EXPECTED, strict=True)), ids=NAMES)
def test_each_shape_gives_its_row(raw: bytes, expected: dict[str, Any]) -> None:
    """The row of each shape says what the line says."""
    (entry,) = core_lines(raw)
    record = parse_line(entry)
    assert isinstance(record, LogRecord | SignalRecord)
    assert {name: getattr(record, name) for name in expected} == expected


@pytest.mark.parametrize(("number", "says"), [(5, "filtered"), (6, "Error during processing the request")])
def test_a_failed_call_says_why(number: int, says: str) -> None:
    """The upstream's message is the error, also where it stands in the stream of a call with status 200."""
    (entry,) = core_lines(LINES[number])
    record = parse_line(entry)
    assert isinstance(record, LogRecord)
    assert says in (record.error or "")
