"""Columns about retrieval that aidial-rag-eval 0.7.0 has, for the rows of a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, islice
from math import nan
from typing import Any

import pyarrow as pa

from evaluator.metrics import RetrievalColumns
from evaluator.metrics.cells import UnscorableRowError, texts
from evaluator.metrics.matchers.canonical_lines import canonical_forms
from evaluator.metrics.matchers.citation import spans_as_written
from evaluator.metrics.retrieval.retrieval_columns import columns_where

TYPES: Mapping[str, pa.DataType] = {
    "facts_ranks": pa.list_(pa.int64()),
    "context_relevance": pa.list_(pa.int64()),
    "context_highlight": pa.list_(pa.string()),
    "recall": pa.float64(),
    "precision": pa.float64(),
    "mrr": pa.float64(),
    "f1": pa.float64(),
}
MEANS = ("recall", "precision", "mrr", "f1")

_NOT_KNOWN = RetrievalColumns([], [], [], nan, nan, nan, nan)


def retrieval_arrays(facts: Sequence[object], contexts: Sequence[object]) -> dict[str, pa.Array]:
    """Return the package's columns; null and empty lists where facts or contexts are missing, unreadable or too long.

    They are `retrieval_columns` of each row. NaN is written as null, as pandas does it for the package.
    """
    cells = [_texts_of(*row) for row in zip(facts, contexts, strict=True)]
    forms = iter(canonical_forms([fact for row in cells if row for fact in row[0]]))
    rows = [_row(*row, list(islice(forms, len(row[0])))) if row else _NOT_KNOWN for row in cells]
    return {name: _array([getattr(row, name) for row in rows], kind) for name, kind in TYPES.items()}


def _texts_of(facts_cell: object, contexts_cell: object) -> tuple[list[str], list[str]] | None:
    try:
        facts, contexts = texts(facts_cell, "facts"), texts(contexts_cell, "contexts")
    except UnscorableRowError:
        return None
    return None if facts is None or contexts is None else (facts, contexts)


def _row(facts: Sequence[str], contexts: Sequence[str], forms: Sequence[str]) -> RetrievalColumns:
    try:
        return columns_where(spans_as_written(facts, forms, contexts), len(facts), contexts)
    except UnscorableRowError:
        return _NOT_KNOWN


def _array(cells: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if not pa.types.is_list(kind):
        return pa.array(cells, kind, from_pandas=True)
    offsets = pa.array(accumulate(map(len, cells), initial=0), pa.int32())
    return pa.ListArray.from_arrays(offsets, pa.array([item for cell in cells for item in cell], kind.value_type))
