"""Fast reader for lines in the usual form of Core: they are decoded and checked by type, all others are left out.

All members that Core is known to write have their type here. One that is unknown or of another type, and all that
strict JSON refuses, makes the line unusual, and unusual lines are read by `line.read_line` and `call.read_call`.
Both readers give the same result for a line that both can read.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, Any, Final

import msgspec
import orjson
from msgspec import UNSET, Struct, UnsetType

from collector.parsing.json_text.value_limit import holds_more_values
from collector.parsing.line.call import SPAN, TRACE, Call, Usage, decoded, event_id, read_details, read_time
from collector.parsing.line.callers import is_made_by_person
from collector.parsing.line.kinds import Target, read_target

_Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_STATUSES: Final[dict[str | int, int]] = {spelled: n for n in range(100, 600) for spelled in (n, str(n))}
_LONGEST_REMEMBERED: Final = 500


class _Chat(Struct, forbid_unknown_fields=True, gc=False):
    id: str | None = None


class _Project(Struct, forbid_unknown_fields=True, gc=False):
    id: str | None = None


class _User(Struct, forbid_unknown_fields=True, gc=False):
    id: str | None = None
    title: str | None = None


class _TokenUsage(Struct, forbid_unknown_fields=True, gc=False):
    completion_tokens: _Whole | None = None
    prompt_tokens: _Whole | None = None
    total_tokens: _Whole | None = None
    deployment_price: float | None = None
    price: float | None = None
    prompt_tokens_details: Any = UNSET
    prompt_token_details: Any = UNSET
    completion_tokens_details: Any = UNSET


class _Trace(Struct, forbid_unknown_fields=True, gc=False):
    trace_id: str | None = None
    core_span_id: str | None = None
    core_parent_span_id: str | None = None


class _Request(Struct, forbid_unknown_fields=True, gc=False):
    time: str
    protocol: str | UnsetType = UNSET
    method: str | UnsetType = UNSET
    uri: str | UnsetType = UNSET
    body: str | UnsetType = UNSET


class _Response(Struct, forbid_unknown_fields=True, gc=False):
    status: str | int | UnsetType = UNSET
    upstream_uri: str | UnsetType = UNSET
    body: str | UnsetType = UNSET


class _Line(Struct, forbid_unknown_fields=True, gc=False):
    request: _Request
    apiType: str | UnsetType = UNSET  # noqa: N815 - Core's spelling
    chat: _Chat | UnsetType = UNSET
    project: _Project | UnsetType = UNSET
    user: _User | UnsetType = UNSET
    claims: Any = UNSET
    headers: Any = UNSET
    token_usage: _TokenUsage | UnsetType = UNSET
    usage_per_model: Any = UNSET
    deployment: str | None = None
    parent_deployment: str | None = None
    execution_path: list[str] | None = None
    operation_duration_ms: _Whole | None = None
    assembled_response: str | UnsetType = UNSET
    trace: _Trace | UnsetType = UNSET
    response: _Response | UnsetType = UNSET


# As the module is imported: a type that msgspec first sees in several threads at once can crash the process.
msgspec.json.Decoder(_Line)

_BEGINNING: Final = re.compile(rb'\s*\{\s*"(%b)"' % "|".join(_Line.__struct_fields__).encode())
_NO_CHAT, _NO_PROJECT, _NO_USER = _Chat(), _Project(), _User()
_DETAILS: Final = tuple(name for name in _TokenUsage.__struct_fields__ if name.endswith("_details"))
_NO_USAGE, _NO_TRACE, _NO_RESPONSE = _TokenUsage(), _Trace(), _Response()
_NOTHING: Final[tuple[object, ...]] = (UNSET, {})


def read_usual_call(raw: bytes) -> Call | None:
    """Return the call of a line in the usual form of Core; None if the tolerant reader must read it."""
    # What a log shipper wraps around a line begins with another member; it is not decoded only to be left out.
    if _BEGINNING.match(raw) is None or holds_more_values(raw):
        return None
    try:
        # orjson decodes long texts faster than msgspec, which then only checks the types.
        return _call(msgspec.convert(orjson.loads(raw), _Line), raw)
    except (orjson.JSONDecodeError, msgspec.ValidationError, _Unusual, RecursionError):
        return None


class _Unusual(ValueError):  # noqa: N818 - it says what the value is
    """An id is none of OpenTelemetry."""


def _call(line: _Line, raw: bytes) -> Call | None:
    request, response, trace = line.request, line.response or _NO_RESPONSE, line.trace or _NO_TRACE
    usage, user = line.token_usage or _NO_USAGE, line.user or _NO_USER
    time = read_time(request.time)
    status = None if response.status is UNSET else _STATUSES.get(response.status)
    if time is None or (status is None and response.status is not UNSET):
        return None
    trace_id, span_id = _id(TRACE, trace.trace_id), _id(SPAN, trace.core_span_id)
    parent_span_id = _id(SPAN, trace.core_parent_span_id)
    target = _target(request.uri or None, line.deployment or None, line.execution_path)
    parent_deployment = line.parent_deployment or None
    by_person = is_made_by_person(target, parent_deployment, bool(trace.core_parent_span_id))
    return Call(
        left=_left(line, response, usage),
        repairs=(),
        event_id=event_id(trace_id, span_id, raw),
        kind=target.kind,
        deployment=target.deployment,
        parent_deployment=None if by_person else parent_deployment,
        is_made_by_person=by_person,
        requested_at=time,
        duration_ms=line.operation_duration_ms,
        user_id=user.id or None,
        user_title=decoded(user.title or None),
        project_id=(line.project or _NO_PROJECT).id or None,
        chat_id=decoded((line.chat or _NO_CHAT).id or None),
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id=parent_span_id,
        execution_path=line.execution_path,
        status=status,
        usage=_usage(usage),
        secured=line.assembled_response is UNSET and response.body is UNSET and request.body is UNSET,
        request_body=request.body or None,
        assembled_response=line.assembled_response or None,
        response_body=response.body or None,
    )


def _usage(usage: _TokenUsage) -> Usage:
    completion, prompt = usage.completion_tokens_details, usage.prompt_tokens_details or usage.prompt_token_details
    details = (None, None) if completion is prompt is UNSET else read_details(completion, prompt)
    return Usage(
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.total_tokens,
        usage.deployment_price,
        usage.price,
        *details,
    )


def _left(line: _Line, response: _Response, usage: _TokenUsage) -> dict[str, Any]:
    """Members without a field in `Call`, in the order of Core."""
    request = line.request
    left: dict[str, Any] = {}
    if line.apiType is not UNSET:
        left["apiType"] = line.apiType
    if line.claims not in _NOTHING:
        left["claims"] = line.claims
    if line.headers not in _NOTHING:
        left["headers"] = line.headers
    if usage is not _NO_USAGE and (details := _details(usage)):
        left["token_usage"] = details
    if line.usage_per_model not in _NOTHING:
        left["usage_per_model"] = line.usage_per_model
    asked = {"protocol": request.protocol, "method": request.method, "uri": request.uri}
    if UNSET in asked.values():
        asked = {key: value for key, value in asked.items() if value is not UNSET}
    if asked:
        left["request"] = asked
    if response.upstream_uri is not UNSET:
        left["response"] = {"upstream_uri": response.upstream_uri}
    return left


def _details(usage: _TokenUsage) -> dict[str, Any]:
    found = {name: getattr(usage, name) for name in _DETAILS}
    return {name: value for name, value in found.items() if value is not UNSET}


@lru_cache(maxsize=1024)
def _short_target(uri: str, deployment: str | None, last: str | None) -> Target:
    return read_target(uri, deployment, None if last is None else [last])


def _target(uri: str | None, deployment: str | None, execution_path: list[str] | None) -> Target:
    """Kind and deployment of a call, cached: there are few different addresses."""
    last = execution_path[-1] if execution_path else None
    if uri is None or len(uri) + len(deployment or "") + len(last or "") > _LONGEST_REMEMBERED:
        return read_target(uri, deployment, execution_path)
    return _short_target(uri, deployment, last)


def _id(pattern: re.Pattern[str], written: str | None) -> str | None:
    """An id of OpenTelemetry; all zeros mean that there is no tracing."""
    if not written:
        return None
    if pattern.fullmatch(written) is None:
        raise _Unusual
    return written if written.strip("0") else None
