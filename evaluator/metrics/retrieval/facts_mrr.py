"""Mean reciprocal rank of facts: of each fact's first context, and of the first context that holds any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluator.metrics.description import Description
from evaluator.metrics.matchers.matcher import ABSENT, FactsFound
from evaluator.metrics.metric import Metric
from evaluator.metrics.retrieval.facts_metric import PACKAGE, FactsMetric, odd_cases


def mrr(ranks: Sequence[int]) -> float:
    """Mean over the facts of 1 / rank from 1, 0 for an absent fact; NaN without facts."""
    if not ranks:
        return float("nan")
    # numpy adds in another order than sum(), and so may end in another last digit.
    return float(np.add.reduce([0.0 if rank == ABSENT else 1 / (rank + 1) for rank in ranks])) / len(ranks)


def mrr_first(counts: Sequence[int]) -> float:
    """1 / rank from 1 of the first context with a fact; 0 if none has one."""
    return next((1 / rank for rank, count in enumerate(counts, 1) if count), 0.0)


@dataclass(frozen=True)
class FactsMrr(FactsMetric):
    """Mean over the facts of 1 / rank of its first context, 0 for an absent fact; 0 to 1, higher is better.

    Ranks count from 1 in the formula and from 0 in `facts_ranks`.
    """

    title = "facts_mrr"
    about = Description(
        asks="How high do the facts stand?",
        formula="Σ over facts: 1 / rank from 1 of its first context, 0 where absent / |facts|",
        source=f"{PACKAGE} (mrr)",
        odd_cases=odd_cases("a copy moves what follows one rank down"),
        disagreement=f"The documents of {PACKAGE} describe the first useful chunk (`facts_mrr_first`), its code gives "
        "this mean: ranks 2, 1, 3 from 0 are .3611 here and .5 there. `mrr` is that of ids (`context_correctness`).",
    )

    def value(self, found: FactsFound) -> float:
        """Give the mean reciprocal rank."""
        return mrr(found.first(self.k).ranks)


@dataclass(frozen=True)
class FactsMrrFirst(FactsMetric):
    """1 / rank from 1 of the first context that holds any fact, 0 if none does; 0 to 1, higher is better."""

    title = "facts_mrr_first"
    about = Description(
        asks="How high does the first useful chunk stand?",
        formula="1 / rank from 1 of the first context that holds a fact; 0 if none does",
        source="EPAM's DIAL evaluation deck (MRR)",
        odd_cases=odd_cases("a copy moves what follows one rank down"),
        disagreement="See `facts_mrr`.",
        aliases=("mrr_first",),
    )

    def value(self, found: FactsFound) -> float:
        """Give the reciprocal rank."""
        return mrr_first(found.first(self.k).counts)

    def details(self, found: FactsFound) -> Mapping[str, Any]:
        """Give `context_relevance`."""
        return {"context_relevance": list(found.first(self.k).counts)}


METRICS: tuple[Metric, ...] = (
    FactsMrr(),
    FactsMrrFirst(),
)
