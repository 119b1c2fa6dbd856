"""Context correctness: the reciprocal rank of the first gold id, whose mean over questions is MRR."""

from __future__ import annotations

from dataclasses import dataclass, field

from evaluator.metrics.description import Description
from evaluator.metrics.metric import Metric
from evaluator.metrics.options import option
from evaluator.metrics.retrieval.id_metric import NOTHING_RETRIEVED, CutIdMetric, odd_cases
from evaluator.metrics.retrieval.id_ranking import IdRanking


@dataclass(frozen=True)
class ContextCorrectness(CutIdMetric):
    """1 / rank of the first gold id, from 1, and 0 if there is none; 0 to 1, higher is better.

    The other gold ids do not matter. `granular=True` is llama-index's other form: the mean of 1 / rank over all hits.
    """

    granular: bool = field(
        default=False, metadata=option("`True`: mean of 1/rank over all hits, repeats too, as llama-index")
    )

    title = "context_correctness"
    about = Description(
        asks="How high does the first right chunk stand?",
        formula="1 / rank of the first gold id, from 1; 0 if there is none",
        source="unitxt (context_correctness); TREC (trec_eval recip_rank); the mean over questions is MRR",
        odd_cases=odd_cases("a repeat moves what follows one rank down"),
        disagreement="unitxt, llama-index, pytrec_eval and TruLens agree wherever neither side is empty. "
        + NOTHING_RETRIEVED,
        aliases=("mrr", "id_mrr", "reciprocal_rank"),
    )

    def value(self, ranking: IdRanking) -> float:
        """Give the reciprocal rank."""
        ranks = ranking.first(self.k).hit_ranks
        if not ranks:
            return 0.0
        return sum(1 / rank for rank in ranks) / len(ranks) if self.granular else 1 / ranks[0]


METRICS: tuple[Metric, ...] = (ContextCorrectness(),)
