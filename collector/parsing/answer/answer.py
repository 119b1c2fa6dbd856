"""The answer of a log line: Core's assembled response where it is whole, else the body merged again.

A response that was not logged but received is read in the same way, with its contexts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from collector.parsing.answer.apis import Body, read_body, read_whole_completion
from collector.parsing.answer.errors import error_of, upstream_error
from collector.parsing.answer.sse import (
    all_chunks_have,
    chunk_id,
    chunks,
    first_model,
    is_ended,
    is_stream,
    may_end_in_error,
)
from collector.parsing.answer.streams import assemble, repeats_message
from collector.parsing.contexts import read_contexts
from collector.parsing.json_text.bodies import CUT_MARK, read_array, read_cut_object, read_object, write_json
from collector.parsing.json_text.value_limit import MOST_VALUES, may_hold_more_values
from collector.parsing.line.call import Call
from lake.spec.answer_kinds import answer_kind, finish_kind, is_visible
from lake.spec.message_parts import text_or_none
from lake.spec.thoughts import may_have_thoughts, split_thoughts
from lake.spec.tool_calls import turn_of_state
from lake.spec.tool_messages import ToolCall
from lake.spec.vocabulary import NO_ID, ContextsOrigin, FinishReason, has_known_contexts

_OK: Final = 200
_FILTERED: Final = FinishReason.CONTENT_FILTER
_FAILED: Final = FinishReason.ERROR
_DELTAS: Final = ("response.output_text.delta", "content_block_delta")
_USUAL_EVENTS: Final = (
    *_DELTAS,
    *("content_block_start", "content_block_stop", "message_start", "message_delta", "message_stop", "ping"),
    *("response.created", "response.in_progress", "response.output_item.added", "response.output_item.done"),
    *("response.content_part.added", "response.content_part.done", "response.output_text.done", "response.completed"),
)
"""Types of events that have an error only in a member of this name."""
_UNENDED: Final = "the stream ended without finish_reason and [DONE]: the answer may be incomplete"
_TOO_MUCH: Final = f"response.body holds more than {MOST_VALUES} JSON values: it was not read"
_CUT: Final = "response.body was cut by DIAL Core: the answer is incomplete"


class Answer(msgspec.Struct, frozen=True, gc=False):
    """Answer of a deployment.

    `text` is the text of choice 0, None if there is none (a tool call, an error). `response_ids` are the distinct
    ids of all chunks in order of appearance. `custom_content` is that of choice 0's message. `assembled` is the
    answer's JSON text: Core's where it is used, else the one merged here. `error` is None if that is a whole
    answer, else it says what is missing or went wrong. `repairs` names what is missing beside a whole answer.
    `extra` has what `assembled` has not: the upstream's `error`; all other choices, usage and statistics are in
    `assembled`. `special` are its messages or items that call tools or show something. `is_cut` says that DIAL Core cut
    it.
    """

    text: str | None
    response_id: str | None
    response_ids: tuple[str, ...]
    finish_reason: str | None
    model: str | None
    custom_content: Mapping[str, Any]
    assembled: str | None
    error: str | None
    extra: Mapping[str, Any]
    repairs: tuple[str, ...] = ()
    kind: str | None = None
    reasoning: str | None = None
    special: tuple[Mapping[str, Any], ...] = ()
    is_cut: bool = False


class _Reading(msgspec.Struct, gc=False):
    """One way to read the answer, with its problems."""

    body: Body | None = None
    stored: str | None = None
    ids: tuple[str, ...] = ()
    upstream_error: object = None
    notes: list[str] = msgspec.field(default_factory=list)


def read_answer(assembled_response: str | None, response_body: str | None, *, status: int | None) -> Answer:
    """Read the answer of a chat completion, completion, response or message; never raises.

    `assembled_response` and `response_body` are the texts that Core logged, `status` the HTTP status.
    """
    assembled = text_or_none(assembled_response)
    body = text_or_none(response_body) or assembled
    core_value = read_object(assembled)
    core = read_body(core_value) if core_value is not None else None
    if core_value is not None and core is not None and not core.missing:
        reading = _read_with_lost_text(core, body) or _read_with_core(core_value, core, body or "", assembled)
    else:
        reading = _read_again(body)
        if reading.body is None and core is not None:
            reading = _Reading(core, assembled, _id_of(core), reading.upstream_error, [*core.missing, *reading.notes])
    return _answer(reading, status)


def read_answer_of(call: Call) -> Answer:
    """Read the answer of a call; never raises."""
    whole = _read_whole(call.assembled_response, call.response_body, call.status)
    return whole or read_answer(call.assembled_response, call.response_body, status=call.status)


def _read_whole(assembled_response: str | None, body: str | None, status: int | None) -> Answer | None:
    """Result of `read_answer` if the assembled answer is whole and all chunks have its id, else None."""
    if assembled_response is None or body is None:
        return None
    core = read_whole_completion(assembled_response)
    if core is None or core.response_id is None:
        return None
    if not body.startswith("{"):
        if core.finish_reason is None or core.empty_text or not all_chunks_have(body, core.response_id):
            return None
        if may_end_in_error(body) or repeats_message(body):
            return None
        core = _with_model(core, body)
    return _answer(_Reading(core, assembled_response, _id_of(core)), status)


def _read_with_lost_text(core: Body, body: str | None) -> _Reading | None:
    """The stream merged again, if Core's merge lost its text or joined what each chunk repeats.

    A lone surrogate makes Core drop the whole text, and the object that ends a response need not have its text.
    """
    if body is None:
        return None
    is_glued = core.is_glued or repeats_message(body)
    is_lost = core.empty_text or not (core.text or core.calls_tool or core.has_attachment)
    if not (is_lost or is_glued) or not is_stream(body) or may_hold_more_values(body):
        return None
    again = _read_stream(body)
    found = again.body
    return again if found and (found.text or found.refusal or found.calls_tool or found.has_attachment) else None


def _with_model(core: Body, body: str) -> Body:
    """The body with the model that the stream names: Azure's first event says "", which Core takes for its name."""
    return core if core.model != "" else msgspec.structs.replace(core, model=first_model(body))


def _read_with_core(value: Mapping[str, Any], core: Body, body: str, assembled: str | None) -> _Reading:
    reading = _Reading(core, assembled, ids=_id_of(core), upstream_error=error_of(value))
    if not is_stream(body):
        return reading
    reading.body = _with_model(core, body)
    if core.finish_reason is None and not is_ended(body):
        reading.notes.append(_UNENDED)
    whole = core.finish_reason is not None and core.response_id is not None and not may_end_in_error(body)
    if not (whole and all_chunks_have(body, core.response_id or "")) and not may_hold_more_values(body):
        decoded = [chunk for chunk in chunks(body) if chunk is not None]
        reading.ids = _ids_of(decoded, core)
        reading.upstream_error = reading.upstream_error or _error_of(decoded, body)
    return reading


def _read_again(body: str | None) -> _Reading:
    if body is None or not body.strip():
        return _Reading(notes=["no answer was logged: assembled_response and response.body are absent or empty"])
    if may_hold_more_values(body):
        return _Reading(notes=[_TOO_MUCH])
    return _read_stream(body) if is_stream(body) else _read_plain(body)


def _read_stream(body: str) -> _Reading:
    read = list(chunks(body))
    decoded = [chunk for chunk in read if chunk is not None]
    value, misfits = assemble(decoded)
    found = read_body(value)
    reading = _Reading(found, upstream_error=_error_of(decoded, body), ids=_ids_of(decoded, found))
    cut = body.endswith(CUT_MARK)
    unreadable = len(read) - len(decoded) - cut
    if cut:
        reading.notes.append(_CUT)
    elif not is_ended(body) and (found is None or found.finish_reason is None):
        reading.notes.append(_UNENDED)
    if unreadable > 0:
        reading.notes.append(f"{unreadable} of {len(read)} chunks of the stream could not be read")
    if misfits:
        reading.notes.append(f"{misfits} values of the stream did not fit those before them and were left out")
    if found is None:
        reading.notes.append("the stream holds no choices")
        return reading
    reading.notes += found.missing
    reading.stored = write_json(value)
    if reading.stored is None:
        reading.notes.append("the merged answer is nested too deep to be stored")
    return reading


def _read_plain(body: str) -> _Reading:
    value = read_object(body)
    reading = _Reading(stored=body)
    if value is None and (error := _error_of(read_array(body), body)):
        return _Reading(upstream_error=error)
    if value is None:
        value = read_cut_object(body)
        reading.notes.append(_CUT if body.endswith(CUT_MARK) else "response.body is neither whole JSON nor a stream")
        reading.stored = write_json(value)
    if value is not None:
        reading.upstream_error = error_of(value)
        reading.body = read_body(value)
    if reading.body is not None:
        reading.ids = _id_of(reading.body)
        reading.notes += reading.body.missing
        return reading
    reading.stored = None
    if value is not None and not reading.upstream_error:
        empty = value.get("choices") == []
        reading.notes.append("choices is empty" if empty else "response.body has the shape of no answer")
    return reading


def _answer(reading: _Reading, status: int | None) -> Answer:
    body = reading.body or Body(None, None, None, None)
    lacks_id = NO_ID in reading.notes
    notes = [note for note in reading.notes if note != NO_ID] if lacks_id else reading.notes
    ended = finish_kind(body.finish_reason)
    if ended is _FILTERED:
        notes.append("the answer was stopped by a content filter")
    if reading.upstream_error:
        notes.insert(0, upstream_error(reading.upstream_error))
    elif ended is _FAILED:
        notes.insert(0, f"the answer failed: it ended with {body.finish_reason}")
    if status is not None and status != _OK:
        notes.insert(0, f"status {status}")
    thoughts, said = None, body.text or ""
    if may_have_thoughts(said):
        thoughts, said = split_thoughts(said)
    text = said or body.refusal
    kind = answer_kind(
        body.finish_reason,
        is_failed=bool(notes),
        has_text=is_visible(said),
        calls_tool=body.calls_tool,
        has_attachment=body.has_attachment,
        refuses=body.refusal is not None,
    )
    return Answer(
        text=text or None,
        response_id=body.response_id,
        response_ids=reading.ids,
        finish_reason=body.finish_reason,
        model=body.model or None,
        custom_content=body.custom_content,
        assembled=reading.stored,
        error="; ".join(notes) or None,
        extra=_extra(reading.upstream_error),
        kind=kind,
        reasoning=body.reasoning or thoughts,
        repairs=(NO_ID,) if lacks_id else (),
        special=body.special,
        is_cut=_CUT in notes,
    )


def _extra(error: object) -> dict[str, Any]:
    """The whole error, unless it is nested too deep to be stored in the row's `extra`."""
    return {"error": error} if error and write_json({"answer": {"error": error}}) is not None else {}


def _id_of(body: Body) -> tuple[str, ...]:
    return (body.response_id,) if body.response_id else ()


def _ids_of(decoded: list[dict[str, Any]], body: Body | None) -> tuple[str, ...]:
    found = dict.fromkeys([*map(chunk_id, decoded), body.response_id if body is not None else None])
    return tuple(found_id for found_id in found if found_id)


def _error_of(decoded: list[dict[str, Any]], body: str) -> object:
    """The first error of the chunks of a stream. Those that hold an answer are looked at if the body has the word."""
    looked_at: Iterable[dict[str, Any]] = decoded
    if '"error' not in body:
        looked_at = [
            chunk for chunk in decoded if chunk and not chunk.get("choices") and chunk.get("type") not in _USUAL_EVENTS
        ]
    for chunk in looked_at:
        if chunk.get("type") not in _DELTAS and (error := error_of(chunk)):
            return error
    return None


class Completion(msgspec.Struct, frozen=True):
    """What a response with status 200 holds.

    `contexts` are rows of `parsed_logs.contexts` in rank order, None where they are not known. `cited_only` says that
    they are those that the answer refers to. Tokens are None where they are not counted. `tool_calls` are those that
    the application's state names, None where it names none.
    """

    answer: str | None
    response_id: str | None
    contexts: list[dict[str, Any]] | None
    cited_only: bool
    error: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    tool_calls: list[ToolCall] | None = None


def read_completion(body: bytes) -> Completion:
    """Read the body of a chat completion, streamed or whole; never raises."""
    text = body.decode("utf-8", "replace")
    answer = read_answer(text, text, status=_OK)
    contexts, origin = read_contexts(answer.custom_content, ())
    content = answer.custom_content
    turn = turn_of_state(content.get("state")) if isinstance(content, dict) else None
    usage = (read_object(answer.assembled) or {}).get("usage")
    tokens = usage if isinstance(usage, dict) else {}
    return Completion(
        answer=answer.text,
        response_id=answer.response_id,
        contexts=[msgspec.structs.asdict(one) for one in contexts] if has_known_contexts(origin) else None,
        cited_only=origin == ContextsOrigin.CITED,
        error=answer.error,
        prompt_tokens=_count(tokens.get("prompt_tokens")),
        completion_tokens=_count(tokens.get("completion_tokens")),
        tool_calls=None if turn is None else turn.calls,
    )


def _count(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None
