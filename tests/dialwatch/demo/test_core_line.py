"""Lines as DIAL Core writes them."""

import json
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialwatch.demo.core_line import CallUsage, CoreCall, core_line, core_time

NOON = datetime(2026, 8, 3, 10, 1, 40, 120_000, UTC)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def test_line_is_what_core_writes() -> None:
    """A child's embeddings call comes out byte for byte as Core logs it."""
    body = '{"object":"list","data":[{"index":0,"embedding":[0.1]}]}'
    call = CoreCall(
        deployment="text-embedding-3",
        uri="/openai/deployments/text-embedding-3/embeddings",
        started=NOON,
        trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
        span_id="a000000000000003",
        parent_span_id="a000000000000002",
        parent_deployment="applications/b1/rag",
        execution_path=("applications/b1/rag", "text-embedding-3"),
        usage=CallUsage(prompt_tokens=5, completion_tokens=0, price=Decimal("5E-7"), deployment_price=Decimal("5E-7")),
        upstream_uri="https://aoai/embeddings",
        chat_id="c1",
        user_id="9f1c",
        request_body='{"input":["Hi"]}',
        response_body=body,
        assembled_response=body,
    )
    assert core_line(call).decode() == (
        r'{"apiType":"DialOpenAI","chat":{"id":"c1"},"project":{"id":""},"user":{"id":"9f1c","title":""},'
        r'"token_usage":{"completion_tokens":0,"prompt_tokens":5,"total_tokens":5,"deployment_price":5E-7,"price":5E-7},'
        r'"deployment":"text-embedding-3","parent_deployment":"applications\/b1\/rag",'
        r'"execution_path":["applications/b1/rag","text-embedding-3"],'
        r'"assembled_response":"{\"object\":\"list\",\"data\":[{\"index\":0,\"embedding\":[0.1]}]}",'
        r'"trace":{"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","core_span_id":"a000000000000003",'
        r'"core_parent_span_id":"a000000000000002"},'
        r'"request":{"protocol":"HTTP\/1.1","method":"POST",'
        r'"uri":"\/openai\/deployments\/text-embedding-3\/embeddings","time":"2026-08-03T10:01:40.12",'
        r'"body":"{\"input\":[\"Hi\"]}"},"response":{"status":"200","upstream_uri":"https:\/\/aoai\/embeddings",'
        r'"body":"{\"object\":\"list\",\"data\":[{\"index\":0,\"embedding\":[0.1]}]}"}}'
    )


@pytest.mark.parametrize(("milliseconds", "written"), [(0, ""), (500, ".5"), (120, ".12"), (7, ".007"), (100, ".1")])
def test_time_loses_trailing_zeros(milliseconds: int, written: str) -> None:
    """A time is UTC without a zone; its milliseconds lose their trailing zeros."""
    moment = datetime(2026, 8, 3, 12, 0, 17, milliseconds * 1000, timezone(timedelta(hours=2)))
    assert core_time(moment) == f"2026-08-03T10:00:17{written}"


def test_time_without_zone_is_refused() -> None:
    """A naive time is refused, since Core's line could mean any hour by it."""
    with pytest.raises(ValueError, match="no time zone"):
        core_time(NOON.replace(tzinfo=None))


@given(TEXT, TEXT, TEXT, TEXT)
def test_every_text_comes_back(title: str, deployment: str, request: str, response: str) -> None:
    """Any text that goes into a line comes back from a lenient JSON parser, and the line stays one line."""
    call = CoreCall(
        deployment=deployment,
        uri="/x",
        started=NOON,
        trace_id="1",
        span_id="2",
        user_title=title,
        request_body=request,
        response_body=response,
    )
    raw = core_line(call)
    line = json.loads(raw, strict=False)
    assert b"\n" not in raw
    assert line["user"]["title"] == title
    assert line["deployment"] == deployment
    assert line["request"]["body"] == request
    assert line["response"] == {"status": "200", "body": response}


def test_secured_call_has_no_bodies() -> None:
    """A secured key's line has neither bodies nor an assembled response."""
    call = CoreCall(deployment="d", uri="/x", started=NOON, trace_id="1", span_id="2", secured=True, request_body="s")
    line = json.loads(core_line(call))
    assert "assembled_response" not in line
    assert "body" not in line["request"] | line["response"]
