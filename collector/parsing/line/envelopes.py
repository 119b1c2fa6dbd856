"""Envelopes: what a container runtime or a log shipper writes around a line of Core, whole or in parts.

The shapes: a JSON object with the line in `message` (Vector, Filebeat), `log` (Docker's json-file, Fluent Bit, Fluentd)
or `MESSAGE` (journald), and the prefix of the Container Runtime Interface that containerd and CRI-O write. Runtimes cut
a long line into parts, of 16 KiB each by default.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import msgspec
import orjson

MARK: Final = '{"apiType"'
"""Beginning of every line of Core; inside a JSON string its quotes would be escaped."""

_MARK: Final = MARK.encode()
_TEXT_KEYS: Final = ("message", "log", "MESSAGE")
_WRITTEN_KEYS: Final = tuple(f'"{key}"'.encode() for key in _TEXT_KEYS)
_CRI: Final = re.compile(
    rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d) (stdout|stderr) ([PF])(?::\S*)?(?: |$)", re.ASCII
)
_PARTIAL_KEYS: Final = (("partial_message", "partial_last"), ("CONTAINER_PARTIAL_MESSAGE", "CONTAINER_PARTIAL_LAST"))
_TRUE: Final = (True, "true")


class LinePart(NamedTuple):
    """A line of Core, or a part of one; parts of one line have the same `stream`, and `goes_on` but for the last."""

    text: bytes
    stream: tuple[Any, ...] = ()
    goes_on: bool = False


def has_text_key(piece: bytes) -> bool:
    """Whether the key of an envelope's text stands in a piece, so that it may be an envelope; a cheap check."""
    return any(key in piece for key in _WRITTEN_KEYS)


def read_part(line: bytes, *, cri: bool = True) -> LinePart | None:
    """Read a line that is one envelope of any sort; None for anything else. Without `cri`, JSON alone."""
    if line.startswith(b"{"):
        parts = None if line.startswith(_MARK) else read_envelopes(line)
        return parts[0] if parts else None
    return read_cri(line) if cri else None


def read_cri(line: bytes) -> LinePart | None:
    """Read a line in the format of the Container Runtime Interface: `<time> <stream> <P or F> <text>`."""
    if not line[:1].isdigit() or (found := _CRI.match(line)) is None:
        return None
    return LinePart(line[found.end() :], (found[1],), found[2] == b"P")


def read_envelopes(piece: bytes) -> list[LinePart] | None:
    """Read a JSON envelope, or an array of them; None for anything else. An object with a `request` is no envelope."""
    if not has_text_key(piece):
        return None
    try:
        value = orjson.loads(piece)
    except orjson.JSONDecodeError:
        value = _load_tolerantly(piece)
    parts = [_part(item) for item in (value if isinstance(value, list) else [value])]
    found = [part for part in parts if part is not None]
    return found if found and len(found) == len(parts) else None


def join(parts: Iterable[LinePart]) -> Iterator[bytes]:
    """Join the parts of each line; what has no last part, or the beginning of another line behind it, ends there."""
    unended: dict[tuple[Any, ...], list[bytes]] = {}
    for part in parts:
        texts = unended.pop(part.stream, [])
        if texts and part.text.startswith(_MARK):
            yield b"".join(texts)
            texts = []
        texts.append(part.text)
        if part.goes_on:
            unended[part.stream] = texts
        else:
            yield b"".join(texts)
    for texts in unended.values():
        yield b"".join(texts)


class UnendedParts:
    """Which streams of a file have a line whose last part has not been read."""

    def __init__(self) -> None:
        self._streams: set[tuple[Any, ...]] = set()

    def __bool__(self) -> bool:
        return bool(self._streams)

    def begins_anew(self, raw: bytes) -> bool:
        """Whether this line begins another one in the only stream whose line is unended: that one has lost its end."""
        part = read_part(raw)
        return part is not None and self._streams == {part.stream} and part.text.startswith(_MARK)

    def read(self, raw: bytes) -> None:
        """Take note of the next line of the file."""
        part = read_part(raw)
        if part is None:
            return
        if part.goes_on:
            self._streams.add(part.stream)
        else:
            self._streams.discard(part.stream)

    def clear(self) -> None:
        """Forget all streams."""
        self._streams.clear()


def _part(item: Any) -> LinePart | None:
    if not isinstance(item, dict) or "request" in item:
        return None
    for key in _TEXT_KEYS:
        text = _text(item.get(key))
        if text is not None:
            stream = tuple(str(item.get(name)) for name in ("stream", "source", "partial_id"))
            return LinePart(text, stream, _goes_on(item, text))
    return None


def _goes_on(item: dict[str, Any], text: bytes) -> bool:
    logtag = item.get("logtag")
    if isinstance(logtag, str):
        return logtag.startswith("P")
    for partial, last in _PARTIAL_KEYS:
        if item.get(partial) in _TRUE:
            return item.get(last) not in _TRUE
    # Docker's json-file leaves the line feed in the text, and cuts a long line before it. Who takes the line feed off
    # leaves whole lines.
    is_docker = "log" in item and "stream" in item and "time" in item
    return is_docker and not text.endswith(b"\n") and not _is_object(text)


def _is_object(text: bytes) -> bool:
    if not (text.startswith(b"{") and text.endswith(b"}")):
        return False
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _text(value: Any) -> bytes | None:
    if isinstance(value, str):
        return _encode(value)
    # journald writes a text that is no UTF-8, or holds control characters, as an array of bytes.
    if isinstance(value, list) and value and all(isinstance(byte, int) and 0 <= byte < 256 for byte in value):
        return bytes(value)
    return None


def _load_tolerantly(piece: bytes) -> Any:
    try:
        return json.loads(piece.decode("utf-8", "surrogateescape"), strict=False, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None


def _encode(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        # A lone surrogate: its bytes are no UTF-8, which the reader of the line repairs and reports.
        return text.encode("utf-8", "surrogatepass")
