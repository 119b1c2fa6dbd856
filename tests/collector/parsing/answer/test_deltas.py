"""Streams of answers as senders cut them: golden values, and any cut gives the same answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsing.answer.answer import Answer, read_answer

DONE = "data: [DONE]\n\n"


def events(*chunks: dict[str, Any]) -> str:
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **choice: Any) -> dict[str, Any]:
    members = {"delta": delta} if delta is not None else {}
    return {"id": "r", "object": "chat.completion.chunk",
            "choices": [{"index": 0, **members, "finish_reason": finish, **choice}]}  # fmt: skip


def read(*chunks: dict[str, Any], core: str = "{}", end: str = DONE) -> Answer:
    return read_answer(core, events(*chunks) + end, status=200)


def calls(*pieces: dict[str, Any]) -> Any:
    answer = read(*(chunk({"tool_calls": [piece]}) for piece in pieces), chunk({}, "tool_calls"))
    assert (answer.kind, answer.error) == ("tool_call", None)
    return [
        (call.get("id"), call["function"]["name"], call["function"]["arguments"])
        for call in json.loads(answer.assembled or "")["choices"][0]["message"]["tool_calls"]
    ]


def call(arguments: Any, name: str | None = None, **members: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"arguments": arguments} | ({"name": name} if name else {}), **members}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def thinking(said: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": [text(said)]}


@pytest.mark.parametrize(
    ("contents", "said", "reasoning"),
    [
        (["Thir", "ty"], "Thirty", None),
        ([[text("Thir")], [text("ty")]], "Thirty", None),
        ([text("Thir"), text("ty")], "Thirty", None),
        (["", [thinking("h")], [thinking("m")], "Thir", "ty"], "Thirty", "hm"),
        ([[thinking("hm")], "Thir", [text("ty")]], "Thirty", "hm"),
        ([[{"type": "thinking", "thinking": "h"}], [thinking("m"), text("Thir")], "ty"], "Thirty", "hm"),
        ([[text("Thir")], [{"type": "reference", "reference_ids": [1]}], [text("ty")]], "Thirty", None),
        ([[text("Thir") | {"index": 1}], [thinking("hm") | {"index": 0}], [text("ty") | {"index": 1}]], "Thirty", "hm"),
        ([[{"text": "h", "thought": True}], [{"text": "m", "thought": True}], [{"text": "Thirty"}]], "Thirty", "hm"),
        ([None, "Thir", None, "ty"], "Thirty", None),
    ],
)
def test_contents_of_deltas(contents: list[Any], said: str, reasoning: str | None) -> None:
    """Texts, parts and lists of parts, by turns too, are the one text; thoughts are apart."""
    answer = read(*(chunk({"content": content}) for content in contents), chunk({}, "stop"))
    assert (answer.text, answer.reasoning, answer.error) == (said, reasoning, None)


def test_the_parts_that_are_stored() -> None:
    """Parts that go on are one part in the merged answer."""
    answer = read(*(chunk({"content": c}) for c in ([thinking("h")], [thinking("m")], "Thir", [text("ty")])))
    parts = json.loads(answer.assembled or "")["choices"][0]["message"]["content"]
    assert parts == [{"type": "thinking", "thinking": "hm"}, text("Thirty")]


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "thinking"])
def test_thoughts_beside_the_content(name: str) -> None:
    answer = read(*(chunk({name: piece}) for piece in ("h", "m")), chunk({"content": "Yes."}, "stop"))
    assert (answer.text, answer.reasoning) == ("Yes.", "hm")


def test_thoughts_in_two_members() -> None:
    """vLLM and OpenRouter send thoughts twice."""
    pieces = (chunk({"reasoning": p, "reasoning_details": [{"type": "reasoning.text", "text": p}]}) for p in "hm")
    assert read(*pieces, chunk({"content": "Yes."}, "stop")).reasoning == "hm"


CUMULATIVE = [
    chunk({"role": "assistant", "content": new}, finish, message={"role": "assistant", "content": whole})
    for new, whole, finish in (("The ", "The ", None), ("cat ", "The cat ", None), ("sat.", "The cat sat.", "stop"))
]
ALONE = [{**one, "choices": [{k: v for k, v in one["choices"][0].items() if k != "delta"}]} for one in CUMULATIVE]
GLUED = {"role": "assistantassistant", "content": "The The cat The cat sat."}


@pytest.mark.parametrize("chunks", [CUMULATIVE, ALONE])
@pytest.mark.parametrize(
    "choices",
    [None, {"message": GLUED}, {"message": GLUED, "delta": {"content": "The cat sat."}}],
)
def test_a_message_of_all_that_was_said(chunks: list[dict[str, Any]], choices: dict[str, Any] | None) -> None:
    """It stands beside the delta, or in its place; whatever Core made of it, it is neither glued nor doubled."""
    core = json.dumps({"id": "r", "choices": [{"index": 0, **choices, "finish_reason": "stop"}]}) if choices else "{}"
    answer = read(*chunks, core=core)
    assert (answer.text, answer.error) == ("The cat sat.", None)


def test_a_message_at_the_end() -> None:
    """The last chunk may have the whole message; what the deltas lack is taken of it."""
    whole = {"content": "Yes.", "reasoning_content": "hm"}
    answer = read(chunk({"content": "Ye"}), chunk({"content": "s."}), chunk(None, "stop", message=whole))
    assert (answer.text, answer.reasoning) == ("Yes.", "hm")


def test_messages_that_are_pieces() -> None:
    """Messages in place of deltas that do not repeat what was said are appended."""
    assert read(*(chunk(message={"content": piece}) for piece in ("Ye", "s.")), chunk({}, "stop")).text == "Yes."


WHOLE = ("a", "get_weather", '{"x": 1}')


@pytest.mark.parametrize(
    ("pieces", "found"),
    [
        ([call("", "get_weather", index=0, id="a"), call('{"x":', index=0), call(" 1}", index=0)], [WHOLE]),
        ([call(p, "get_weather", index=0, id="a") for p in ('{"x":', " 1}")], [WHOLE]),
        ([call(p, "get_weather", index=0, id=i) for p, i in (('{"x":', "a"), (" 1}", "b"))], [WHOLE]),
        ([call("", "get_", index=0, id="a"), call('{"x": 1}', "weather", index=0)], [WHOLE]),
        ([call("", "get_weather", id="a"), call('{"x":'), call(" 1}")], [WHOLE]),
        ([call(p, "get_weather", id="a") for p in ('{"x":', " 1}")], [WHOLE]),
        ([call('{"x": 1}', "get_weather", index=0, id="a"), call('{"x": 1}', index=0)], [WHOLE]),
        ([call("{}", "get_weather", index=0, id="a"), call('{"x": 1}', index=0)], [WHOLE]),
        ([call({"x": 1}, "get_weather", index=0, id="a")], [("a", "get_weather", '{"x":1}')]),
        ([call('{"x": 1}', "get_weather", index=0, id="a"), call("{}", "g", index=0, id="b")],
         [WHOLE, ("b", "g", "{}")]),
        ([call('{"x": 1}', "get_weather", index=0, id="a"), call("{}", "get_weather", index=0, id="b")],
         [WHOLE, ("b", "get_weather", "{}")]),
        ([call("", "get_weather", index=0, id="a"), call("", "g", index=1, id="b"), call('{"x": 1}', index=0),
          call("{}", index=1)], [WHOLE, ("b", "g", "{}")]),
        ([call('{"x": 1}', "get_weather"), call("{}", "g")], [(None, "get_weather", '{"x": 1}'), (None, "g", "{}")]),
        ([call('{"x": 1}', "f"), call('{"x": 2}', "f")], [(None, "f", '{"x": 1}'), (None, "f", '{"x": 2}')]),
        ([call('{"x": 1}', "f"), call('{"x": 1}', "f")], [(None, "f", '{"x": 1}')]),
        ([call("{}", "f", index=0), call('{"x": 1}', "f", index=0)], [(None, "f", '{"x": 1}')]),
    ],
)  # fmt: skip
def test_calls_in_pieces(pieces: list[dict[str, Any]], found: list[Any]) -> None:
    """Names and ids that come again are not joined; calls are told by index or id; arguments are appended."""
    assert calls(*pieces) == found


@pytest.mark.parametrize("arguments", [('{"x": 1}', '{"x": 2}'), ("{}", "{}"), ("", "")])
def test_calls_of_one_chunk_without_index_and_id(arguments: tuple[str, str]) -> None:
    """Each is a call of its own, also where both are the same."""
    answer = read(chunk({"tool_calls": [call(one, "f") for one in arguments]}), chunk({}, "tool_calls"))
    message = json.loads(answer.assembled or "")["choices"][0]["message"]
    assert [one["function"]["arguments"] for one in message["tool_calls"]] == list(arguments)


def test_a_legacy_call_in_pieces() -> None:
    pieces = [{"name": "f", "arguments": '{"x":'}, {"name": "f", "arguments": " 1}"}]
    answer = read(*(chunk({"function_call": piece}) for piece in pieces), chunk({}, "function_call"))
    message = json.loads(answer.assembled or "")["choices"][0]["message"]
    assert (answer.kind, message["function_call"]) == ("tool_call", {"name": "f", "arguments": '{"x": 1}'})


def test_calls_that_core_has_joined() -> None:
    """Core appends names that come again and calls that share an index: such an answer is merged again."""
    glued = call('{"x":1}{"x":1}', "ff", id="ab") | {"type": "functionfunction"}
    core = {"id": "r", "choices": [{"index": 0, "message": {"tool_calls": [glued]}, "finish_reason": "tool_calls"}]}
    pieces = [chunk({"tool_calls": [call('{"x":1}', "f", index=0, id=one)]}) for one in "ab"]
    answer = read(*pieces, chunk({}, "tool_calls"), core=json.dumps(core))
    assert [one["id"] for one in json.loads(answer.assembled or "")["choices"][0]["message"]["tool_calls"]] == [
        "a",
        "b",
    ]


@pytest.mark.parametrize("none", ["null", "", "None", None])
def test_finish_reasons_of_chunks(none: str | None) -> None:
    """The name of no value is no reason, before and behind the reason."""
    chunks = [chunk({"content": "Yes."}, none), chunk({}, "length"), chunk({}, none)]
    assert read(*chunks).finish_reason == "length"
    assert (read(chunks[0]).finish_reason, read(chunks[0]).error) == (None, None)


def test_blocks_that_share_an_index() -> None:
    """Some gateways begin each block of a message with index 0."""
    blocks = [{"type": "thinking", "thinking": "hm"}, text("Yes."), {"type": "tool_use", "id": "t", "name": "f"}]
    started = {"type": "message_start", "message": {"id": "msg", "type": "message", "content": []}}
    ended = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}
    begun = [{"type": "content_block_start", "index": 0, "content_block": block} for block in blocks]
    answer = read(started, *begun, ended, end="")
    assert (answer.text, answer.reasoning, answer.kind) == ("Yes.", "hm", "tool_call")


def test_thoughts_of_a_message_stream() -> None:
    """Deltas of thoughts are joined; thoughts that are encrypted are none that one reads."""
    started = {"type": "message_start", "message": {"id": "msg", "type": "message", "content": []}}
    blocks = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": p}}
            for p in "hm"
        ),
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "x"}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "redacted_thinking", "data": "x"}},
        {"type": "content_block_start", "index": 2, "content_block": text("")},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta", "text": "Yes."}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
    ]
    answer = read(started, *blocks, end="")
    assert (answer.text, answer.reasoning, answer.error) == ("Yes.", "hm", None)


def response(status: str, *output: dict[str, Any]) -> dict[str, Any]:
    return {"id": "resp", "object": "response", "status": status, "output": list(output)}


ADDED = [
    {"type": "response.created", "response": response("in_progress")},
    {"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0, "delta": "hm"},
    {"type": "response.output_item.added", "output_index": 1, "item": {"type": "message", "phase": "commentary"}},
    {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "I look."},
    {"type": "response.output_item.added", "output_index": 2, "item": {"type": "message", "phase": "final_answer"}},
    {"type": "response.output_text.delta", "output_index": 2, "content_index": 0, "delta": "Ye"},
    {"type": "response.output_text.delta", "output_index": 2, "content_index": 0, "delta": "s."},
]


@pytest.mark.parametrize("end", [[], [{"type": "response.completed", "response": response("completed")}]])
def test_a_response_whose_end_has_no_output(end: list[dict[str, Any]]) -> None:
    """The items are put together from their events, where the stream breaks off and where its end is empty."""
    answer = read(*ADDED, *end, end="")
    assert (answer.text, answer.reasoning, answer.error is None) == ("Yes.", "hm", bool(end))


def test_a_call_of_a_response_that_breaks_off() -> None:
    """Arguments that came in pieces are those of the call."""
    item = {"type": "function_call", "call_id": "c", "name": "f", "arguments": ""}
    pieces = [{"type": "response.function_call_arguments.delta", "output_index": 0, "delta": p} for p in ("{", "}")]
    answer = read(ADDED[0], {"type": "response.output_item.added", "output_index": 0, "item": item}, *pieces, end="")
    assert json.loads(answer.assembled or "")["output"] == [{**item, "arguments": "{}"}]
    done = {"type": "response.output_item.done", "output_index": 0, "item": {**item, "arguments": "{}"}}
    ended = {"type": "response.completed", "response": response("completed")}
    assert read(ADDED[0], done, ended, end="").finish_reason == "tool_calls"


PIECE = st.text(st.characters(codec="utf-8"), min_size=1, max_size=5)


@given(
    thoughts=st.lists(PIECE, max_size=5),
    said=st.lists(PIECE, min_size=1, max_size=5),
    forms=st.lists(st.sampled_from(["string", "part", "parts"]), min_size=10, max_size=10),
    member=st.sampled_from(["thinking", "reasoning_content", "reasoning"]),
)
def test_an_answer_cut_in_any_way(thoughts: list[str], said: list[str], forms: list[str], member: str) -> None:
    """Wherever a stream is cut, and whether its pieces are texts, parts or lists, text and thoughts are the same."""
    deltas = [
        {"content": [thinking(piece)]} if member == "thinking" else {member: piece} for piece in thoughts
    ]  # fmt: skip
    for piece, form in zip(said, forms, strict=False):
        deltas.append({"content": {"string": piece, "part": text(piece), "parts": [text(piece)]}[form]})
    answer = read(*map(chunk, deltas), chunk({}, "stop"))
    whole = read(chunk({"content": "".join(said)}), chunk({}, "stop"))
    assert (answer.text, answer.reasoning or whole.reasoning) == (whole.text, "".join(thoughts) or whole.reasoning)
