"""Records that a line becomes: a row of `parsed_logs` or `user_signals`, a rejection, or only a count."""

from __future__ import annotations

import datetime
from typing import Any

import msgspec

from lake.spec.service_vocabulary import RejectionReason

REASONS = {
    RejectionReason.NOT_JSON: "The line is no JSON, or breaks before its end.",
    RejectionReason.NOT_A_LOG_LINE: "The line is JSON, but nothing that DIAL Core writes.",
    RejectionReason.EMPTY_OBJECT: "The line is `{}`.",
    RejectionReason.TOO_DEEP: "The line nests deeper than the lake can write.",
    RejectionReason.NO_TIME: "The line does not say when the request was made, so it has no date to be stored under.",
    RejectionReason.CUT: "The line is cut before its deployment or its time, as Core 0.18 does where it cannot merge a "
    "stream.",
    RejectionReason.PARSER_FAILURE: "The parser failed on the line: a defect to report, with the line.",
    RejectionReason.REDACTION_FAILED: "The redaction failed on the row, so nothing of it is kept but this note.",
    RejectionReason.BROKEN_GZIP: "The gzip stream ends early or is damaged; the lines before that are kept.",
    RejectionReason.TOO_MANY_VALUES: "The line holds more than 2,000,000 JSON values, or the piece more than 100,000 "
    "lines.",
    RejectionReason.TOO_MANY_DEPLOYMENTS: "More deployments that the lake does not have came in an hour than are taken "
    "up.",
    RejectionReason.TOO_LONG: "The line is longer than 64 MiB; its first MiB is kept.",
    RejectionReason.NOT_A_SIGNAL: "The item of `POST /signals` is no signal that can be stored.",
    RejectionReason.NOT_A_SCORE: "The item of `POST /scores` is no score that can be stored.",
}
"""Every reason of a rejection, with its meaning."""


class LogRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One row of `parsed_logs` but for `source` and `ingested_at`; the columns' docs are in `lake.PARSED_LOGS`.

    `contexts` are dicts with the keys text, title, url, page and id. Results of `tool_calls` are not cut yet.
    """

    event_id: str
    response_id: str | None = None
    response_ids: list[str] | None = None
    deployment: str | None
    date: datetime.date
    requested_at: datetime.datetime
    duration_ms: int | None
    kind: str
    status: int | None
    error: str | None
    repairs: list[str] | None = None
    origin: str | None = None
    user_id: str | None
    user_title: str | None
    project_id: str | None
    chat_id: str | None
    trace_id: str | None
    span_id: str | None
    parent_span_id: str | None
    parent_deployment: str | None
    execution_path: list[str] | None
    is_entry: bool
    model: str | None = None
    stream: bool | None = None
    prompt_tokens: int | None
    completion_tokens: int | None
    total_tokens: int | None
    deployment_price: float | None
    price: float | None
    question: str | None = None
    standalone_question: str | None = None
    answer: str | None = None
    documents: list[str] | None = None
    contexts: list[dict[str, Any]] | None = None
    contexts_origin: str | None = None
    finish_reason: str | None = None
    message_count: int | None = None
    history_hash: str | None = None
    prefix_hash: str | None = None
    parent_history_hash: str | None = None
    request_body: str | None
    assembled_response: str | None
    response_body: str | None = None
    extra: str | None
    answer_kind: str | None = None
    finish_kind: str | None = None
    reasoning: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_calls_origin: str | None = None
    attachments: list[dict[str, Any]] | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    turn: int | None = None
    client: str | None = None


class SignalRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One row of `user_signals` but for `source` and `ingested_at`; the columns' docs are in `lake.USER_SIGNALS`."""

    signal_id: str
    response_id: str | None
    deployment: str | None
    date: datetime.date
    signaled_at: datetime.datetime
    signal: str
    value: float | None
    confidence: float | None
    origin: str
    user_id: str | None
    chat_id: str | None
    details: str | None


class Filtered(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A rating that people did not give: one of an evaluation or a test (`origin`). It is counted and not stored."""

    origin: str


class Rejection(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A line that cannot be read: a key of `REASONS`, what was wrong, its bytes, its deployment if known."""

    reason: str
    message: str
    raw: bytes
    deployment: str | None = None
