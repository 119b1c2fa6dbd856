"""Frames that DIAL's own evaluator, aidial-rag-eval, reads unchanged (its version 0.7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd
import pyarrow.dataset as ds

from lake.lake import Lake
from lake.schemas import ANSWERING_KINDS, GROUND_TRUTH, PARSED_LOGS

_USED_STATUS = ("proposed", "accepted")


def answers_frame(lake: Lake, deployment: str) -> pd.DataFrame:
    """Give the answers that people saw: question, documents, context, answer; a row a question, the newest answer.

    `documents` and `context` are lists of strings, empty where there is none. Rows without a question or an answer
    are left out. The evaluator joins the two frames on (documents as a set, question).
    """
    where = ds.field("is_entry") & ds.field("kind").isin(ANSWERING_KINDS)
    where &= ds.field("question").is_valid() & ds.field("answer").is_valid()
    columns = ["question", "documents", "contexts", "answer", "requested_at"]
    rows = lake.table(PARSED_LOGS, deployment).read(columns, where).sort_by("requested_at").to_pylist()
    for row in rows:
        row["context"] = [context["text"] or "" for context in row.pop("contexts") or ()]
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


def _frame(rows: Iterable[dict[str, Any]], columns: list[str]) -> pd.DataFrame:
    newest: dict[tuple[str, frozenset[str]], dict[str, Any]] = {}
    for row in rows:
        row["documents"] = row["documents"] or []
        newest[row["question"], frozenset(row["documents"])] = row
    return pd.DataFrame([[row[name] for name in columns] for row in newest.values()], columns=columns)
