"""Average precision of retrieved ids, whose mean over questions is MAP: over all gold ids, and over those found."""

from __future__ import annotations

from dataclasses import dataclass

from evaluator.metrics.description import Description
from evaluator.metrics.metric import Metric
from evaluator.metrics.retrieval.id_metric import NOTHING_RETRIEVED, CutIdMetric, odd_cases
from evaluator.metrics.retrieval.id_ranking import IdRanking


@dataclass(frozen=True)
class MeanAveragePrecision(CutIdMetric):
    """Sum over the gold ids that came back of the precision at their rank / gold ids; 0 to 1, higher is better."""

    title = "map"
    base_version = "2"
    about = Description(
        asks="Did all right chunks come back, and above the wrong ones?",
        formula="Σ over ranks i of a gold id's first place: precision@i / |gold ids|",
        source="TREC (trec_eval map, map_cut), ranx, llama-index",
        odd_cases=odd_cases(),
        disagreement="TREC, ranx and llama-index divide by all gold ids, Cohere, unitxt, ragas and deepeval by those "
        "found (`map_found`): hits at ranks 1 and 3 of 4 gold ids are .4167 and .8333. unitxt and llama-index count "
        "repeats again, llama-index passes 1 by that. " + NOTHING_RETRIEVED,
        aliases=("id_map", "average_precision"),
        former_names=("map_trec", "id_map_trec", "average_precision_trec"),
    )

    def value(self, ranking: IdRanking) -> float:
        """Give the average precision."""
        return ranking.first(self.k).precision_at_hits() / len(ranking.gold)


@dataclass(frozen=True)
class MeanAveragePrecisionFound(CutIdMetric):
    """Mean over the gold ids that came back of the precision at their rank; 0 if none; 0 to 1, higher is better.

    It cannot see gold ids that did not come back: read it beside `id_recall`.
    """

    title = "map_found"
    about = Description(
        asks="Do the right chunks that came back stand above the wrong ones?",
        formula="Σ over ranks i of a gold id's first place: precision@i / |gold ids that came back|; 0 if none did",
        source="Cohere, unitxt (MAP); ragas and deepeval divide in the same way",
        odd_cases=odd_cases(),
        disagreement="See `map`. No hits are NaN in Cohere's code.",
        aliases=("average_precision_found",),
    )

    def value(self, ranking: IdRanking) -> float:
        """Give the average precision."""
        first = ranking.first(self.k)
        return first.precision_at_hits() / first.found if first.found else 0.0


METRICS: tuple[Metric, ...] = (
    MeanAveragePrecision(),
    MeanAveragePrecisionFound(),
)
