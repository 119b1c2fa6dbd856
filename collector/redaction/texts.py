"""Redaction of texts with a structure: JSON as text, streams of chunks, and bytes of any encoding."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import orjson

from collector.parsing.answer.sse import chunks, is_stream
from collector.parsing.json_text.value_limit import holds_more_values
from collector.redaction.scrubber import Scrubber
from collector.redaction.views import View, views

STREAM, BINARY, TOO_DEEP = "STREAM", "BINARY", "TOO_DEEP"

_EVENT = re.compile(rb"data:\s*[{\[]")
_FEWEST_DIGITS = 10**11
_MOST_BINARY = 0.1
_LONG_ENOUGH = 16
"""Characters of the shortest value that the name `token` and the like make a secret."""
_NO_TEXT = re.compile(r"[\x01-\x08\x0e-\x1f\udc80-\udcff]")


def redact_text(text: str, scrubber: Scrubber, *, named: bool = False) -> str:
    """Redact a text; JSON stays JSON, and a stream that hides something over its chunks becomes `[STREAM]`.

    A stream is kept only if every chunk can be read and neither the text nor what the chunks' members are together
    holds anything. In text that cannot be read as JSON nothing is kept from a stream's first event on.
    """
    raw = text.encode("utf-8", "surrogatepass")
    levels = views(raw)
    events = _with_events(levels)
    is_json = text.lstrip()[:1] in ("{", "[")
    if events or (is_json and scrubber.reads_words):
        value = _load(text) if is_json else None
        if value is not None:
            return _dump(_walked(value, scrubber, named), text)
        if events and events[0].parent is None and not is_json:
            return text if _is_clean(text, raw, scrubber) else f"[{STREAM}]"
        if events:
            raw = _without_stream(raw, events, scrubber, named=named)
    redacted = scrubber.scrub(raw, None if events else levels, named=named)
    if redacted == raw:
        return raw.decode("utf-8", "replace") if events else text
    if is_json and _load(redacted) is None and (value := _load(raw)) is not None:
        # A number was found: its mark must be a string.
        return _dump(_walked(value, scrubber, named), text)
    return redacted.decode("utf-8", "replace")


def redact_bytes(raw: bytes, scrubber: Scrubber) -> bytes:
    """Redact bytes of any encoding; different bytes stay different, since each mark carries a pseudonym.

    Nothing is kept from a stream's first event on, and nothing at all of bytes that are no text.
    """
    text = raw.decode("utf-8", "surrogateescape")
    if len(_NO_TEXT.findall(text)) > _MOST_BINARY * len(text):
        return scrubber.mark(BINARY, raw)
    events = _with_events(views(raw))
    if events:
        raw = _without_stream(raw, events, scrubber, named=True)
    return scrubber.scrub(raw, named=True)


def redact_number(number: float | None, scrubber: Scrubber) -> float | None:
    """Return the number, or null where its digits are found; only numbers of twelve digits or more are looked at."""
    if number is None or abs(number) < _FEWEST_DIGITS or number != number // 1:
        return number
    return number if not scrubber.find(str(int(number)).encode()) else None


def _with_events(levels: list[View]) -> list[View]:
    return [view for view in levels if b"data:" in view.text and _EVENT.search(view.text)]


def _without_stream(raw: bytes, events: list[View], scrubber: Scrubber, *, named: bool) -> bytes:
    matches = [(view, match) for view in events if (match := _EVENT.search(view.text))]
    start = min(view.origin(*match.span())[0] for view, match in matches)
    return raw[:start] + scrubber.mark(STREAM, raw[start:] if named else None)


def _is_clean(text: str, raw: bytes, scrubber: Scrubber) -> bool:
    if scrubber.find(raw):
        return False
    together: defaultdict[tuple[object, ...], list[str]] = defaultdict(list)
    for chunk in chunks(text if is_stream(text) else text[text.index("data:") :]):
        if chunk is None:
            return False
        for path, leaf in _leaves(chunk):
            together[path].append(leaf)
    return not any(scrubber.find("".join(leaves).encode("utf-8", "replace")) for leaves in together.values())


def _leaves(value: object) -> Iterator[tuple[tuple[object, ...], str]]:
    """Every string in a JSON value, with its path; an element of a list goes by its `index`, if it has one."""
    waiting: list[tuple[tuple[object, ...], object]] = [((), value)]
    while waiting:
        path, one = waiting.pop()
        if isinstance(one, str):
            yield path, one
        elif isinstance(one, dict):
            waiting += [((*path, key), inner) for key, inner in reversed(one.items())]
        elif isinstance(one, list):
            for position, inner in reversed(list(enumerate(one))):
                index = inner.get("index") if isinstance(inner, dict) else None
                waiting.append(((*path, index if isinstance(index, int) else position), inner))


def _walked(value: Any, scrubber: Scrubber, named: bool) -> Any:
    if isinstance(value, str):
        return redact_text(value, scrubber, named=named)
    if isinstance(value, dict):
        return {_key(key, scrubber): _member(key, inner, scrubber, named) for key, inner in value.items()}
    if isinstance(value, list):
        return [_walked(inner, scrubber, named) for inner in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        written = orjson.dumps(value)
        redacted = scrubber.scrub(written, named=named)
        return value if redacted == written else redacted.decode()
    return value


def _member(name: str, value: Any, scrubber: Scrubber, named: bool) -> Any:
    """Redact the value of a member whose name may show that it is a secret."""
    if isinstance(value, str) and value:
        # Only the name is tested, so the value is one in which nothing else can be found.
        length = min(len(value), _LONG_ENOUGH)
        written = b'"%s":"%s"' % (name.encode("utf-8", "replace"), b"x" * length)
        begin, end = len(written) - 1 - length, len(written) - 1
        for find in scrubber.find(written, words=False):
            if find.start <= begin and find.end >= end:
                return scrubber.mark(find.mark, value.encode() if named else None).decode()
    return _walked(value, scrubber, named)


def _key(key: str, scrubber: Scrubber) -> str:
    # A member's name is no sentence: to look for persons in it would rename members at random.
    return scrubber.scrub(key.encode("utf-8", "replace"), words=False).decode("utf-8", "replace")


def _load(text: str | bytes) -> Any:
    if holds_more_values(text):
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _dump(value: Any, before: str) -> str:
    if value == _load(before):
        return before
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return f'"[{TOO_DEEP}]"'
