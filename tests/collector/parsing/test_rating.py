import json

import pytest

from collector.parsing import SignalRecord, parse_line
from tests.collector.parsing.core_lines import REMOVED, SPAN, TRACE, rating_line

LIKE = {"rate": True, "responseId": "r-101"}


def signal_of(entry: bytes) -> SignalRecord:
    record = parse_line(entry)
    assert isinstance(record, SignalRecord)
    return record


@pytest.mark.parametrize(("rate", "signal", "value"), [(True, "like", 1.0), (False, "dislike", -1.0)])
def test_a_rating_is_an_explicit_signal(rate: bool, signal: str, value: float) -> None:
    """True is a like of value 1, false a dislike of value -1, both of full confidence."""
    record = signal_of(rating_line({"rate": rate, "responseId": "r-101"}))
    assert (record.signal, record.value, record.confidence, record.origin) == (signal, value, 1.0, "explicit")
    assert (record.deployment, record.response_id, record.chat_id, record.user_id) == ("rag-app", "r-101", "c1", "9f1c")
    assert record.date == record.signaled_at.date()


@pytest.mark.parametrize("response_id", [" r-101 ", "R%2F1", "\u00e9\u0000", "x" * 5000])
def test_the_response_id_is_what_the_client_sent(response_id: str) -> None:
    """The id is joined with those of answers, so not a character of it is changed."""
    assert signal_of(rating_line(LIKE | {"responseId": response_id})).response_id == response_id


@pytest.mark.parametrize("response_id", [None, "", 17, ["r-101"]])
def test_a_rating_without_a_usable_response_id_is_kept(response_id: object) -> None:
    """A like that names no answer is a like all the same; an odd id stays in the details."""
    record = signal_of(rating_line(LIKE | {"responseId": response_id}))
    assert (record.signal, record.response_id) == ("like", None)
    assert json.loads(record.details or "").get("responseId") == (response_id or None)


@pytest.mark.parametrize(
    "body",
    [
        REMOVED,
        "",
        "null",
        "[]",
        "true",
        "no JSON",
        "{",
        {},
        {"responseId": "r-101"},
        {"rate": 1},
        {"rate": "true"},
        {"rate": None},
        {"rate": {"value": True}},
    ],
)
def test_a_rating_that_says_neither_is_unreadable(body: object) -> None:
    """A secured key hides the rating and other clients send other bodies: the signal is kept without a value."""
    record = signal_of(rating_line(body))
    assert (record.signal, record.value, record.confidence) == ("unreadable", None, None)


def test_all_else_is_in_the_details() -> None:
    """The comment and other members stand beside each other, what Core wrote around them under `log`."""
    body = LIKE | {"comment": "wrong clause", "conversationId": "conversations/b1/x"}
    details = json.loads(signal_of(rating_line(body, {"project.id": "hr"})).details or "")
    log = details.pop("log")
    assert details == {"comment": "wrong clause", "conversationId": "conversations/b1/x"}
    assert (log["status"], log["project_id"], log["user_title"]) == (200, "hr", "Analyst")
    assert log["request"]["uri"] == "/v1/rag-app/rate"
    assert (log["trace_id"], log["span_id"]) == (TRACE, "a000000000000009")


def test_a_body_that_is_no_object_stays_in_the_details() -> None:
    """What could not be read is not lost."""
    assert json.loads(signal_of(rating_line("no JSON")).details or "")["body"] == "no JSON"


def test_an_odd_comment_does_not_cost_the_rating() -> None:
    """A lone surrogate in a comment leaves the like a like."""
    record = signal_of(rating_line('{"rate":true,"responseId":"r-101","comment":"\\ud800!"}'))
    assert (record.signal, json.loads(record.details or "")["comment"]) == ("like", "\ufffd!")


def test_a_rating_of_a_repaired_line_says_what_was_repaired() -> None:
    """A control character before the body is replaced and reported, and the rating is read."""
    record = signal_of(rating_line(LIKE).replace(b'"body":"', b'"body":"\x01', 1))
    assert record.signal == "like"
    assert json.loads(record.details or "")["log"]["error"] == "1 raw control character was replaced"


def test_the_rated_deployment_comes_from_the_uri_where_core_wrote_none() -> None:
    """Old Core writes no deployment; the path of the rating has it."""
    assert signal_of(rating_line(LIKE, {"deployment": REMOVED})).deployment == "rag-app"


def test_ratings_are_distinguished_by_their_span() -> None:
    """The signal's id comes from the rating's own trace, so a line that is shipped twice has the same."""
    first, again = signal_of(rating_line(LIKE)), signal_of(rating_line(LIKE | {"comment": "x"}))
    assert first.signal_id == again.signal_id
    assert signal_of(rating_line(LIKE, {"trace.core_span_id": SPAN})).signal_id != first.signal_id
