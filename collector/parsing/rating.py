"""A rating: what a person thought of an answer, as a row of `user_signals`."""

from __future__ import annotations

from typing import Any

import msgspec

from collector.parsing.json_text.bodies import read_object
from collector.parsing.line.call import Call
from collector.parsing.line.members import json_text
from collector.parsing.records import SignalRecord
from lake.spec.vocabulary import Signal, SignalOrigin


def read_rating(call: Call) -> SignalRecord:
    """Make the signal of a call of `/v1/{deployment}/rate`.

    `rate` true is `like` with value 1, false is `dislike` with value -1, both of confidence 1; a body that
    says neither, or none at all as with a secured key, is `unreadable` without value and confidence.
    `details` has the other members of the body, the body itself where it is no JSON object, and under `log`
    the members that Core wrote around it; its `error` names the repairs of the line.
    """
    rating = read_object(call.readable_request)
    details = dict(rating or {})
    rate = details.get("rate")
    liked = rate if isinstance(rate, bool) else None
    if liked is not None:
        del details["rate"]
    response_id = details.get("responseId")
    if isinstance(response_id, str):
        del details["responseId"]
    if rating is None and call.request_body is not None:
        details["body"] = call.request_body
    if log := _log(call):
        details["log"] = log
    return SignalRecord(
        signal_id=call.event_id,
        response_id=response_id if isinstance(response_id, str) and response_id else None,
        deployment=call.deployment,
        date=call.requested_at.date(),
        signaled_at=call.requested_at,
        signal=Signal.UNREADABLE if liked is None else Signal.LIKE if liked else Signal.DISLIKE,
        value=None if liked is None else 1.0 if liked else -1.0,
        confidence=None if liked is None else 1.0,
        origin=SignalOrigin.EXPLICIT,
        user_id=call.user_id,
        chat_id=call.chat_id,
        details=json_text(details) if details else None,
    )


def _log(call: Call) -> dict[str, Any]:
    """Members of the line that have no column in `user_signals`."""
    members = {
        "project_id": call.project_id,
        "user_title": call.user_title,
        "trace_id": call.trace_id,
        "span_id": call.span_id,
        "parent_deployment": call.parent_deployment,
        "execution_path": call.execution_path,
        "status": call.status,
        "operation_duration_ms": call.duration_ms,
        "response_body": call.response_body,
        "error": "; ".join(call.repairs) or None,
    }
    usage = {key: value for key, value in msgspec.structs.asdict(call.usage).items() if value is not None}
    log = call.left | {key: value for key, value in members.items() if value is not None}
    odd = log.get("token_usage", {})
    return log | {"token_usage": usage | odd} if usage and isinstance(odd, dict) else log
