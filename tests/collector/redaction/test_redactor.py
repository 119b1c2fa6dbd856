from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from collector.parsing import LogRecord, Rejection, SignalRecord, parse_line
from collector.redaction import PATTERN_NAMES, RedactionSettings, Redactor
from collector.redaction.scrubber import Scrubber
from tests.collector.lines import chat_line, rating_line
from tests.collector.redaction.planting import stream_of

KEY = "a key of the tests"


@pytest.fixture(scope="module")
def redactor() -> Redactor:
    return Redactor(RedactionSettings(patterns=list(PATTERN_NAMES), key=KEY))


def log_record(redactor: Redactor, **changes: Any) -> LogRecord:
    record = redactor.redact(parse_line(chat_line(1, **changes)))
    assert isinstance(record, LogRecord)
    return record


def asked(redactor: Redactor, **body: Any) -> LogRecord:
    request = json.loads(chat_line(1))["request"] | {"body": json.dumps(body)}
    return log_record(redactor, request=request)


def test_a_record_without_a_find_is_the_very_same(redactor: Redactor) -> None:
    """Nothing is copied, and no body is written anew."""
    record = parse_line(chat_line(1))
    assert redactor.redact(record) is record


def test_persons_stay_distinguishable(redactor: Redactor) -> None:
    """A user id gets a pseudonym that is the same each time, differs between persons, and needs the key to be made."""
    first, again, other = (
        log_record(redactor, user={"id": name, "title": ""}).user_id
        for name in ("ann@example.org", "ann@example.org", "bob@example.org")
    )
    assert first == again != other
    assert first is not None
    assert first.startswith("[EMAIL ")
    assert "ann" not in first
    with_other_key = Redactor(RedactionSettings(patterns=["email"], key="another key of the tests"))
    assert log_record(with_other_key, user={"id": "ann@example.org", "title": ""}).user_id != first


def test_a_rating_still_finds_its_answer(redactor: Redactor) -> None:
    """An id that holds a secret is the same pseudonym in the answer's row and in the rating's."""
    answer = json.loads(json.loads(chat_line(1))["assembled_response"]) | {"id": "r-ann@example.org"}
    row = log_record(redactor, assembled_response=json.dumps(answer))
    signal = redactor.redact(parse_line(rating_line(2, "r-ann@example.org")))
    assert isinstance(signal, SignalRecord)
    assert row.response_id == signal.response_id
    assert "ann" not in str(row.response_id)


def test_deployments_and_trace_ids_stay(redactor: Redactor) -> None:
    """They are names of things: access rights, joins and traces go by them."""
    trace = {"trace_id": "4111111111111111" * 2, "core_span_id": "4111111111111111"}
    record = log_record(redactor, deployment="ann@example.org", execution_path=["ann@example.org"], trace=trace)
    assert record.deployment == "ann@example.org"
    assert record.execution_path == ["ann@example.org"]
    assert record.span_id == "4111111111111111"


def test_a_name_shows_a_secret_also_where_json_is_written_again(redactor: Redactor) -> None:
    """A number that becomes a mark has the body written again; a password beside it goes all the same."""
    record = asked(redactor, card=4111111111111111, password="correct horse", token="Hello", deep=[{"pwd": 'a"b'}])
    assert record.request_body is not None
    body = json.loads(record.request_body)
    expected = {"card": "[PAYMENT_CARD]", "password": "[SECRET]", "token": "Hello", "deep": [{"pwd": "[SECRET]"}]}
    assert body == expected


def test_json_stays_json(redactor: Redactor) -> None:
    """Escapes around a find are left whole, a number becomes a string, and names of members are looked at too."""
    body = {
        "messages": [{"role": "user", "content": 'line\nann@example.org\t"x"'}],
        "card": 4111111111111111,
        "a@b.de": 1,
    }
    record = asked(redactor, **body)
    assert record.request_body is not None
    assert json.loads(record.request_body) == {
        "messages": [{"role": "user", "content": 'line\n[EMAIL]\t"x"'}],
        "card": "[PAYMENT_CARD]",
        "[EMAIL]": 1,
    }


def test_an_escaped_letter_hides_nothing(redactor: Redactor) -> None:
    """JSON's escapes, several deep, and percent-encoding are undone to look, and replaced with what they hide."""
    inner = json.dumps({"to": "ann\\u0040example.org"}).replace("\\\\u", "\\u")
    record = asked(redactor, messages=[{"role": "user", "content": inner}, {"role": "user", "content": "a%40b.de x"}])
    assert record.question == "[EMAIL] x"
    assert "ann" not in str(record.request_body)


def test_a_number_that_is_a_card_becomes_null(redactor: Redactor) -> None:
    """Columns of numbers are looked at from twelve digits on."""
    record = log_record(redactor, token_usage={"prompt_tokens": 4111111111111111, "total_tokens": 4111})
    assert record.prompt_tokens is None
    assert record.total_tokens == 4111


def test_thoughts_are_redacted_and_the_words_for_an_answer_stay() -> None:
    """`reasoning` is text like the answer, whether it was logged in a member of its own or before the answer."""
    redactor = Redactor(RedactionSettings(patterns=["email"], own={"word": "text|stop"}, key=KEY))
    answer = json.loads(json.loads(chat_line(1))["assembled_response"])
    for message in (
        {"content": "Yes.", "reasoning_content": "ann@example.org asks"},
        {"content": "<think>ann@example.org asks</think>Yes."},
    ):
        answer["choices"][0]["message"] = message
        record = log_record(redactor, assembled_response=json.dumps(answer))
        assert (record.answer, record.reasoning) == ("Yes.", "[EMAIL] asks")
        assert (record.answer_kind, record.finish_kind) == ("text", "stop")
        assert b"ann@example" not in msgspec.json.encode(record)


def stream_in_extra(record: LogRecord) -> Any:
    return json.loads(record.extra or "{}").get("response", {}).get("body")


def test_a_stream_that_hides_something_over_its_chunks_is_not_kept(redactor: Redactor) -> None:
    """The merged answer is redacted; the stream that would show it chunk by chunk is removed."""
    record = log_record(
        redactor,
        assembled_response="",
        response={"status": "200", "body": stream_of(["ann@ex", "ample.org"], ended=False)},
    )
    assert record.answer == "see [EMAIL] now"
    assert stream_in_extra(record) == "[STREAM]"


def test_a_stream_that_hides_nothing_is_kept(redactor: Redactor) -> None:
    """Where chunks can all be read and say nothing together, the text stays byte for byte."""
    body = stream_of(["nothing", " here"], ended=False)
    record = log_record(redactor, assembled_response="", response={"status": "200", "body": body})
    assert stream_in_extra(record) == body


def test_rejected_bytes_stay_different(redactor: Redactor) -> None:
    """Two bad lines that differ only in a secret are not taken for one: each mark carries a pseudonym."""
    raws = [b"\xff{ no json of ann@example.org", b"\xff{ no json of bob@example.org"]
    first, second = (redactor.redact(Rejection(reason="not_json", message="ann@example.org", raw=raw)) for raw in raws)
    assert isinstance(first, Rejection)
    assert isinstance(second, Rejection)
    assert first.message == "[EMAIL]"
    assert first.raw.startswith(b"\xff{ no json of [EMAIL ")
    assert first.raw != second.raw


def test_bytes_that_are_no_text_are_not_kept(redactor: Redactor) -> None:
    """In compressed bytes nothing can be found, so a mark stands for them."""
    import gzip

    record = redactor.redact(Rejection(reason="not_json", message="m", raw=gzip.compress(b"ann@example.org")))
    assert isinstance(record, Rejection)
    assert record.raw.startswith(b"[BINARY ")


def test_a_redaction_that_fails_withholds_the_line(
    redactor: Redactor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The line becomes a rejection without its text; neither message nor log says more than the kind of error."""

    def fail(*_: object, **__: object) -> list[object]:
        raise RuntimeError("about ann@example.org")

    monkeypatch.setattr(Scrubber, "find", fail)
    record = redactor.redact(parse_line(chat_line(1)))
    assert isinstance(record, Rejection)
    assert record.reason == "redaction_failed"
    assert record.deployment == "rag-app"
    assert record.raw.startswith(b"[WITHHELD ")
    assert "ann@example.org" not in f"{record} {caplog.text}"
    assert "RuntimeError" in caplog.text
