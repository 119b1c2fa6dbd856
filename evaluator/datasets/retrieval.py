"""Columns about retrieval that aidial-rag-eval 0.7.0 has, for the rows of a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from math import nan

import pyarrow as pa

from evaluator.metrics import RetrievalColumns, retrieval_columns
from evaluator.metrics.cells import UnscorableRowError, texts

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

    NaN is written as null, as pandas does it for the package.
    """
    rows = [_row(row_facts, row_contexts) for row_facts, row_contexts in zip(facts, contexts, strict=True)]
    names = [field.name for field in fields(RetrievalColumns)]
    return {name: pa.array([getattr(row, name) for row in rows], TYPES[name], from_pandas=True) for name in names}


def _row(facts_cell: object, contexts_cell: object) -> RetrievalColumns:
    try:
        facts, contexts = texts(facts_cell, "facts"), texts(contexts_cell, "contexts")
        return _NOT_KNOWN if facts is None or contexts is None else retrieval_columns(facts, contexts)
    except UnscorableRowError:
        return _NOT_KNOWN
