import json
from typing import Any

import pytest

from collector.parsing.answer.answer import read_answer


def stream(*events: dict[str, Any]) -> str:
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


ANTHROPIC = [
    {"type": "ping"},
    {"type": "message_start", "message": {"id": "msg_1", "type": "message", "model": "claude", "content": [],
                                          "stop_reason": None, "usage": {"input_tokens": 5}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hel"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "lo"}},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t", "name": "f"}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}},
    {"type": "message_stop"},
]  # fmt: skip


def test_a_messages_stream() -> None:
    """Core logs the raw events of the Messages API as the assembled response; here they become the message."""
    body = stream(*ANTHROPIC)
    answer = read_answer(body, body, status=200)
    assert (answer.text, answer.response_ids, answer.model) == ("Hello", ("msg_1",), "claude")
    assert (answer.finish_reason, answer.error) == ("tool_use", None)
    message = json.loads(answer.assembled or "")
    assert message["usage"] == {"input_tokens": 5, "output_tokens": 7}
    assert message["content"][1] == {"type": "tool_use", "id": "t", "name": "f", "partial_json": "{}"}


def test_a_messages_stream_without_end() -> None:
    """A message that breaks off keeps its text and says that it is not whole."""
    answer = read_answer(None, stream(*ANTHROPIC[:4]), status=200)
    assert answer.text == "Hel"
    assert "without finish_reason" in (answer.error or "")


CREATED = {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "output": []}}
DELTA = {"type": "response.output_text.delta", "delta": "Hel"}
COMPLETED: dict[str, Any] = {
    "type": "response.completed",
    "response": {
        "id": "resp_1",
        "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hello"}]}],
    },
}


@pytest.mark.parametrize(
    ("events", "text", "whole"), [([CREATED, DELTA, COMPLETED], "Hello", True), ([CREATED, DELTA], "Hel", False)]
)
def test_a_responses_stream(events: list[dict[str, Any]], text: str, whole: bool) -> None:
    """The last event of the Responses API holds the answer; without it the text so far is the answer."""
    answer = read_answer("{}", stream(*events), status=200)
    assert (answer.text, answer.response_ids, answer.error is None) == (text, ("resp_1",), whole)


PART = {"output_index": 0, "content_index": 0}


@pytest.mark.parametrize(
    ("event", "text", "kind"),
    [
        ({"type": "response.refusal.delta", "delta": "No."} | PART, "No.", "refusal"),
        ({"type": "response.function_call_arguments.delta", "delta": "{}"} | PART, None, "tool_call"),
    ],
)
def test_what_the_end_of_a_response_lacks_is_in_its_events(event: dict[str, Any], text: str | None, kind: str) -> None:
    """Core keeps the last object, which some senders leave without output."""
    last = COMPLETED["response"] | {"output": []}
    body = stream(CREATED, event, {"type": "response.completed", "response": last})
    answer = read_answer(json.dumps(last), body, status=200)
    assert (answer.text, answer.kind, answer.error) == (text, kind, None)


def test_a_choice_without_index_is_the_choice_at_its_place() -> None:
    """Some producers leave out an index of 0."""
    body = "".join(
        f"data: {json.dumps({'id': 'r', 'choices': [{'delta': {'content': piece}}]})}\n\n" for piece in ("Hel", "lo")
    )
    assert read_answer("{}", body + "data: [DONE]\n\n", status=200).text == "Hello"


def test_first_model_last_id() -> None:
    """As in Core, the model is the first that is named and the id the last."""
    chunks = [{"id": "a", "model": ""}, {"id": "b", "model": "x"}, {"id": "c", "model": "y"}, {"id": ""}]
    body = "".join(
        f"data: {json.dumps(c | {'choices': [{'index': 0, 'delta': {'content': 'z'}}]})}\n\n" for c in chunks
    )
    answer = read_answer("{}", body + "data: [DONE]\n\n", status=200)
    assert (answer.model, answer.response_id, answer.response_ids) == ("x", "c", ("a", "b", "c"))
