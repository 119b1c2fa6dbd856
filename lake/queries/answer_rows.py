"""Text, question and contexts of the answer in a row of `parsed_logs`; scores and exports read them alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds

from lake.spec.answer_kinds import answer_kind_of
from lake.spec.thoughts import without_thoughts
from lake.spec.tool_calls import readable
from lake.spec.tool_messages import ToolCall
from lake.spec.vocabulary import ANSWERING_KINDS, AnswerKind, ContextsOrigin, Origin, has_known_contexts

IS_PRODUCTION = ds.field("origin").is_null() | (ds.field("origin") == Origin.PRODUCTION)
"""Rows of parsed_logs that people's own use made; rows of older versions have no origin and count as such."""

_IS_ASKED = ds.field("kind").isin(ANSWERING_KINDS) & ds.field("is_entry")
_IS_ANSWERED = _IS_ASKED & (ds.field("status") == 200)

ENTRY_COLUMNS = ("kind", "is_entry", "origin")
"""Columns that `IS_ENTRY` reads."""

IS_ENTRY = _IS_ASKED & IS_PRODUCTION
"""Rows of answers that people asked for, also where the call failed."""

RATABLE_COLUMNS = (*ENTRY_COLUMNS, "status", "response_id")
"""Columns that `IS_RATABLE` reads."""

IS_RATABLE = IS_ENTRY & ((ds.field("status") == 200) | ds.field("response_id").is_valid())
"""Rows that a signal may be about: entries, but for failed calls without an id, of which a person saw no answer."""

IS_ANSWER = _IS_ANSWERED & IS_PRODUCTION
"""Rows whose answer a person saw; other kinds, calls between applications, failed calls and what evaluations, replays,
judges and tests asked are not scored."""

CALLED_TOOLS = ds.field("tool_calls").cast(pa.list_(pa.struct([("name", pa.string()), ("is_error", pa.bool_())])))
"""`tool_calls` of a row without arguments and results, which may be long."""

CASE_QUESTION_COLUMNS = ("question", "standalone_question", "message_count", "prefix_hash", "parent_history_hash")
"""What `case_question` reads."""


def answers_to(origin: str) -> ds.Expression:
    """Say which rows are answers to what people, or an evaluation or another origin, asked."""
    return IS_ANSWER if origin == Origin.PRODUCTION else _IS_ANSWERED & (ds.field("origin") == origin)


class CaseQuestion(NamedTuple):
    """A question as answers are compared by it: two are the same question if both fields are equal.

    `conversation_hash` is that of the messages before a question that only they explain; None where the text says by
    itself what is asked.
    """

    text: str
    conversation_hash: str | None = None


def case_question(row: Mapping[str, Any]) -> CaseQuestion | None:
    """Return the question that an answer is compared by; None where it is not known what was asked.

    It is the question as it was sent where that was the first of its conversation, else the standalone question that
    the application made of it, else the question together with its conversation: a "Yes" means another thing in each.
    """
    if not _is_first(row):
        if row["standalone_question"] is not None:
            return CaseQuestion(row["standalone_question"])
        if not row["question"] or row["prefix_hash"] is None:
            return None
        return CaseQuestion(row["question"], row["prefix_hash"])
    return CaseQuestion(row["question"]) if row["question"] is not None else None


def _is_first(row: Mapping[str, Any]) -> bool:
    if row["parent_history_hash"] is not None:
        return False
    # Rows of versions that did not know these hashes have neither; one message alone follows nothing.
    return row["prefix_hash"] is not None or (row["message_count"] or 0) <= 1


def answer_text(row: Mapping[str, Any]) -> str | None:
    """Return the answer's text (answer, answer_kind, status, error, finish_reason), without thoughts before it.

    It is empty where the answer ended without a word, None where the log does not hold it, and where it is a call of a
    tool or an attachment alone.
    """
    text = None if row["answer"] is None else without_thoughts(str(row["answer"]))
    kind = answer_kind_of(row, has_text=bool(text and text.strip()))
    if kind == AnswerKind.TOOL_CALL or (kind == AnswerKind.ATTACHMENT and not text):
        return None
    return "" if text is None and kind in (AnswerKind.EMPTY, AnswerKind.REFUSAL, AnswerKind.CUT) else text


def context_texts(row: Mapping[str, Any]) -> list[str] | None:
    """Return the texts of the chunks in rank order; None where the log does not say what was retrieved."""
    if row["contexts"] is None or not has_known_contexts(row["contexts_origin"]):
        return None
    return usable_texts(row["contexts"])


def context_ids(contexts: Sequence[Mapping[str, Any] | None]) -> list[str | None]:
    """Return the ids of chunks in rank order: each chunk's own, else its url, with the page where there is one.

    None for a chunk that has neither.
    """
    return [_context_id(context or {}) for context in contexts]


def _context_id(context: Mapping[str, Any]) -> str | None:
    if context.get("id"):
        return str(context["id"])
    url, page = context.get("url") or None, context.get("page")
    return url if url is None or page is None else f"{url}#page={page}"


def usable_texts(contexts: Sequence[Mapping[str, Any] | None]) -> list[str] | None:
    """Return the texts of chunks in rank order; None where there are chunks, but only images."""
    texts = [(context or {}).get("text") or "" for context in contexts]
    return texts if not texts or any(text.strip() for text in texts) else None


def names_without_text(contexts: Sequence[Mapping[str, Any] | None]) -> tuple[str | None, ...]:
    """Return the urls, else titles, of chunks that have no text: they may be images."""
    chunks = [context or {} for context in contexts]
    return tuple(one.get("url") or one.get("title") for one in chunks if not (one.get("text") or "").strip())


def tool_results(calls: Sequence[ToolCall] | None) -> list[dict[str, Any]]:
    """Return the results of tools as contexts, whose title is the tool: the answer is based on them as on chunks."""
    said = [(call, readable(call["result"])) for call in calls or () if call["result"]]
    beside = {"url": None, "page": None, "id": None}
    return [{"text": text, "title": call["name"]} | beside for call, text in said if text.strip()]


def add_tool_results(rows: Iterable[dict[str, Any]]) -> None:
    """Put the results of tools behind the contexts of rows of `parsed_logs`; the origin says if there are no others."""
    for row in rows:
        if results := tool_results(row["tool_calls"]):
            known = has_known_contexts(row["contexts_origin"])
            row["contexts"] = [*(row["contexts"] or ()), *results] if known else results
            row["contexts_origin"] = row["contexts_origin"] if known else ContextsOrigin.TOOL_RESULT
