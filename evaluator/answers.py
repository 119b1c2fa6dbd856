"""Rows of `parsed_logs` as answers that a person saw."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from lake import ANSWERING_KINDS, IS_PRODUCTION, NO_ERROR, OUTRANKED_BY_CHILD, TOOL_CALL_FINISH_REASONS

IS_ANSWER = ds.field("kind").isin(ANSWERING_KINDS) & ds.field("is_entry") & (ds.field("status") == 200) & IS_PRODUCTION
"""Rows whose answer a person saw; other kinds, calls between applications, failed calls and what evaluations, replays,
judges and tests asked are not scored."""

ANSWER_COLUMNS = (
    "event_id", "response_id", "response_ids", "deployment", "date", "requested_at", "chat_id", "kind", "status",
    "error", "is_entry", "question", "answer", "documents", "contexts", "contexts_origin", "finish_reason",
    "trace_id", "span_id", "ingested_at", "duration_ms", "price", "model", "origin",
)  # fmt: skip
"""All that `answers` reads; the bodies stay where they are."""

_CUT = frozenset({"length", "content_filter"})
AT_ONCE = 2_000
"""Answers at a time, for what is done with them in no time."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer that a person saw.

    `text` is empty where the application ended its answer without a word, and None where the log does not hold the
    answer (a secured key, a cut line) or it is a tool call. `contexts` are the texts of the chunks in rank order, an
    empty list where nothing was retrieved, and None where the log does not tell what was, or only images were.
    `cited_only` says that the chunks are those that the answer cited, not all that were retrieved. `call` is the trace
    and span of the answer where the prompt of a model call that it made would say more than its own contexts.
    `price` is that of all calls that it took. `model` is what the log names as the model, `is_cut` whether the answer
    ended before its end, or the log does not hold all of it.
    """

    event_id: str
    response_id: str | None
    response_ids: tuple[str, ...]
    deployment: str | None
    date: date
    requested_at: datetime
    chat_id: str | None
    question: str | None
    text: str | None
    documents: tuple[str, ...]
    contexts: list[str] | None
    cited_only: bool
    call: tuple[str, str] | None
    duration_ms: int | None
    price: float | None
    model: str | None
    is_cut: bool


def answers(rows: pa.Table, at_once: int = AT_ONCE) -> Iterator[list[Answer]]:
    """Give the answers among rows with `ANSWER_COLUMNS`, a bounded number at a time."""
    found = rows.filter(IS_ANSWER)
    for start in range(0, found.num_rows, at_once):
        yield [_answer(row) for row in found.slice(start, at_once).to_pylist()]


def _answer(row: Mapping[str, Any]) -> Answer:
    return Answer(
        event_id=row["event_id"],
        response_id=row["response_id"],
        response_ids=tuple(row["response_ids"] or ()),
        deployment=row["deployment"],
        date=row["date"],
        requested_at=row["requested_at"],
        chat_id=row["chat_id"],
        question=row["question"],
        text=_text(row),
        documents=tuple(row["documents"] or ()),
        contexts=_contexts(row),
        cited_only=row["contexts_origin"] == "cited",
        call=_call(row),
        duration_ms=row["duration_ms"],
        price=row["price"],
        model=row["model"],
        is_cut=not _is_whole(row) or row["finish_reason"] in _CUT,
    )


def _text(row: Mapping[str, Any]) -> str | None:
    if row["answer"] is not None:
        return str(row["answer"])
    ended = _is_whole(row) and row["finish_reason"] is not None and row["finish_reason"] not in TOOL_CALL_FINISH_REASONS
    return "" if ended else None


def _is_whole(row: Mapping[str, Any]) -> bool:
    return row["error"] is None or re.fullmatch(NO_ERROR, row["error"]) is not None


def _contexts(row: Mapping[str, Any]) -> list[str] | None:
    if row["contexts"] is None or row["contexts_origin"] in (None, "none"):
        return None
    return usable_texts(row["contexts"])


def usable_texts(contexts: Sequence[Mapping[str, Any] | None]) -> list[str] | None:
    """Give the texts of chunks in rank order; None where there are chunks, but only images."""
    texts = [(context or {}).get("text") or "" for context in contexts]
    return texts if not texts or any(text.strip() for text in texts) else None


def _call(row: Mapping[str, Any]) -> tuple[str, str] | None:
    trace_id, span_id = row["trace_id"], row["span_id"]
    outranked = row["contexts_origin"] in OUTRANKED_BY_CHILD
    return (trace_id, span_id) if outranked and trace_id and span_id else None
