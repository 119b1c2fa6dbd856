"""Completions as deployments send them and as Core assembles them."""

import json
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from collector.parsing import LogRecord, parse_line
from dialwatch.demo.completion import StreamedCompletion, assembled, broken_off
from dialwatch.demo.core_line import CoreCall, core_line
from dialwatch.demo.rag_answer import text_deltas

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1)
USAGE = {"completion_tokens": 2, "prompt_tokens": 3, "total_tokens": 5}


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
    record = parse_line(core_line(call))
    assert isinstance(record, LogRecord)
    return record


@given(TEXT, st.lists(TEXT, min_size=1, max_size=4))
def test_every_form_says_the_same(answer: str, texts: list[str]) -> None:
    """Streamed, and merged by Core in its old or new form, a completion is one and the same answer."""
    stage = {"index": 0, "name": "Combined search", "status": None}
    found = [
        {"index": rank, "title": f"[0.{rank}] 'doc.pdf'", "data": text, "reference_url": "files/b/doc.pdf#page=3"}
        for rank, text in enumerate(texts)
    ]
    deltas = (
        {"role": "assistant"},
        {"custom_content": {"stages": [stage]}},
        *({"custom_content": {"stages": [{"index": 0, "attachments": [one]}]}} for one in found),
        {"custom_content": {"stages": [{"index": 0, "status": "completed"}]}},
        *text_deltas(answer),
    )
    events = StreamedCompletion("r-1", 1785742217, "gpt", deltas, USAGE).events()
    records = [parsed(events, form) for form in (assembled(events, "message"), assembled(events, "delta"), "{}")]
    assert {record.answer for record in records} == {answer}
    assert {record.response_id for record in records} == {"r-1"}
    assert {record.contexts_origin for record in records} == {"retrieval_stage"}
    for record in records:
        assert [context["text"] for context in record.contexts or ()] == texts


def test_what_core_assembles_has_usage_and_model() -> None:
    """The merged stream has id, time, model and usage, in its old form the key `delta`."""
    events = StreamedCompletion("r-1", 1785742217, "gpt", ({"content": "Hel"}, {"content": "lo"}), USAGE).events()
    head = {"id": "r-1", "object": "chat.completion", "created": 1785742217, "model": "gpt", "usage": USAGE}
    choice = {"finish_reason": "stop", "delta": {"content": "Hello"}}
    assert json.loads(assembled(events, "delta")) == {**head, "choices": [choice]}


def test_error_in_the_stream_costs_core_the_id() -> None:
    """A stream that breaks off ends in its error, and what Core assembles of it has no id and no finish reason."""
    events = StreamedCompletion("r-1", 1785742217, "gpt", ({"content": "Hel"}, {"content": "lo"}), USAGE).events()
    broken = broken_off(events, {"code": "500"}, lost=2)
    assert broken.endswith('data: {"error":{"code":"500"}}\n\ndata: [DONE]\n\n')
    assert json.loads(assembled(broken, "message")) == {
        "id": None,
        "object": "chat.completion",
        "created": None,
        "model": "gpt",
        "choices": [{"index": 0, "finish_reason": None, "message": {"content": "Hel"}}],
    }
