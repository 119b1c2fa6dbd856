"""`LoggedAnswer`: a row of `parsed_logs` as an answer that a person saw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import pyarrow as pa

from evaluator.metrics import Turn
from lake.queries.answer_rows import (
    CASE_QUESTION_COLUMNS,
    IS_ANSWER,
    CaseQuestion,
    answer_text,
    case_question,
    context_ids,
    context_texts,
    names_without_text,
)
from lake.spec.answer_kinds import finish_kind, is_whole
from lake.spec.tool_calls import CALLS_OUTRANKED_BY_CHILD
from lake.spec.tool_messages import ToolCall
from lake.spec.vocabulary import CUT_FINISH_REASONS, OUTRANKED_BY_CHILD, ContextsOrigin, has_known_contexts

ANSWER_COLUMNS = (
    "event_id", "response_id", "response_ids", "deployment", "date", "requested_at", "chat_id", "kind", "status",
    "error", "is_entry", *CASE_QUESTION_COLUMNS, "answer", "documents", "contexts", "contexts_origin", "finish_reason",
    "answer_kind",
    "tool_calls", "tool_calls_origin",
    "trace_id", "span_id", "ingested_at", "duration_ms", "price", "model", "origin", "project_id", "client",
)  # fmt: skip
"""All that `answers` reads; the bodies stay where they are."""

AT_ONCE = 2_000
"""Answers at a time, for what is done with them in no time."""


@dataclass(frozen=True, slots=True)
class LoggedAnswer:
    """One answer that a person saw.

    `case_question` is the question that it is compared by; None where it is not known what was asked.
    `text` is empty where the application ended its answer without a word, and None where the log does not hold the
    answer (a secured key, a cut line) or it is a tool call. `contexts` are the texts of the chunks in rank order, an
    empty list where nothing was retrieved, and None where the log does not say what was, or only images were.
    `context_ids` are the ids of the same chunks, with None for one that has none; None where `contexts` is.
    `cited_only` says that the chunks are those that the answer cited, not all that were retrieved. `call` is the trace
    and span of the answer where the prompt of a model call that it made would say more than its own contexts.
    `tool_calls` are the calls of tools of its turn as in `parsed_logs`, None where they are not known; `turn_call` is
    the trace and span where a model call that it made would know more of them, `own_call` those of the answer itself.
    `conversation` has the turns of the conversation that the answer ends, where it is scored as a whole.
    `price` is that of all calls that it took. `model` is what the log names as the model, `is_cut` whether the answer
    ended before its end, or the log does not hold all of it. `images` are those of the question and of the chunks as
    data URLs, None for one that is not at hand; they are looked for where a judge sees images (`QuestionImages`), of
    chunks without text, whose urls or titles are `image_chunks`. `is_image_pending` says that one of them could not be
    read, and may be later. `project` is that of the API key that asked, `client` what its header says.
    """

    event_id: str
    response_id: str | None
    response_ids: tuple[str, ...]
    deployment: str | None
    date: date
    requested_at: datetime
    chat_id: str | None
    question: str | None
    case_question: CaseQuestion | None
    text: str | None
    documents: tuple[str, ...]
    contexts: list[str] | None
    context_ids: list[str | None] | None
    cited_only: bool
    call: tuple[str, str] | None
    duration_ms: int | None
    price: float | None
    model: str | None
    is_cut: bool
    tool_calls: list[ToolCall] | None = None
    turn_call: tuple[str, str] | None = None
    own_call: tuple[str, str] | None = None
    conversation: Sequence[Turn] | None = None
    images: list[str | None] | None = None
    is_image_pending: bool = False
    image_chunks: tuple[str | None, ...] = ()
    project: str | None = None
    client: str | None = None


def answers(rows: pa.Table, at_once: int = AT_ONCE) -> Iterator[list[LoggedAnswer]]:
    """Yield the answers among rows with `ANSWER_COLUMNS`, a bounded number at a time."""
    found = rows.filter(IS_ANSWER)
    for start in range(0, found.num_rows, at_once):
        yield [_answer(row) for row in found.slice(start, at_once).to_pylist()]


def _answer(row: Mapping[str, Any]) -> LoggedAnswer:
    contexts, call = context_texts(row), _call(row)
    return LoggedAnswer(
        event_id=row["event_id"],
        response_id=row["response_id"],
        response_ids=tuple(row["response_ids"] or ()),
        deployment=row["deployment"],
        date=row["date"],
        requested_at=row["requested_at"],
        chat_id=row["chat_id"],
        question=row["question"],
        case_question=case_question(row),
        text=answer_text(row),
        documents=tuple(row["documents"] or ()),
        contexts=contexts,
        context_ids=None if contexts is None else context_ids(row["contexts"]),
        cited_only=row["contexts_origin"] == ContextsOrigin.CITED,
        call=call if row["contexts_origin"] in OUTRANKED_BY_CHILD else None,
        duration_ms=row["duration_ms"],
        price=row["price"],
        model=row["model"],
        is_cut=not is_whole(row) or finish_kind(row["finish_reason"]) in CUT_FINISH_REASONS,
        tool_calls=row["tool_calls"],
        turn_call=call if row["tool_calls_origin"] in CALLS_OUTRANKED_BY_CHILD else None,
        own_call=call,
        image_chunks=names_without_text(row["contexts"] or ()) if has_known_contexts(row["contexts_origin"]) else (),
        project=row["project_id"],
        client=row["client"],
    )


def _call(row: Mapping[str, Any]) -> tuple[str, str] | None:
    trace_id, span_id = row["trace_id"], row["span_id"]
    return (trace_id, span_id) if trace_id and span_id else None
