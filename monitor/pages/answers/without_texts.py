"""Answers for a reader who may see scores and ids of a deployment, and none of its texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lake.queries.answer_details import AnswerDetails
from lake.queries.answer_search import AnswerPage
from lake.spec.schemas import UNASSIGNED

_SHOWN = frozenset((
    "event_id", "response_id", "response_ids", "deployment", "date", "requested_at", "duration_ms", "kind", "status",
    "origin", "trace_id", "span_id", "parent_span_id", "is_entry", "model", "stream", "prompt_tokens",
    "completion_tokens", "total_tokens", "deployment_price", "price", "contexts_origin", "finish_reason",
    "message_count", "ingested_at", "tool_calls_origin", "reasoning_tokens", "cached_tokens", "turn",
))  # fmt: skip
"""Columns of `parsed_logs` that hold no text and do not say who asked."""


def page_without_texts(page: AnswerPage) -> AnswerPage:
    """Return the page without questions, answers, comments, errors, conversations, and who asked."""
    nothing: dict[str, Any] = dict.fromkeys(
        ("question", "answer", "error", "chat_id", "user_id", "project_id", "client")
    )
    rows = (replace(row, comments=(), **nothing) for row in page.rows)
    return replace(page, rows=tuple(rows))


def without_others_errors(answer: AnswerDetails, may_read_texts: Callable[[str], bool]) -> AnswerDetails:
    """Return the answer without errors of calls to deployments whose texts the reader may not read: they are texts."""
    calls = (
        call if may_read_texts(call.deployment or UNASSIGNED) else replace(call, error=None) for call in answer.calls
    )
    return replace(answer, calls=tuple(calls))


def answer_without_texts(answer: AnswerDetails) -> AnswerDetails:
    """Return the answer with its scores, signals and calls; details and comments quote texts and are left out."""
    return replace(
        answer,
        row={name: value if name in _SHOWN else None for name, value in answer.row.items()},
        contexts=(),
        before=(),
        scores=tuple(replace(score, details=None) for score in answer.scores),
        signals=tuple(replace(signal, comment=None, details=None, user_id=None) for signal in answer.signals),
        calls=tuple(replace(call, error=None) for call in answer.calls),
    )
