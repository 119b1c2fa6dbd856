import json

import pytest

from collector.parsing.answer import read_answer
from collector.parsing.apis import once

RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "model": "gpt-5",
    "output": [
        {"type": "reasoning", "summary": []},
        {"type": "message", "content": [{"type": "output_text", "text": "Hel"}, {"type": "output_text", "text": "lo"}]},
    ],
}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude",
    "content": [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "Hel"},
        {"type": "text", "text": "lo"},
    ],
    "stop_reason": "end_turn",
}


@pytest.mark.parametrize(("value", "reason"), [(RESPONSE, "completed"), (MESSAGE, "end_turn")])
def test_other_apis(value: dict[str, object], reason: str) -> None:
    """Answers of the Responses and the Messages API give their text, id, model and reason."""
    body = json.dumps(value)
    answer = read_answer(body, body, status=200)
    assert (answer.text, answer.response_id, answer.model) == ("Hello", value["id"], value["model"])
    assert (answer.finish_reason, answer.error, answer.assembled) == (reason, None, body)


def test_an_incomplete_response_says_why() -> None:
    """The reason of an incomplete response stands in its details."""
    body = json.dumps({**RESPONSE, "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}})
    assert read_answer(body, body, status=200).finish_reason == "max_output_tokens"


def test_ids_of_a_responses_stream() -> None:
    """Core gives a response an id of its own; the upstream's in the stream is told as well."""
    body = 'event: response.created\ndata: {"type":"response.created","response":{"id":"up"}}\n\n'
    answer = read_answer(json.dumps(RESPONSE), body, status=200)
    assert (answer.response_id, answer.response_ids) == ("resp_1", ("up", "resp_1"))


@pytest.mark.parametrize(
    ("reason", "result"),
    [("stopstop", "stop"), ("stop", "stop"), ("lengthlengthlength", "length"), ("", ""), (None, None)],
)
def test_repeated_reasons(reason: str | None, result: str | None) -> None:
    """A word that Core repeated is one word."""
    assert once(reason) == result
