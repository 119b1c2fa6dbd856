"""Retrieval by facts, where the order of the contexts matters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evaluator.metrics.description import Description
from evaluator.metrics.matchers.matcher import FactsFound
from evaluator.metrics.options import option
from evaluator.metrics.retrieval import facts_formulas
from evaluator.metrics.retrieval.facts_metric import PACKAGE, FactsMetric, odd_cases


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
        "this mean: ranks 2, 1, 3 from 0 are .3611 here and .5 there.",
        aliases=("mrr",),
    )

    def of(self, found: FactsFound) -> float:
        """Give the mean reciprocal rank."""
        return facts_formulas.mrr(found.first(self.k).ranks)


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

    def of(self, found: FactsFound) -> float:
        """Give the reciprocal rank."""
        return facts_formulas.mrr_first(found.first(self.k).counts)

    def details(self, found: FactsFound) -> Mapping[str, Any]:
        """Give `context_relevance`."""
        return {"context_relevance": list(found.first(self.k).counts)}


@dataclass(frozen=True)
class FactsNdcg(FactsMetric):
    """DCG of the number of facts per context / DCG of the same contexts in the best order; 0 to 1, higher is better.

    It measures order only: the ideal is made of what came back, so it does not see facts that did not. 0 if no context
    holds a fact. `gain="exponential"` gives a context 2^facts - 1 instead of its number of facts.
    """

    gain: facts_formulas.Gain = field(
        default="linear", metadata=option("`linear`: the number of facts; `exponential`: 2^number - 1 (Burges)")
    )

    title = "facts_ndcg"
    about = Description(
        asks="Do the chunks with most facts stand on top?",
        formula="Σ facts_i / log2(i + 1) / the same sum in the best order; at k: of the first k / of the best k of all",
        source="Järvelin and Kekäläinen, linear gain; pytrec_eval, ranx and scikit-learn agree",
        odd_cases=odd_cases("each copy gains again, in the ideal too"),
        disagreement="With exponential gain (ranx's ndcg_burges) counts 1, 2 are .7967 instead of .8597. scikit-learn "
        "refuses a single chunk.",
    )

    def of(self, found: FactsFound) -> float:
        """Give NDCG."""
        return facts_formulas.ndcg(found.counts, self.k, self.gain)

    def details(self, found: FactsFound) -> Mapping[str, Any]:
        """Give `context_relevance`, of all contexts, for the ideal is made of all."""
        return {"context_relevance": list(found.counts)}
