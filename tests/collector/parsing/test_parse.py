import datetime
import json
from typing import Any

import msgspec
import pytest

from collector.parsing import LogRecord, Rejection, SignalRecord, core_lines, parse_line
from collector.parsing.line.call import LONGEST_ENCODED
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from tests.collector.parsing.core_lines import ANSWER, REMOVED, REQUEST, SPAN, TRACE, core_line, envelope, rating_line

SECURED = {"assembled_response": REMOVED, "request.body": REMOVED, "response.body": REMOVED}


def row_of(changes: dict[str, Any] | None = None) -> LogRecord:
    record = parse_line(core_line(changes))
    assert isinstance(record, LogRecord)
    return record


def extra_of(changes: dict[str, Any] | None = None) -> dict[str, Any]:
    extra = row_of(changes).extra
    return json.loads(extra) if extra else {}


@pytest.mark.parametrize(("record", "spec"), [(LogRecord, PARSED_LOGS), (SignalRecord, USER_SIGNALS)])
def test_records_have_the_columns_of_their_table(record: type[msgspec.Struct], spec: Any) -> None:
    """A record's fields are the table's columns, in order, but for those that the pipeline adds."""
    names = [name for name in spec.schema.names if name not in ("source", "ingested_at")]
    assert list(record.__struct_fields__) == names


@pytest.mark.parametrize("entry", [core_line(), core_line(SECURED), rating_line({"rate": True})])
def test_records_become_arrow_rows(entry: bytes) -> None:
    """Every field is of a type that Arrow takes for its column."""
    record = parse_line(entry)
    spec = PARSED_LOGS if isinstance(record, LogRecord) else USER_SIGNALS
    assert isinstance(record, msgspec.Struct)
    row = msgspec.structs.asdict(record)
    (back,) = spec.rows([row]).to_pylist()
    assert {name: back[name] for name in row} == row


def test_a_good_line_fills_its_row() -> None:
    """One call of an application, member by member."""
    row = row_of({"chat.id": "conversations%2Fb1%2FRefunds%20x"})
    time = datetime.datetime(2026, 8, 3, 10, 0, 17, 500_000, datetime.UTC)
    assert (row.deployment, row.kind, row.is_entry, row.status, row.error) == (
        "rag-app",
        "chat_completion",
        True,
        200,
        None,
    )
    assert (row.requested_at, row.date, row.duration_ms) == (time, time.date(), None)
    assert (row.user_id, row.user_title, row.project_id) == ("9f1c", "Analyst", None)
    assert row.chat_id == "conversations/b1/Refunds x"
    assert (row.trace_id, row.span_id, row.parent_span_id, row.execution_path) == (TRACE, SPAN, None, ["rag-app"])
    assert (row.prompt_tokens, row.completion_tokens, row.total_tokens) == (412, 9, 421)
    assert (row.price, row.deployment_price) == (0.0031, None)
    assert (row.question, row.answer) == ("What is the refund window?", "30 days [1].")
    assert (row.response_id, row.response_ids, row.finish_reason) == ("r-100", ["r-100"], "stop")
    assert (row.request_body, row.assembled_response) == (json.dumps(REQUEST), json.dumps(ANSWER))


@pytest.mark.parametrize("more", [{}, {"user.new": 1}], ids=["by types", "tolerantly"])
@pytest.mark.parametrize(
    ("sent", "title"),
    [
        ("%D0%98%D0%BD%D0%B6%D0%B5%D0%BD%D0%B5%D1%80%20%2F%20QA", "Инженер / QA"),
        ("Head of 100% cotton", "Head of 100% cotton"),
        ("%zz%41", "%zzA"),
        ("%41" * LONGEST_ENCODED, "%41" * LONGEST_ENCODED),
    ],
    ids=["encoded", "plain", "half encoded", "too long"],
)
def test_a_job_title_is_decoded_as_a_conversations_id_is(sent: str, title: str, more: dict[str, Any]) -> None:
    """DIAL Chat percent-encodes both headers; one that is longer than any client's stays as it is."""
    row = row_of({"user.title": sent, "chat.id": sent, **more})
    assert (row.user_title, row.chat_id) == (title, title)


def test_what_has_no_column_is_in_extra() -> None:
    """`extra` has every member of the line without a column, except the usual constant and a body that has a column."""
    more = {
        "claims": {"roles": ["a"]},
        "headers": {"x": "y"},
        "usage_per_model": [{"model": "m"}],
        "token_usage.prompt_token_details": {"cached_tokens": 3},
        "new_key": [1],
        "user.new": None,
    }
    assert extra_of(more) == {
        "claims": {"roles": ["a"]},
        "headers": {"x": "y"},
        "usage_per_model": [{"model": "m"}],
        "token_usage": {"prompt_token_details": {"cached_tokens": 3}},
        "new_key": [1],
        "user": {"new": None},
        "request": {
            "protocol": "HTTP/1.1",
            "method": "POST",
            "uri": "/openai/deployments/rag-app/chat/completions?api-version=2024-02-01",
        },
        "response": {"upstream_uri": "http://rag/x"},
    }
    assert extra_of({"apiType": "Other"})["apiType"] == "Other"


@pytest.mark.parametrize(
    ("path", "written", "column", "value"),
    [
        ("response.status", 200, "status", 200),
        ("response.status", "404", "status", 404),
        ("response.status", 1.0, "status", 1),
        ("response.status", 70_000, "status", None),
        ("response.status", True, "status", None),
        ("response.status", "OK", "status", None),
        ("token_usage.prompt_tokens", "412", "prompt_tokens", 412),
        ("token_usage.prompt_tokens", 412.0, "prompt_tokens", 412),
        ("token_usage.prompt_tokens", "4.12e2", "prompt_tokens", 412),
        ("token_usage.prompt_tokens", 412.5, "prompt_tokens", None),
        ("token_usage.prompt_tokens", "many", "prompt_tokens", None),
        ("token_usage.prompt_tokens", "4_1", "prompt_tokens", None),
        ("token_usage.prompt_tokens", False, "prompt_tokens", None),
        ("token_usage.prompt_tokens", [1], "prompt_tokens", None),
        ("token_usage.prompt_tokens", 2**63 - 1, "prompt_tokens", 2**63 - 1),
        ("token_usage.prompt_tokens", 2**63, "prompt_tokens", None),
        ("token_usage.price", 5e-7, "price", 5e-7),
        ("token_usage.price", "5E-7", "price", 5e-7),
        ("token_usage.price", True, "price", None),
        ("operation_duration_ms", 1234, "duration_ms", 1234),
        ("operation_duration_ms", 2**70, "duration_ms", None),
        ("chat.id", 5, "chat_id", None),
        ("user.id", {"a": "b"}, "user_id", None),
        ("execution_path", "rag-app", "execution_path", None),
        ("execution_path", ["rag-app", 5], "execution_path", None),
        ("trace.trace_id", "not-hex", "trace_id", None),
        ("trace.core_span_id", 7, "span_id", None),
    ],
)
def test_a_value_that_does_not_fit_its_column_is_null_and_kept(
    path: str, written: Any, column: str, value: Any
) -> None:
    """A column has what its type can hold; anything else is null there and stands in `extra` as it came."""
    row = row_of({path: written})
    assert getattr(row, column) == value
    kept: Any = json.loads(row.extra or "{}")
    for key in path.split("."):
        kept = kept.get(key) if isinstance(kept, dict) else None
    assert kept == (None if value is not None else written)


@pytest.mark.parametrize(
    ("number", "kept"),
    [(b"NaN", "NaN"), (b"-Infinity", "-Infinity"), (b"1e999", "1e999"), (b"1" * 5000, "1" * 5000)],
    ids=["NaN", "Infinity", "overflow", "5000 digits"],
)
def test_numbers_that_json_has_not_cost_only_themselves(number: bytes, kept: str) -> None:
    """What no column can hold is null, and text in `extra`."""
    row = parse_line(core_line().replace(b'"price":0.0031', b'"price":' + number))
    assert isinstance(row, LogRecord)
    assert (row.price, row.prompt_tokens, row.answer) == (None, 412, "30 days [1].")
    assert json.loads(row.extra or "")["token_usage"] == {"price": kept}


@pytest.mark.parametrize(
    ("written", "seconds", "microseconds"),
    [
        ("2026-08-03T10:00:17", 17, 0),
        ("2026-08-03T10:00:17.5", 17, 500_000),
        ("2026-08-03T10:00:17.12", 17, 120_000),
        ("2026-08-03T10:00:17.007", 17, 7_000),
        ("2026-08-03T10:00:17.123456789", 17, 123_456),
        ("2026-08-03T10:00:17Z", 17, 0),
        ("2026-08-03T12:00:17.5+02:00", 17, 500_000),
        ("2026-08-03 10:00:17", 17, 0),
        ("2026-08-03T10:00", 0, 0),
    ],
)
def test_times_are_utc(written: str, seconds: int, microseconds: int) -> None:
    """Core's local date-time means UTC, with however many digits; a zone is honoured."""
    time = row_of({"request.time": written}).requested_at
    assert time == datetime.datetime(2026, 8, 3, 10, 0, seconds, microseconds, datetime.UTC)


@pytest.mark.parametrize(
    "written",
    [REMOVED, None, "", "yesterday", "2026-08-03", "2026-13-03T10:00:17", 1785742217, "0001-01-01T00:00:00+14:00", [1]],
)
def test_a_line_without_a_time_is_refused(written: Any) -> None:
    """Without its time a row has no date to be stored under."""
    record = parse_line(core_line({"request.time": written}))
    assert isinstance(record, Rejection)
    assert (record.reason, record.deployment, record.raw) == (
        "no_time",
        "rag-app",
        core_line({"request.time": written}),
    )


@pytest.mark.parametrize(
    ("changes", "is_entry", "parent"),
    [
        ({}, True, None),
        ({"parent_deployment": "rag-app"}, True, None),
        ({"parent_deployment": "agent"}, False, "agent"),
        ({"parent_deployment": ""}, True, None),
        ({"request.uri": "/openai/v1/responses"}, True, None),
        ({"request.uri": "/anthropic/v1/messages"}, True, None),
        ({"request.uri": "/openai/deployments/rag-app/embeddings"}, False, None),
        ({"request.uri": "/v1/deployments/rag-app/tokenize"}, False, None),
    ],
)
def test_the_answer_that_the_person_saw(changes: dict[str, Any], is_entry: bool, parent: str | None) -> None:
    """An answering call without another parent is the person's own."""
    row = row_of(changes)
    assert (row.is_entry, row.parent_deployment) == (is_entry, parent)


@pytest.mark.parametrize("mode", ["retrieval", "indexing"])
def test_dial_rags_other_modes_answer_nobody(mode: str) -> None:
    """A chat completion that asks DIAL RAG for chunks or an index has its own kind."""
    body = REQUEST | {"custom_fields": {"configuration": {"request": {"type": mode}}}}
    row = row_of({"request.body": json.dumps(body)})
    assert (row.kind, row.is_entry) == (mode, False)


def test_one_span_is_one_event_however_it_is_shipped() -> None:
    """The event's id is of the trace and span, so that the same call in another line is a duplicate."""
    first = row_of().event_id
    assert len(first) == 32
    assert row_of({"user.title": "other"}).event_id == first
    assert row_of({"trace.core_span_id": "b" * 16}).event_id != first
    assert row_of({"trace.trace_id": "b" * 32}).event_id != first


@pytest.mark.parametrize(
    "trace",
    [
        {"trace_id": "0" * 32, "core_span_id": "0" * 16},
        {"trace_id": "0" * 32, "core_span_id": SPAN},
        {"trace_id": TRACE},
        {"trace_id": "unknown", "core_span_id": SPAN},
        {},
        None,
    ],
)
def test_without_tracing_the_line_itself_is_the_event(trace: Any) -> None:
    """Where an id is zeros or missing the hash is of Core's line, whatever envelope it came in."""
    entry = core_line({"trace": trace})
    (unwrapped,) = core_lines(envelope(entry))
    bare, wrapped, other = parse_line(entry), parse_line(unwrapped), row_of({"trace": trace, "chat.id": "c2"})
    assert isinstance(bare, LogRecord)
    assert isinstance(wrapped, LogRecord)
    assert bare.event_id == wrapped.event_id != other.event_id
    assert bare.trace_id in (None, TRACE)
    assert bare.span_id in (None, SPAN)


def test_a_secured_key_gives_a_row_without_texts() -> None:
    """Core leaves all bodies out: that is no error of the call, its tokens and ids are there."""
    row = row_of(SECURED)
    assert (row.error, row.kind, row.is_entry, row.prompt_tokens) == (None, "chat_completion", True, 412)
    texts = (row.question, row.answer, row.request_body, row.assembled_response, row.response_id, row.contexts)
    assert texts == (None,) * 6
    assert row_of(SECURED | {"response.status": "500"}).error == "status 500"


def test_a_cut_line_keeps_what_is_left_and_says_so() -> None:
    """A line cut in its last body is a row with its whole answer, for Core had merged it before: no error."""
    entry = core_line()[:-40] + b">>"
    row = parse_line(entry)
    assert isinstance(row, LogRecord)
    assert (row.error, row.repairs) == (None, [f"the line is cut after {len(entry)} bytes"])
    assert (row.question, row.answer, row.status) == ("What is the refund window?", "30 days [1].", 200)


def test_half_a_status_is_no_status() -> None:
    """Of a line that is cut in its status the status is null."""
    record = parse_line(core_line()[: core_line().index(b'"status":"20') + 12] + b">>")
    assert isinstance(record, LogRecord)
    assert record.status is None


@pytest.mark.parametrize("last", [b'"deployment":', b'"request":', b'"time":"2026-08-03T10:00', b"10:00:17.5"])
def test_a_cut_line_without_its_time_is_refused(last: bytes) -> None:
    """What is cut before its time is whole, or before its deployment, cannot be stored; its bytes are kept."""
    entry = core_line()[: core_line().index(last) + len(last)] + b">>"
    record = parse_line(entry)
    assert isinstance(record, Rejection)
    assert (record.reason, record.raw) == ("cut", entry)


@pytest.mark.parametrize(
    ("uri", "kind"),
    [("embeddings", "embedding"), ("chat/completions", "chat_completion"), ("completions", "completion")],
)
def test_the_upstreams_message_is_the_error(uri: str, kind: str) -> None:
    """A call that failed upstream has the reason, of whatever kind it is."""
    body = json.dumps({"error": {"message": "too many tokens", "code": "429"}})
    row = row_of(
        {
            "request.uri": f"/openai/deployments/rag-app/{uri}",
            "response.status": "429",
            "response.body": body,
            "assembled_response": body,
        }
    )
    assert (row.kind, row.status, row.answer, row.assembled_response) == (kind, 429, None, body)
    assert "too many tokens" in (row.error or "")


@pytest.mark.parametrize(("status", "failed"), [("399", False), ("400", True)])
def test_a_call_that_answers_nobody_fails_from_status_400_on(status: str, failed: bool) -> None:
    """Status 400, a request that the upstream refuses, is a failure; what is below is none."""
    body = json.dumps({"error": {"message": "too long an input", "code": "400"}})
    changes = {"response.status": status, "response.body": body, "assembled_response": body}
    row = row_of({"request.uri": "/v1/deployments/rag-app/tokenize"} | changes)
    assert row.error == ("status 400; upstream error: too long an input (400)" if failed else None)


@pytest.mark.parametrize(
    ("changes", "column", "kept"),
    [
        ({"assembled_response": "", "response.body": '{"jobs":[]}'}, '{"jobs":[]}', None),
        ({"assembled_response": '{"jobs":[]}', "response.body": '{"jobs":[]}'}, '{"jobs":[]}', None),
        ({"assembled_response": "{}", "response.body": "event: x"}, "{}", "event: x"),
        ({"assembled_response": "", "response.body": ""}, None, None),
    ],
)
def test_a_body_that_answers_nobody_is_stored_once(
    changes: dict[str, Any], column: str | None, kept: str | None
) -> None:
    """Calls that answer nobody keep Core's text; a response body that says something else is in `extra`."""
    row = row_of({"request.uri": "/v1/deployments/rag-app/route/jobs", **changes})
    assert (row.kind, row.assembled_response, row.error) == ("route", column, None)
    assert json.loads(row.extra or "")["response"].get("body") == kept


def test_an_embedding_keeps_its_vectors_and_names_its_model() -> None:
    """An embedding's answer is Core's text, its model the one that was asked for."""
    vectors = '{"data":[{"embedding":[0.1]}]}'
    row = row_of(
        {
            "request.uri": "/openai/deployments/ada/embeddings",
            "request.body": '{"input":["Hi"],"model":"ada"}',
            "assembled_response": vectors,
        }
    )
    assert (row.kind, row.model, row.assembled_response, row.question) == ("embedding", "ada", vectors, None)


def test_a_row_without_a_deployment_is_kept() -> None:
    """A global route has no deployment; its row has none either."""
    row = row_of({"deployment": REMOVED, "request.uri": "/hooks/x"})
    assert (row.deployment, row.kind, row.is_entry) == (None, "route", False)


MCP_ERROR = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "Unknown tool: serch"}}
MCP_FAILED = {"jsonrpc": "2.0", "id": 1, "result": {"isError": True, "content": [{"type": "text", "text": "no index"}]}}
MCP_RESULT = {
    "jsonrpc": "2.0",
    "id": 1,
    "result": {"isError": False, "content": [{"type": "text", "text": "error: 0"}]},
}
MCP_NOTICE = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"message": "error rate"}}


@pytest.mark.parametrize("is_stream", [False, True], ids=["json", "sse"])
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (MCP_ERROR, "tool error: Unknown tool: serch"),
        (MCP_FAILED, "tool error: no index"),
        (MCP_FAILED | {"result": {"isError": True}}, "tool error: no message"),
        (MCP_RESULT, None),
    ],
)
def test_a_call_of_a_tool_that_failed_has_an_error(answer: dict[str, Any], error: str | None, is_stream: bool) -> None:
    """With status 200 too: JSON-RPC's error, or a result that says it is one, alone or behind notices in a stream."""
    events = "".join(f"event: message\ndata: {json.dumps(one)}\n\n" for one in (MCP_NOTICE, answer))
    body = events if is_stream else json.dumps(answer)
    changes = {"request.uri": "/v1/toolset/search/mcp", "response.body": body, "assembled_response": ""}
    row = row_of(changes)
    assert (row.kind, row.error, row.answer, row.answer_kind) == ("mcp", error, None, None)
