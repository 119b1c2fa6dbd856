"""Columns of retrieval of a batch, against the plain way: fact by fact, context by context, JSON by json.dumps."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evaluator.datasets.retrieval import TYPES, retrieval_arrays
from evaluator.metrics.matchers.canonical import canonical, canonical_origins

ASCII = st.text(alphabet='ab1 .-_\n\x00\x7f"\\', max_size=12)
ANY = st.text(alphabet='abéİΣς .-\n你1\uffff😀"\\\x7f\x80\ud800', max_size=12)
LISTS = st.one_of(st.lists(ASCII, max_size=4), st.lists(ANY, max_size=4))
CELLS = st.one_of(LISTS, st.none(), st.just("no list"), st.just([7]))


def plain_highlight(facts: list[str], context: str) -> str:
    """A context cut where a fact begins or ends, each piece with the facts that cover it."""
    form, origins = canonical(context), canonical_origins(context)
    spans = {}
    for index, fact in enumerate(map(canonical, facts)):
        if (at := form.find(fact)) >= 0:
            spans[index] = range(origins[at], origins[at + len(fact)])
    borders = {0, len(context), *(end for span in spans.values() for end in (span.start, span.stop))}
    cuts = sorted(borders)
    match = [
        {"text": context[start:end], "facts": [index for index, span in spans.items() if start in span]}
        for start, end in itertools.pairwise(cuts)
    ]
    return json.dumps({"match": match})


def plain_row(facts: Any, contexts: Any) -> dict[str, Any]:
    """The definition: empty lists and nothing else where a cell is none or cannot be read."""
    if not all(isinstance(cell, list) and 7 not in cell for cell in (facts, contexts)):
        return {
            name: [] if name in ("facts_ranks", "context_relevance", "context_highlight") else None for name in TYPES
        }
    holds = [[canonical(fact) in canonical(context) for context in contexts] for fact in facts]
    ranks = [row.index(True) if True in row else -1 for row in holds]
    recall = sum(rank >= 0 for rank in ranks) / len(ranks) if ranks else None
    precision = sum(map(any, zip(*holds, strict=True))) / len(contexts) if contexts else 0.0
    mrr = sum(1 / (rank + 1) for rank in ranks if rank >= 0) / len(ranks) if ranks else None
    f1 = None if recall is None else 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {
        "facts_ranks": ranks,
        "context_relevance": [sum(row[place] for row in holds) for place in range(len(contexts))],
        "context_highlight": [plain_highlight(facts, context) for context in contexts],
        **{"recall": recall, "precision": precision, "mrr": mrr, "f1": f1},
    }


@example([(["a", "b c"], ["x a", "b. c, a"]), (["é"], ["É; a", 'a\x7f"']), (None, ["a"])])
@example([(["a"], ["b\x7fc", "a"]), (["a"], ["c"])])
@example([([""], ["", "a"]), (["İ"], ["in İ x"]), (["Σ"], ["😀ς σ", "plain"])])
@given(st.lists(st.tuples(CELLS, CELLS), max_size=4))
def test_the_columns_of_a_batch_are_those_of_the_plain_way(rows: list[tuple[Any, Any]]) -> None:
    """Any rows beside each other: ASCII and others, missing cells, cells of another kind, characters of four bytes."""
    arrays = retrieval_arrays([facts for facts, _ in rows], [contexts for _, contexts in rows])
    assert {name: array.type for name, array in arrays.items()} == TYPES
    found = [
        dict(zip(arrays, row, strict=True)) for row in zip(*(one.to_pylist() for one in arrays.values()), strict=True)
    ]
    for ours, row in zip(found, rows, strict=True):
        assert ours == pytest.approx(plain_row(*row), rel=1e-15, nan_ok=True)
