"""Failures inside an answer with status 200: one case for each shape that servers and gateways send."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.parsing import LogRecord, parse_line
from collector.parsing.answer.answer import Answer, read_answer
from collector.parsing.answer.errors import error_of
from tests.collector.parsing.core_lines import core_line

DONE = "data: [DONE]\n\n"


def chunk(content: str | None = None, finish: str | None = None, **members: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": {} if content is None else {"content": content}, "finish_reason": finish}
    return {"id": "r-1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]} | members


def data(*values: object) -> str:
    return "".join(f"data: {one if isinstance(one, str) else json.dumps(one)}\n\n" for one in values)


def named(name: str, value: object) -> str:
    return f"event: {name}\n{data(value)}"


def assembled(text: str, finish: str | None, **members: Any) -> str:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    return json.dumps({"id": "r-1", "object": "chat.completion", "model": "m", "choices": [choice | members]})


def read(body: str, core: str = "{}") -> Answer:
    return read_answer(core, body, status=200)


SHAPES: list[tuple[str, str, object]] = [
    ("openai", "boom (server_error, 500)",
     {"error": {"message": "boom", "type": "server_error", "param": None, "code": "500"}}),
    ("vllm", "boom (BadRequestError, 400)",
     {"error": {"object": "error", "message": "boom", "type": "BadRequestError", "code": 400}}),
    ("vllm-older", "boom (BadRequestError, 400)",
     {"object": "error", "message": "boom", "type": "BadRequestError", "param": None, "code": 400}),
    ("anthropic", "boom (overloaded_error)",
     {"type": "error", "error": {"type": "overloaded_error", "message": "boom"}}),
    ("responses-flat", "boom (server_error)",
     {"type": "error", "code": "server_error", "message": "boom", "sequence_number": 3}),
    ("tgi", "boom (overloaded)", {"error": "boom", "error_type": "overloaded"}),
    ("ollama", "boom", {"error": "boom"}),
    ("gemini", "boom (503, UNAVAILABLE)", {"error": {"code": 503, "message": "boom", "status": "UNAVAILABLE"}}),
    ("azure", "boom (content_filter)",
     {"error": {"message": "boom", "type": None, "code": "content_filter", "innererror": {"code": "x"}}}),
    ("litellm", "boom (None, 500)", {"error": {"message": "boom", "type": "None", "param": "None", "code": "500"}}),
    ("flag", "boom", {"error": True, "message": "boom"}),
    ("spring", "boom (500)", {"timestamp": "t", "status": 500, "error": "Internal Server Error", "message": "boom"}),
    ("baidu", "boom (336003)", {"error_code": 336003, "error_msg": "boom"}),
    ("lambda", "boom (Runtime.ExitError)", {"errorMessage": "boom", "errorType": "Runtime.ExitError"}),
    ("fastapi", "boom", {"detail": "boom"}),
    ("fastapi-list", "boom", {"detail": [{"loc": ["body"], "msg": "boom", "type": "missing"}]}),
    ("dashscope", "boom (InvalidParameter)", {"code": "InvalidParameter", "message": "boom", "request_id": "x"}),
    ("zhipu", "boom (500)", {"code": 500, "msg": "boom", "success": False}),
    ("spark", "boom (10907)", {"code": 10907, "message": "boom", "sid": "x"}),
    ("apim", "boom (429)", {"statusCode": 429, "message": "boom"}),
    ("minimax", "boom (1004)", {"base_resp": {"status_code": 1004, "status_msg": "boom"}}),
    ("minimax-null", "boom (1004)", {"choices": None, "base_resp": {"status_code": 1004, "status_msg": "boom"}}),
    ("bedrock", "boom (throttlingException)", {"throttlingException": {"message": "boom"}}),
    ("aws", "boom (ThrottlingException)", {"__type": "ThrottlingException", "message": "boom"}),
    ("message-alone", "boom", {"message": "boom"}),
    ("cloudflare", "boom", {"success": False, "errors": [{"code": 1, "message": "boom"}], "messages": []}),
    ("apigee", "boom", {"fault": {"faultstring": "boom", "detail": {"errorcode": "x"}}}),
    ("dify", "boom (invalid_param, 400)",
     {"event": "error", "status": 400, "code": "invalid_param", "message": "boom"}),
    ("status", "boom", {"status": "error", "message": "boom"}),
    ("nested", "boom (5)", {"error": {"error": {"message": "boom", "code": 5}}}),
    ("no-message", "no message (5)", {"error": {"code": 5}}),
]  # fmt: skip


@pytest.mark.parametrize(("message", "shape"), [one[1:] for one in SHAPES], ids=[one[0] for one in SHAPES])
def test_each_shape_alone_at_the_beginning_and_in_the_middle(message: str, shape: dict[str, Any]) -> None:
    """A body that is an error, a stream that begins with one, and one that breaks off: the text so far is kept."""
    whole = read(json.dumps(shape))
    assert (whole.error, whole.text, whole.kind) == (f"upstream error: {message}", None, "failed")
    first = read(data(shape) + DONE)
    assert (first.error, first.kind) == (f"upstream error: {message}; the stream holds no choices", "failed")
    for end in ("", DONE):
        middle = read(data(chunk("Hel"), shape) + end, assembled("Hel", None))
        assert (middle.error or "").startswith(f"upstream error: {message}")
        assert (middle.text, middle.response_id, middle.kind, middle.finish_reason) == ("Hel", "r-1", "failed", None)
        assert middle.extra["error"]


@pytest.mark.parametrize(
    "event",
    [
        named("error", {"type": "error", "error": {"type": "api_error", "message": "boom"}}),
        named("error", {"status_code": 500, "message": "boom"}),
        named("error", {"whatever": 1, "message": "boom"}),
        named("error", "boom"),
        "event:error\ndata:boom\n\n",
        'data: {"message":"boom"}\nevent: error\n\n',
        "event: error\r\ndata: boom\r\n\r\n",
        "id:1\nevent:error\n:HTTP_STATUS/400\ndata:boom\n\n",
        'error: {"code":400,"message":"boom","type":"invalid_request_error"}\n\n',
        '{\n  "error": {\n    "code": 503,\n    "message": "boom"\n  }\n}\n',
        'data: {\ndata: "error": {"message":\ndata: "boom"}}\n\n',
        'data: [{"error": {"message": "boom"}}]\n\n',
        '{"error": {"message": "boom"}}\n\n',
    ],
    ids=["anthropic", "langserve", "unknown", "text", "no-space", "name-after-data", "crlf", "dashscope", "llama.cpp",
         "gemini", "several-lines", "array", "no-field"],
)  # fmt: skip
def test_events_that_are_errors(event: str) -> None:
    """By their name, by a field `error`, or by JSON without a field; wherever they stand in the stream."""
    for body in (event, data(chunk("Hel")) + event, data(chunk("Hel")) + event + DONE):
        answer = read(body)
        assert (answer.error or "").startswith("upstream error: boom"), answer.error
        assert answer.kind == "failed"
        assert answer.text == ("Hel" if "Hel" in body else None)


@pytest.mark.parametrize("member", ["choices", "output", "content", "candidates", "delta", "result"])
def test_a_message_beside_an_answer_is_no_error(member: str) -> None:
    """Nor is a code of HTTP; an own code of errors is one beside anything."""
    assert error_of({member: "text", "message": "fine", "code": 500}) is None
    assert error_of({member: "", "message": "boom", "code": 500}) is not None
    assert error_of({member: "text", "error_code": 5, "error_msg": "boom"}) is not None


def test_an_event_of_the_name_error_without_data() -> None:
    assert (read(data(chunk("Hel")) + "event: error\n\n").error or "").startswith("upstream error: no message")


@pytest.mark.parametrize("name", ["response.error", "exception"])
def test_other_names_of_errors(name: str) -> None:
    answer = read(named(name, {"type": name, "message": "boom"}))
    assert (answer.error or "").startswith("upstream error: boom")


@pytest.mark.parametrize(
    "choice",
    [
        {"index": 0, "error": {"code": 502, "message": "boom"}, "finish_reason": "error"},
        {"index": 0, "error": {"code": 502, "message": "boom"}, "finish_reason": "stop"},
        {"index": 0, "error": {"code": 502, "message": "boom"}, "finish_reason": None},
        {"error": {"code": 502, "message": "boom"}},
    ],
)
def test_an_error_inside_a_choice(choice: dict[str, Any]) -> None:
    """OpenRouter's; streamed or not, and also where Core's merge kept it."""
    for body in (
        json.dumps(chunk() | {"choices": [{"message": {"content": "Hel"}} | choice]}),
        data(chunk("Hel"), chunk() | {"choices": [{"delta": {"content": ""}} | choice]}) + DONE,
    ):
        core = assembled("Hel", choice.get("finish_reason"), error=choice["error"])
        for logged in ("{}", core):
            answer = read(body, logged)
            assert (answer.error or "").startswith("upstream error: boom (502)"), answer.error
            assert (answer.text, answer.kind) == ("Hel", "failed")


def test_an_error_of_another_choice_is_not_the_answers() -> None:
    choices = [
        {"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"},
        {"index": 1, "error": {"message": "boom"}, "finish_reason": "error"},
    ]
    body = json.dumps(chunk() | {"choices": choices})
    assert (read(body, body).error, read(body, body).kind) == (None, "text")


@pytest.mark.parametrize("finish", ["stop", "error"])
def test_an_error_beside_the_choices_of_the_last_chunk(finish: str) -> None:
    """The chunk has the answer's id, and Core's merge drops the error: no id is missing in the count."""
    last = chunk("", finish, error={"code": "server_error", "message": "boom"})
    answer = read(data(chunk("Hel"), last) + DONE, assembled("Hel", finish))
    assert (answer.error, answer.text, answer.kind) == ("upstream error: boom (server_error)", "Hel", "failed")


@pytest.mark.parametrize("word", ["error", "abort", "cancelled", "MALFORMED_FUNCTION_CALL"])
def test_a_finish_reason_that_says_that_it_failed(word: str) -> None:
    """vLLM, SGLang and Gemini say no more than this word."""
    whole, stream = assembled("Hel", word), data(chunk("Hel"), chunk(finish=word)) + DONE
    for answer in (read(whole, whole), read(stream), read(stream, whole)):
        assert (answer.error, answer.finish_reason) == (f"the answer failed: it ended with {word}", word)
        assert (answer.text, answer.kind) == ("Hel", "failed")


@pytest.mark.parametrize(
    "members",
    [
        {"error": None},
        {"error": {}},
        {"error": {"message": "", "type": "", "param": "", "code": None}},
        {"error": ""},
        {"error": False},
        {"error": "null"},
        {"error_code": 0, "error_msg": ""},
        {"code": 0, "message": "Success", "sid": "x"},
        {"base_resp": {"status_code": 0, "status_msg": ""}},
        {"code": "200", "msg": "ok", "success": True},
        {"status": "ok", "detail": "eager"},
    ],
)
def test_members_of_a_whole_answer_that_are_no_error(members: dict[str, Any]) -> None:
    """Some gateways write the members of an error into each answer."""
    plain = json.dumps(json.loads(assembled("Hi", "stop")) | members)
    stream = data(chunk("Hi", **members), chunk(finish="stop", **members)) + DONE
    for answer in (read(plain, plain), read(plain), read(stream), read(stream, assembled("Hi", "stop"))):
        assert (answer.text, answer.error, answer.kind) == ("Hi", None, "text")


@pytest.mark.parametrize(
    "event",
    [
        {"choices": [{"index": 0, "content_filter_results": {"error": {"code": "content_filter_error",
                                                                       "message": "The contents are not filtered"}}}]},
        {"type": "ping"},
        {"code": 0, "message": "ok"},
        {"code": 200, "msg": "success", "data": None},
        {"status": "processing", "message": "Looking for documents"},
        {"event": "message", "answer": "x", "message": "x", "task_id": "t"},
        {"usage": {"total_tokens": 3}, "status": 200, "message": "done"},
        {"success": True, "errors": [], "messages": ["hello"]},
        {"delta": "x", "code": 5, "message": "part"},
    ],
)  # fmt: skip
def test_events_beside_a_whole_answer_that_are_no_error(event: dict[str, Any]) -> None:
    """Azure's filter that failed, keep-alives, and messages of a state."""
    body = data({"id": "r-1"} | event, chunk("Hi"), event, chunk(finish="stop"), event) + DONE
    answer = read(body)
    assert (answer.text, answer.error, answer.kind) == ("Hi", None, "text")


def response(status: str, text: str | None = None, **members: Any) -> dict[str, Any]:
    output = [] if text is None else [{"type": "message", "content": [{"type": "output_text", "text": text}]}]
    return {"id": "resp_1", "object": "response", "status": status, "error": None, "output": output} | members


CREATED = {"type": "response.created", "response": response("in_progress")}
DELTA = {"type": "response.output_text.delta", "delta": "Hel"}
FAILURE = {"code": "server_error", "message": "boom"}


def final(status: str, **members: Any) -> dict[str, Any]:
    return {"type": f"response.{status}", "response": response(status, **members)}


@pytest.mark.parametrize("with_names", [True, False])
@pytest.mark.parametrize("with_types", [True, False])
@pytest.mark.parametrize(
    ("end", "error", "finish", "kind"),
    [
        (final("failed", error=FAILURE), "upstream error: boom (server_error)", "failed", "failed"),
        (final("failed"), "the answer failed: it ended with failed", "failed", "failed"),
        (final("cancelled"), "the answer failed: it ended with cancelled", "cancelled", "failed"),
        (final("incomplete", incomplete_details={"reason": "max_output_tokens"}), None, "max_output_tokens", "cut"),
        (final("incomplete", incomplete_details={"reason": "content_filter"}),
         "the answer was stopped by a content filter", "content_filter", "failed"),
        (final("incomplete"), "the answer failed: it ended with incomplete", "incomplete", "failed"),
    ],
)  # fmt: skip
def test_ends_of_a_responses_stream(
    end: dict[str, Any], error: str | None, finish: str, kind: str, with_names: bool, with_types: bool
) -> None:
    """The text so far is kept, though the last event need not have it; the name of an event is its type."""
    if not (with_names or with_types):
        return
    events = [CREATED, DELTA, end]
    sent = [one if with_types else {key: one[key] for key in one if key != "type"} for one in events]
    names = [str(one["type"]) for one in events]
    body = "".join(named(*one) for one in zip(names, sent, strict=True)) if with_names else data(*sent)
    for core in ("{}", json.dumps(end["response"])):
        answer = read(body, core)
        assert (answer.text, answer.error, answer.finish_reason, answer.kind) == ("Hel", error, finish, kind)
        assert answer.response_id == "resp_1"


@pytest.mark.parametrize(
    ("event", "error"),
    [
        (
            {"type": "error", "code": "rate_limit", "message": "boom", "param": None},
            "upstream error: boom (rate_limit)",
        ),
        ({"type": "error", "error": {"type": "x", "message": "boom"}}, "upstream error: boom (x)"),
    ],
)
def test_a_responses_stream_that_breaks_off(event: dict[str, Any], error: str) -> None:
    answer = read(named("error", event).join([named(CREATED["type"], CREATED) + named(DELTA["type"], DELTA), ""]))
    assert (answer.error or "").startswith(error)
    assert (answer.text, answer.kind) == ("Hel", "failed")


def test_a_tool_that_failed_within_a_responses_stream_is_not_the_answer() -> None:
    failed = {"type": "response.mcp_call.failed", "item_id": "m", "status": "failed", "error": {"message": "boom"}}
    listed = {"type": "response.mcp_list_tools.failed", "item_id": "m", "status": "failed"}
    done = {"type": "response.output_item.done", "item": {"type": "mcp_call", "error": "boom", "output": None}}
    whole = final("completed", text="Hello")
    body = "".join(named(one["type"], one) for one in (CREATED, failed, listed, done, DELTA, whole))
    for core in ("{}", json.dumps(whole["response"])):
        assert (read(body, core).text, read(body, core).error) == ("Hello", None)


@pytest.mark.parametrize(
    ("status", "members", "error"),
    [
        ("failed", {"error": FAILURE}, "upstream error: boom (server_error)"),
        ("failed", {}, "the answer failed: it ended with failed"),
        ("incomplete", {"incomplete_details": {"reason": "max_output_tokens"}}, None),
    ],
)
def test_a_response_that_was_not_streamed(status: str, members: dict[str, Any], error: str | None) -> None:
    body = json.dumps(response(status, "Hel", **members))
    answer = read(body, body)
    assert (answer.text, answer.error, answer.kind) == ("Hel", error, "failed" if error else "cut")


def test_a_response_that_failed_without_output_and_error() -> None:
    body = json.dumps(response("failed"))
    answer = read(body, body)
    assert (answer.text, answer.error, answer.kind) == (None, "the answer failed: it ended with failed", "failed")


def test_a_messages_stream_that_breaks_off() -> None:
    """Anthropic sends `overloaded_error` with status 200; Core logs the raw events as the assembled response."""
    start = {"type": "message_start", "message": {"id": "msg_1", "type": "message", "model": "c", "content": []}}
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hel"}}
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    body = "".join(named(one["type"], one) for one in (start, delta, error))
    answer = read(body, body)
    assert (answer.error or "").startswith("upstream error: Overloaded (overloaded_error)")
    assert (answer.text, answer.response_id, answer.kind) == ("Hel", "msg_1", "failed")


def test_an_error_in_an_array() -> None:
    """Gemini answers a stream that was not asked for as events with an array."""
    answer = read('[{"error": {"code": 429, "message": "boom", "status": "RESOURCE_EXHAUSTED"}}]')
    assert (answer.error, answer.kind) == ("upstream error: boom (429, RESOURCE_EXHAUSTED)", "failed")


def row_of(core: str, body: str, uri: str = "/openai/deployments/rag-app/chat/completions") -> LogRecord:
    record = parse_line(core_line({"assembled_response": core, "response.body": body, "request.uri": uri}))
    assert isinstance(record, LogRecord)
    return record


def test_the_columns_of_a_stream_that_failed() -> None:
    """The answer is what came before; `finish_kind` is that of the sender's word, null where none was sent."""
    body = data(chunk("Hel")) + named("error", {"message": "boom"})
    row = row_of(assembled("Hel", None), body)
    assert (row.answer, row.answer_kind, row.finish_reason, row.finish_kind) == ("Hel", "failed", None, None)
    assert (row.error or "").startswith("upstream error: boom")
    ended = data(chunk("Hel"), chunk(finish="error", error={"message": "boom"})) + DONE
    row = row_of(assembled("Hel", "error"), ended)
    assert (row.answer, row.answer_kind, row.finish_reason, row.finish_kind) == ("Hel", "failed", "error", "error")
    assert row.error == "upstream error: boom"


@pytest.mark.parametrize("depth", [200, 251, 252, 253, 300, 1_000])
def test_an_error_that_is_nested_too_deep_to_be_stored(depth: int) -> None:
    """The row has its message; only the whole error is left out."""
    error = f'{{"error":{{"message":"boom","details":{"[" * depth}{"]" * depth}}}}}'
    row = row_of(error, error)
    assert row.error == "upstream error: boom"
    assert ('"answer"' in (row.extra or "")) is (depth < 252)


def test_a_message_is_cut_at_500_characters() -> None:
    assert read(json.dumps({"error": {"message": "x" * 600}})).error == "upstream error: " + "x" * 500


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ('{"object":"error","message":"no such model","code":404}', "upstream error: no such model (404)"),
        ('{"error":{"message":"too long","type":"invalid_request_error"}}',
         "upstream error: too long (invalid_request_error)"),
        ('{"object":"list","data":[{"object":"embedding","embedding":[0.1]}],"error":{"message":"x"}}', None),
        ("", None),
    ],
)  # fmt: skip
def test_an_error_in_place_of_an_embedding(body: str, error: str | None) -> None:
    """With status 200 too."""
    row = row_of(body, body, "/openai/deployments/ada/embeddings")
    assert (row.kind, row.error) == ("embedding", error)
