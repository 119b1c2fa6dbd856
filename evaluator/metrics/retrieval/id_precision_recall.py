"""Precision, recall and F1 of retrieved ids."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from evaluator.metrics.description import Description
from evaluator.metrics.metric import Metric
from evaluator.metrics.options import Form, cut_name, option
from evaluator.metrics.retrieval.id_metric import NOTHING_RETRIEVED, CutIdMetric, odd_cases
from evaluator.metrics.retrieval.id_ranking import IdRanking

_TREC = Form("trec", "k", "precision at k is over k, also where fewer came back, as TREC's tools say", ("precision",))


@dataclass(frozen=True)
class IdPrecision(CutIdMetric):
    """Ranks that hold a gold id / ranks; 0 to 1, higher is better.

    At k, the first k ranks over min(k, n), as unitxt; `denominator="k"` divides by k, as TREC does. A repeat of a gold
    id counts again, since it fills a rank; `repeats="distinct"` compares sets, as ragas and llama-index do.
    """

    repeats: Literal["slots", "distinct"] = field(
        default="slots",
        metadata=option("`slots`: ranks are counted, as TruLens and unitxt; `distinct`: ids, as ragas and llama-index"),
    )
    denominator: Literal["retrieved", "k"] = field(
        default="retrieved",
        metadata=option(
            "at k: `retrieved` divides by min(k, n), as unitxt; `k` (metric name `..._trec`) by k, as TREC", _TREC
        ),
    )

    title = "id_precision"
    about = Description(
        asks="Which share of what was retrieved ought to be there?",
        formula="|ranks that hold a gold id| / n; at k: of the first k / min(k, n)",
        source="Cohere (id_context_precision), unitxt (retrieval at k)",
        odd_cases=odd_cases("every rank counts, repeats of a gold id too"),
        disagreement="For [x,a,y,a,a] against [a,c] ragas and llama-index say 1/3 (distinct ids), TruLens and unitxt "
        "3/5 (ranks), as here. With 3 retrieved and 2 right unitxt's precision@5 is 2/3, as here, that of TREC's tools "
        "2/5. Cohere's own code divides by zero where nothing is retrieved. " + NOTHING_RETRIEVED,
        aliases=("id_context_precision", "precision_by_ids"),
    )

    @property
    def name(self) -> str:
        """Name in the registry, with the form and the cut: `id_precision_trec@5`."""
        return cut_name(self.title if self.denominator == "retrieved" else f"{self.title}_{_TREC.ending}", self.k)

    def value(self, ranking: IdRanking) -> float:
        """Give precision."""
        first = ranking.first(self.k)
        if self.repeats == "distinct":
            right, retrieved = first.found, len(set(first.retrieved))
        else:
            right, retrieved = len(first.hit_ranks), len(first.retrieved)
        return right / (self.k if self.denominator == "k" and self.k else retrieved)


@dataclass(frozen=True)
class IdRecall(CutIdMetric):
    """Gold ids that came back / gold ids, both distinct; 0 to 1, higher is better. At k, among the first k."""

    title = "id_recall"
    about = Description(
        asks="Which share of what ought to be retrieved came back?",
        formula="|gold ids among the retrieved| / |gold ids|; at k: among the first k",
        source="Cohere (id_context_recall), unitxt, TREC",
        odd_cases=odd_cases(),
        disagreement="unitxt counts a repeated id again and can pass 1: [a,a,b] against [a,b] is 1.5 there and 1 here. "
        + NOTHING_RETRIEVED,
        aliases=("recall", "id_context_recall", "recall_by_ids"),
    )

    def value(self, ranking: IdRanking) -> float:
        """Give recall."""
        return ranking.first(self.k).found / len(ranking.gold)


@dataclass(frozen=True)
class IdF1(CutIdMetric):
    """Harmonic mean of `id_precision` and `id_recall`, 0 if both are 0; 0 to 1, higher is better."""

    title = "id_f1"
    about = Description(
        asks="Did all come back that ought to, and nothing else?",
        formula="2 · precision · recall / (precision + recall), of id_precision and id_recall; 0 if both are 0",
        source="harmonic mean (van Rijsbergen)",
        odd_cases=odd_cases("as its two parts: precision counts ranks, recall distinct ids"),
        aliases=("f1",),
    )

    def value(self, ranking: IdRanking) -> float:
        """Give F1."""
        precision, recall = IdPrecision(self.k).value(ranking), IdRecall(self.k).value(ranking)
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


METRICS: tuple[Metric, ...] = (
    IdPrecision(),
    IdRecall(),
    IdF1(),
)
