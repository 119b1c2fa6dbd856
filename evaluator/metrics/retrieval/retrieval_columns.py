"""Columns that aidial-rag-eval 0.7.0 writes about retrieval, with its arithmetic, for tables to be exchanged.

A highlight is a context in pieces, each with the facts that it says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii as quoted

import orjson

from evaluator.metrics.matchers.citation import AIDIAL_RAG_EVAL
from evaluator.metrics.matchers.matcher import FactMatcher, FactsFound, Span, Spans
from evaluator.metrics.retrieval import facts as arithmetic

_APART = "\x7f"
"""Between texts that are escaped together: the one character of ASCII that json.dumps escapes and orjson does not."""


def _pieces(context: str, spans: Sequence[tuple[int, Span]]) -> list[tuple[str, list[int]]]:
    """Cut a context where a fact begins or ends; `spans` are a fact's index and the characters that it covers."""
    if context and not spans:
        return [(context, [])]
    borders = [(at, ends, fact) for fact, (start, end) in spans for at, ends in ((start, False), (end, True))]
    borders.sort()
    pieces: list[tuple[str, list[int]]] = []
    # A set, for the package writes its facts in a set's order.
    covering: set[int] = set()
    done = 0
    for at, ends, fact in borders:
        if done < at:
            pieces.append((context[done:at], list(covering)))
        done = at
        (covering.remove if ends else covering.add)(fact)
    if done < len(context):
        pieces.append((context[done:], []))
    return pieces


def _escaped(texts: Sequence[str]) -> list[str]:
    """Return what stands between the quotation marks where json.dumps writes each text."""
    together = _APART.join(texts)
    if together.isascii():
        # A third of the time of texts one by one.
        parts = orjson.dumps(together).decode()[1:-1].split(_APART)
        if len(parts) == len(texts):
            return parts
    return [quoted(text)[1:-1] for text in texts]


def highlights(facts: Sequence[str], contexts: Sequence[str], matcher: FactMatcher = AIDIAL_RAG_EVAL) -> list[str]:
    """Return the highlight of each context: the first place of each fact that the matcher finds in it."""
    return highlights_of(matcher.spans(facts, contexts), contexts)


def highlights_of(spans: Spans, contexts: Sequence[str]) -> list[str]:
    """Return the highlight of each context where its facts have been found already.

    It is JSON, as json.dumps writes it: `{"match": [{"text": piece, "facts": [indexes]}, ...]}`. The pieces joined give
    the context back.
    """
    cut = [_pieces(context, of_context) for context, of_context in zip(contexts, spans, strict=True)]
    escaped = iter(_escaped([text for pieces in cut for text, _ in pieces]))
    return [f'{{"match": [{", ".join([_object(next(escaped), facts) for _, facts in pieces])}]}}' for pieces in cut]


def _object(escaped: str, facts: list[int]) -> str:
    return f'{{"text": "{escaped}", "facts": {facts or "[]"}}}'


@dataclass(frozen=True)
class RetrievalColumns:
    """One row of that package's metrics table; names are its column names.

    `facts_ranks` count from 0, -1 where absent. Without facts `recall`, `mrr` and `f1` are NaN and `precision` is 0.0,
    which is the package's way: the metrics of the registry are null there, all four.
    """

    facts_ranks: list[int]
    context_relevance: list[int]
    context_highlight: list[str]
    recall: float
    precision: float
    mrr: float
    f1: float


def retrieval_columns(
    facts: Sequence[str], contexts: Sequence[str], matcher: FactMatcher = AIDIAL_RAG_EVAL
) -> RetrievalColumns:
    """Return the package's columns for one row; for its numbers at k, hand over `contexts[:k]`.

    Facts are taken as they are: one without a letter or digit is looked for too, as there.
    """
    return columns_where(matcher.spans(facts, contexts), len(facts), contexts)


def columns_where(spans: Spans, facts: int, contexts: Sequence[str]) -> RetrievalColumns:
    """Return the columns where the facts of a row, so many, have been found already."""
    found = FactsFound.of([[index for index, _ in of_context] for of_context in spans], facts)
    return columns_of(found, highlights_of(spans, contexts))


def columns_of(found: FactsFound, context_highlight: Sequence[str]) -> RetrievalColumns:
    """Return the columns from what a matcher found."""
    recall = arithmetic.recall(found.ranks)
    precision = arithmetic.precision(found.counts)
    return RetrievalColumns(
        facts_ranks=list(found.ranks),
        context_relevance=list(found.counts),
        context_highlight=list(context_highlight),
        recall=recall,
        precision=precision,
        mrr=arithmetic.mrr(found.ranks),
        f1=arithmetic.f1(precision, recall),
    )
