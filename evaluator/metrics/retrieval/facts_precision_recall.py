"""Precision, recall and F1 of retrieved facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluator.metrics.description import Description
from evaluator.metrics.matchers.matcher import ABSENT, FactsFound
from evaluator.metrics.metric import Metric, ScoredBy
from evaluator.metrics.retrieval.facts_metric import PACKAGE, FactsMetric, odd_cases

_MOST_FACTS = 100
"""Facts whose places the details of a score name."""
_NO_FACTS = (
    f"Without facts {PACKAGE} gives precision 0 and NaN for the others, so that its means are over different rows."
)


def recall(ranks: Sequence[int]) -> float:
    """Facts found / facts; NaN without facts."""
    return sum(rank != ABSENT for rank in ranks) / len(ranks) if ranks else float("nan")


def precision(counts: Sequence[int]) -> float:
    """Contexts with at least one fact / contexts; 0 without contexts."""
    return sum(count > 0 for count in counts) / len(counts) if counts else 0.0


def f1(precision: float, recall: float) -> float:
    """Harmonic mean of precision and recall; 0 if both are 0."""
    return 0.0 if precision == 0 and recall == 0 else 2.0 * (precision * recall) / (precision + recall)


@dataclass(frozen=True)
class FactsRecall(FactsMetric):
    """Share of the facts that stand in some context, from 0 to 1, higher is better.

    `facts_places` in the details is, for each of the first 100 facts, where it stands in the first context that holds
    it, as start and end in its characters; null where none does. A matcher with a model gives none. `facts_ranks` are
    the ranks of those contexts, from 0, and -1 where none holds the fact.
    """

    title = "facts_recall"
    about = Description(
        asks="Which share of the facts that an answer needs was retrieved?",
        formula="|facts that some context holds| / |facts|; at k: some of the first k contexts",
        source=f"{PACKAGE} (recall)",
        odd_cases=odd_cases("no difference"),
        disagreement="A fact that a chunk's border cuts is not found, even where both halves are retrieved: "
        "`facts_longest_run` distinguishes such a near miss from an absent fact. There are no word boundaries, so "
        "`12` is found in `2012`; `The sky is blue.` is not found in a chunk that ends in `the sky is blue`, but by "
        "the form `facts_recall_trimmed`. A fact without a letter or digit is found there in any chunk with a space, "
        "and not counted here. " + _NO_FACTS,
    )

    def value(self, found: FactsFound) -> float:
        """Give recall."""
        return recall(found.first(self.k).ranks)

    def places(self, found: FactsFound, facts: Sequence[str], contexts: Sequence[str]) -> Mapping[str, Any]:
        """Give `facts_places`, where no model is needed to find them again."""
        if self.matcher.judge != ScoredBy.LEXICAL:
            return {}
        ranks = found.first(self.k).ranks[:_MOST_FACTS]
        holding = sorted(set(ranks) - {ABSENT})
        spans = self.matcher.spans(facts[:_MOST_FACTS], [contexts[rank] for rank in holding])
        by_rank = {rank: dict(of_context) for rank, of_context in zip(holding, spans, strict=True)}
        return {"facts_places": [by_rank.get(rank, {}).get(index) for index, rank in enumerate(ranks)]}


@dataclass(frozen=True)
class FactsPrecision(FactsMetric):
    """Share of the contexts that hold at least one fact, from 0 to 1, higher is better.

    At k, among the first k contexts, over as many as came back. `context_relevance` in the details is the number of
    facts of each context.
    """

    title = "facts_precision"
    about = Description(
        asks="Which share of the retrieved chunks is of use?",
        formula="|contexts with at least one fact| / n; at k: of the first k / min(k, n)",
        source=f"{PACKAGE} (precision)",
        odd_cases=odd_cases("each useful copy counts as useful"),
        disagreement=_NO_FACTS,
    )

    def value(self, found: FactsFound) -> float:
        """Give precision."""
        return precision(found.first(self.k).counts)

    def details(self, found: FactsFound) -> Mapping[str, Any]:
        """Give `context_relevance`."""
        return {"context_relevance": list(found.first(self.k).counts)}


@dataclass(frozen=True)
class FactsF1(FactsMetric):
    """Harmonic mean of `facts_precision` and `facts_recall`, 0 if both are 0; 0 to 1, higher is better."""

    title = "facts_f1"
    about = Description(
        asks="Were all facts retrieved, and in no more chunks than it takes?",
        formula="2 · precision · recall / (precision + recall); 0 if both are 0",
        source=f"{PACKAGE} (f1)",
        odd_cases=odd_cases("as its two parts"),
        disagreement=_NO_FACTS,
    )

    def value(self, found: FactsFound) -> float:
        """Give F1."""
        first = found.first(self.k)
        return f1(precision(first.counts), recall(first.ranks))


METRICS: tuple[Metric, ...] = (
    FactsRecall(),
    FactsPrecision(),
    FactsF1(),
)
