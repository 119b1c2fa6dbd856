"""Hashes of a conversation; they show whether a request repeats, follows or edits another one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from operator import attrgetter

import msgspec
import orjson

from collector.parsing.request.documents import documents_of
from collector.parsing.request.messages import Message, RequestBody, json_of, said


def _before(body: RequestBody) -> bytes:
    return b"[%b,%b,%b]" % (json_of(body.instructions), json_of(body.system), json_of(body.prompt))


_beside_messages = attrgetter("instructions", "system", "prompt", "previous_response_id", "conversation")
_NOTHING = _beside_messages(RequestBody())
_NOTHING_BEFORE = hashlib.sha256(_before(RequestBody()), usedforsecurity=False)
"""Of a request that is its messages and nothing else, as most are."""


class HistoryHashes(msgspec.Struct, frozen=True, gc=False):
    """Hashes (SHA-256, 32 hex digits) of three beginnings of a request's messages; None if it does not exist.

    `history_hash` is that of all messages; equal if the same was asked again. `prefix_hash` is that of those before
    the last user message; equal if that one was edited. `parent_history_hash` is that of those before the last
    assistant message before it: the `history_hash` of the earlier request whose answer this one continues. If the
    request names that answer or its conversation only by an id, it is a hash of the id, which no request has.
    """

    history_hash: str | None = None
    prefix_hash: str | None = None
    parent_history_hash: str | None = None


def read_history(body: RequestBody, attached: Mapping[int, object], asked_at: int | None) -> HistoryHashes:
    """Hashes of the messages of a request; `asked_at` is the index of the last user message.

    `attached` has the custom content of user messages by their index. Equal hashes mean messages with equal JSON text,
    as one client writes them again, with equal documents attached to them. An assistant's stages and state are no part
    of it: a client may send them back or not.
    """
    messages = body.messages or []
    if not messages and json_of(body.prompt) in (b"null", b'""', b"[]"):
        return HistoryHashes()
    answered_at = _answered_at(messages, asked_at)
    running = _NOTHING_BEFORE.copy()
    if _beside_messages(body) != _NOTHING:
        running = hashlib.sha256(_before(body), usedforsecurity=False)
        if (unsent := _unsent(body)) is not None:
            running.update(unsent)
            answered_at = answered_at or 0
    found: dict[int, str] = {}
    begin = 0
    # One pass: the documents come last, so that the hash of each beginning branches off that of the longer ones.
    for end in sorted({end for end in (answered_at, asked_at, len(messages)) if end is not None}):
        if end > begin:
            # Without its brackets and with a comma behind, a list's text is the same in one part or in several.
            running.update(said(messages[begin:end])[1:-1] + b",")
        branch = running.copy()
        branch.update(_documents_before(end, attached))
        found[end] = branch.hexdigest()[:32]
        begin = end
    return HistoryHashes(
        history_hash=found[len(messages)],
        prefix_hash=None if asked_at is None else found[asked_at],
        parent_history_hash=None if answered_at is None else found[answered_at],
    )


def _unsent(body: RequestBody) -> bytes | None:
    """Return the id of earlier messages that were not sent again; None if there is none."""
    names = json_of(body.previous_response_id), json_of(body.conversation)
    return b"[%b,%b]" % names if any(name not in (b"null", b'""') for name in names) else None


def _documents_before(end: int, attached: Mapping[int, object]) -> bytes:
    return orjson.dumps(documents_of(attached[index] for index in attached if index < end)) if attached else b"[]"


def _answered_at(messages: Sequence[Message], asked_at: int | None) -> int | None:
    return next((index for index in range((asked_at or 0) - 1, -1, -1) if messages[index].role == "assistant"), None)
