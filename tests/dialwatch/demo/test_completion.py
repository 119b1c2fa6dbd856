"""Completions as deployments send them and as Core assembles them."""

import json
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from collector.parsing import LogRecord, parse_entry
from dialwatch.demo.completion import Completion
from dialwatch.demo.core_line import CoreCall, core_line
from dialwatch.demo.rag_answer import Passage, rag_deltas

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1)


def parsed(response_body: str, assembled_response: str) -> LogRecord:
    call = CoreCall(
        deployment="rag",
        uri="/openai/deployments/rag/chat/completions",
        started=datetime(2026, 8, 3, tzinfo=UTC),
        trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
        span_id="a000000000000001",
        request_body='{"messages":[{"role":"user","content":"Who?"}],"stream":true}',
        response_body=response_body,
        assembled_response=assembled_response,
    )
    record = parse_entry(core_line(call))
    assert isinstance(record, LogRecord)
    return record


@given(TEXT, st.lists(TEXT, min_size=1, max_size=4))
def test_every_form_says_the_same(answer: str, texts: list[str]) -> None:
    """Plain, streamed, and merged by Core in its old or new form, a completion is one and the same answer."""
    passages = [Passage(text, "doc.pdf", "files/b/doc.pdf", 3, 0, chunk) for chunk, text in enumerate(texts)]
    completion = Completion("r-1", 1785742217, None, rag_deltas(answer, passages, passages[::-1], 0, 1.5))
    records = [
        parsed(completion.plain(), completion.plain()),
        parsed(completion.events(), completion.assembled("message")),
        parsed(completion.events(), completion.assembled("delta")),
        parsed(completion.events(), "{}"),
    ]
    assert {record.answer for record in records} == {f"{answer} [1]"}
    assert {record.response_id for record in records} == {"r-1"}
    assert {record.contexts_origin for record in records} == {"retrieval_stage"}
    for record in records:
        assert [context["id"] for context in record.contexts or ()] == [f"0.{chunk}" for chunk in range(len(texts))]


def test_error_in_the_stream_costs_core_the_id() -> None:
    """A stream that breaks off ends in its error, and what Core assembles of it has no id and no finish reason."""
    completion = Completion("r-1", 1785742217, None, ({"content": "Hel"}, {"content": "lo"}), error={"code": "500"})
    assert completion.events().endswith('data: {"error":{"code":"500"}}\n\ndata: [DONE]\n\n')
    assert json.loads(completion.assembled("message")) == {
        "id": None,
        "object": "chat.completion",
        "created": None,
        "model": None,
        "choices": [{"index": 0, "finish_reason": None, "message": {"content": "Hello"}}],
    }
