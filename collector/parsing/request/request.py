"""The request of a log line: the question, its history, the documents in scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET

from collector.parsing.contexts import Context, contexts_of_prompt
from collector.parsing.json_text.bodies import CUT_MARK, read_object, text_of
from collector.parsing.json_text.value_limit import MOST_VALUES, holds_more_values
from collector.parsing.request.documents import documents_of, shown_in
from collector.parsing.request.history import HistoryHashes, read_history
from collector.parsing.request.messages import Message, RequestBody, body_of, read_usual_body, value_of
from lake.spec.message_parts import is_said, text_or_none

_NO_HISTORY: Final = HistoryHashes()
_LIST: Final = ord("[")


class Request(msgspec.Struct, frozen=True, gc=False):
    """Request of a person or program.

    `question` is the text of the last user message as sent. `history` shows which requests
    repeat, follow or edit each other. `prompt_contexts` are the chunks that an application put
    into the last user message. `configuration_type` is DIAL RAG's mode: rag, retrieval or indexing. `turn` counts the
    user's messages; `is_followed` says that messages follow the last of them, as calls of tools and their results do,
    or that all are of others.
    `error` says why the body could not be read; None if it could.
    """

    question: str | None = None
    documents: tuple[str, ...] = ()
    message_count: int | None = None
    history: HistoryHashes = _NO_HISTORY
    stream: bool | None = None
    model: str | None = None
    prompt_contexts: tuple[Context, ...] = ()
    configuration_type: str | None = None
    turn: int | None = None
    is_followed: bool = False
    error: str | None = None


def read_request(body: str | None) -> Request:
    """Read the body of a chat completion, completion, response or message request; never raises."""
    if not isinstance(body, str) or not body:
        return Request(error="no request.body was logged")
    try:
        return _request(read_usual_body(body))
    except (msgspec.DecodeError, ValueError, RecursionError):
        return _read_oddly(body)


def read_model(body: str | None) -> str | None:
    """The model that a request's body names."""
    value = read_object(body)
    return None if value is None else text_or_none(value.get("model"))


def _read_oddly(body: str) -> Request:
    value = read_object(body)
    if value is None:
        return Request(error=_unreadable(body))
    try:
        return _request(body_of(value))
    except TypeError:
        return Request(error="request.body is nested too deep: the question is unknown")


def _unreadable(body: str) -> str:
    if body.endswith(CUT_MARK):
        return "request.body was cut by DIAL Core: the question is unknown"
    if holds_more_values(body):
        return f"request.body holds more than {MOST_VALUES} JSON values: the question is unknown"
    return "request.body is no JSON object: the question is unknown"


def _request(body: RequestBody) -> Request:
    messages = body.messages or []
    attached, images, turn = _take_attached(messages)
    asked_at, asked = _asked(messages)
    question = text_of(value_of(body.prompt) if asked_at is None else asked)
    return Request(
        question=question,
        documents=_documents(attached, images) if attached or images else (),
        message_count=None if body.messages is UNSET else len(messages),
        history=read_history(body, attached, asked_at),
        stream=body.stream,
        model=body.model or None,
        prompt_contexts=contexts_of_prompt(question) if question else (),
        configuration_type=None if body.custom_fields is UNSET else _configuration_type(value_of(body.custom_fields)),
        turn=None if body.messages is UNSET else turn,
        is_followed=(-1 if asked_at is None else asked_at) < len(messages) - 1,
    )


def _take_attached(messages: Sequence[Message]) -> tuple[dict[int, Any], dict[int, tuple[str, ...]], int]:
    """Take the custom content out of all messages; that of user messages by their index.

    Beside it the names of what the user's messages show, by their index, and how many messages the user has.
    """
    attached, images, turn = {}, {}, 0
    for index, message in enumerate(messages):
        if message.role == "user":
            turn += 1
            if message.custom_content is not UNSET:
                attached[index] = value_of(message.custom_content)
            if message.content is not UNSET and memoryview(message.content)[0] == _LIST:
                parts = value_of(message.content)
                turn -= not is_said(parts)
                if found := shown_in(parts):
                    images[index] = found
        if message.custom_content is not UNSET:
            message.custom_content = UNSET
    return attached, images, turn


def _documents(attached: Mapping[int, object], images: Mapping[int, tuple[str, ...]]) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for index in sorted(attached.keys() | images.keys()):
        names |= dict.fromkeys((*documents_of([attached.get(index)]), *images.get(index, ())))
    return tuple(names)


def _asked(messages: Sequence[Message]) -> tuple[int | None, object]:
    """Index and content of the last user message; the Messages API gives a tool's result in the name of the user."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role == "user":
            content = value_of(message.content)
            if is_said(content):
                return index, content
    return None, None


def _configuration_type(step: object) -> str | None:
    for key in ("configuration", "request", "type"):
        step = step.get(key) if isinstance(step, dict) else None
    return text_or_none(step)
