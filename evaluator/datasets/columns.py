"""Columns of answers and of ground truth: their names for metrics, and their types when they are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lake import ContextsOrigin
from lake.thoughts import without_thoughts

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
    "duration_ms": (ANSWERS, "duration_ms"),
    "price": (ANSWERS, "price"),
    "facts": (GROUND_TRUTH, "facts"),
    "reference_answers": (GROUND_TRUTH, "answer"),
    "reference_contexts": (GROUND_TRUTH, "reference_contexts"),
    "reference_context_ids": (GROUND_TRUTH, "reference_context_ids"),
}
"""For each column that metrics read, the table that has it and its name there."""


class DatasetError(ValueError):
    """A table cannot be used; the message names the file and what to mend."""


def require(columns: Sequence[str], needed: Sequence[str], path: str, why: str) -> None:
    """Raise DatasetError where a table lacks a column."""
    for name in needed:
        if name not in columns:
            raise DatasetError(f"{path} lacks column {name!r}, {why}; it has {', '.join(columns) or 'none'}")


def written_type(name: str, kind: pa.DataType) -> pa.DataType:
    """Give the type in which a column is written: text and lists of text plain, all else as it is."""
    if name in LISTS and (pa.types.is_null(kind) or (_is_list(kind) and _is_text(kind.value_type))):
        return pa.list_(pa.string())
    return pa.string() if _is_text(kind) else kind


def written(name: str, column: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    """Give a column as it is written; where a list of text is missing an empty one, and where an item is, no text.

    A null list or a null item would end aidial-rag-eval.
    """
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    cast = whole if whole.type == kind else whole.cast(kind)
    return _without_nulls(cast) if name in LISTS and kind == pa.list_(pa.string()) else cast


def _without_nulls(lists: pa.ListArray) -> pa.ListArray:
    texts = lists.flatten()
    if not lists.null_count and not texts.null_count:
        return lists
    lengths = pc.fill_null(pc.list_value_length(lists), 0)
    starts = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])
    return pa.ListArray.from_arrays(starts, pc.fill_null(texts, ""))


def as_metrics_read(name: str, cells: Sequence[object]) -> Sequence[object]:
    """Give cells as a metric's column has them: answers without thoughts, the one reference answer as a list of one."""
    if name == "answer":
        return [without_thoughts(cell) if isinstance(cell, str) else cell for cell in cells]
    if name != "reference_answers":
        return cells
    return [[cell] if isinstance(cell, str) else cell for cell in cells]


def known_contexts(contexts: Sequence[object], origins: Sequence[object], *, compared: bool) -> Sequence[object]:
    """Give the contexts without those of which the origin says that it is not known what was retrieved.

    What an answer cited is a part of what was retrieved: too little to be `compared` with ground truth.
    """
    unknown = (None, ContextsOrigin.NONE, *([ContextsOrigin.CITED] if compared else []))
    return [None if origin in unknown else cell for cell, origin in zip(contexts, origins, strict=True)]


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    return any(is_one(kind) for is_one in texts)
