"""NDCG of retrieved ids: how near is the ranking to the best possible one?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from evaluator.metrics.description import Description
from evaluator.metrics.metric import Metric
from evaluator.metrics.options import option
from evaluator.metrics.retrieval.dcg import dcg
from evaluator.metrics.retrieval.id_metric import NOTHING_RETRIEVED, CutIdMetric, odd_cases
from evaluator.metrics.retrieval.id_ranking import IdRanking


@dataclass(frozen=True)
class Ndcg(CutIdMetric):
    """Binary NDCG: Σ 1/log2(i + 1) over the gold ids' ranks, / that sum of the best ranking; 0 to 1, higher is better.

    The best ranking has all gold ids on top, at k min(k, gold) of them, as TREC has it. `ideal="retrieved"` also cuts
    it at what came back, as TruLens does. So where fewer came back than are gold, NDCG at k is above NDCG until k
    reaches the number of gold ids.
    """

    ideal: Literal["gold", "retrieved"] = field(
        default="gold",
        metadata=option("`gold`: best of all gold ids, as TREC; `retrieved`: of min(n, gold), as TruLens"),
    )

    title = "ndcg"
    about = Description(
        asks="How near is the ranking to the best possible one?",
        formula="Σ rel_i / log2(i + 1) / the same sum with all gold ids on top; at k: min(k, |gold ids|) of them",
        source="Järvelin and Kekäläinen; TREC (trec_eval ndcg, ndcg_cut), ranx, llama-index",
        odd_cases=odd_cases(),
        disagreement="[a] against [a,b,c,d] is .3904 in llama-index, pytrec_eval and ranx, as here, and 1 in TruLens. "
        "llama-index counts repeats again (1.3066 for [a,a,b] against [a,b]; TruLens .9197, as here), does not cut the "
        "ideal at k, and lets a gold id that is listed twice into it. Where fewer came back than are gold, NDCG at "
        "k is above NDCG until k reaches the number of gold ids, in pytrec_eval as here. " + NOTHING_RETRIEVED,
        aliases=("id_ndcg",),
    )

    def value(self, ranking: IdRanking) -> float:
        """Give NDCG."""
        first = ranking.first(self.k)
        best = len(ranking.gold)
        if self.k is not None:
            best = min(best, self.k)
        if self.ideal == "retrieved":
            best = min(best, len(first.retrieved))
        credited = set(first.credited_ranks)
        gains = [float(rank in credited) for rank in range(1, len(first.retrieved) + 1)]
        return dcg(gains) / dcg([1.0] * best)


METRICS: tuple[Metric, ...] = (Ndcg(),)
