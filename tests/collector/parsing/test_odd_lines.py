import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from collector.parsing import LogRecord, Rejection, SignalRecord, core_lines, parse_line
from tests.collector.parsing.core_lines import ANSWER, REMOVED, REQUEST, core_line, envelope, rating_line

BEFORE = core_line({"trace.core_span_id": "b000000000000001"})
AFTER = core_line({"trace.core_span_id": "b000000000000002"})


@dataclass(frozen=True)
class Row:
    """A row is expected: columns with their values, a part of its error, a part of its repairs (None: none)."""

    columns: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    repairs: str | None = None


@dataclass(frozen=True)
class Signal:
    """A signal is expected."""

    signal: str


WHOLE = Row({"question": "What is the refund window?", "answer": "30 days [1].", "status": 200, "prompt_tokens": 412})


def whole(error: str | None = None, **columns: Any) -> Row:
    """The good row with some columns that differ."""
    return Row(WHOLE.columns | columns, error)


def mended(repairs: str, **columns: Any) -> Row:
    """The good row with some columns that differ, and with a note on what was mended to read its line."""
    return Row(WHOLE.columns | columns, None, repairs)


def changed(**changes: Any) -> bytes:
    return core_line({path.replace("__", "."): value for path, value in changes.items()})


def answered(answer: Any, body: Any = None) -> bytes:
    """The good line with another answer; `body` is the response's body where that is not the same."""
    written = answer if isinstance(answer, str) else json.dumps(answer)
    body = written if body is None else body if isinstance(body, str) else json.dumps(body)
    return core_line({"assembled_response": written, "response.body": body})


def choice(value: Any) -> dict[str, Any]:
    return ANSWER | {"choices": [value]}


def asked(body: Any) -> bytes:
    return core_line({"request.body": body if isinstance(body, str) else json.dumps(body)})


LINE = core_line()
SSE = (
    'data: {"id":"r-9","choices":[{"index":0,"delta":{"role":"assistant","content":"30 "}}]}\n\n'
    'data: {"id":"r-9","choices":[{"index":0,"delta":{"content":"days [1]."},"finish_reason":"stop"}]}\n\n'
    "data: [DONE]\n\n"
)

ODD_LINES = {
    # members of other types
    "status as a number": (changed(response__status=200), [whole()]),
    "status as a float": (changed(response__status=200.0), [whole()]),
    "status missing": (changed(response__status=REMOVED), [whole(status=None)]),
    "status as a boolean": (changed(response__status=True), [whole(status=None)]),
    "status beyond 16 bits": (changed(response__status="99999"), [whole(status=None)]),
    "a token count as text": (changed(token_usage__prompt_tokens="412"), [whole()]),
    "a token count as a float": (changed(token_usage__prompt_tokens=412.0), [whole()]),
    "a token count null": (changed(token_usage__prompt_tokens=None), [whole(prompt_tokens=None)]),
    "a token count beyond 64 bits": (changed(token_usage__prompt_tokens=10**25), [whole(prompt_tokens=None)]),
    "token usage null": (changed(token_usage=None), [whole(prompt_tokens=None)]),
    "token usage as a list": (changed(token_usage=[1]), [whole(prompt_tokens=None)]),
    "a price like 5E-7": (LINE.replace(b":0.0031", b":5E-7"), [whole(price=5e-7)]),
    "a price as text": (changed(token_usage__price="5E-7"), [whole(price=5e-7)]),
    "a price NaN": (LINE.replace(b":0.0031", b":NaN"), [whole(price=None)]),
    "chat null": (changed(chat=None), [whole(chat_id=None)]),
    "chat missing": (changed(chat=REMOVED), [whole(chat_id=None)]),
    "user as text": (changed(user="9f1c"), [whole(user_id=None)]),
    "trace null": (changed(trace=None), [whole(trace_id=None, span_id=None)]),
    "trace ids all zeros": (changed(trace={"trace_id": "0" * 32, "core_span_id": "0" * 16}), [whole(trace_id=None)]),
    "execution path null": (changed(execution_path=None), [whole(execution_path=None)]),
    "deployment missing": (changed(deployment=REMOVED), [whole(deployment="rag-app")]),
    "deployment null": (changed(deployment=None), [whole(deployment="rag-app")]),
    "response null": (changed(response=None), [whole(status=None)]),
    "an unknown member": (changed(schema_version=7), [whole()]),
    # bodies
    "a null request body": (changed(request__body=None), [mended("request.body", question=None)]),
    "an empty request body": (changed(request__body=""), [mended("request.body", question=None)]),
    "a request body that is no JSON": (asked("<html>"), [mended("request.body", question=None)]),
    "a request body that is a list": (asked("[]"), [mended("request.body", question=None)]),
    "a request body that Core cut": (asked(json.dumps(REQUEST)[:30] + ">>"), [mended("request.body", question=None)]),
    "a request body that is no text": (changed(request__body=REQUEST), [whole()]),
    "messages null": (asked({"messages": None}), [whole(question=None, message_count=None)]),
    "a message null": (asked({"messages": [None, *REQUEST["messages"]]}), [whole()]),  # type: ignore[misc]
    "content null": (asked({"messages": [{"role": "user", "content": None}]}), [whole(question=None)]),
    "content as parts": (
        asked(
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]}
        ),
        [whole(question="a\nb")],
    ),
    "a lone surrogate in the question": (
        asked('{"messages":[{"role":"user","content":"a\\ud800b"}]}'),
        [whole(question="a\ufffdb")],
    ),
    "null bodies": (
        changed(assembled_response=None, response__body=None),
        [whole("no answer was logged", answer=None, response_id=None)],
    ),
    "an assembled response of {}": (answered("{}", SSE), [whole(response_id="r-9")]),
    "an assembled response that Core cut": (answered(json.dumps(ANSWER)[:80] + ">>", SSE), [whole(response_id="r-9")]),
    "an assembled response that is a stream": (answered(SSE), [whole(response_id="r-9")]),
    "an assembled response missing": (changed(assembled_response=REMOVED), [whole()]),
    "choices empty": (answered(ANSWER | {"choices": []}), [whole("choices is empty", answer=None)]),
    "choices null": (answered(ANSWER | {"choices": None}), [whole("shape of no answer", answer=None)]),
    "choices[0] null": (answered(choice(None)), [whole("choice 0 is missing", answer=None)]),
    "message null": (answered(choice({"message": None, "finish_reason": "stop"})), [whole(answer=None)]),
    "a delta of old Core": (
        answered(choice({"delta": {"content": "30 days [1]."}, "finish_reason": "stop"})),
        [whole()],
    ),
    "the answer's id null": (answered(ANSWER | {"id": None}), [mended("no id", response_id=None)]),
    "the answer's id a number": (answered(ANSWER | {"id": 7}), [mended("no id", response_id=None)]),
    "a lone surrogate in the answer": (
        answered(json.dumps(ANSWER).replace("30 days", "\\ud83d days")),
        [whole(answer="\ufffd days [1].")],
    ),
    "HTML instead of an answer": (
        changed(response__status="502", assembled_response="<html>", response__body="<html>"),
        [whole("status 502", answer=None, status=502)],
    ),
    "a secured key": (
        changed(assembled_response=REMOVED, request__body=REMOVED, response__body=REMOVED),
        [whole(question=None, answer=None)],
    ),
    # the line's own text
    "a lone surrogate in the line": (LINE.replace(b"Analyst", b"\\ud800"), [mended("surrogate", user_title="\ufffd")]),
    "a raw control character": (LINE.replace(b"Analyst", b"\x1b[0m"), [mended("control", user_title="\ufffd[0m")]),
    "a control character before a body": (LINE.replace(b'"body":"', b'"body":"\x01', 1), [mended("control")]),
    "invalid UTF-8": (LINE.replace(b"Analyst", b"\xe2\x82"), [mended("invalid UTF-8", user_title="\ufffd")]),
    "Latin-1": (LINE.replace(b"Analyst", b"Gr\xf6\xdfe"), [mended("invalid UTF-8", user_title="Gr\ufffd\ufffde")]),
    "a NUL in a text": (LINE.replace(b"Analyst", b"a\0b"), [mended("control", user_title="a\ufffdb")]),
    "a member twice": (LINE.replace(b'{"apiType"', b'{"deployment":"x","apiType"', 1), [whole(deployment="rag-app")]),
    "a carriage return at the end": (LINE + b"\r", [whole()]),
    "a BOM": (b"\xef\xbb\xbf" + LINE, [whole()]),
    "a line written with blanks": (json.dumps(json.loads(LINE), indent=1).replace("\n", " ").encode(), [whole()]),
    "two objects on one line": (
        LINE + core_line({"deployment": "b"}),
        [whole(deployment="rag-app"), whole(deployment="b")],
    ),
    "a line after NULs": (b"\0" * 512 + LINE, ["not_json", whole()]),
    "a line after the beginning of another": (LINE[:300] + core_line(), ["cut", whole()]),
    "an envelope": (envelope(LINE), [whole()]),
    "an array of envelopes": (b"[" + envelope(LINE) + b"," + envelope(LINE) + b"]", [whole(), whole()]),
    "cut in the response": (LINE[:-50] + b">>", [mended("cut after")]),
    "cut in the response without a mark": (LINE[:-50], [mended("cut after")]),
    "cut in the request's body": (
        LINE[: LINE.index(b"refund")] + b">>",
        [mended("cut after", question=None, status=None)],
    ),
    # what is no line
    "cut before its time": (LINE[:250] + b">>", ["cut"]),
    "broken in the middle": (LINE.replace(b'"chat":', b'"chat"'), ["not_json"]),
    "a bracket too many": (LINE + b"}", ["not_json"]),
    "a NUL run": (b"\0" * 4096, ["not_json"]),
    "a stack trace": (b"\tat com.epam.aidial.core.Log.save(Log.java:7)", ["not_json"]),
    "an empty object": (b"{}", ["empty_object"]),
    "an empty array": (b"[]", ["not_a_log_line"]),
    "a number": (b"17", ["not_a_log_line"]),
    "another JSON log": (b'{"level":"info","message":{"a":1}}', ["not_a_log_line"]),
    "request null": (changed(request=None), ["not_a_log_line"]),
    "time missing": (changed(request__time=REMOVED), ["no_time"]),
    "time that is none": (changed(request__time="today"), ["no_time"]),
    "thousands of brackets": (b"[" * 50_000, ["too_deep"]),
    "an extra member nested 600 deep": (
        LINE.replace(b'{"apiType"', b'{"x":' + b"[" * 600 + b"]" * 600 + b',"apiType"', 1),
        ["too_deep"],
    ),
    "an empty line": (b"", []),
    "blanks": (b" \t \r", []),
    # ratings
    "a rating of a secured key": (rating_line(REMOVED), [Signal("unreadable")]),
    "a rating that is no boolean": (rating_line({"rate": 5}), [Signal("unreadable")]),
    "a rating with a null body": (rating_line("", {"request.body": None}), [Signal("unreadable")]),
    "a rating with an odd comment": (rating_line('{"rate":true,"comment":"\\udfff"}'), [Signal("like")]),
}


@pytest.mark.parametrize("name", ODD_LINES)
def test_an_odd_line_costs_at_most_itself(name: str) -> None:
    """An odd line becomes the rows and rejections that the rules say; the lines around it are as ever."""
    piece, expected = ODD_LINES[name]
    before, *found, after = [parse_line(entry) for raw in (BEFORE, piece, AFTER) for entry in core_lines(raw)]
    assert (before, after) == (parse_line(BEFORE), parse_line(AFTER))
    assert len(found) == len(expected)
    for record, wanted in zip(found, expected, strict=True):
        if isinstance(wanted, Row):
            assert isinstance(record, LogRecord)
            assert {column: getattr(record, column) for column in wanted.columns} == wanted.columns
            assert record.error is None if wanted.error is None else wanted.error in (record.error or "")
            assert (
                record.repairs is None if wanted.repairs is None else wanted.repairs in "; ".join(record.repairs or ())
            )
        elif isinstance(wanted, Signal):
            assert isinstance(record, SignalRecord)
            assert record.signal == wanted.signal
        else:
            assert isinstance(record, Rejection)
            assert record.reason == wanted
            assert record.message
            assert record.raw in piece


@pytest.mark.parametrize("name", [name for name, (_, expected) in ODD_LINES.items() if expected])
def test_an_odd_line_in_an_envelope_is_the_same(name: str) -> None:
    """Vector's envelope changes nothing: the same rows, the same rejections."""
    piece, _ = ODD_LINES[name]
    try:
        text = piece.decode()
    except UnicodeDecodeError:
        text = piece.decode("utf-8", "replace")  # as a shipper does that writes JSON
        piece = text.encode()
    wrapped = json.dumps({"message": text}).encode()
    assert [parse_line(entry) for entry in core_lines(wrapped)] == [parse_line(entry) for entry in core_lines(piece)]


def test_enough_kinds_of_odd_lines_are_tried() -> None:
    """The table holds more kinds than the 37 that other parsers are known to stumble over."""
    assert len(ODD_LINES) > 45
