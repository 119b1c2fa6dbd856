import json
from typing import Any

import pytest

from collector.parsing import LogRecord, Rejection, SignalRecord, parse_line
from collector.parsing.answer.chunk_merge import ChunkMerge
from tests.collector.parsing.core_lines import ANSWER, REMOVED, core_line, rating_line


def row(changes: dict[str, Any] | None = None) -> LogRecord:
    record = parse_line(core_line(changes))
    assert isinstance(record, LogRecord)
    return record


def extra(changes: dict[str, Any]) -> dict[str, Any]:
    return dict(json.loads(row(changes).extra or "{}"))


def stream(*chunks: dict[str, Any], end: str = "data: [DONE]\n\n") -> str:
    return "".join(f"data: {json.dumps(chunk, separators=(',', ':'))}\n\n" for chunk in chunks) + end


def chunk(delta: dict[str, Any], finish: str | None = None, index: int = 0, **more: Any) -> dict[str, Any]:
    return {"id": "r-1", "choices": [{"index": index, "delta": delta, "finish_reason": finish}]} | more


def test_escaping() -> None:
    """Log format 1.2: slashes come escaped, control characters raw; a cut body is reported, the line stays."""
    assert rb"\/openai\/deployments" in core_line()
    assert row().kind == "chat_completion"
    record = row({"request.body": '{"messages":[{"role":"user","content":"Wha>>'})
    assert record.repairs == ["request.body was cut by DIAL Core: the question is unknown"]
    assert (record.question, record.answer, record.error) == (None, "30 days [1].", None)


@pytest.mark.parametrize(
    ("uri", "kind"),
    [
        ("/openai/deployments/a/chat/completions", "chat_completion"),
        ("/openai/deployments/a/completions", "completion"),
        ("/openai/deployments/a/embeddings", "embedding"),
        ("/v1/deployments/a/tokenize", "tokenize"),
        ("/v1/deployments/a/truncate_prompt", "truncate_prompt"),
        ("/v1/deployments/a/route/x/y", "route"),
        ("/v1/toolset/a/mcp", "mcp"),
        ("/openai/v1/responses", "response"),
        ("/anthropic/v1/messages", "message"),
        ("/openai/chat/completions", "chat_completion"),
    ],
)
def test_kinds(uri: str, kind: str) -> None:
    """Log format 1.3: each request that Core logs is a row of its kind."""
    assert row({"request.uri": uri}).kind == kind


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"response.status": "502", "response.body": "<html>", "assembled_response": "<html>"}, "status 502"),
        ({"assembled_response": "{}", "response.body": stream({"error": {"message": "boom"}})}, "boom"),
        ({"assembled_response": ANSWER | {"choices": []}, "response.body": ""}, "choices is empty"),
        ({"assembled_response": "{}", "response.body": ""}, "no answer|shape of no answer"),
    ],
)
def test_errors(changes: dict[str, Any], says: str) -> None:
    """Log format 1.5: a failed answer says why, whatever its status."""
    assert any(word in (row(changes).error or "") for word in says.split("|"))


def test_content_filter_is_an_error() -> None:
    """Log format 1.5: a finish_reason content_filter is an error as Chat treats it."""
    choice = {"index": 0, "message": {"content": "x"}, "finish_reason": "content_filter"}
    record = row({"assembled_response": json.dumps(ANSWER | {"choices": [choice]}), "response.body": ""})
    assert (record.finish_reason, "content filter" in (record.error or "")) == ("content_filter", True)


def test_secured_keys() -> None:
    """Log format 1.6: a secured key leaves tokens and ids, no texts; that is no error. Its ratings are unreadable."""
    hidden = {"assembled_response": REMOVED, "request.body": REMOVED, "response.body": REMOVED}
    record = row(hidden)
    assert (record.total_tokens, record.question, record.answer, record.error) == (421, None, None, None)
    rating = parse_line(rating_line(REMOVED))
    assert isinstance(rating, SignalRecord)
    assert (rating.signal, rating.value) == ("unreadable", None)


@pytest.mark.parametrize(
    ("parent", "deployment", "is_entry"), [(REMOVED, "a", True), ("a", "a", True), ("b", "a", False)]
)
def test_parents(parent: object, deployment: str, is_entry: bool) -> None:
    """Log format 1.7, 10: behind interceptors an answer whose parent is absent or itself is the person's."""
    through = "/openai/deployments/interceptor/chat/completions"
    changes = {"deployment": deployment, "trace.core_parent_span_id": "a000000000000002", "request.uri": through}
    record = row(changes if parent is REMOVED else changes | {"parent_deployment": parent})
    assert record.is_entry is is_entry
    assert record.parent_deployment == (None if is_entry else parent)


def test_interceptors() -> None:
    """Log format 1.7: on an interceptor's URI the deployment is the last of the path; the path is kept as it came."""
    uri = "/openai/deployments/interceptor/chat/completions"
    record = row({"request.uri": uri, "deployment": REMOVED, "execution_path": ["in", "out", "rag-app"]})
    assert (record.deployment, record.execution_path) == ("rag-app", ["in", "out", "rag-app"])


def test_duplicates() -> None:
    """Log format 1.8: the same trace and span are one event; zeros mean that the whole line counts."""
    assert row({"user.title": "x"}).event_id == row().event_id
    zeros = {"trace.trace_id": "0" * 32}
    assert row(zeros).event_id == row(zeros).event_id != row(zeros | {"user.title": "x"}).event_id


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("claims", {"user_id": "u", "roles": ["a"], "long": "x>>"}),
        ("headers", {"baggage": "eval.run.id=1"}),
        ("usage_per_model", [{"index": 0, "model": "m", "usage": {"prompt_tokens": 1}}]),
        ("usage_per_model", [{"model": "m", "prompt_tokens": 1, "completion_tokens": 2}]),
    ],
)
def test_members_without_a_column(member: str, value: object) -> None:
    """Log format 1.1: claims, headers and both shapes of usage_per_model are kept as JSON."""
    assert extra({member: value})[member] == value


@pytest.mark.parametrize("name", ["prompt_tokens_details", "prompt_token_details", "completion_tokens_details"])
def test_token_details(name: str) -> None:
    """Log format 1.1: token details are kept in all spellings, beside the counts that have columns."""
    changes = {f"token_usage.{name}": {"cached_tokens": 5}}
    assert extra(changes)["token_usage"] == {name: {"cached_tokens": 5}}
    assert row(changes).prompt_tokens == 412


_IMAGE = "inline:83286fe62613ea3440ebc42507fde9f2"
"""SHA-256 of "data:x"."""
A, B = {"index": 0, "t": "a"}, {"index": 1, "t": "b"}
MERGES: list[tuple[str, list[Any], Any]] = [
    ("null source keeps", ["a", None], "a"),
    ("null target takes", [None, "a"], "a"),
    ("absent target takes a number", [None, 1], 1),
    ("strings concatenate", ["a", "b"], "ab"),
    ("an empty string adds nothing", ["a", ""], "a"),
    ("integers: last wins", [1, 2], 2),
    ("floats: last wins", [1.5, 2.5], 2.5),
    ("booleans: last wins", [True, False], False),
    ("objects merge by key", [{"a": 1}, {"b": 2}], {"a": 1, "b": 2}),
    ("objects merge deeply", [{"a": {"b": "x"}}, {"a": {"b": "y"}}], {"a": {"b": "xy"}}),
    ("null in an object keeps", [{"a": 1}, {"a": None}], {"a": 1}),
    ("an empty object keeps", [{"a": 1}, {}], {"a": 1}),
    ("arrays merge by index", [[A], [{"index": 0, "t": "!"}]], [{"t": "a!"}]),
    ("other indexes are appended", [[A], [B]], [{"t": "a"}, {"t": "b"}]),
    ("order of arrival is nothing", [[B], [A]], [{"t": "a"}, {"t": "b"}]),
    ("a gap is a placeholder", [[B]], [{}, {"t": "b"}]),
    ("several in one chunk", [[A, B], [B]], [{"t": "a"}, {"t": "bb"}]),
    ("an empty source keeps", [[A], []], [{"t": "a"}]),
    ("an empty target accepts", [[], [A]], [{"t": "a"}]),
    ("an empty target accepts plain values", [[], [1, 2]], [1, 2]),
    ("a null source array keeps", [[A], None], [{"t": "a"}]),
    ("arrays in arrays", [[{"index": 0, "x": [A]}], [{"index": 0, "x": [B]}]], [{"x": [{"t": "a"}, {"t": "b"}]}]),
    ("index goes from the elements only", [{"index": 3, "l": [A]}], {"index": 3, "l": [{"t": "a"}]}),
    # Where Core gives up, the first value stays and what came later is left out or appended.
    ("integer and float", [1, 2.5], 2.5),
    ("string and integer", ["a", 1], "a"),
    ("plain arrays are appended", [[1], [2]], [1, 2]),
    ("indexed and plain", [[A], [{"t": "x"}]], [{"t": "a"}, {"t": "x"}]),
    ("both in one array", [[A, {"t": "x"}]], [{"t": "a"}, {"t": "x"}]),
]


@pytest.mark.parametrize(("name", "values", "merged"), MERGES, ids=[name for name, _, _ in MERGES])
def test_merge_rules(name: str, values: list[Any], merged: object) -> None:
    """Log format 2.2: each of the 28 cases of Core's chunk merging."""
    merge = ChunkMerge()
    for value in values:
        merge.add({"v": value})
    assert merge.result()["v"] == merged


HELLO = [chunk({"role": "assistant"}), chunk({"content": "Hel"}), chunk({"content": "lo"}, "stop")]
STREAMS: dict[str, str] = {
    "normal": stream(*HELLO),
    "CRLF": stream(*HELLO).replace("\n", "\r\n"),
    "no DONE": stream(*HELLO, end=""),
    "comments between": stream(*HELLO).replace("\n\ndata", "\n\n: ping\n\ndata"),
    "id lines": stream(*HELLO).replace("\n\ndata", "\n\nid: 1\ndata"),
    "single line feeds": stream(*HELLO).replace("\n\n", "\n"),
    "a comment first": ": ping\n\n" + stream(*HELLO),
    "an event line first": "event: message\n" + stream(*HELLO),
    "Azure's first chunk": stream({"id": "", "model": "", "choices": [], "prompt_filter_results": []}, *HELLO),
    "role and finish_reason repeated": stream(*HELLO, chunk({"role": "assistant"}, "stop")),
}


@pytest.mark.parametrize("name", STREAMS)
def test_streams(name: str) -> None:
    """Log format 2.3: a stream that Core could not merge is merged again, however its events are written."""
    record = row({"assembled_response": "{}", "response.body": STREAMS[name]})
    assert (record.answer, record.response_id, record.finish_reason) == ("Hello", "r-1", "stop")
    assert record.error is None


@pytest.mark.parametrize(
    ("events", "says"),
    [
        (stream(HELLO[1], {"error": {"message": "boom"}}), "boom"),
        (stream(*HELLO[:2], end='data: {"id":"r-1","choi'), "could not be read"),
    ],
)
def test_broken_streams(events: str, says: str) -> None:
    """Log format 2.3: an error in the middle and an end that is missing keep the text and the id, and are reported."""
    record = row({"assembled_response": "{}", "response.body": events})
    assert (record.answer, record.response_id) == ("Hel", "r-1")
    assert says in (record.error or "")


def test_other_choices_and_attachments() -> None:
    """Log format 2.3: choice 0 is the answer, others stay in the answer's JSON; attachments need no index."""
    one = {"custom_content": {"attachments": [{"title": "a"}]}}
    events = stream(chunk({"content": "B"}, "stop", index=1), chunk({"content": "A"} | one), chunk(one, "stop"))
    record = row({"assembled_response": "{}", "response.body": events})
    choices = json.loads(record.assembled_response or "")["choices"]
    assert (record.answer, choices[1]["message"]["content"]) == ("A", "B")
    assert choices[0]["message"]["custom_content"]["attachments"] == [{"title": "a"}, {"title": "a"}]


def test_ratings() -> None:
    """Log format 3.1: a rating of a custom application is a signal with its comment; false is a dislike."""
    body = {"rate": False, "responseId": "r-1", "comment": "wrong", "conversationReference": "5f0e"}
    uri = "/v1/applications/b/my%20app/rate"
    rating = parse_line(rating_line(body, {"request.uri": uri, "deployment": REMOVED}))
    assert isinstance(rating, SignalRecord)
    assert (rating.signal, rating.value, rating.deployment) == ("dislike", -1.0, "applications/b/my%20app")
    assert json.loads(rating.details or "")["comment"] == "wrong"


def test_all_ids_of_an_answer_are_known() -> None:
    """Log format 3.2: a rating carries the first id of a stream, Core's answer the last: the row has both."""
    events = stream(*HELLO[:2], HELLO[2] | {"id": "r-9"})
    record = row({"assembled_response": json.dumps(ANSWER | {"id": "r-9"}), "response.body": events})
    assert (record.response_id, record.response_ids) == ("r-9", ["r-1", "r-9"])


def test_a_rating_again() -> None:
    """Log format 3.3: false is a dislike; a second rating is a second signal, and the times show the latest."""
    changes = {"request.time": "2026-08-05T09:00:00", "trace.core_span_id": "a00000000000000b"}
    liked = parse_line(rating_line({"rate": True, "responseId": "r-1"}))
    disliked = parse_line(rating_line({"rate": False, "responseId": "r-1"}, changes))
    assert isinstance(liked, SignalRecord)
    assert isinstance(disliked, SignalRecord)
    assert [(one.signal, one.value) for one in (liked, disliked)] == [("like", 1.0), ("dislike", -1.0)]
    assert liked.signal_id != disliked.signal_id
    assert liked.signaled_at < disliked.signaled_at
    same = [(one.deployment, one.response_id, one.user_id) for one in (liked, disliked)]
    assert same[0] == same[1]


def test_a_rating_before_its_answer() -> None:
    """Log format 3.3: a rating that arrives first carries what joins it to the answer; a secured call has no id."""
    line = core_line({"assembled_response": "{}", "response.body": stream(*HELLO[:2], HELLO[2] | {"id": "r-9"})})
    secured = core_line({"assembled_response": REMOVED, "request.body": REMOVED, "response.body": REMOVED})
    rating, answer, hidden = map(parse_line, (rating_line({"rate": True, "responseId": "r-1"}), line, secured))
    assert isinstance(rating, SignalRecord)
    assert isinstance(answer, LogRecord)
    assert isinstance(hidden, LogRecord)
    assert (rating.deployment, rating.origin) == (answer.deployment, "explicit")
    assert rating.response_id in (answer.response_ids or [])
    assert (hidden.response_id, hidden.response_ids) == (None, None)


def test_contexts() -> None:
    """Log format 4.3: the fused stage outranks what the answer cites."""
    stage = {
        "name": "Combined search [0.1s]",
        "attachments": [{"title": "[0.3] 'd'", "data": "x", "reference_url": "d#page=2"}],
    }
    content = {"stages": [stage], "attachments": [{"title": "[1] d", "data": "cited", "reference_url": "d"}]}
    answer = {"index": 0, "message": {"content": "a", "custom_content": content}, "finish_reason": "stop"}
    record = row({"assembled_response": json.dumps(ANSWER | {"choices": [answer]}), "response.body": ""})
    assert record.contexts_origin == "retrieval_stage"
    assert record.contexts == [{"text": "x", "title": "d", "url": "d#page=2", "page": 2, "id": "0.3"}]


def test_requests() -> None:
    """Log format 5: the question is the last user message's text, documents are those of the whole history."""

    def user(content: object, url: str) -> dict[str, Any]:
        return {"role": "user", "content": content, "custom_content": {"attachments": [{"url": url}]}}

    parts = [{"type": "text", "text": "Why?"}, {"type": "image_url", "image_url": {"url": "data:x"}}]
    messages = [user("Hi", "1"), {"role": "assistant", "content": None, "tool_calls": []}, user(parts, "2")]
    record = row({"request.body": json.dumps({"messages": messages, "stream": True, "model": "m"})})
    assert (record.question, record.documents, record.message_count) == ("Why?", ["1", "2", _IMAGE], 3)


def test_a_cut_line() -> None:
    """Log format 1.2: of a line cut by its logger all that is left is a row; cut before its time it is rejected."""
    line = core_line()
    assert isinstance(parse_line(line[:200] + b">>"), Rejection)
    record = parse_line(line[:-40] + b">>")
    assert isinstance(record, LogRecord)
    assert (record.repairs, record.error) == ([f"the line is cut after {len(line) - 38} bytes"], None)
