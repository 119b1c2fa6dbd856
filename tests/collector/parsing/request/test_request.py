import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsing.contexts import Context
from collector.parsing.request.request import Request, read_request

SYSTEM = {"role": "system", "content": "Be kind."}
HISTORY = [
    SYSTEM,
    {"role": "user", "content": "Hi", "custom_content": {"attachments": [{"url": "files/b/1.pdf"}]}},
    {"role": "assistant", "content": "Hello", "custom_content": {"state": {"x": 1}}},
    {"role": "user", "content": "What is it?"},
]


def read(**body: Any) -> Request:
    return read_request(json.dumps(body))


def test_a_chat() -> None:
    """The question is the last user message; documents come from the whole history."""
    request = read(messages=HISTORY, model="rag", stream=True)
    assert (request.question, request.documents, request.message_count) == ("What is it?", ("files/b/1.pdf",), 4)
    assert (request.model, request.stream, request.error) == ("rag", True, None)


@pytest.mark.parametrize(
    ("message", "question"),
    [
        ({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}},
                                      {"type": "text", "text": "b"}]}, "a\nb"),
        ({"role": "user", "content": None}, None),
        ({"role": "user", "content": 5}, None),
        ({"role": "user"}, None),
        ({"role": "tool", "tool_call_id": "c", "content": "42"}, "before"),
        ({"role": "assistant", "content": None, "tool_calls": [{}]}, "before"),
        ({"role": "user", "content": [{"type": "tool_result", "content": "42"}]}, "before"),
        ({"role": 5, "content": "x"}, "before"),
        (None, "before"),
        ("x", "before"),
    ],
)  # fmt: skip
def test_the_last_user_message(message: Any, question: str | None) -> None:
    """Text parts are joined; messages of others, and what is no message, are passed over."""
    request = read(messages=[{"role": "user", "content": "before"}, message])
    assert (request.question, request.message_count) == (question, 2)


@pytest.mark.parametrize(
    ("body", "question", "count"),
    [
        ({"input": "Why?", "instructions": "x"}, "Why?", 1),
        ({"input": [{"role": "user", "content": [{"type": "input_text", "text": "Why?"}]}]}, "Why?", 1),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "Why?"}]}], "system": "x"}, "Why?", 1),
        ({"prompt": "Why?"}, "Why?", None),
        ({"prompt": ["Why?", "Who?"]}, "Why?\nWho?", None),
        ({"prompt": [1, 2]}, None, None),
        ({}, None, None),
        ({"messages": "x"}, None, None),
        ({"messages": []}, None, 0),
    ],
)
def test_other_apis(body: dict[str, Any], question: str | None, count: int | None) -> None:
    """Responses, Messages and completions requests have a question too."""
    request = read(**body)
    assert (request.question, request.message_count, request.error) == (question, count, None)


def test_documents_are_those_of_users() -> None:
    """What an assistant made is no document that its user asked about."""
    made = {"role": "assistant", "content": "a", "custom_content": {"attachments": [{"url": "files/b/answer.png"}]}}
    assert read(messages=[*HISTORY, made]).documents == ("files/b/1.pdf",)


@pytest.mark.parametrize("other", [{"model": 5}, {"messages": [5, *HISTORY]}, {"messages": [{"role": 5}, *HISTORY]}])
def test_odd_members_cost_only_themselves(other: dict[str, Any]) -> None:
    """Where one member has another type than DIAL's, the rest is read all the same."""
    request = read(**{"messages": HISTORY, "model": "rag", "stream": True} | other)
    assert (request.question, request.stream, request.error) == ("What is it?", True, None)
    assert (request.documents, request.history.history_hash is None) == (("files/b/1.pdf",), False)


def changed(index: int, **members: Any) -> list[dict[str, Any]]:
    return [message | members if at == index else message for at, message in enumerate(HISTORY)]


def test_the_same_history_asked_again() -> None:
    """An assistant's state, the order of keys and settings of the request do not change a history."""
    known = read(messages=HISTORY, temperature=0).history.history_hash
    assert known is not None
    assert read(messages=changed(2, custom_content={"state": {"x": 2}}), temperature=1).history.history_hash == known
    assert read(messages=[dict(reversed(m.items())) for m in HISTORY], stream=True).history.history_hash == known
    assert read(messages=changed(2, tool_calls=None)).history.history_hash == known
    silent = [{"role": "assistant", "tool_calls": [{"id": "c"}]}, HISTORY[-1]]
    state = {"custom_content": {"state": {"x": 3}}}
    assert (
        read(messages=[silent[0] | state, silent[1]]).history.history_hash == read(messages=silent).history.history_hash
    )


@pytest.mark.parametrize(
    "other",
    [
        HISTORY[:-1],
        [*HISTORY, {"role": "assistant", "content": "x"}],
        changed(3, content="What is it"),
        changed(3, content=["What is it?"]),
        changed(0, role="user"),
        changed(2, tool_calls=[{"id": "c"}]),
        changed(1, custom_content={"attachments": [{"url": "files/b/2.pdf"}]}),
        HISTORY[::-1],
    ],
)
def test_another_history(other: list[dict[str, Any]]) -> None:
    """Another text, role, tool call, document or order is another history."""
    assert read(messages=other).history.history_hash != read(messages=HISTORY).history.history_hash


def test_no_history_has_no_hash() -> None:
    """Requests that hold nothing are not taken for repetitions of each other."""
    assert read(messages=[]).history.history_hash is None
    assert read(prompt="a").history.history_hash != read(prompt="b").history.history_hash


@given(texts=st.lists(st.text(), min_size=2, max_size=2, unique=True))
def test_texts_and_hashes(texts: list[str]) -> None:
    """Different questions have different hashes, equal ones the same."""
    first, second = (read(messages=[{"role": "user", "content": text}]).history.history_hash for text in texts)
    assert first != second
    assert first == read(messages=[{"content": texts[0], "role": "user"}]).history.history_hash


def test_chunks_in_the_prompt() -> None:
    """What an application put before its model is read from the parts of the last user message."""
    parts = ["What?", "<context>", "<doc id='1' page_number='2' source='u'>\nfirst\n", "</doc>\n", "</context>"]
    request = read(messages=[{"role": "user", "content": [{"type": "text", "text": part} for part in parts]}])
    assert request.prompt_contexts == (Context("first", None, "u", 2, "1"),)


@pytest.mark.parametrize("mode", ["rag", "retrieval", "indexing"])
def test_modes_of_dial_rag(mode: str) -> None:
    """The mode stands in the request's configuration."""
    assert read(custom_fields={"configuration": {"request": {"type": mode}}}).configuration_type == mode
    assert read(custom_fields={"configuration": None}).configuration_type is None


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (None, "no request.body was logged"),
        ("", "no request.body was logged"),
        ('{"messages":[{"role":"user","content":"W>>', "request.body was cut by DIAL Core: the question is unknown"),
        ("a=b", "request.body is no JSON object: the question is unknown"),
        ("[]", "request.body is no JSON object: the question is unknown"),
    ],
)
def test_unreadable_bodies(body: str | None, error: str) -> None:
    """A body that cannot be read gives nothing but the reason."""
    assert read_request(body) == Request(error=error)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("user"),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["messages", "role", "content", "input", "prompt", "custom_content", "attachments", "url",
                         "type", "text", "stream", "model", "tool_calls", "custom_fields"]), inner, max_size=5),
    max_leaves=15,
)  # fmt: skip


@given(body=st.text() | VALUES | VALUES.map(json.dumps) | st.lists(VALUES).map(lambda m: json.dumps({"messages": m})))
def test_anything_at_all(body: Any) -> None:
    """Whatever the body is, a request of the declared types comes out."""
    request = read_request(body)
    for value in (
        request.question,
        request.history.history_hash,
        request.model,
        request.configuration_type,
        request.error,
    ):
        assert value is None or (isinstance(value, str) and value)
    assert all(isinstance(name, str) and name for name in request.documents)
    assert isinstance(request.stream, bool | None)
    assert isinstance(request.message_count, int | None)


@pytest.mark.parametrize("depth", [300, 900, 100_000])
def test_deep_nesting(depth: int) -> None:
    """A body that nests too deep for a hash still gives its question, or the reason why not."""
    deep = "[" * depth + "]" * depth
    request = read_request('{"messages":[{"role":"user","content":"q","tool_calls":' + deep + "}]}")
    assert request.question == "q" or request.error is not None
