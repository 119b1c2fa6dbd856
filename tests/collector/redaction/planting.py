"""Secrets of every kind, and lines of Core that hold one somewhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tests.collector.lines import chat_line, rating_line

Escape = Callable[[str], str]

_LETTERS = "abcdefghkmnpqrstuvwxyz"
_TOKEN = "abcdefghkmnpqrstuvwxyzABCDEFGHKLMNPQRSTUVWXYZ0123456789"


def _word(least: int, most: int, letters: str = _LETTERS) -> st.SearchStrategy[str]:
    return st.text(letters, min_size=least, max_size=most)


def _with_luhn_digit(digits: str) -> str:
    return next(digits + last for last in "0123456789" if _passes_luhn(digits + last))


def _passes_luhn(digits: str) -> bool:
    doubled = [int(d) * (1 + place % 2) for place, d in enumerate(reversed(digits))]
    return sum(sum(map(int, str(value))) for value in doubled) % 10 == 0


def _grouped(digits: str, separator: str) -> str:
    return separator.join(digits[place : place + 4] for place in range(0, len(digits), 4))


def _with_check_digits(country: str, rest: str) -> str:
    number = int("".join(str(int(character, 36)) for character in f"{rest}{country}00"))
    return f"{country}{98 - number % 97:02d}{rest}"


_CARDS = st.builds(
    lambda first, rest, separator: _grouped(_with_luhn_digit(first + rest), separator),
    st.sampled_from("3456"),
    st.text("0123456789", min_size=11, max_size=17),
    st.sampled_from(["", " ", "-"]),
)
_IBANS = st.builds(
    lambda rest, separator: _grouped(_with_check_digits("DE", rest), separator),
    st.text("0123456789", min_size=18, max_size=18),
    st.sampled_from(["", " "]),
)
_KEY = _word(24, 40, _TOKEN).map(lambda text: f"{text}7")

SECRETS: dict[str, st.SearchStrategy[str]] = {
    "email": st.builds("{}.{}@{}.{}".format, _word(3, 9), _word(3, 9), _word(3, 9), st.sampled_from(["com", "org"])),
    "phone": st.builds(
        "{}{}{}{}".format,
        st.sampled_from(["+49 30 ", "+1-415-", "0044 20", "(030) "]),
        st.integers(2000, 9999),
        st.sampled_from([" ", "-", ""]),
        st.integers(2000, 9999),
    ),
    "iban": _IBANS,
    "payment_card": _CARDS,
    "ip": st.one_of(
        st.builds("10.{}.{}.{}".format, *[st.integers(10, 255)] * 3),
        st.builds("2001:db8:{:x}:{:x}::{:x}".format, *[st.integers(4096, 65535)] * 3),
    ),
    "secret": st.one_of(
        st.builds("AKIA{}".format, _word(16, 16, "ABCDEFGHKLMNPQRSTUVWXYZ234567")),
        st.builds("ghp_{}".format, _word(36, 36, _TOKEN)),
        st.builds("xoxb-{}".format, _KEY),
        st.builds("sk-{}".format, _KEY),
        st.builds("eyJ{}.eyJ{}.{}".format, _KEY, _KEY, _KEY),
    ),
    "staff_number": st.builds("EMP-{}".format, st.integers(100_000, 999_999)),
}
"""A strategy for each built-in pattern that is a text of its own, and for one of the configuration."""

OWN = {"staff_number": r"EMP-\d{6}"}


def _in_every_letter(text: str) -> str:
    return "".join(f"\\u{ord(character):04x}" for character in text)


def _with_escaped_slashes(text: str) -> str:
    return json.dumps(text)[1:-1].replace("/", "\\/").replace("@", "\\u0040").replace(".", "\\u002E")


_ESCAPES: list[Escape] = [lambda text: json.dumps(text)[1:-1], _in_every_letter, _with_escaped_slashes]

_HERE = "PLANT"
"""Where the secret goes: put in place in the JSON text, so that it can be written with any escapes."""


def _line(**changes: Any) -> dict[str, Any]:
    line: dict[str, Any] = json.loads(chat_line(1))
    return line | changes


def _asked(message: dict[str, Any], **members: Any) -> dict[str, Any]:
    line = _line()
    line["request"]["body"] = json.dumps({"messages": [message], **members})
    return line


def _answered(message: dict[str, Any], **members: Any) -> dict[str, Any]:
    answer = {"id": "r-1", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], **members}
    line = _line(assembled_response=json.dumps(answer))
    line["response"]["body"] = json.dumps(answer)
    return line


def _request(**changes: Any) -> dict[str, Any]:
    line = _line()
    line["request"] |= changes
    return line


def _response(**changes: Any) -> dict[str, Any]:
    line = _line(assembled_response="")
    line["response"] |= changes
    return line


_TEXT = f"see {_HERE} now"
_ATTACHMENT = {"type": "text/plain", "title": _TEXT, "url": f"files/{_HERE}/a.pdf", "data": _TEXT}
_STAGE = {"index": 0, "name": _TEXT, "content": _TEXT, "status": "completed", "attachments": [_ATTACHMENT]}

PLACES: dict[str, dict[str, Any]] = {
    "user id": _line(user={"id": _HERE, "title": ""}),
    "user title": _line(user={"id": "u", "title": _TEXT}),
    "chat id": _line(chat={"id": f"conversations/b/rag__{_HERE}"}),
    "project id": _line(project={"id": _HERE}),
    "execution path": _line(execution_path=[_HERE, "rag-app"]),
    "claims": _line(claims={"user_display_name": _HERE, "roles": [_TEXT]}),
    "headers": _line(headers={"x-forwarded-for": _HERE}),
    "unknown member": _line(**{f"x {_HERE}": {"deep": [{_TEXT: _HERE}]}}),
    "usage": _line(usage_per_model=[{"model": _HERE, "usage": {"total_tokens": 3}}]),
    "question": _asked({"role": "user", "content": _TEXT}),
    "text part": _asked({"role": "user", "content": [{"type": "text", "text": _TEXT}]}),
    "attachment": _asked({"role": "user", "content": "q", "custom_content": {"attachments": [_ATTACHMENT]}}),
    "system message": _asked({"role": "system", "content": _TEXT}),
    "prompt chunk": _asked({"role": "user", "content": f"<context>{_TEXT}</context> q"}),
    "member name": _asked({"role": "user", "content": "q"}, **{_HERE: 1}),
    "tool arguments": _asked(
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"arguments": json.dumps({"a": _TEXT})}}]}
    ),
    "json in json in json": _asked({"role": "user", "content": json.dumps({"a": json.dumps({"b": _TEXT})})}),
    "body that is no json": _request(body=f"{_TEXT} {{"),
    "uri": _request(uri=f"/openai/deployments/rag-app/chat/completions?who={_HERE}"),
    "answer": _answered({"role": "assistant", "content": _TEXT}),
    "stage": _answered({"role": "assistant", "content": "a", "custom_content": {"stages": [_STAGE]}}),
    "cited": _answered({"role": "assistant", "content": "a [1]", "custom_content": {"attachments": [_ATTACHMENT]}}),
    "response id": _answered({"role": "assistant", "content": "a"}, id=_HERE),
    "model": _answered({"role": "assistant", "content": "a"}, model=_HERE),
    "upstream error": _response(status="500", body=json.dumps({"error": {"message": _TEXT, "code": _HERE}})),
    "answer that is no json": _response(body=f"<html>{_TEXT}</html>"),
    "upstream uri": _response(upstream_uri=f"https://u/{_HERE}"),
    "status": _response(status=_TEXT),
    "time": _request(time=_TEXT),
    "no time": {**_request(time=None), "note": _TEXT},
    "not a log line": {"note": _TEXT},
    "comment of a rating": json.loads(rating_line(1, "r-1"))
    | {
        "request": json.loads(rating_line(1, "r-1"))["request"] | {"body": json.dumps({"rate": True, "comment": _TEXT})}
    },
    "response id of a rating": json.loads(rating_line(1, _HERE)),
    "rating that is no json": json.loads(rating_line(1, "r-1"))
    | {"request": json.loads(rating_line(1, "r-1"))["request"] | {"body": _TEXT}},
}
"""Lines that hold PLANT in one place each."""


def _chunk(content: str, finish_reason: str | None = None) -> str:
    choice = {"index": 0, "finish_reason": finish_reason, "delta": {"content": content}}
    return f"data: {json.dumps({'id': 'r-1', 'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n"


def stream_of(pieces: list[str], *, ended: bool) -> str:
    """Server-sent events that say `see <pieces> now`."""
    text = "".join(map(_chunk, ["see ", *pieces, " now"]))
    return text + _chunk("", "stop") + "data: [DONE]\n\n" if ended else text


@st.composite
def streamed_lines(draw: st.DrawFn, secret: str) -> bytes:
    """A line whose answer is a stream that has the secret spread over its chunks."""
    cuts = sorted(draw(st.sets(st.integers(1, len(secret) - 1), min_size=1, max_size=4)))
    pieces = [secret[begin:end] for begin, end in zip([0, *cuts], [*cuts, None], strict=True)]
    body = stream_of(pieces, ended=draw(st.booleans()))
    if draw(st.booleans()):
        body = body.replace('"see "', '"see')
    line = _line(assembled_response=draw(st.sampled_from(["", body])))
    line["response"]["body"] = body
    if draw(st.booleans()):
        line["request"]["time"] = "never"
    return json.dumps(line).encode()


def _cut(line: bytes, share: float) -> bytes:
    return line[: int(len(line) * share)] + b">>"


_BREAKS: list[Callable[[bytes, float], bytes]] = [
    lambda line, _: line,
    lambda line, _: line,
    lambda line, _: line,
    _cut,
    lambda line, _: b"noise " + line,
    lambda line, _: line.replace(b'"apiType"', b'"api\xff\xfeType', 1),
    lambda line, _: json.dumps([{"message": line.decode()}]).encode(),
    lambda line, _: line.decode().encode("utf-16"),
    lambda line, _: line.decode().encode("utf-16-be"),
]


@st.composite
def planted_lines(draw: st.DrawFn) -> tuple[str, bytes]:
    """A secret, and a line that holds it somewhere, written in some way, perhaps broken."""
    secret = draw(st.sampled_from(sorted(SECRETS)).flatmap(SECRETS.__getitem__))
    if draw(st.integers(0, 4)) == 0:
        line = draw(streamed_lines(secret))
    else:
        place = PLACES[draw(st.sampled_from(sorted(PLACES)))]
        escape = draw(st.sampled_from(_ESCAPES))
        text = json.dumps(place)
        depth = max((len(run) for run in _runs_before(text)), default=0)
        written = escape(secret)
        line = text.replace(_HERE, written.replace("\\", "\\" * (depth + 1))).encode()
    return secret, draw(st.sampled_from(_BREAKS))(line, draw(st.floats(0.2, 1)))


def _runs_before(text: str) -> list[str]:
    """Backslashes before the quote that opens the string of each PLANT: as deep is the JSON that it stands in."""
    runs = []
    start = text.find(_HERE)
    while start != -1:
        quote = text.rfind('"', 0, start)
        end = quote
        while quote and text[quote - 1] == "\\":
            quote -= 1
        runs.append(text[quote:end])
        start = text.find(_HERE, start + 1)
    return runs
