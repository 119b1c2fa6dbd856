"""Metrics of retrieval by facts: which were found, in how many contexts, and how high."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from evaluator.metrics.description import Description
from evaluator.metrics.matchers.matcher import ABSENT, FactsFound
from evaluator.metrics.options import option
from evaluator.metrics.retrieval.facts_metric import PACKAGE, FactsMetric, counts_of, facts_metric, odd_cases
from evaluator.metrics.retrieval.ranking import dcg
from evaluator.metrics.scores import ScoredBy

Gain = Literal["linear", "exponential"]

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


def mrr(ranks: Sequence[int]) -> float:
    """Mean over the facts of 1 / rank from 1, 0 for an absent fact; NaN without facts."""
    if not ranks:
        return float("nan")
    # numpy adds in another order than sum(), and so may end in another last digit.
    return float(np.add.reduce([0.0 if rank == ABSENT else 1 / (rank + 1) for rank in ranks])) / len(ranks)


def mrr_first(counts: Sequence[int]) -> float:
    """1 / rank from 1 of the first context with a fact; 0 if none has one."""
    return next((1 / rank for rank, count in enumerate(counts, 1) if count), 0.0)


def ndcg(counts: Sequence[int], k: int | None = None, gain: Gain = "linear") -> float:
    """DCG of the facts that each context holds / DCG of the same contexts in the best order; 0 if none holds one.

    Cut at k, both sums stop there, and the ideal takes the best k of all contexts.
    """
    if not any(counts):
        return 0.0
    gains = _gains(counts, gain)
    return dcg(gains[:k]) / dcg(sorted(gains, reverse=True)[:k])


def _gains(counts: Sequence[int], gain: Gain) -> list[float]:
    if gain == "linear":
        return [float(count) for count in counts]
    # 2^count - 1 overflows at 1,024 facts; the ratio is the same when all are divided by the greatest power.
    most = max(counts)
    return [2.0 ** (count - most) - 2.0**-most for count in counts]


def _places(metric: FactsMetric, found: FactsFound, facts: Sequence[str], contexts: Sequence[str]) -> Mapping[str, Any]:
    """Return `facts_places`, where no model is needed to find them again."""
    if metric.judge != ScoredBy.LEXICAL:
        return {}
    ranks = found.first(metric.k).ranks[:_MOST_FACTS]
    holding = sorted(set(ranks) - {ABSENT})
    spans = metric.matcher.spans(facts[:_MOST_FACTS], [contexts[rank] for rank in holding])
    by_rank = {rank: dict(of_context) for rank, of_context in zip(holding, spans, strict=True)}
    return {"facts_places": [by_rank.get(rank, {}).get(index) for index, rank in enumerate(ranks)]}


@facts_metric(
    Description(
        asks="Which share of the facts that an answer needs was retrieved?",
        formula="|facts that some context holds| / |facts|; at k: some of the first k contexts",
        source=f"{PACKAGE} (recall)",
        odd_cases=odd_cases("no difference"),
        disagreement="A fact that a chunk's border cuts is not found, even where both halves are retrieved: "
        "`facts_longest_run` distinguishes such a near miss from an absent fact. There are no word boundaries, so "
        "`12` is found in `2012`; `The sky is blue.` is not found in a chunk that ends in `the sky is blue`, but by "
        "the form `facts_recall_trimmed`. A fact without a letter or digit is found there in any chunk with a space, "
        "and not counted here. " + _NO_FACTS,
    ),
    places=_places,
    listed="facts_precision",
)
def facts_recall(found: FactsFound, *, k: int | None) -> float:
    """Share of the facts that stand in some context, from 0 to 1, higher is better.

    `facts_places` in the details is, for each of the first 100 facts, where it stands in the first context that holds
    it, as start and end in its characters; null where none does. A matcher with a model gives none. `facts_ranks` are
    the ranks of those contexts, from 0, and -1 where none holds the fact.
    """
    return recall(found.first(k).ranks)


@facts_metric(
    Description(
        asks="Which share of the retrieved chunks is of use?",
        formula="|contexts with at least one fact| / n; at k: of the first k / min(k, n)",
        source=f"{PACKAGE} (precision)",
        odd_cases=odd_cases("each useful copy counts as useful"),
        disagreement=_NO_FACTS,
    ),
    details=counts_of,
)
def facts_precision(found: FactsFound, *, k: int | None) -> float:
    """Share of the contexts that hold at least one fact, from 0 to 1, higher is better.

    At k, among the first k contexts, over as many as came back. `context_relevance` in the details is the number of
    facts of each context.
    """
    return precision(found.first(k).counts)


@facts_metric(
    Description(
        asks="Were all facts retrieved, and in no more chunks than it takes?",
        formula="2 · precision · recall / (precision + recall); 0 if both are 0",
        source=f"{PACKAGE} (f1)",
        odd_cases=odd_cases("as its two parts"),
        disagreement=_NO_FACTS,
    ),
    listed="facts_precision",
)
def facts_f1(found: FactsFound, *, k: int | None) -> float:
    """Harmonic mean of `facts_precision` and `facts_recall`, 0 if both are 0; 0 to 1, higher is better."""
    first = found.first(k)
    return f1(precision(first.counts), recall(first.ranks))


@facts_metric(
    Description(
        asks="How high do the facts stand?",
        formula="Σ over facts: 1 / rank from 1 of its first context, 0 where absent / |facts|",
        source=f"{PACKAGE} (mrr)",
        odd_cases=odd_cases("a copy moves what follows one rank down"),
        disagreement=f"The documents of {PACKAGE} describe the first useful chunk (`facts_mrr_first`), its code gives "
        "this mean: ranks 2, 1, 3 from 0 are .3611 here and .5 there. `mrr` is that of ids (`context_correctness`).",
    )
)
def facts_mrr(found: FactsFound, *, k: int | None) -> float:
    """Mean over the facts of 1 / rank of its first context, 0 for an absent fact; 0 to 1, higher is better.

    Ranks count from 1 in the formula and from 0 in `facts_ranks`.
    """
    return mrr(found.first(k).ranks)


@facts_metric(
    Description(
        asks="How high does the first useful chunk stand?",
        formula="1 / rank from 1 of the first context that holds a fact; 0 if none does",
        source="EPAM's DIAL evaluation deck (MRR)",
        odd_cases=odd_cases("a copy moves what follows one rank down"),
        disagreement="See `facts_mrr`.",
        aliases=("mrr_first",),
    ),
    details=counts_of,
)
def facts_mrr_first(found: FactsFound, *, k: int | None) -> float:
    """1 / rank from 1 of the first context that holds any fact, 0 if none does; 0 to 1, higher is better."""
    return mrr_first(found.first(k).counts)


@facts_metric(
    Description(
        asks="Do the chunks with most facts stand on top?",
        formula="Σ facts_i / log2(i + 1) / the same sum in the best order; at k: of the first k / of the best k of all",
        source="Järvelin and Kekäläinen, linear gain; pytrec_eval, ranx and scikit-learn agree",
        odd_cases=odd_cases("each copy gains again, in the ideal too"),
        disagreement="With exponential gain (ranx's ndcg_burges) counts 1, 2 are .7967 instead of .8597. scikit-learn "
        "refuses a single chunk.",
    ),
    # Of all contexts, for the ideal is made of all.
    details=lambda found, _k: counts_of(found, None),
)
def facts_ndcg(
    found: FactsFound,
    *,
    k: int | None,
    gain: Gain = option(
        "linear", "`linear`: the number of facts; `exponential`: 2^number - 1 (Burges)", is_in_version=True
    ),
) -> float:
    """DCG of the number of facts per context / DCG of the same contexts in the best order; 0 to 1, higher is better.

    It measures order only: the ideal is made of what came back, so it does not see facts that did not. 0 if no context
    holds a fact. `gain="exponential"` gives a context 2^facts - 1 instead of its number of facts.
    """
    return ndcg(found.counts, k, gain)
