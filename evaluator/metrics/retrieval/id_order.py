"""Retrieval by ids, where the order of the ranks matters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from evaluator.metrics.description import Description
from evaluator.metrics.options import option
from evaluator.metrics.retrieval.dcg import discounted
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
        source="unitxt (context_correctness); the mean over questions is MRR",
        odd_cases=odd_cases("a repeat moves what follows one rank down"),
        disagreement="unitxt, llama-index, pytrec_eval and TruLens agree wherever neither side is empty. "
        + NOTHING_RETRIEVED,
        aliases=("id_mrr", "reciprocal_rank"),
    )

    def of(self, ranking: IdRanking) -> float:
        """Give the reciprocal rank."""
        ranks = ranking.first(self.k).hit_ranks
        if not ranks:
            return 0.0
        return sum(1 / rank for rank in ranks) / len(ranks) if self.granular else 1 / ranks[0]


@dataclass(frozen=True)
class MeanAveragePrecision(CutIdMetric):
    """Mean over the gold ids that came back of the precision at their rank; 0 if none; 0 to 1, higher is better.

    It cannot see gold ids that did not come back: read it beside `id_recall`.
    """

    title = "map"
    about = Description(
        asks="Do the right chunks that came back stand above the wrong ones?",
        formula="Σ over ranks i of a gold id's first place: precision@i / |gold ids that came back|; 0 if none did",
        source="Cohere, unitxt (MAP); ragas and deepeval divide in the same way",
        odd_cases=odd_cases(),
        disagreement="Cohere, unitxt, ragas and deepeval divide by the gold ids found, TREC, ranx and llama-index by "
        "all (`map_trec`): hits at ranks 1 and 3 of 4 gold ids are .8333 and .4167. unitxt and llama-index count "
        "repeats again, llama-index passes 1 by that. No hits are NaN in Cohere's code. " + NOTHING_RETRIEVED,
        aliases=("id_map", "average_precision"),
    )

    def of(self, ranking: IdRanking) -> float:
        """Give the average precision."""
        first = ranking.first(self.k)
        return first.precision_at_hits() / first.found if first.found else 0.0


@dataclass(frozen=True)
class MeanAveragePrecisionTrec(CutIdMetric):
    """Sum over the gold ids that came back of the precision at their rank / gold ids; 0 to 1, higher is better."""

    title = "map_trec"
    about = Description(
        asks="Did all right chunks come back, and above the wrong ones?",
        formula="Σ over ranks i of a gold id's first place: precision@i / |gold ids|",
        source="TREC (trec_eval map, map_cut), ranx, llama-index",
        odd_cases=odd_cases(),
        disagreement="See `map`.",
        aliases=("id_map_trec", "average_precision_trec"),
    )

    def of(self, ranking: IdRanking) -> float:
        """Give the average precision."""
        return ranking.first(self.k).precision_at_hits() / len(ranking.gold)


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

    def of(self, ranking: IdRanking) -> float:
        """Give NDCG."""
        first = ranking.first(self.k)
        best = len(ranking.gold)
        if self.k is not None:
            best = min(best, self.k)
        if self.ideal == "retrieved":
            best = min(best, len(first.retrieved))
        credited = set(first.credited_ranks)
        gains = [float(rank in credited) for rank in range(1, len(first.retrieved) + 1)]
        return discounted(gains) / discounted([1.0] * best)
