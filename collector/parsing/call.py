"""What every line of Core says, whatever was called: who, what, when, and under which ids."""

from __future__ import annotations

import datetime
import hashlib
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from collector.parsing.kinds import read_target
from collector.parsing.line import Line, Unreadable
from collector.parsing.members import Members

LONGEST_ENCODED_ID = 64 << 10
_TRACE = re.compile(r"[0-9a-fA-F]{32}")
_SPAN = re.compile(r"[0-9a-fA-F]{16}")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*", re.ASCII)


@dataclass(slots=True)
class Call:
    """One request that Core served.

    `members` holds what was not taken from the line yet, `repairs` what had to be repaired to read it.
    """

    members: Members
    repairs: tuple[str, ...]
    event_id: str
    kind: str
    deployment: str | None
    parent_deployment: str | None
    requested_at: datetime.datetime
    user_id: str | None
    chat_id: str | None
    trace_id: str | None
    span_id: str | None
    parent_span_id: str | None
    execution_path: list[str] | None
    status: int | None
    secured: bool
    request_body: str | None
    response_body: str | None
    assembled_response: str | None

    @property
    def readable_request(self) -> str | None:
        """`request_body` without replaced characters around it: a stray byte there must not hide what it says."""
        return self.request_body.strip("\ufffd") if self.request_body and self.repairs else self.request_body


def read_call(line: Line, entry: bytes) -> Call:
    """Read what all kinds of lines share; `entry` is hashed where the line has no ids of its own.

    Raises Unreadable: `no_time` where `request.time` is no time, `cut` where a cut line lost its time or
    its deployment.
    """
    members = Members(line.members)
    execution_path = members.texts("execution_path")
    target = read_target(_uri(members), members.text("deployment"), execution_path)
    requested_at = _requested_at(line, members, target.deployment)
    parent_deployment = members.text("parent_deployment")
    trace_id, span_id = _id(members, _TRACE, "trace_id"), _id(members, _SPAN, "core_span_id")
    secured = not line.cut and _is_secured(line.members)
    return Call(
        members=members,
        repairs=line.repairs,
        event_id=_event_id(trace_id, span_id, entry),
        kind=target.kind,
        deployment=target.deployment,
        parent_deployment=None if parent_deployment == target.deployment else parent_deployment,
        requested_at=requested_at,
        user_id=members.text("user", "id"),
        chat_id=_decoded(members.text("chat", "id")),
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id=_id(members, _SPAN, "core_parent_span_id"),
        execution_path=execution_path,
        status=members.integer("response", "status", bits=16),
        secured=secured,
        request_body=members.body("request", "body"),
        response_body=members.body("response", "body"),
        assembled_response=members.body("assembled_response"),
    )


def _uri(members: Members) -> str | None:
    uri = members.peek("request", "uri")
    return uri if isinstance(uri, str) else None


def _requested_at(line: Line, members: Members, deployment: str | None) -> datetime.datetime:
    written = members.peek("request", "time")
    time = read_time(written)
    if line.cut and (time is None or deployment is None):
        missing = "when the request was made" if time is None else "its deployment"
        raise Unreadable("cut", f"{line.repairs[-1]}, before it tells {missing}", deployment)
    if time is None:
        raise Unreadable("no_time", f"`request.time` is {str(written)[:80]!r}, not an ISO 8601 time", deployment)
    members.text("request", "time")
    return time


def read_time(written: Any) -> datetime.datetime | None:
    """Read Core's ISO 8601 time, which is UTC where it has no zone; None where it is no time.

    Any number of fraction digits may follow the seconds; those after the sixth are cut off.
    """
    if not isinstance(written, str) or not _TIME.fullmatch(written):
        return None
    try:
        time = datetime.datetime.fromisoformat(written)
        return time.replace(tzinfo=datetime.UTC) if time.tzinfo is None else time.astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        return None


def _id(members: Members, pattern: re.Pattern[str], name: str) -> str | None:
    """An id of OpenTelemetry; all zeros mean that there is no tracing."""
    value = members.matching(pattern, "trace", name)
    return value if value is not None and value.strip("0") else None


def _event_id(trace_id: str | None, span_id: str | None, entry: bytes) -> str:
    identity = entry if trace_id is None or span_id is None else f"{trace_id}/{span_id}".lower().encode()
    return hashlib.blake2b(identity, digest_size=16).hexdigest()


def _decoded(chat_id: str | None) -> str | None:
    # Decoding a megabyte of percent signs takes seconds, and no client's id is that long.
    return chat_id if chat_id is None or len(chat_id) > LONGEST_ENCODED_ID else unquote(chat_id)


def _is_secured(members: dict[str, Any]) -> bool:
    """Whether the key of the caller hides all bodies; Core then leaves out their very names."""
    response = members.get("response")
    return (
        "assembled_response" not in members
        and "body" not in members["request"]
        and not (isinstance(response, dict) and "body" in response)
    )
