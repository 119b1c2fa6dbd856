"""Server-sent events of a streamed answer: its chunks, and quickly the ids that they carry."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from collector.parsing.json_text.bodies import read_object, text_or_none

_FIELD: Final = "data:"
_DATA: Final = f"\n{_FIELD}"
_DONE: Final = "[DONE]"
_BEGINNINGS: Final = (_FIELD, ":", "event:", "id:", "retry:")
_END: Final = "\n\n"
_NEXT: Final = f"}}{_END}{_FIELD}"
_LAST: Final = f"{_FIELD} {_DONE}{_END}"
_NO_ID: Final = '"id":""'
_NO_CHOICES: Final = '"choices":[]'
_PLAIN_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,200}")
_BLANK: Final = "\ufeff \t\r\n"
_TAIL: Final = 64
_FIRST_EVENTS: Final = 2


def is_stream(body: str) -> bool:
    """Whether a response body is the text of server-sent events."""
    return body.lstrip(_BLANK).startswith(_BEGINNINGS)


def is_ended(body: str) -> bool:
    """Whether the events end with the mark `[DONE]`."""
    return _DONE in body[-_TAIL:]


def chunks(body: str) -> Iterator[dict[str, Any] | None]:
    """Decoded `data` of each event up to `[DONE]`; None for one that is no JSON object.

    Comments and other fields are skipped; lines may end in LF, CRLF or CR; one line end is enough between
    two events.
    """
    body = "\n" + body.lstrip(_BLANK)
    if "\r" in body:
        body = body.replace("\r\n", "\n").replace("\r", "\n")
    start = body.find(_DATA)
    while start != -1:
        start += len(_DATA)
        end = body.find(_DATA, start)
        line_end = body.find("\n", start)
        data = body[start : line_end if line_end != -1 else None]
        if data.lstrip(" ").startswith(_DONE):
            return
        chunk = read_object(data)
        if chunk is None and end != line_end:
            # A line feed that was not escaped stands inside the JSON text.
            chunk = read_object(body[start : end if end != -1 else None])
        if chunk is not None or data.strip():
            yield chunk
        start = end


def chunk_id(chunk: dict[str, Any]) -> str | None:
    """Response id of a chunk: its own, or in the Responses and Messages APIs that of the object it announces."""
    for holder in (chunk, chunk.get("response"), chunk.get("message")):
        if isinstance(holder, dict) and (found := text_or_none(holder.get("id"))):
            return found
    return None


def all_chunks_have(body: str, response_id: str) -> bool:
    """Whether every event but `[DONE]` carries this id.

    Found by counting, without decoding: True only where each `data:` is followed by just what follows the first, up to
    and with the id. A first event with an empty id and no choices is passed over: Azure begins with its prompt's filter
    results. False also where counting does not decide: odd ids, other members before the id, a text with `data:` in it,
    a cut end.
    """
    if not body.startswith(_FIELD) or not body.endswith(_END) or not _PLAIN_ID.fullmatch(response_id):
        return False
    start, without_id = 0, int(body.endswith(_LAST))
    end = body.find("\n")
    if body.find(_NO_ID, start, end) != -1 and body.find(_NO_CHOICES, start, end) != -1:
        start, without_id = end + len(_END), without_id + 1
        end = body.find("\n", start)
    needle = f'"id":"{response_id}"'
    found = body.find(needle, start, end)
    if found == -1:
        needle = needle.replace(":", ": ")
        found = body.find(needle, start, end)
    if found == -1:
        return False
    beginning = body[start : found + len(needle)]
    if not beginning.startswith(_FIELD):
        return False
    expected = body.count(beginning) + without_id
    return expected == _most_events(body) or expected == body.count(_FIELD)


def first_model(body: str) -> str | None:
    """Model that the first event with one names.

    Azure names none in its first event and one in all others, so more than the first few are seldom decoded.
    """
    end = -1
    for _ in range(_FIRST_EVENTS):
        end = body.find(_NEXT, end + 1)
        if end == -1:
            break
    if end != -1 and (model := _model_in(body[: end + 1])):
        return model
    return _model_in(body)


def _model_in(body: str) -> str | None:
    return next((model for chunk in chunks(body) if (model := text_or_none((chunk or {}).get("model")))), None)


def _most_events(body: str) -> int:
    """Upper bound of the number of `data:`: counts what has three of its characters, much faster than the word."""
    codes = np.frombuffer(body.encode("utf-8", "replace"), np.uint8)
    found = codes[:-4] == ord("d")
    found &= codes[2:-2] == ord("t")
    found &= codes[4:] == ord(":")
    return int(np.count_nonzero(found))
