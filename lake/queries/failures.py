"""Status of answers, and the kinds of their failures, as their rows and scores tell."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lake.spec.answer_kinds import answer_kind_of, finish_kind, is_whole
from lake.spec.texts.refusals import refusal_in
from lake.spec.tool_names import shown_name, shown_names
from lake.spec.vocabulary import CUT_FINISH_REASONS, VISIBLE, AnswerKind, FailureKind

STATUS_COLUMNS = ("status", "error")
REFUSAL_CHARACTERS = 1_000
"""Of an answer: a refusal stands at its beginning."""
FAILURE_COLUMNS = ("event_id", *STATUS_COLUMNS, "finish_reason", "answer_kind", "answer", "tool_calls")


class AnswerStatus(StrEnum):
    """Status of an answer: `failed` where DIAL Core or the deployment did not give a whole answer."""

    OK = "ok"
    FAILED = "failed"


def status_of(row: Mapping[str, Any]) -> AnswerStatus:
    """Return the status of a row of `parsed_logs` (`status`, `error`)."""
    return AnswerStatus.OK if row["status"] == 200 and is_whole(row) else AnswerStatus.FAILED


def failures_of(answers: pa.Table, refusing: Container[str]) -> list[tuple[FailureKind, ...]]:
    """Return the kinds of failure of each answer (`FAILURE_COLUMNS`); `refusing` are the ids of those that refuse.

    An answer that the log does not hold, as of a secured key, is not empty.
    """
    has_text = pc.fill_null(pc.match_substring_regex(answers["answer"], VISIBLE), False).to_pylist()
    # Of the text only whether there is one is needed.
    is_logged = pc.if_else(pc.is_valid(answers["answer"]), "", pa.scalar(None, pa.string()))
    fails_tool = calls_tool(answers["tool_calls"], failed=True).to_pylist()
    answers = answers.set_column(answers.column_names.index("answer"), "answer", is_logged).drop_columns("tool_calls")
    rows = zip(answers.to_pylist(), has_text, fails_tool, strict=True)
    return [_failures(row, text, row["event_id"] in refusing, has_failed) for row, text, has_failed in rows]


def refusing_texts(answers: Iterable[Mapping[str, Any]], scored: Container[str]) -> set[str]:
    """Return the event ids of whole answers (`event_id`, `answer`, `status`, `error`) whose texts refuse.

    Those that are `scored` are left out: their scores say it.
    """
    return {
        one["event_id"]
        for one in answers
        if one["event_id"] not in scored
        and one["answer"]
        and status_of(one) == AnswerStatus.OK
        and refusal_in(one["answer"][:REFUSAL_CHARACTERS]) is not None
    }


def calls_tool(calls: pa.ChunkedArray, name: str = "", *, failed: bool = False) -> pa.Array:
    """Return for each list of calls of tools whether it has one of this name, of any without a name; one that `failed`.

    Names are compared as they are shown.
    """
    found = np.zeros(len(calls), np.bool_)
    lists = calls.combine_chunks()
    each, of = pc.list_flatten(lists), pc.list_parent_indices(lists)
    matches = pa.repeat(pa.scalar(True), len(each))
    if name:
        matches = pc.and_(matches, pc.equal(shown_names(pc.struct_field(each, "name")), shown_name(name)))
    if failed:
        matches = pc.and_(matches, pc.fill_null(pc.struct_field(each, "is_error"), False))
    found[of.filter(matches).to_numpy()] = True
    return pa.array(found)


def _failures(row: Mapping[str, Any], has_text: bool, refuses: bool, has_failed_tool: bool) -> tuple[FailureKind, ...]:
    is_error = status_of(row) == AnswerStatus.FAILED
    kind = None if is_error else answer_kind_of(row, has_text=has_text)
    tells: Sequence[tuple[FailureKind, bool]] = (
        (FailureKind.ERROR, is_error),
        (FailureKind.EMPTY, kind == AnswerKind.EMPTY),
        (FailureKind.REFUSAL, refuses or kind == AnswerKind.REFUSAL),
        (FailureKind.CUT, finish_kind(row["finish_reason"]) in CUT_FINISH_REASONS),
        (FailureKind.TOOL_ERROR, has_failed_tool),
    )
    return tuple(kind for kind, is_so in tells if is_so)
