"""The columns of aidial-rag-eval 0.7.0 about retrieval, for the rows of a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from math import nan

import pyarrow as pa

from evaluator.metrics import CITATION, RetrievalColumns, columns_of
from evaluator.metrics.cells import UnscorableRowError, texts
from evaluator.metrics.highlights import highlights_of
from evaluator.metrics.matching import FindFacts

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
    """Give the package's columns; where facts or contexts are missing or no lists of text, null and empty lists.

    NaN is written as null, as pandas does it for the package.
    """
    find = CITATION.finder()
    rows = [_row(row_facts, row_contexts, find) for row_facts, row_contexts in zip(facts, contexts, strict=True)]
    names = [field.name for field in fields(RetrievalColumns)]
    return {name: pa.array([getattr(row, name) for row in rows], TYPES[name], from_pandas=True) for name in names}


def _row(facts_cell: object, contexts_cell: object, find: FindFacts) -> RetrievalColumns:
    try:
        facts, contexts = texts(facts_cell, "facts"), texts(contexts_cell, "contexts")
    except UnscorableRowError:
        return _NOT_KNOWN
    if facts is None or contexts is None:
        return _NOT_KNOWN
    found = find(facts, contexts)
    return columns_of(found, highlights_of(found, facts, contexts, CITATION))
