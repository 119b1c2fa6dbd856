import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsing.answer.answer import read_answer
from collector.parsing.answer.apis import read_body, read_whole_completion, reason_of
from collector.parsing.json_text.bodies import read_object

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
    """Core gives a response an id of its own; the upstream's in the stream is kept as well."""
    body = 'event: response.created\ndata: {"type":"response.created","response":{"id":"up"}}\n\n'
    answer = read_answer(json.dumps(RESPONSE), body, status=200)
    assert (answer.response_id, answer.response_ids) == ("resp_1", ("up", "resp_1"))


@pytest.mark.parametrize(
    ("reason", "result"),
    [
        ("stopstop", "stop"),
        ("stop", "stop"),
        ("lengthlengthlength", "length"),
        ("", None),
        (None, None),
        ("null", None),
        ("nullnull", None),
        ("nullnullstop", "stop"),
        ("stopnull", "stop"),
        ("NoneNonelength", "length"),
    ],
)
def test_repeated_reasons(reason: str | None, result: str | None) -> None:
    """A word that Core repeated is one word, and the name of no value is no word."""
    assert reason_of(reason) == result


SAID = st.fixed_dictionaries(
    {},
    optional={"content": st.none() | st.text() | st.lists(st.text()), "custom_content": st.none() | st.just({"a": []})},
)
CHOICE = st.fixed_dictionaries(
    {},
    optional={
        "index": st.sampled_from([0, 1, None, "0"]),
        "message": SAID | st.none() | st.text(),
        "delta": SAID,
        "finish_reason": st.sampled_from(["stop", "stopstop", "", None, 5]),
        "text": st.none() | st.text(),
        "logprobs": st.none(),
    },
)
COMPLETION = st.fixed_dictionaries(
    {"id": st.sampled_from(["r-1", "r-1", "", None, 5]), "choices": st.lists(CHOICE | st.just(5), max_size=2)},
    optional={"model": st.none() | st.text() | st.integers(), "error": st.none() | st.just({"code": 1})},
)


@given(value=COMPLETION)
def test_a_whole_completion_is_read_alike(value: dict[str, Any]) -> None:
    """Decoding no more than what is needed gives the answer that decoding all of it gives, or leaves it to that."""
    text = json.dumps(value)
    body = read_whole_completion(text)
    if body is not None:
        assert body == read_body(read_object(text) or {})
        assert (body.missing, value.get("error")) == ((), None)


def test_a_usual_completion_is_whole() -> None:
    """With an index or, as in Core before 0.22.1, without one and with a delta."""
    for choice in ({"index": 0, "message": {"content": "a"}}, {"delta": {"content": "a"}}):
        body = read_whole_completion(json.dumps({"id": "r", "choices": [choice | {"finish_reason": "stop"}]}))
        assert body is not None
        assert (body.text, body.finish_reason) == ("a", "stop")


@pytest.mark.parametrize("error", [{"code": 1}, None, ""])
def test_an_error_beside_an_answer_is_reported(error: object) -> None:
    """Log format 1.5: an answer with an error is no whole one, however whole it looks."""
    value = {"id": "r", "choices": [{"index": 0, "message": {"content": "a"}, "finish_reason": "stop"}], "error": error}
    assert read_whole_completion(json.dumps(value)) is None
    assert bool(error) is ("upstream error" in (read_answer(json.dumps(value), "", status=200).error or ""))
