"""Parser of lines: reads the parts of a line in order and makes one row of them."""

from __future__ import annotations

from typing import Any, Final

from collector.parsing.answer.answer import Answer, read_answer, read_answer_of
from collector.parsing.answer.errors import error_of, upstream_error
from collector.parsing.answer.tool_errors import tool_error
from collector.parsing.contexts import Context, read_contexts, standalone_question
from collector.parsing.json_text.bodies import read_object
from collector.parsing.line.call import Call, read_call
from collector.parsing.line.callers import NO_PROJECTS, ProjectOrigins, read_origin, take_client
from collector.parsing.line.core_lines import core_lines
from collector.parsing.line.fast_path import read_usual_call
from collector.parsing.line.kinds import MODES, RATE
from collector.parsing.line.line import Unreadable, read_line
from collector.parsing.line.members import json_text
from collector.parsing.rating import read_rating
from collector.parsing.records import Filtered, LogRecord, Rejection, SignalRecord
from collector.parsing.request.request import Request, read_model, read_request
from collector.parsing.turn import ToolCalls, read_attachments, read_tool_calls
from lake.spec.answer_kinds import finish_kind
from lake.spec.service_vocabulary import RejectionReason
from lake.spec.vocabulary import ANSWERING_KINDS, OWN_ORIGINS, TOOL_ERROR, Kind, Origin

_USUAL_API = "DialOpenAI"
_FIRST_FAILURE = 400
_LONGEST_ERROR: Final = 10_000
"""Characters of a body that may be an error in place of an embedding, which is longer."""

_NO_REQUEST: Final = Request()
_NO_CALLS: Final = ToolCalls(None, None)
_NO_ANSWER: Final = Answer(None, None, (), None, None, {}, None, None, {})

Record = LogRecord | SignalRecord | Rejection | Filtered
"""Result of reading a line."""


def parse_piece(
    raw: bytes,
    keep_raw_response: bool = False,
    projects: ProjectOrigins = NO_PROJECTS,
    client_header: str | None = None,
) -> list[Record]:
    """Read all lines of one delivered piece; the same as `parse_line` of each of its `core_lines`.

    A piece that is one line in the usual form of Core is not searched for further lines.
    """
    raw = raw.strip()
    call = read_usual_call(raw)
    if call is not None:
        return [_guarded(raw, call, keep_raw_response, projects, client_header)]
    try:
        lines = core_lines(raw)
    except Unreadable as error:
        return [Rejection(reason=error.reason, message=str(error), raw=raw)]
    if lines == [raw]:
        return [_guarded(raw, None, keep_raw_response, projects, client_header)]
    return [parse_line(raw, keep_raw_response, projects, client_header) for raw in lines]


def parse_line(
    raw: bytes,
    keep_raw_response: bool = False,
    projects: ProjectOrigins = NO_PROJECTS,
    client_header: str | None = None,
) -> Record:
    """Read one line of `core_lines` as a row, a signal or a rejection. Raises nothing but MemoryError.

    With `keep_raw_response` the column `response_body` has the response as Core logged it. Without, a response that
    could not be read whole stays in `extra`. `projects` has the origin of the requests of some projects;
    `client_header` is the request header whose value names the client.
    """
    return _guarded(raw, read_usual_call(raw), keep_raw_response, projects, client_header)


def _guarded(
    raw: bytes, call: Call | None, keep_raw_response: bool, projects: ProjectOrigins, client_header: str | None
) -> Record:
    try:
        return _record(call or read_call(read_line(raw), raw), keep_raw_response, projects, client_header)
    except Unreadable as error:
        return Rejection(reason=error.reason, message=str(error), raw=raw, deployment=error.deployment)
    except MemoryError:
        raise
    except Exception as error:  # one odd line must never stop the stream behind it
        return Rejection(reason=RejectionReason.PARSER_FAILURE, message=f"{type(error).__name__}: {error}", raw=raw)


def _record(
    call: Call, keep_raw_response: bool, projects: ProjectOrigins, client_header: str | None
) -> LogRecord | SignalRecord | Filtered:
    origin = read_origin(call.project_id, call.left.get("headers"), call.user_title, projects)
    if call.kind != RATE:
        client = take_client(call.left, client_header) if client_header else None
        return _log_record(call, origin, client, keep_raw_response)
    # Whoever reads signals takes them for what people think.
    return read_rating(call) if origin is Origin.PRODUCTION else Filtered(origin=origin)


def _log_record(call: Call, origin: Origin, client: str | None, keep_raw_response: bool) -> LogRecord:
    """The row of a call. A secured key hides its bodies: that is no error, its texts are null.

    So do the calls of dialwatch itself.
    """
    request, answer = _NO_REQUEST, None
    kind = call.kind
    if origin in OWN_ORIGINS:
        # What is judged or asked again stands in the row of the answer; a copy would escape its access and erasure.
        call.secured, call.request_body, call.assembled_response, call.response_body = True, None, None, None
    if kind in ANSWERING_KINDS and not call.secured:
        request = read_request(call.readable_request)
        if kind == Kind.CHAT_COMPLETION and request.configuration_type in MODES:
            kind = request.configuration_type
        answer = read_answer_of(call)
    elif kind == Kind.EMBEDDING and call.request_body:
        request = Request(model=read_model(call.readable_request))
    # Where nothing was merged here, whatever Core logged as the answer stands as it is.
    assembled_response = answer.assembled if answer is not None else call.assembled_response or call.response_body
    assembled_response = assembled_response or call.assembled_response
    said = answer or _NO_ANSWER
    contexts, contexts_origin = (
        ((), None) if answer is None else read_contexts(answer.custom_content, request.prompt_contexts)
    )
    is_entry = kind in ANSWERING_KINDS and call.is_made_by_person
    called = _NO_CALLS if answer is None else read_tool_calls(call.readable_request, request, answer, is_entry=is_entry)
    return LogRecord(
        event_id=call.event_id,
        response_id=said.response_id,
        response_ids=None if answer is None else list(answer.response_ids),
        deployment=call.deployment,
        date=call.requested_at.date(),
        requested_at=call.requested_at,
        duration_ms=call.duration_ms,
        kind=kind,
        status=call.status,
        error="; ".join(_errors(call, answer)) or None,
        repairs=[*call.repairs, *said.repairs, *filter(None, [request.error]), *called.repairs] or None,
        origin=origin,
        user_id=call.user_id,
        user_title=call.user_title,
        project_id=call.project_id,
        chat_id=call.chat_id,
        trace_id=call.trace_id,
        span_id=call.span_id,
        parent_span_id=call.parent_span_id,
        parent_deployment=call.parent_deployment,
        execution_path=call.execution_path,
        is_entry=is_entry,
        model=said.model or request.model,
        stream=request.stream,
        prompt_tokens=call.usage.prompt_tokens,
        completion_tokens=call.usage.completion_tokens,
        total_tokens=call.usage.total_tokens,
        deployment_price=call.usage.deployment_price,
        price=call.usage.price,
        question=request.question,
        standalone_question=standalone_question(said.custom_content),
        answer=said.text,
        documents=None if answer is None else list(request.documents),
        contexts=None if answer is None else [_context_row(context) for context in contexts],
        contexts_origin=contexts_origin,
        finish_reason=said.finish_reason,
        message_count=request.message_count,
        history_hash=request.history.history_hash,
        prefix_hash=request.history.prefix_hash,
        parent_history_hash=request.history.parent_history_hash,
        request_body=call.request_body,
        assembled_response=assembled_response,
        response_body=call.response_body if keep_raw_response else None,
        answer_kind=said.kind,
        finish_kind=finish_kind(said.finish_reason),
        reasoning=said.reasoning,
        tool_calls=called.calls,
        tool_calls_origin=called.origin,
        attachments=None if answer is None else read_attachments(answer),
        reasoning_tokens=call.usage.reasoning_tokens,
        cached_tokens=call.usage.cached_tokens,
        turn=request.turn,
        client=client,
        extra=_extra(call, answer, assembled_response, keep_raw_response),
    )


def _context_row(context: Context) -> dict[str, Any]:
    return {
        "text": context.text,
        "title": context.title,
        "url": context.url,
        "page": context.page,
        "id": context.id,
    }


def _errors(call: Call, answer: Answer | None) -> list[str]:
    """Problems because of which the answer is not whole; repairs beside a whole answer are not errors."""
    cut = [f"{call.repairs[-1]}, before its answer ends"] if call.lacks_answer else []
    if answer is not None:
        return [*cut, answer.error] if answer.error else []
    return cut + _failure(call)


def _failure(call: Call) -> list[str]:
    """Failure of a call that does not answer a question."""
    if call.status is None or call.status < _FIRST_FAILURE:
        return _failure_inside(call.kind, call.response_body or call.assembled_response or "")
    if call.secured:
        return [f"status {call.status}"]
    failed = read_answer(call.assembled_response, call.response_body, status=call.status)
    return [failed.error] if failed.error else []


def _failure_inside(kind: str, body: str) -> list[str]:
    """Failure that the body of an answer with status 200 tells."""
    if kind == Kind.MCP and (failed := tool_error(body)):
        return [f"{TOOL_ERROR}: {failed}"]
    if kind == Kind.EMBEDDING and len(body) <= _LONGEST_ERROR and '"embedding"' not in body:
        error = error_of(read_object(body) or {})
        return [upstream_error(error)] if error else []
    return []


def _extra(call: Call, answer: Answer | None, assembled_response: str | None, keep_raw_response: bool) -> str | None:
    """JSON text of all that has no column; the response's body only if no column contains it already."""
    extra = call.left
    if extra.get("apiType") == _USUAL_API:
        del extra["apiType"]
    whole = answer is not None and answer.error is None
    if not (whole or keep_raw_response) and call.response_body not in (None, "", assembled_response):
        extra["response"] = extra.get("response", {}) | {"body": call.response_body}
    if answer is not None and answer.extra:
        extra["answer"] = dict(answer.extra)
    return json_text(extra) if extra else None
