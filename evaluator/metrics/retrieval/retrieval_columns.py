"""Columns that aidial-rag-eval 0.7.0 writes about retrieval, with its arithmetic, for tables to be exchanged.

A highlight is a context in pieces, each with the facts that it says.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii as quoted

import orjson

from evaluator.metrics.matchers.citation import AIDIAL_RAG_EVAL
from evaluator.metrics.matchers.matcher import FactMatcher, FactsFound, Span, Spans
from evaluator.metrics.retrieval import facts as arithmetic


def highlight(context: str, spans: Sequence[tuple[int, Span]]) -> str:
    """Return a context in pieces as JSON: `{"match": [{"text": piece, "facts": [indexes]}, ...]}`.

    `spans` are a fact's index and the characters that it covers. The pieces joined give the context back.
    """
    if context and not spans:
        return f'{{"match": [{_piece(context, ())}]}}'
    events = sorted((at, ends, fact) for fact, (start, end) in spans for at, ends in ((start, False), (end, True)))
    pieces: list[str] = []
    # A set, for the package writes its facts in a set's order.
    covering: set[int] = set()
    done = 0
    for at, ends, fact in events:
        if done < at:
            pieces.append(_piece(context[done:at], covering))
        done = at
        (covering.remove if ends else covering.add)(fact)
    if done < len(context):
        pieces.append(_piece(context[done:], covering))
    return f'{{"match": [{", ".join(pieces)}]}}'


def _piece(text: str, facts: Collection[int]) -> str:
    # As json.dumps writes it, without the dictionary.
    return f'{{"text": {_quoted(text)}, "facts": {list(facts)}}}'


def _quoted(text: str) -> str:
    # orjson takes a fifth of the time; it escapes neither the last character of ASCII nor any beyond.
    return orjson.dumps(text).decode() if text.isascii() and "\x7f" not in text else quoted(text)


def highlights(facts: Sequence[str], contexts: Sequence[str], matcher: FactMatcher = AIDIAL_RAG_EVAL) -> list[str]:
    """Return the highlight of each context: the first place of each fact that the matcher finds in it."""
    return highlights_of(matcher.spans(facts, contexts), contexts)


def highlights_of(spans: Spans, contexts: Sequence[str]) -> list[str]:
    """Return the highlight of each context where its facts have been found already."""
    return [highlight(context, of_context) for context, of_context in zip(contexts, spans, strict=True)]


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
    spans = matcher.spans(facts, contexts)
    found = FactsFound.of([[index for index, _ in of_context] for of_context in spans], len(facts))
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
