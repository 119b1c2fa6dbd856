"""R-precision: the share of gold ids among the first ranks, as many as there are gold ids."""

from __future__ import annotations

from dataclasses import dataclass

from evaluator.metrics.description import Description
from evaluator.metrics.metric import Metric
from evaluator.metrics.retrieval.id_metric import IdMetric, odd_cases
from evaluator.metrics.retrieval.id_ranking import IdRanking


@dataclass(frozen=True)
class RPrecision(IdMetric):
    """Gold ids among the first G retrieved / G, the number of gold ids; 0 to 1, higher is better."""

    title = "r_precision"
    about = Description(
        asks="Are the right chunks on top, as many ranks down as there are right chunks?",
        formula="|gold ids among the first G| / G, G = |gold ids|",
        source="TREC (trec_eval Rprec)",
        odd_cases=odd_cases(),
        aliases=("id_r_precision",),
    )

    def value(self, ranking: IdRanking) -> float:
        """Give R-precision."""
        return ranking.first(len(ranking.gold)).found / len(ranking.gold)


METRICS: tuple[Metric, ...] = (RPrecision(),)
