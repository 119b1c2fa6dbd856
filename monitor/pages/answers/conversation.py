"""Messages before a question, read from the request as Core logged it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_MOST = 40
"""Messages that are given: the last before the question."""


@dataclass(frozen=True)
class Message:
    """A message of the conversation; `role` as the client wrote it."""

    role: str
    text: str


def messages_before(request_body: str | None) -> list[Message]:
    """Give the messages before the last one of the user, the oldest first; none where the request cannot be read."""
    try:
        body = json.loads(request_body or "null")
    except (ValueError, RecursionError):
        return []
    given = body.get("messages") if isinstance(body, Mapping) else None
    messages = [one for one in given if isinstance(one, Mapping)] if isinstance(given, list) else []
    last = max((place for place, one in enumerate(messages) if one.get("role") == "user"), default=0)
    return [Message(str(one.get("role")), _text(one.get("content"))) for one in messages[max(0, last - _MOST) : last]]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") if isinstance(part, Mapping) else part for part in parts]
    return "\n".join(text for text in texts if isinstance(text, str))
