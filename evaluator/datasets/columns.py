"""Columns of answers and of ground truth: their names for metrics, and their types when they are written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lake.spec.thoughts import without_thoughts
from lake.spec.vocabulary import ContextsOrigin

ANSWERS, GROUND_TRUTH = "answers", "ground truth"

LISTS = ("documents", "context", "facts")
"""Columns that are lists of text and never null in a table that aidial-rag-eval reads."""

CONTEXTS_ORIGIN = "contexts_origin"
"""Column of the answers that says how it is known what was retrieved, as in `parsed_logs`."""

READ_FROM: Mapping[str, tuple[str, str]] = {
    "question": (ANSWERS, "question"),
    "answer": (ANSWERS, "answer"),
    "contexts": (ANSWERS, "context"),
    "context_ids": (ANSWERS, "context_ids"),
    "tool_calls": (ANSWERS, "tool_calls"),
    "duration_ms": (ANSWERS, "duration_ms"),
    "price": (ANSWERS, "price"),
    "facts": (GROUND_TRUTH, "facts"),
    "reference_answers": (GROUND_TRUTH, "answer"),
    "reference_contexts": (GROUND_TRUTH, "reference_contexts"),
    "reference_context_ids": (GROUND_TRUTH, "reference_context_ids"),
    "is_answerable_label": (GROUND_TRUTH, "is_answerable_label"),
    "reference_tool_calls": (GROUND_TRUTH, "reference_tool_calls"),
}
"""For each column that metrics read, the table that has it and its name there.

Where that is the ground truth, a table of answers may have it too, under the name that metrics read.
"""

TEXT_LISTS = frozenset(
    {
        *LISTS,
        "contexts",
        "context_ids",
        "reference_answers",
        "reference_contexts",
        "reference_context_ids",
        "tool_calls",
        "reference_tool_calls",
        "other_cases",
    }
)
"""Columns whose cells are lists, or lists as JSON in a text."""

NUMBERS = frozenset({"duration_ms", "price"})
"""Columns whose cells are numbers, or numbers in a text."""

_ELSEWHERE: Mapping[str, Sequence[str]] = {
    "question": ("user_input", "input", "query"),
    "answer": ("response", "actual_output"),
    "context": ("contexts", "retrieved_contexts", "retrieval_context"),
    "context_ids": ("retrieved_context_ids",),
    "reference_answers": (
        "reference",
        "expected_output",
        "ground_truths",
        "ground_truth",
        "reference_answer",
        "ground_truth_answer",
    ),
}
"""Columns of a table of answers by the names that RAGAS, DeepEval and LlamaIndex give them."""
_OF_DEEPEVAL = ("retrieval_context", "actual_output")
"""With one of these `context` is what ought to be retrieved, as in DeepEval's test cases."""


class DatasetError(ValueError):
    """A table cannot be used; the message names the file and what to mend."""


def require(columns: Sequence[str], needed: Sequence[str], path: str, why: str) -> None:
    """Raise DatasetError where a table lacks a column."""
    for name in needed:
        if name not in columns:
            raise DatasetError(f"{path} lacks column {name!r}, {why}; it has {', '.join(columns) or 'none'}")


def own_names(columns: Sequence[str]) -> list[str]:
    """Return the columns of a table of answers under the names that they have here; a taken one stays as it is."""
    names = {"context": "reference_contexts"} if not set(columns).isdisjoint(_OF_DEEPEVAL) else {}
    there = {names.get(column, column) for column in columns}
    for own, elsewhere in _ELSEWHERE.items():
        found = next((one for one in elsewhere if one in columns), None)
        if found is not None and own not in there:
            names[found] = own
    return [names.get(column, column) for column in columns]


def list_in(text: str) -> list[Any] | None:
    """Return the list that a text holds as JSON; None for no text, `null` and `NaN`. Raises ValueError for all else."""
    if not text:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = False
    if value is None or value != value:
        return None
    if not isinstance(value, list):
        raise ValueError(f'must hold a list as JSON, such as ["a.pdf", "b.pdf"], and not {text[:60]!r}')
    return value


def must_hold(column: str) -> str:
    """Say what a cell of a column must hold to be read."""
    if column in NUMBERS:
        return "a cell must hold a number of 0 or more"
    if column in TEXT_LISTS:
        return 'a cell must hold a list of texts, or one as JSON, such as ["first text", "second text"]'
    return "a cell must hold a text"


def number_in(text: str) -> float | None:
    """Return the number that a text holds, None for no text. Raises ValueError for all else."""
    try:
        return float(text) if text else None
    except ValueError:
        raise ValueError(f"must hold a number, and not {text[:60]!r}") from None


def written_type(name: str, kind: pa.DataType) -> pa.DataType:
    """Return the type in which a column is written: text and lists of text plain, all else as it is."""
    if name in LISTS and (_is_text(kind) or (_is_list(kind) and _is_text(kind.value_type))):
        return pa.list_(pa.string())
    return pa.string() if _is_text(kind) else kind


def written(name: str, column: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    """Return a column as it is written; where a list of text is missing an empty one, and where an item is, no text.

    A null list or a null item would end aidial-rag-eval, and it takes a text for the list of its letters: a text that
    holds no list is one of one text.
    """
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if name in LISTS and _is_text(whole.type):
        return pa.array([_texts_in(cell) for cell in whole.to_pylist()], kind)
    cast = whole if whole.type == kind else whole.cast(kind)
    return _without_nulls(cast) if name in LISTS and kind == pa.list_(pa.string()) else cast


def _without_nulls(lists: pa.ListArray) -> pa.ListArray:
    texts = lists.flatten()
    if not lists.null_count and not texts.null_count:
        return lists
    lengths = pc.fill_null(pc.list_value_length(lists), 0)
    starts = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])
    return pa.ListArray.from_arrays(starts, pc.fill_null(texts, ""))


def as_metrics_read(name: str, cells: Sequence[object], column: str) -> Sequence[object]:
    """Return cells as a metric's column has them, the same for each kind of file; `column` is their name in the table.

    Of an answer there are no thoughts, and one that is missing is empty: CSV cannot tell the two apart, and who answers
    nothing must not lift a mean. Every other empty text is missing. Lists and numbers may stand in texts; a text that
    holds none stays as it is, and no metric reads it. The one reference answer is a list of one.
    """
    return [_as_read(name, cell, column) if cell is None or isinstance(cell, str) else cell for cell in cells]


def _as_read(name: str, cell: str | None, column: str) -> object:
    if name == "answer":
        return without_thoughts(cell or "")
    if not cell:
        return None
    if name == "reference_answers" and column not in TEXT_LISTS:
        return [cell]
    try:
        value = list_in(cell) if name in TEXT_LISTS else number_in(cell) if name in NUMBERS else cell
    except ValueError:
        return [cell] if name == "reference_answers" else cell
    # The right answer may be the word "null".
    return [cell] if value is None and name == "reference_answers" else value


def _texts_in(cell: str | None) -> list[str]:
    try:
        items = list_in(cell or "") or []
    except ValueError:
        items = [cell]
    return [item if isinstance(item, str) else "" if item is None else json.dumps(item) for item in items]


def known_contexts(contexts: Sequence[object], origins: Sequence[object], *, compared: bool) -> Sequence[object]:
    """Return the contexts without those of which the origin says that it is not known what was retrieved.

    What an answer cited is a part of what was retrieved: too little to be `compared` with ground truth.
    """
    unknown = (None, ContextsOrigin.NONE, *([ContextsOrigin.CITED] if compared else []))
    return [None if (origin or None) in unknown else cell for cell, origin in zip(contexts, origins, strict=True)]


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    return any(is_one(kind) for is_one in texts)
