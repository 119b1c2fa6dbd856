"""Hit rate: is any of the retrieved ids gold?"""

from __future__ import annotations

from dataclasses import dataclass, field

from evaluator.metrics.description import Description
from evaluator.metrics.metric import Metric
from evaluator.metrics.options import option
from evaluator.metrics.retrieval.id_metric import CutIdMetric, odd_cases
from evaluator.metrics.retrieval.id_ranking import IdRanking


@dataclass(frozen=True)
class HitRate(CutIdMetric):
    """1.0 if any of the retrieved ids, at k of the first k, is gold, else 0.0; higher is better.

    `granular=True` is llama-index's other form: hits with their repeats / length of the gold list; it can pass 1.
    """

    granular: bool = field(
        default=False, metadata=option("`True`: hits with repeats / gold list, as llama-index; can pass 1")
    )

    title = "hit_rate"
    about = Description(
        asks="Did at least one right chunk come back?",
        formula="1 if any retrieved id is gold, else 0",
        source="llama-index, TruLens; match@k of unitxt, success@k of TREC",
        odd_cases=odd_cases("no difference"),
        disagreement="llama-index also has a granular form, here the option `granular`.",
        aliases=("id_hit_rate", "match", "success"),
        binary=True,
    )

    def value(self, ranking: IdRanking) -> float:
        """Give the hit rate."""
        hits = len(ranking.first(self.k).hit_ranks)
        return hits / ranking.listed if self.granular else float(hits > 0)


METRICS: tuple[Metric, ...] = (HitRate(),)
