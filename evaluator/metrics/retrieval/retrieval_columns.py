"""Columns that aidial-rag-eval 0.7.0 writes about retrieval, with its arithmetic, for tables to be exchanged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.metrics.matchers.citation import AIDIAL_RAG_EVAL
from evaluator.metrics.matchers.matcher import FactMatcher, FactsFound
from evaluator.metrics.retrieval import facts_mrr, facts_precision_recall
from evaluator.metrics.retrieval.highlights import highlights_of


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
    """Give the package's columns for one row; for its numbers at k, hand over `contexts[:k]`.

    Facts are taken as they are: one without a letter or digit is looked for too, as there.
    """
    spans = matcher.spans(facts, contexts)
    found = FactsFound.of([[index for index, _ in of_context] for of_context in spans], len(facts))
    return columns_of(found, highlights_of(spans, contexts))


def columns_of(found: FactsFound, context_highlight: Sequence[str]) -> RetrievalColumns:
    """Give the columns from what a matcher found."""
    recall = facts_precision_recall.recall(found.ranks)
    precision = facts_precision_recall.precision(found.counts)
    return RetrievalColumns(
        facts_ranks=list(found.ranks),
        context_relevance=list(found.counts),
        context_highlight=list(context_highlight),
        recall=recall,
        precision=precision,
        mrr=facts_mrr.mrr(found.ranks),
        f1=facts_precision_recall.f1(precision, recall),
    )
