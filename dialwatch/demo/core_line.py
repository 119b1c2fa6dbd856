"""One request as the line that DIAL Core's prompt log holds for it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

# Core escapes these and nothing else, so `/` becomes `\/` and other control characters stay as they are.
# The backslash comes first, or it would escape the others' escapes.
_ESCAPES = (
    ("\\", "\\\\"),
    ('"', '\\"'),
    ("/", "\\/"),
    ("\n", "\\n"),
    ("\r", "\\r"),
    ("\t", "\\t"),
    ("\b", "\\b"),
    ("\f", "\\f"),
)


@dataclass(frozen=True, kw_only=True)
class CallUsage:
    """Tokens and money of a call. `price` covers the calls below it; only models have a `deployment_price`."""

    prompt_tokens: int
    completion_tokens: int
    price: Decimal
    deployment_price: Decimal | None = None


@dataclass(frozen=True, kw_only=True)
class CoreCall:
    """A served request. `started` is time zone aware; null fields are keys that Core leaves out.

    `uri` and `deployment` are written as they are, percent signs and all. `status` is the HTTP status.
    A `secured` call logs no bodies. `duration_ms` is known to Core since 2026.
    """

    deployment: str
    uri: str
    started: datetime
    trace_id: str
    span_id: str
    request_body: str = ""
    response_body: str = ""
    assembled_response: str = ""
    status: int = 200
    usage: CallUsage | None = None
    parent_span_id: str | None = None
    parent_deployment: str | None = None
    execution_path: tuple[str, ...] | None = None
    upstream_uri: str | None = None
    duration_ms: int | None = None
    chat_id: str = ""
    project_id: str = ""
    user_id: str = ""
    user_title: str = ""
    secured: bool = False


def core_line(call: CoreCall) -> bytes:
    """Write a call as Core does: one line of UTF-8 without its line feed, keys in Core's order."""
    members = [
        '"apiType":"DialOpenAI"',
        f'"chat":{{"id":{_text(call.chat_id)}}}',
        f'"project":{{"id":{_text(call.project_id)}}}',
        f'"user":{{"id":{_text(call.user_id)},"title":{_text(call.user_title)}}}',
    ]
    if call.usage:
        members.append(f'"token_usage":{_usage(call.usage)}')
    members.append(f'"deployment":{_text(call.deployment)}')
    if call.parent_deployment is not None:
        members.append(f'"parent_deployment":{_text(call.parent_deployment)}')
    if call.execution_path is not None:
        # The one place where Core leaves `/` alone.
        path = json.dumps(call.execution_path, ensure_ascii=False, separators=(",", ":"))
        members.append(f'"execution_path":{path}')
    if call.duration_ms is not None:
        members.append(f'"operation_duration_ms":{call.duration_ms}')
    if not call.secured:
        members.append(f'"assembled_response":{_text(call.assembled_response)}')
    members += [f'"trace":{_trace(call)}', f'"request":{_request(call)}', f'"response":{_response(call)}']
    return ("{" + ",".join(members) + "}").encode("utf-8", "replace")


def core_time(moment: datetime) -> str:
    """Write a time as Core does: UTC without a zone, milliseconds without their trailing zeros."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment!r} has no time zone; pass an aware datetime, for example in UTC")
    moment = moment.astimezone(UTC)
    milliseconds = f"{moment.microsecond // 1000:03d}".rstrip("0")
    whole = moment.strftime("%Y-%m-%dT%H:%M:%S")
    return f"{whole}.{milliseconds}" if milliseconds else whole


def _text(value: str) -> str:
    for character, escape in _ESCAPES:
        value = value.replace(character, escape)
    return f'"{value}"'


def _usage(usage: CallUsage) -> str:
    total = usage.prompt_tokens + usage.completion_tokens
    own = "" if usage.deployment_price is None else f'"deployment_price":{usage.deployment_price},'
    return (
        f'{{"completion_tokens":{usage.completion_tokens},"prompt_tokens":{usage.prompt_tokens},'
        f'"total_tokens":{total},{own}"price":{usage.price}}}'
    )


def _trace(call: CoreCall) -> str:
    parent = "" if call.parent_span_id is None else f',"core_parent_span_id":{_text(call.parent_span_id)}'
    return f'{{"trace_id":{_text(call.trace_id)},"core_span_id":{_text(call.span_id)}{parent}}}'


def _request(call: CoreCall) -> str:
    body = "" if call.secured else f',"body":{_text(call.request_body)}'
    time = core_time(call.started)
    return f'{{"protocol":"HTTP\\/1.1","method":"POST","uri":{_text(call.uri)},"time":"{time}"{body}}}'


def _response(call: CoreCall) -> str:
    upstream = "" if call.upstream_uri is None else f',"upstream_uri":{_text(call.upstream_uri)}'
    body = "" if call.secured else f',"body":{_text(call.response_body)}'
    return f'{{"status":"{call.status}"{upstream}{body}}}'
