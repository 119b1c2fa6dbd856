"""The request of a log line: the question, its history, the documents in scope."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from collector.parsing.bodies import CUT_MARK, objects, read_object, text_of, text_or_none, write_json
from collector.parsing.contexts import Context, contexts_of_prompt
from collector.parsing.documents import documents_of

_HASHED: Final = frozenset(
    ("role", "content", "tool_calls", "function_call", "tool_call_id", "type", "name", "call_id", "arguments", "output")
)
_HASHED_REQUEST: Final = ("instructions", "system", "prompt")


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked.

    `question` is the text of the last user message as sent. `history_hash` (SHA-256, 32 hex digits) is equal where
    the same messages were sent with the same documents. `prompt_contexts` are the chunks that an application put
    into the last user message. `configuration_type` is DIAL RAG's mode: rag, retrieval or indexing.
    `error` says why the body could not be read; None if it could.
    """

    question: str | None = None
    documents: tuple[str, ...] = ()
    message_count: int | None = None
    history_hash: str | None = None
    stream: bool | None = None
    model: str | None = None
    prompt_contexts: tuple[Context, ...] = ()
    configuration_type: str | None = None
    error: str | None = None


def read_request(body: str | None) -> Request:
    """Read the body of a chat completion, completion, response or message request; never raises."""
    value = read_object(body)
    if value is None:
        return Request(error=_unreadable(body))
    messages = _messages(value)
    known = objects(messages)
    documents = documents_of(known)
    question = _question(value, known)
    stream = value.get("stream")
    return Request(
        question=question,
        documents=documents,
        message_count=None if messages is None else len(messages),
        history_hash=_history_hash(value, messages or [], documents),
        stream=stream if isinstance(stream, bool) else None,
        model=text_or_none(value.get("model")),
        prompt_contexts=contexts_of_prompt(question or ""),
        configuration_type=_configuration_type(value),
    )


def _unreadable(body: str | None) -> str:
    if not isinstance(body, str) or not body:
        return "no request.body was logged"
    if body.endswith(CUT_MARK):
        return "request.body was cut by DIAL Core: the question is unknown"
    return "request.body is no JSON object: the question is unknown"


def _messages(value: Mapping[str, Any]) -> list[Any] | None:
    """`messages`, or the Responses API's `input`, whose plain string is one user message."""
    for key in ("messages", "input"):
        if isinstance(value.get(key), list):
            return list(value[key])
    asked = text_or_none(value.get("input"))
    return None if asked is None else [{"role": "user", "content": asked}]


def _question(value: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> str | None:
    for message in reversed(messages):
        if message.get("role") == "user" and not _is_tool_result(message.get("content")):
            return text_of(message.get("content"))
    return text_of(value.get("prompt"))


def _is_tool_result(content: object) -> bool:
    """The Messages API gives a tool's result in the name of the user."""
    parts = objects(content)
    return bool(parts) and all(part.get("type") == "tool_result" for part in parts)


def _history_hash(value: Mapping[str, Any], messages: Sequence[object], documents: Sequence[str]) -> str | None:
    """Hash of all that makes the messages the same; an assistant's stages and state are no part of it."""
    if not messages and not value.get("prompt"):
        return None
    said = [_said(message) if isinstance(message, dict) else message for message in messages]
    frame = [value.get(key) for key in _HASHED_REQUEST]
    text = write_json([frame, said, documents], sort_keys=True)
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()[:32]


def _said(message: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in message.items() if key in _HASHED and value is not None}


def _configuration_type(value: Mapping[str, Any]) -> str | None:
    step: object = value
    for key in ("custom_fields", "configuration", "request", "type"):
        step = step.get(key) if isinstance(step, dict) else None
    return text_or_none(step)
