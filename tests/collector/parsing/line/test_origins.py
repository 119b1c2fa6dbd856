"""Tests of the origin of a request: people, or an evaluation, a test, a judge."""

import json
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsing import Filtered, LogRecord, SignalRecord, parse, parse_line, parse_piece
from collector.parsing.line.fast_path import read_usual_call
from lake.spec.vocabulary import Origin
from tests.collector.parsing.core_lines import core_line, envelope, rating_line

PROJECTS = {"nightly": Origin.EVALUATION, "load": Origin.TEST, "people": Origin.PRODUCTION}
RUN = {"baggage": "eval.run.id=42,eval.suite.id=7"}


def origin_of(changes: dict[str, Any]) -> str | None:
    """What both readers say; the line must be one that is read by type."""
    line = core_line(changes)
    assert read_usual_call(line) is not None
    fast = parse_line(line, projects=PROJECTS)
    with patch.object(parse, "read_usual_call", return_value=None):
        slow = parse_line(line, projects=PROJECTS)
    assert isinstance(fast, LogRecord)
    assert isinstance(slow, LogRecord)
    assert fast.origin == slow.origin
    return fast.origin


@pytest.mark.parametrize(
    ("changes", "origin"),
    [
        ({}, "production"),
        ({"headers": RUN}, "evaluation"),
        ({"headers": {"Baggage": "a=b, eval.run.id = 42 ;p=1"}}, "evaluation"),
        ({"headers": {"traceparent": "x", "BAGGAGE": "eval.run.id=%20"}}, "evaluation"),
        ({"headers": {"baggage": "eval.run=1,x=eval.run.id,my.eval.run.id=2"}}, "production"),
        ({"headers": {"x-baggage": "eval.run.id=1"}}, "production"),
        ({"headers": {"baggage": "dialwatch.origin=replay"}}, "replay"),
        ({"headers": {"baggage": "a=b,dialwatch.origin = judge;p=1"}}, "judge"),
        ({"headers": {"baggage": "dialwatch.origin=replay,eval.run.id=1"}}, "evaluation"),
        ({"headers": {"baggage": "dialwatch.origin=nobody"}}, "production"),
        ({"user.title": "dialwatch/judge"}, "judge"),
        ({"user.title": "dialwatch%2Freplay"}, "replay"),
        ({"user.title": "dialwatch/replay", "parent_deployment": "agent"}, "replay"),
        ({"user.title": "dialwatch/judge", "headers": RUN}, "evaluation"),
        ({"user.title": "dialwatch/judge", "project.id": "people"}, "production"),
        ({"user.title": "dialwatch/nobody"}, "production"),
        ({"user.title": "dialwatch/"}, "production"),
        ({"user.title": "Head of dialwatch/judge"}, "production"),
        ({"headers": {"baggage": 7}}, "production"),
        ({"headers": {"baggage": ["eval.run.id=1"]}}, "production"),
        ({"headers": [RUN]}, "production"),
        ({"headers": {}}, "production"),
        ({"claims": RUN}, "production"),
        ({"project.id": "load"}, "test"),
        ({"project.id": "nightly"}, "evaluation"),
        ({"project.id": "Nightly"}, "production"),
        ({"project.id": "load", "headers": RUN}, "test"),
        ({"project.id": "people", "headers": RUN}, "production"),
        ({"project.id": "other", "headers": RUN}, "evaluation"),
        ({"project.id": "load", "request.uri": "/openai/deployments/rag-app/embeddings"}, "test"),
        ({"project.id": "load", "parent_deployment": "agent"}, "test"),
    ],
)
def test_the_project_or_the_baggage_gives_the_origin(changes: dict[str, Any], origin: str) -> None:
    """A configured project counts first, then an evaluation's run in the baggage; all else is production."""
    assert origin_of(changes) == origin


def test_a_project_counts_however_its_line_comes() -> None:
    """Bare, in an envelope, twice on one line, and repaired."""
    line = core_line({"project.id": "load"})
    pieces = [line, envelope(line), line + line, line.replace(b"Analyst", b"\x01")]
    found = [record for piece in pieces for record in parse_piece(piece, False, PROJECTS)]
    assert [record.origin for record in found if isinstance(record, LogRecord)] == ["test"] * 5


@pytest.mark.parametrize(
    "changes",
    [
        {"user.title": "dialwatch/judge"},
        {"user.title": "dialwatch/replay"},
        {"headers": {"baggage": "dialwatch.origin=judge"}},
    ],
)
@pytest.mark.parametrize("keep", [False, True])
def test_what_dialwatch_asks_itself_is_stored_without_its_texts(changes: dict[str, Any], keep: bool) -> None:
    """A judge's prompt repeats answers that have rows of their own; tokens, price and status of the call stay."""
    line = core_line(changes | {"request.body": '{"messages":[{"role":"user","content":"secretword"}]}'})
    record = parse_line(line, keep)
    assert isinstance(record, LogRecord)
    people = parse_line(core_line(), keep)
    assert isinstance(people, LogRecord)
    assert "secretword" not in str(record)
    assert (record.question, record.answer, record.contexts, record.request_body) == (None, None, None, None)
    assert (record.assembled_response, record.response_body, record.error) == (None, None, None)
    assert (record.status, record.total_tokens, record.price, record.event_id) == (
        people.status, people.total_tokens, people.price, people.event_id
    )  # fmt: skip
    assert str(people.answer) not in str(record)


def test_a_secured_keys_row_has_its_origin() -> None:
    """A row without any text is of its project all the same."""
    line = json.loads(core_line({"project.id": "load"}))
    del line["assembled_response"], line["request"]["body"], line["response"]["body"]
    record = parse_line(json.dumps(line).encode(), projects=PROJECTS)
    assert isinstance(record, LogRecord)
    assert (record.origin, record.answer) == ("test", None)


@pytest.mark.parametrize(
    ("changes", "is_kept"),
    [({}, True), ({"project.id": "people"}, True), ({"project.id": "load"}, False), ({"headers": RUN}, False)],
)
def test_a_rating_that_nobody_gave_is_no_signal(changes: dict[str, Any], is_kept: bool) -> None:
    """A like by a test or an evaluation says nothing of what people think: it is filtered."""
    record = parse_line(rating_line({"rate": True, "responseId": "r"}, changes), projects=PROJECTS)
    assert isinstance(record, SignalRecord if is_kept else Filtered)


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_baggage_stops_a_line(before: str, after: str) -> None:
    """Whatever a client writes around the run's id, the row is there, and is an evaluation's."""
    record = parse_line(core_line({"headers": {"baggage": f"{before},eval.run.id=1,{after}"}}))
    assert isinstance(record, LogRecord)
    assert record.origin == "evaluation"
