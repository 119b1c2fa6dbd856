"""One entry of the log to one row: the order in which the parts of a line are read."""

from __future__ import annotations

from typing import Any

from collector.parsing.answer import Answer, read_answer
from collector.parsing.call import Call, read_call
from collector.parsing.contexts import Context, read_contexts, standalone_question
from collector.parsing.kinds import MODES, RATE
from collector.parsing.line import Unreadable, read_line
from collector.parsing.members import json_text
from collector.parsing.question import Request, read_request
from collector.parsing.rating import read_rating
from collector.parsing.records import LogRecord, Rejection, SignalRecord
from lake import ANSWERING_KINDS

_USUAL_API = "DialOpenAI"
_FIRST_FAILURE = 400


def parse_entry(entry: bytes) -> LogRecord | SignalRecord | Rejection:
    """Read one entry of `split_entries`: a row, a signal, or why it is neither. Never raises but for memory."""
    try:
        line = read_line(entry)
        call = read_call(line, entry)
        if call.kind == RATE:
            return read_rating(call)
        return _log_record(call)
    except Unreadable as error:
        return Rejection(reason=error.reason, message=str(error), raw=entry, deployment=error.deployment)
    except MemoryError:
        raise
    except Exception as error:  # one odd line must never stop the stream behind it
        return Rejection(reason="parser_failure", message=f"{type(error).__name__}: {error}", raw=entry)


def _log_record(call: Call) -> LogRecord:
    """The row of a call. A secured key hides its bodies: that is no error, its texts are null."""
    request = answer = None
    kind = call.kind
    if kind in ANSWERING_KINDS and not call.secured:
        request = read_request(call.readable_request)
        if kind == "chat_completion" and request.configuration_type in MODES:
            kind = request.configuration_type
        answer = read_answer(call.assembled_response, call.response_body, status=call.status)
    members = call.members
    # Where nothing was merged here, whatever Core logged as the answer stands as it is.
    assembled_response = call.assembled_response or call.response_body if answer is None else answer.assembled
    assembled_response = assembled_response or call.assembled_response
    return LogRecord(
        event_id=call.event_id,
        deployment=call.deployment,
        date=call.requested_at.date(),
        requested_at=call.requested_at,
        duration_ms=members.integer("operation_duration_ms"),
        kind=kind,
        status=call.status,
        error="; ".join([*call.repairs, *_errors(call, request, answer)]) or None,
        user_id=call.user_id,
        user_title=members.text("user", "title"),
        project_id=members.text("project", "id"),
        chat_id=call.chat_id,
        trace_id=call.trace_id,
        span_id=call.span_id,
        parent_span_id=call.parent_span_id,
        parent_deployment=call.parent_deployment,
        execution_path=call.execution_path,
        is_entry=kind in ANSWERING_KINDS and call.parent_deployment is None,
        prompt_tokens=members.integer("token_usage", "prompt_tokens"),
        completion_tokens=members.integer("token_usage", "completion_tokens"),
        total_tokens=members.integer("token_usage", "total_tokens"),
        deployment_price=members.number("token_usage", "deployment_price"),
        price=members.number("token_usage", "price"),
        request_body=call.request_body,
        **_request_columns(call, request),
        **_answer_columns(request, answer),
        assembled_response=assembled_response,
        extra=_extra(call, answer, assembled_response),
    )


def _request_columns(call: Call, request: Request | None) -> dict[str, Any]:
    if request is None:
        asked = call.readable_request if call.kind == "embedding" else None
        return {"model": read_request(asked).model} if asked else {}
    return {
        "question": request.question,
        "documents": list(request.documents),
        "stream": request.stream,
        "message_count": request.message_count,
        "history_hash": request.history_hash,
    }


def _answer_columns(request: Request | None, answer: Answer | None) -> dict[str, Any]:
    if request is None or answer is None:
        return {}
    contexts, origin = read_contexts(answer.custom_content, request.prompt_contexts)
    return {
        "response_id": answer.response_id,
        "response_ids": list(answer.response_ids),
        "model": answer.model or request.model,
        "answer": answer.text,
        "finish_reason": answer.finish_reason,
        "standalone_question": standalone_question(answer.custom_content),
        "contexts": [_context_row(context) for context in contexts],
        "contexts_origin": origin,
    }


def _context_row(context: Context) -> dict[str, Any]:
    return {
        "text": context.text,
        "title": context.title,
        "url": context.url,
        "page": context.page,
        "id": context.id,
    }


def _errors(call: Call, request: Request | None, answer: Answer | None) -> list[str]:
    if request is not None and answer is not None:
        return [error for error in (answer.error, request.error) if error]
    if call.status is None or call.status < _FIRST_FAILURE:
        return []
    if call.secured:
        return [f"status {call.status}"]
    failed = read_answer(call.assembled_response, call.response_body, status=call.status)
    return [failed.error] if failed.error else []


def _extra(call: Call, answer: Answer | None, assembled_response: str | None) -> str | None:
    """JSON text of all that has no column; the response's body only where no column tells it already."""
    extra = call.members.left()
    if extra.get("apiType") == _USUAL_API:
        del extra["apiType"]
    whole = answer is not None and answer.error is None
    if not whole and call.response_body not in (None, "", assembled_response):
        extra["response"] = extra.get("response", {}) | {"body": call.response_body}
    if answer is not None and answer.extra:
        extra["answer"] = dict(answer.extra)
    return json_text(extra) if extra else None
