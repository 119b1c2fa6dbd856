import json
from typing import Any

import msgspec
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsing.request.messages import RequestBody, body_of, json_of, read_usual_body, said

CONTENT = st.none() | st.text() | st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": st.text()}))
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant"])},
    optional={
        "content": CONTENT,
        "tool_calls": st.none() | st.just([{"id": "c", "function": {"arguments": "{}"}}]),
        "custom_content": st.just({"attachments": [{"url": "u"}]}),
        "refusal": st.none(),
    },
)
BODY = st.fixed_dictionaries(
    {},
    optional={
        "messages": st.lists(MESSAGE),
        "input": st.text(min_size=1) | st.lists(MESSAGE),
        "prompt": st.text() | st.lists(st.text()),
        "system": st.text(),
        "previous_response_id": st.text(),
        "conversation": st.text() | st.fixed_dictionaries({"id": st.text()}),
        "model": st.text(min_size=1),
        "stream": st.booleans(),
        "temperature": st.floats(0, 1),
    },
)


def members_of(body: RequestBody) -> list[Any]:
    messages = body.messages or None
    raw = ("instructions", "system", "prompt", "previous_response_id", "conversation", "custom_fields")
    known = [json_of(getattr(body, name)) for name in raw]
    return [messages and said(messages), body.model, body.stream, known]


@given(value=BODY)
def test_both_ways_read_alike(value: dict[str, Any]) -> None:
    """A body as a client writes it gives the same messages decoded by type and taken from decoded JSON."""
    assert members_of(read_usual_body(orjson.dumps(value).decode())) == members_of(body_of(value))


def test_what_was_said_has_no_order() -> None:
    """Members come in one order whatever order they were sent in, and null is the same as absent."""
    one = read_usual_body('{"messages":[{"content":"a","role":"user","tool_calls":null,"refusal":null}]}')
    other = read_usual_body('{"messages":[{"role":"user","content":"a"}]}')
    assert said(one.messages or []) == said(other.messages or []) == b'[{"role":"user","content":"a"}]'


@pytest.mark.parametrize("value", [{"messages": [5]}, {"messages": [{"role": 5}]}, {"model": 5}, {"stream": "yes"}, []])
def test_other_types_are_refused(value: object) -> None:
    """A member of another type leaves the body to the reader of decoded JSON."""
    with pytest.raises(msgspec.DecodeError):
        read_usual_body(json.dumps(value))


def test_a_body_too_deep_is_refused() -> None:
    """What cannot be written again cannot be hashed."""
    deep: list[Any] = []
    for _ in range(300):
        deep = [deep]
    with pytest.raises(TypeError):
        body_of({"messages": [{"role": "user", "content": deep}]})
