import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsing.answer.answer import Answer, read_answer

MESSAGE = {"role": "assistant", "content": "Hello"}


def event(delta: dict[str, Any] | None = None, finish: str | None = None, **top: Any) -> str:
    choice = {"index": 0, "finish_reason": finish, "delta": delta or {}}
    chunk = {"id": "r-101", "object": "chat.completion.chunk", "created": 5, "choices": [choice], "usage": None}
    return "data: " + json.dumps({**chunk, **top}, separators=(",", ":")) + "\n\n"


DONE = "data: [DONE]\n\n"
ERROR = 'data: {"error":{"message":"Error during processing","type":"runtime_error","code":"500"}}\n\n'
HEL, LO, STOP = event({"role": "assistant", "content": "Hel"}), event({"content": "lo"}), event(finish="stop")
STREAM = HEL + LO + STOP + DONE


def assembled(**changes: Any) -> str:
    choice = {"index": 0, "finish_reason": "stop", "message": MESSAGE}
    return json.dumps({"id": "r-101", "object": "chat.completion", "model": None, "choices": [choice], **changes})


def read(core: str | None, body: str | None, status: int | None = 200) -> Answer:
    return read_answer(core, body, status=status)


def test_core_s_answer_is_used_as_it_is() -> None:
    """A whole assembled response is stored byte for byte, and nothing is merged again."""
    answer = read(assembled(model="m"), STREAM)
    expected = Answer("Hello", "r-101", ("r-101",), "stop", "m", {}, assembled(model="m"), None, {}, kind="text")
    assert answer == expected


def test_the_old_shape_is_read_too() -> None:
    """Core before 0.22.1 writes `delta` and no index; concatenated reasons are undone."""
    old = json.dumps({"id": "r-101", "choices": [{"finish_reason": "stopstop", "delta": MESSAGE}]})
    answer = read(old, STREAM)
    assert (answer.text, answer.finish_reason, answer.error, answer.assembled) == ("Hello", "stop", None, old)


@pytest.mark.parametrize(
    "core", [None, "", "{}", STREAM, assembled()[:-9] + ">>", assembled(id=None), assembled(id="")]
)
@pytest.mark.parametrize(
    "body",
    [
        STREAM,
        STREAM.replace("\n", "\r\n"),
        STREAM.removesuffix(DONE),
        STREAM.replace("\n\n", "\n"),
        ": comment\n\nevent: x\n" + STREAM.replace("data: ", "id: 7\ndata: "),
        "\ufeff" + STREAM,
        event(id="", model="", choices=[], prompt_filter_results=[{"prompt_index": 0}]) + STREAM,
        HEL + event({"role": "assistant", "content": "lo"}, "stop") + event(finish="stop") + DONE,
        HEL + LO + event(finish="stop", usage={"x": 3}) + event(choices=[], usage={"x": 3.5}) + DONE,
        HEL + LO + event(finish="stop", id=None) + DONE,
    ],
    ids=["plain", "crlf", "no-done", "single-lf", "fields", "bom", "azure", "repeated-role", "usage", "id-not-in-last"],
)  # fmt: skip
def test_streams_are_merged_again(core: str | None, body: str) -> None:
    """Where Core's merge is of no use, whatever layout the stream has, the whole answer is found."""
    answer = read(core, body)
    assert (answer.text, answer.response_id, answer.response_ids) == ("Hello", "r-101", ("r-101",))
    assert (answer.finish_reason, answer.error) == ("stop", None)
    again = json.loads(answer.assembled or "")
    assert again["object"] == "chat.completion"
    assert again["choices"][0]["message"] == MESSAGE


def test_text_that_looks_like_an_event() -> None:
    """Content with a line `data: x` in it is content."""
    body = event({"content": "Hello\ndata: x"}) + STOP + DONE
    assert read("{}", body).text == "Hello\ndata: x"


def test_attachments_without_index_are_appended() -> None:
    """Where Core gives up the whole answer, attachments of two chunks follow each other."""
    one, two = ({"custom_content": {"attachments": [{"title": title}]}} for title in "ab")
    answer = read("{}", HEL + LO + event(one) + event(two) + STOP + DONE)
    assert answer.custom_content == {"attachments": [{"title": "a"}, {"title": "b"}]}
    assert answer.error is None


def test_an_error_in_the_middle_keeps_the_answer_so_far() -> None:
    """Status 200 with an error event: text and id stay, and the upstream's message is reported."""
    core = json.dumps({"id": None, "choices": [{"index": 0, "finish_reason": None, "message": {"content": "Hel"}}]})
    answer = read(core, HEL + ERROR + DONE)
    assert (answer.text, answer.response_id, answer.finish_reason) == ("Hel", "r-101", None)
    assert answer.error == "upstream error: Error during processing (runtime_error, 500)"
    assert answer.extra["error"]["code"] == "500"


def test_an_error_that_core_has_lost() -> None:
    """An error event is found even where Core made an answer with an id of the rest."""
    answer = read(assembled(), HEL + ERROR + LO + STOP + DONE)
    assert answer.text == "Hello"
    assert answer.error == "upstream error: Error during processing (runtime_error, 500)"


def test_only_an_error_event() -> None:
    """A stream without any choice has no text; the error says why."""
    answer = read('{"id":null,"object":"chat.completion"}', ERROR + DONE)
    assert (answer.text, answer.response_id, answer.assembled) == (None, None, None)
    assert answer.error == "upstream error: Error during processing (runtime_error, 500); the stream holds no choices"


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ('{"error":{"message":"filtered","code":"content_filter","type":"bad"}}', 400,
         "status 400; upstream error: filtered (bad, content_filter)"),
        ('{"error":"plain"}', 500, "status 500; upstream error: plain"),
        ('{"error":{"code":5}}', 500, "status 500; upstream error: no message (5)"),
        ("<html>Bad Gateway</html>", 502, "status 502; response.body is neither whole JSON nor a stream"),
        ('{"choices":[]}', 200, "choices is empty"),
        ('{"detail":"x"}', 200, "upstream error: x"),
        ('{"value":"x"}', 200, "response.body has the shape of no answer"),
        ("[]", 200, "response.body is neither whole JSON nor a stream"),
        ("", 504, "status 504; no answer was logged: assembled_response and response.body are absent or empty"),
    ],
)  # fmt: skip
def test_failures_say_why(body: str, status: int, error: str) -> None:
    """A body that holds no answer gives none, and an error that says what came instead."""
    for core in (None, body):
        answer = read(core, body, status)
        assert (answer.text, answer.assembled, answer.error) == (None, None, error)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (HEL + LO, "the stream ended without finish_reason and [DONE]: the answer may be incomplete"),
        (HEL + LO[:-9] + ">>", "response.body was cut by DIAL Core: the answer is incomplete"),
        (HEL + "data: oops\n\n" + STOP + DONE, "1 of 3 chunks of the stream could not be read"),
        (HEL + event({"content": {"x": 1}}) + STOP + DONE,
         "1 values of the stream did not fit those before them and were left out"),
        (HEL + event(finish="content_filter") + DONE, "the answer was stopped by a content filter"),
    ],
)  # fmt: skip
def test_partial_streams(body: str, error: str) -> None:
    """What was received of an answer is kept, and the error says what is not whole."""
    answer = read("{}", body)
    assert answer.text is not None
    assert answer.text.startswith("Hel")
    assert answer.error == error


def test_a_cut_body_beside_a_whole_assembled_response() -> None:
    """Core merges first and cuts then: the answer is whole although its body is not."""
    answer = read(assembled(), HEL + LO[:-9] + ">>")
    assert (answer.text, answer.error) == ("Hello", None)


def test_a_cut_plain_answer() -> None:
    """A JSON body cut inside its content keeps the beginning of the text."""
    cut = '{"id":"r-1","choices":[{"index":0,"message":{"role":"assistant","content":"Hello wor>>'
    answer = read(cut, cut)
    assert (answer.text, answer.response_id) == ("Hello wor", "r-1")
    assert answer.error is not None
    assert answer.error.startswith("response.body was cut by DIAL Core")
    assert json.loads(answer.assembled or "")["id"] == "r-1"


def test_a_stream_that_core_saw_to_no_end() -> None:
    """An assembled response without finish_reason is whole only if its stream ended."""
    choice = {"index": 0, "finish_reason": None, "message": MESSAGE}
    assert "without finish_reason" in (read(assembled(choices=[choice]), HEL + LO).error or "")
    assert read(assembled(choices=[choice]), HEL + LO + DONE).error is None


def test_all_ids_of_the_chunks() -> None:
    """A rating may carry the id of any chunk: all are kept, in order; the answer's own is the last one."""
    body = event({"content": "a"}, id="x") + event({"content": "b"}, id="") + event(finish="stop", id="y") + DONE
    for core in (assembled(id="y"), "{}"):
        answer = read(core, body)
        assert (answer.response_id, answer.response_ids) == ("y", ("x", "y"))
    assert read(assembled(id="z"), body).response_ids == ("x", "y", "z")


def test_two_choices() -> None:
    """The answer is choice 0, in whatever order they stand; the other stays in what is stored."""
    choices = [{"index": index, "message": {"content": str(index)}, "finish_reason": "stop"} for index in (1, 0)]
    body = json.dumps({"id": "r", "choices": choices})
    answer = read(body, body)
    assert (answer.text, answer.assembled, answer.error) == ("0", body, None)


def test_only_the_other_choice() -> None:
    """Where choice 0 was never sent there is no answer."""
    body = event(choices=[{"index": 1, "delta": {"content": "x"}, "finish_reason": "stop"}]) + DONE
    core = assembled(choices=[{}, {"index": 1, "finish_reason": "stop", "message": {"content": "x"}}])
    answer = read(core, body)
    assert (answer.text, answer.error) == (None, "choice 0 is missing")
    assert json.loads(answer.assembled or "")["choices"][1]["message"] == {"content": "x"}


def test_a_tool_call_is_a_whole_answer_without_text() -> None:
    """Arguments that came in pieces are in what is stored."""
    calls = [{"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": "{"}}]},
             {"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]}]  # fmt: skip
    answer = read("{}", "".join(map(event, calls)) + event(finish="tool_calls") + DONE)
    assert (answer.text, answer.finish_reason, answer.error) == (None, "tool_calls", None)
    call = json.loads(answer.assembled or "")["choices"][0]["message"]["tool_calls"][0]
    assert call == {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def test_a_completion() -> None:
    """The older completions API holds its text in the choice itself, streamed or not."""
    body = '{"id":"c","object":"text_completion","choices":[{"text":"Hi","index":0,"finish_reason":"stop"}]}'
    assert read(body, body).text == "Hi"
    stream = "".join(event(id="c", choices=[{"text": piece, "index": 0, "finish_reason": None}]) for piece in "Hi")
    assert read("{}", stream + DONE).text == "Hi"


@pytest.mark.parametrize(
    ("choices", "text"),
    [
        ([None], None),
        ([5], None),
        ([{"message": None, "finish_reason": "stop"}], None),
        ([{"message": {"content": 5}, "finish_reason": "stop"}], None),
        ([{"message": {"content": "a"}, "finish_reason": 7}], "a"),
        ([{"index": "0", "message": {"content": "a"}, "finish_reason": "stop"}], "a"),
        ([{"message": {"content": [{"text": "a"}], "custom_content": 5}, "finish_reason": "stop"}], "a"),
        ({"0": "x"}, None),
        ("x", None),
    ],
)  # fmt: skip
def test_odd_choices(choices: Any, text: str | None) -> None:
    """Wrong types anywhere cost at most the value that has them."""
    body = json.dumps({"id": "r", "choices": choices})
    answer = read(body, body)
    assert (answer.text, answer.custom_content) == (text, {})
    stream = read("{}", f"data: {body}\n\n{DONE}")
    assert stream.custom_content == {}


@pytest.mark.parametrize("body", [None, "", "<html>"])
def test_without_a_body_core_s_answer_is_better_than_none(body: str | None) -> None:
    """An assembled response without an id is used where there is nothing else."""
    answer = read(assembled(id=None), body)
    assert answer.text == "Hello"
    assert answer.repairs == ("the answer has no id",)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["id", "choices", "message", "delta", "content", "index", "custom_content", "finish_reason",
                         "error", "type", "output", "response", "model", "usage", "code", "status", "detail", "errors",
                         "base_resp", "object", "event", "error_code", "xException"]), inner, max_size=5),
    max_leaves=15,
)  # fmt: skip
BODIES = (
    st.text()
    | VALUES.map(json.dumps)
    | st.lists(VALUES.map(json.dumps) | st.text(), max_size=4).map(lambda vs: "".join(f"data: {v}\n\n" for v in vs))
    | st.builds(lambda value, end: json.dumps({"choices": value})[: end or None] + ">>", VALUES, st.integers(0, 40))
)


@given(core=BODIES | VALUES, body=BODIES | VALUES, status=st.integers() | st.none())
def test_anything_at_all(core: Any, body: Any, status: int | None) -> None:
    """Whatever comes as a body, an answer of the declared types comes out and what is stored is text."""
    answer = read_answer(core, body, status=status)
    for value in (answer.text, answer.response_id, answer.finish_reason, answer.model, answer.assembled, answer.error):
        assert value is None or (isinstance(value, str) and value)
    assert all(isinstance(found, str) and found for found in answer.response_ids)
    assert len(set(answer.response_ids)) == len(answer.response_ids)
    assert isinstance(answer.custom_content, dict)
    assert answer.text is not None or answer.assembled is not None or answer.error is not None


@pytest.mark.parametrize("member", ["error", "code", "status", "type", "message", "detail", "errors", "error_code"])
@pytest.mark.parametrize("depth", [300, 1_000])
def test_deep_nesting_of_an_error(depth: int, member: str) -> None:
    """However deep a member of an error is nested, the answer is read."""
    for around in ("{%s}", '{"error":{"code":1,%s}}', '{"choices":[{"error":{"message":"x",%s}}]}'):
        body = around % f'"{member}":{"[" * depth}{"]" * depth}'
        for text in (body, f"data: {body}\n\n", f"event: error\ndata: {body}\n\n"):
            assert read_answer(None, text, status=200).error


@pytest.mark.parametrize("depth", [60, 300, 900, 100_000])
def test_deep_nesting(depth: int) -> None:
    """However deep a part is nested, it costs at most what is stored of the answer."""
    deep = '{"x":[' * depth + "1" + "]}" * depth
    body = '{"id":"r","choices":[{"index":0,"delta":{"content":"a","custom_content":' + deep + "}}]}"
    for text in (body, f"data: {body}\n\n" * 2):
        answer = read(None, text)
        assert answer.text in ("a", "aa", None)
        assert answer.text is not None or answer.error is not None
