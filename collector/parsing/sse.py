"""Server-sent events of a streamed answer: its chunks, and quickly the ids that they carry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from collector.parsing.bodies import read_object, text_or_none

_DATA: Final = "\ndata:"
_DONE: Final = "[DONE]"
_BEGINNINGS: Final = ("data:", ":", "event:", "id:", "retry:")
_BLANK: Final = "\ufeff \t\r\n"
_TAIL: Final = 64


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
    """Whether every event but `[DONE]` carries this id, told by counting, without decoding.

    A first event with an empty id passes too: Azure begins with its prompt's filter results. False also where
    it cannot be told: other line ends than LF, comments, ids that JSON writes with escapes.
    """
    first = body[: body.find("\n")]
    needle = f'"id": "{response_id}"' if '"id": "' in first else f'"id":"{response_id}"'
    if not response_id.isprintable() or "\\" in response_id or '"' in response_id:
        return False
    events, odd = divmod(body.count("\n"), 2)
    without_id = is_ended(body) + ('"id":""' in first or '"id": ""' in first)
    return not odd and body.endswith("\n\n") and body.count(needle) == events - without_id
