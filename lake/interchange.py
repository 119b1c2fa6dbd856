"""Frames that DIAL's own evaluator, aidial-rag-eval, reads unchanged (its version 0.7)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

import pyarrow.dataset as ds

from lake.child_contexts import OUTRANKED_BY_CHILD, ChildContexts, Span
from lake.lake import Lake
from lake.schemas import ANSWERING_KINDS, GROUND_TRUTH, PARSED_LOGS
from lake.vocabulary import IS_PRODUCTION, Origin

if TYPE_CHECKING:
    import pandas as pd

_USED_STATUS = ("proposed", "accepted")


def answers_frame(lake: Lake, deployment: str, origin: str = Origin.PRODUCTION) -> pd.DataFrame:
    """Give the answers that people saw: question, documents, context, answer; a row a question, the newest answer.

    `documents` and `context` are lists of strings, empty where there is none. Rows without a question or an answer
    are left out. An answer that shows no contexts has those in the prompt of its own model call. The evaluator joins
    the two frames on (documents as a set, question).

    They are those that people asked for; with another `origin`, such as `evaluation`, what that asked for.
    """
    where = ds.field("is_entry") & ds.field("kind").isin(ANSWERING_KINDS)
    where &= ds.field("question").is_valid() & ds.field("answer").is_valid()
    where &= IS_PRODUCTION if origin == Origin.PRODUCTION else ds.field("origin") == origin
    columns = ["question", "documents", "contexts", "contexts_origin", "answer", "requested_at", "trace_id", "span_id"]
    rows = lake.table(PARSED_LOGS, deployment).read(columns, where).sort_by("requested_at").to_pylist()
    _add_late_contexts(lake, deployment, rows)
    for row in rows:
        row["context"] = [context["text"] or "" for context in row["contexts"] or ()]
    return _frame(rows, ["question", "documents", "context", "answer"])


def ground_truth_frame(lake: Lake, deployment: str, status: Sequence[str] = _USED_STATUS) -> pd.DataFrame:
    """Give the cases of these statuses: question, documents, facts, answer; a row a question, the newest case.

    Facts without a letter or a digit are left out: the evaluator's matcher would find them in every chunk.
    """
    columns = ["question", "documents", "facts", "answer", "updated_at"]
    where = ds.field("status").isin(list(status))
    rows = lake.table(GROUND_TRUTH, deployment).read(columns, where).sort_by("updated_at").to_pylist()
    for row in rows:
        row["facts"] = [fact for fact in row["facts"] or () if any(map(str.isalnum, fact))]
    return _frame(rows, ["question", "documents", "facts", "answer"])


def _add_late_contexts(lake: Lake, deployment: str, rows: Sequence[dict[str, Any]]) -> None:
    """Put in the contexts of child calls that the collector could not join with their parents, a day at a time."""
    by_day: dict[date, dict[Span, dict[str, Any]]] = defaultdict(dict)
    for row in rows:
        if row["contexts_origin"] in OUTRANKED_BY_CHILD and row["trace_id"] and row["span_id"]:
            by_day[row["requested_at"].date()][row["trace_id"], row["span_id"]] = row
    children = ChildContexts(lake)
    for calls in by_day.values():
        asked = {span: row["requested_at"] for span, row in calls.items()}
        for span, contexts in children.of(asked, deployment).items():
            calls[span]["contexts"] = contexts


def _frame(rows: Iterable[dict[str, Any]], columns: list[str]) -> pd.DataFrame:
    import pandas as pd

    newest: dict[tuple[str, frozenset[str]], dict[str, Any]] = {}
    for row in rows:
        row["documents"] = row["documents"] or []
        newest[row["question"], frozenset(row["documents"])] = row
    return pd.DataFrame([[row[name] for name in columns] for row in newest.values()], columns=columns)
