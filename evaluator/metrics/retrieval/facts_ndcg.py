"""NDCG of facts: do the contexts with most facts stand on top?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from evaluator.metrics.description import Description
from evaluator.metrics.matchers.matcher import FactsFound
from evaluator.metrics.metric import Metric
from evaluator.metrics.options import option
from evaluator.metrics.retrieval.dcg import dcg
from evaluator.metrics.retrieval.facts_metric import FactsMetric, odd_cases

Gain = Literal["linear", "exponential"]


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


@dataclass(frozen=True)
class FactsNdcg(FactsMetric):
    """DCG of the number of facts per context / DCG of the same contexts in the best order; 0 to 1, higher is better.

    It measures order only: the ideal is made of what came back, so it does not see facts that did not. 0 if no context
    holds a fact. `gain="exponential"` gives a context 2^facts - 1 instead of its number of facts.
    """

    gain: Gain = field(
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

    def value(self, found: FactsFound) -> float:
        """Give NDCG."""
        return ndcg(found.counts, self.k, self.gain)

    def details(self, found: FactsFound) -> Mapping[str, Any]:
        """Give `context_relevance`, of all contexts, for the ideal is made of all."""
        return {"context_relevance": list(found.counts)}


METRICS: tuple[Metric, ...] = (FactsNdcg(),)
