"""Members that every line of Core has, for any kind of call: caller, deployment, times and ids."""

from __future__ import annotations

import datetime
import hashlib
import re
from typing import Any
from urllib.parse import unquote

import msgspec

from collector.parsing.line.callers import is_made_by_person
from collector.parsing.line.kinds import read_target
from collector.parsing.line.line import Line, Unreadable
from collector.parsing.line.members import Members
from lake.spec.service_vocabulary import RejectionReason

LONGEST_ENCODED = 64 << 10
TRACE = re.compile(r"[0-9a-fA-F]{32}")
SPAN = re.compile(r"[0-9a-fA-F]{16}")
_LEAST_TIME = len("2026-10-01T12:00")


class Usage(msgspec.Struct, frozen=True, gc=False):
    """Tokens and prices of a call, as Core counted them."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    deployment_price: float | None = None
    price: float | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None


def read_details(completion: Any, prompt: Any) -> tuple[int | None, int | None]:
    """Tokens of thoughts, and those of the prompt that were cached, of the details of a usage; None for no number."""
    counts = (
        one.get(name) if isinstance(one, dict) else None
        for one, name in ((completion, "reasoning_tokens"), (prompt, "cached_tokens"))
    )
    thought, cached = (count if type(count) is int and 0 <= count < 2**63 else None for count in counts)
    return thought, cached


class Call(msgspec.Struct, gc=False):
    """One request that Core served.

    `left` has all members without a field here, in the shape of the line. `repairs` names all repairs of the line.
    `is_made_by_person` is false for the call of another deployment; if it is true and the kind has answers, the call
    is an entry.
    `lacks_answer` says that the line is cut before the end of the answer that Core merged.
    `response_body` is the response as Core logged it.
    """

    left: dict[str, Any]
    repairs: tuple[str, ...]
    event_id: str
    kind: str
    deployment: str | None
    parent_deployment: str | None
    is_made_by_person: bool
    requested_at: datetime.datetime
    duration_ms: int | None
    user_id: str | None
    user_title: str | None
    project_id: str | None
    chat_id: str | None
    trace_id: str | None
    span_id: str | None
    parent_span_id: str | None
    execution_path: list[str] | None
    status: int | None
    usage: Usage
    secured: bool
    request_body: str | None
    assembled_response: str | None
    response_body: str | None
    lacks_answer: bool = False

    @property
    def readable_request(self) -> str | None:
        """`request_body` without replaced characters around it: such a character must not make the body unreadable."""
        return self.request_body.strip("\ufffd") if self.request_body and self.repairs else self.request_body


def read_call(line: Line, raw: bytes) -> Call:
    """Read what all kinds of lines share; `raw` is hashed where the line has no ids of its own.

    Raises Unreadable: `no_time` if `request.time` is not a time, `cut` if a cut line has lost its time or
    its deployment.
    """
    members = Members(line.members)
    last = next(reversed(line.members), None)
    execution_path = members.texts("execution_path")
    target = read_target(_uri(members), members.text("deployment"), execution_path)
    requested_at = _requested_at(line, members, target.deployment)
    parent_deployment = members.text("parent_deployment")
    trace_id, span_id = _id(members, TRACE, "trace_id"), _id(members, SPAN, "core_span_id")
    by_person = is_made_by_person(target, parent_deployment, bool(members.peek("trace", "core_parent_span_id")))
    secured = not line.cut and _is_secured(line.members)
    thought, cached = read_details(
        members.peek("token_usage", "completion_tokens_details"),
        members.peek("token_usage", "prompt_tokens_details") or members.peek("token_usage", "prompt_token_details"),
    )
    usage = Usage(
        prompt_tokens=members.integer("token_usage", "prompt_tokens"),
        completion_tokens=members.integer("token_usage", "completion_tokens"),
        total_tokens=members.integer("token_usage", "total_tokens"),
        deployment_price=members.number("token_usage", "deployment_price"),
        price=members.number("token_usage", "price"),
        reasoning_tokens=thought,
        cached_tokens=cached,
    )
    call = Call(
        left={},
        repairs=line.repairs,
        event_id=event_id(trace_id, span_id, raw),
        kind=target.kind,
        deployment=target.deployment,
        parent_deployment=None if by_person else parent_deployment,
        is_made_by_person=by_person,
        requested_at=requested_at,
        duration_ms=members.integer("operation_duration_ms"),
        user_id=members.text("user", "id"),
        user_title=decoded(members.text("user", "title")),
        project_id=members.text("project", "id"),
        chat_id=decoded(members.text("chat", "id")),
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id=_id(members, SPAN, "core_parent_span_id"),
        execution_path=execution_path,
        status=members.integer("response", "status", bits=16),
        usage=usage,
        secured=secured,
        request_body=members.body("request", "body"),
        assembled_response=members.body("assembled_response"),
        response_body=members.body("response", "body"),
    )
    call.left = members.left()
    call.lacks_answer = line.cut and (call.assembled_response is None or last == "assembled_response")
    return call


def _uri(members: Members) -> str | None:
    uri = members.peek("request", "uri")
    return uri if isinstance(uri, str) else None


def _requested_at(line: Line, members: Members, deployment: str | None) -> datetime.datetime:
    written = members.peek("request", "time")
    time = read_time(written)
    if line.cut and (time is None or deployment is None):
        missing = "when the request was made" if time is None else "its deployment"
        raise Unreadable(RejectionReason.CUT, f"{line.repairs[-1]}, before it tells {missing}", deployment)
    if time is None:
        raise Unreadable(
            RejectionReason.NO_TIME, f"`request.time` is {str(written)[:80]!r}, not an ISO 8601 time", deployment
        )
    members.text("request", "time")
    return time


def read_time(written: Any) -> datetime.datetime | None:
    """Read Core's ISO 8601 time, which is UTC where it has no zone; None where it is no time.

    Any number of fraction digits may follow the seconds; those after the sixth are cut off.
    """
    if not isinstance(written, str) or len(written) < _LEAST_TIME:
        return None
    # `fromisoformat` reads weeks, and times without minutes or colons, too.
    if written[5] == "W" or written[10] not in "T " or written[13] != ":" or not written[14].isdigit():
        return None
    try:
        time = datetime.datetime.fromisoformat(written)
        if time.tzinfo is None:
            # To read it again is several times as fast as to replace its zone.
            return datetime.datetime.fromisoformat(f"{written}Z")
        return time if time.tzinfo is datetime.UTC else time.astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        return None


def _id(members: Members, pattern: re.Pattern[str], name: str) -> str | None:
    """An id of OpenTelemetry; all zeros mean that there is no tracing."""
    value = members.matching(pattern, "trace", name)
    return value if value is not None and value.strip("0") else None


def event_id(trace_id: str | None, span_id: str | None, raw: bytes) -> str:
    """Id of a request: a hash of its trace and span, or of the line where these are missing."""
    identity = raw if trace_id is None or span_id is None else f"{trace_id}/{span_id}".lower().encode()
    return hashlib.blake2b(identity, digest_size=16).hexdigest()


def decoded(header: str | None) -> str | None:
    """A conversation's id or a job title without percent signs: DIAL Chat encodes what it puts into headers."""
    # Decoding a megabyte of percent signs takes seconds, and no client's header is that long.
    return header if header is None or len(header) > LONGEST_ENCODED else unquote(header)


def _is_secured(members: dict[str, Any]) -> bool:
    """Whether the caller's key hides all bodies; Core then leaves out these members."""
    response = members.get("response")
    return (
        "assembled_response" not in members
        and "body" not in members["request"]
        and not (isinstance(response, dict) and "body" in response)
    )
