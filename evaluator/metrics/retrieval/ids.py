"""Metrics of retrieval by ids: retrieved ids against gold ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal

from evaluator.metrics.cells import ids
from evaluator.metrics.decorator import Decorator, FunctionMetric, made_metric, metric
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.options import Form, cut_option, option
from evaluator.metrics.retrieval.ranking import IdRanking, dcg
from evaluator.metrics.scores import Score, Scores, score_rows
from lake.spec.vocabulary import UnscoredReason

if TYPE_CHECKING:
    import pandas as pd

NOTHING_RETRIEVED = (
    "Nothing retrieved is NaN in ragas and TruLens, an exception in llama-index and ranx. "
    "No gold ids are 0 in unitxt. Where ids are numbers, only ragas compares them with strings, as here."
)
_TREC = Form("trec", "k", "precision at k is over k, also where fewer came back, as TREC's tools say", ("precision",))


def odd_cases(duplicates: str = "a gold id counts at its first rank only; a repeat fills a rank") -> OddCases:
    """What metrics of ids give in the odd cases; they differ in what they make of repeats."""
    return OddCases(
        no_contexts="0.0 with `no_contexts` for an empty list, null with `no_contexts` for a missing cell",
        duplicate_contexts=duplicates,
        no_reference="null with `no_ground_truth`",
    )


@dataclass(frozen=True)
class IdMetric(FunctionMetric):
    """A metric whose function gives a number of an `IdRanking`; ids are strings and are compared as they are.

    No gold ids are null with `no_ground_truth`. Nothing retrieved (an empty list) is 0.0 with `no_contexts`, or a dead
    retriever would lift the mean; ids that are not known (a missing cell) are null with `no_contexts`.
    """

    _: KW_ONLY
    nothing_retrieved: Literal["zero", "null"] = option(
        "zero",
        "`zero`: 0.0 where nothing was retrieved; `null`: null, as ragas and TruLens (NaN)",
        is_in_version=True,
    )

    needs = ("context_ids", "reference_context_ids")

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row of `context_ids` and `reference_context_ids`."""
        value = self.bound

        def score_row(retrieved_cell: object, gold_cell: object) -> Score:
            retrieved, gold = ids(retrieved_cell, "context_ids"), ids(gold_cell, "reference_context_ids")
            ranking = IdRanking.of(retrieved or [], gold or [])
            if not ranking.gold:
                return Score(None, UnscoredReason.NO_GROUND_TRUTH)
            if retrieved is None:
                return Score(None, UnscoredReason.NO_CONTEXTS)
            if not retrieved:
                return Score(0.0 if self.nothing_retrieved == "zero" else None, UnscoredReason.NO_CONTEXTS)
            return Score(value(ranking))

        return score_rows(self, frame, score_row)


@dataclass(frozen=True)
class CutIdMetric(IdMetric):
    """An `IdMetric` that can be cut after the first k retrieved ids."""

    k: int | None = cut_option()


def id_metric(about: Description, kind: type[IdMetric] = CutIdMetric, **more: Any) -> Decorator:
    """Make a metric of a function of a ranking; see `IdMetric`, and `made_metric` for the rest."""
    return made_metric(kind, about, **more)


@id_metric(
    Description(
        asks="How high does the first right chunk stand?",
        formula="1 / rank of the first gold id, from 1; 0 if there is none",
        source="unitxt (context_correctness); TREC (trec_eval recip_rank); the mean over questions is MRR",
        odd_cases=odd_cases("a repeat moves what follows one rank down"),
        disagreement="unitxt, llama-index, pytrec_eval and TruLens agree wherever neither side is empty. "
        + NOTHING_RETRIEVED,
        aliases=("mrr", "id_mrr", "reciprocal_rank"),
    )
)
def context_correctness(
    ranking: IdRanking,
    *,
    k: int | None,
    granular: bool = option(
        False, "`True`: mean of 1/rank over all hits, repeats too, as llama-index", is_in_version=True
    ),
) -> float:
    """1 / rank of the first gold id, from 1, and 0 if there is none; 0 to 1, higher is better.

    The other gold ids do not matter. `granular=True` is llama-index's other form: the mean of 1 / rank over all hits.
    """
    ranks = ranking.first(k).hit_ranks
    if not ranks:
        return 0.0
    return sum(1 / rank for rank in ranks) / len(ranks) if granular else 1 / ranks[0]


@id_metric(
    Description(
        asks="Did at least one right chunk come back?",
        formula="1 if any retrieved id is gold, else 0",
        source="llama-index, TruLens; match@k of unitxt, success@k of TREC",
        odd_cases=odd_cases("no difference"),
        disagreement="llama-index also has a granular form, here the option `granular`.",
        aliases=("id_hit_rate", "match", "success"),
        binary=True,
    )
)
def hit_rate(
    ranking: IdRanking,
    *,
    k: int | None,
    granular: bool = option(
        False, "`True`: hits with repeats / gold list, as llama-index; can pass 1", is_in_version=True
    ),
) -> float:
    """1.0 if any of the retrieved ids, at k of the first k, is gold, else 0.0; higher is better.

    `granular=True` is llama-index's other form: hits with their repeats / length of the gold list; it can pass 1.
    """
    hits = len(ranking.first(k).hit_ranks)
    return hits / ranking.listed if granular else float(hits > 0)


@id_metric(
    Description(
        asks="Which share of what was retrieved ought to be there?",
        formula="|ranks that hold a gold id| / n; at k: of the first k / min(k, n)",
        source="Cohere (id_context_precision), unitxt (retrieval at k)",
        odd_cases=odd_cases("every rank counts, repeats of a gold id too"),
        disagreement="For [x,a,y,a,a] against [a,c] ragas and llama-index say 1/3 (distinct ids), TruLens and unitxt "
        "3/5 (ranks), as here. With 3 retrieved and 2 right unitxt's precision@5 is 2/3, as here, that of TREC's tools "
        "2/5. Cohere's own code divides by zero where nothing is retrieved. " + NOTHING_RETRIEVED,
        aliases=("id_context_precision", "precision_by_ids"),
    )
)
def id_precision(
    ranking: IdRanking,
    *,
    k: int | None,
    repeats: Literal["slots", "distinct"] = option(
        "slots",
        "`slots`: ranks are counted, as TruLens and unitxt; `distinct`: ids, as ragas and llama-index",
        is_in_version=True,
    ),
    denominator: Literal["retrieved", "k"] = option(
        "retrieved",
        "at k: `retrieved` divides by min(k, n), as unitxt; `k` (metric name `..._trec`) by k, as TREC",
        _TREC,
        is_in_version=True,
    ),
) -> float:
    """Ranks that hold a gold id / ranks; 0 to 1, higher is better.

    At k, the first k ranks over min(k, n), as unitxt; `denominator="k"` divides by k, as TREC does. A repeat of a gold
    id counts again, since it fills a rank; `repeats="distinct"` compares sets, as ragas and llama-index do.
    """
    first = ranking.first(k)
    if repeats == "distinct":
        right, retrieved = first.found, len(set(first.retrieved))
    else:
        right, retrieved = len(first.hit_ranks), len(first.retrieved)
    return right / (k if denominator == "k" and k else retrieved)


@id_metric(
    Description(
        asks="Which share of what ought to be retrieved came back?",
        formula="|gold ids among the retrieved| / |gold ids|; at k: among the first k",
        source="Cohere (id_context_recall), unitxt, TREC",
        odd_cases=odd_cases(),
        disagreement="unitxt counts a repeated id again and can pass 1: [a,a,b] against [a,b] is 1.5 there and 1 here. "
        + NOTHING_RETRIEVED,
        aliases=("recall", "id_context_recall", "recall_by_ids"),
    ),
    listed="id_precision",
)
def id_recall(ranking: IdRanking, *, k: int | None) -> float:
    """Gold ids that came back / gold ids, both distinct; 0 to 1, higher is better. At k, among the first k."""
    return ranking.first(k).found / len(ranking.gold)


@id_metric(
    Description(
        asks="Did all come back that ought to, and nothing else?",
        formula="2 · precision · recall / (precision + recall), of id_precision and id_recall; 0 if both are 0",
        source="harmonic mean (van Rijsbergen)",
        odd_cases=odd_cases("as its two parts: precision counts ranks, recall distinct ids"),
        aliases=("f1",),
    ),
    listed="id_precision",
)
def id_f1(ranking: IdRanking, *, k: int | None) -> float:
    """Harmonic mean of `id_precision` and `id_recall`, 0 if both are 0; 0 to 1, higher is better."""
    first = ranking.first(k)
    precision, recall = len(first.hit_ranks) / len(first.retrieved), first.found / len(ranking.gold)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


@metric(
    Description(
        asks="Which share of what was retrieved is a repeat?",
        formula="|ranks whose id stands higher up| / n",
        source="dialwatch",
        odd_cases=OddCases(no_contexts="null with `no_contexts`", duplicate_contexts="what it counts"),
        direction="down",
    ),
    needs=("context_ids",),
)
def id_repeats(retrieved: Sequence[str] | None) -> Score:
    """Share of the ranks whose id stands higher up already, from 0 to 1, lower is better.

    Precision counts repeats of a gold id as right, so this stands beside it. A context without an id is no repeat.
    Nothing retrieved is null with `no_contexts`: it is neither free of repeats nor full of them.
    """
    if not retrieved:
        return Score(None, UnscoredReason.NO_CONTEXTS)
    named = [identifier for identifier in retrieved if identifier]
    return Score((len(named) - len(set(named))) / len(retrieved))


@id_metric(
    Description(
        asks="Did all right chunks come back, and above the wrong ones?",
        formula="Σ over ranks i of a gold id's first place: precision@i / |gold ids|",
        source="TREC (trec_eval map, map_cut), ranx, llama-index",
        odd_cases=odd_cases(),
        disagreement="TREC, ranx and llama-index divide by all gold ids, Cohere, unitxt, ragas and deepeval by those "
        "found (`map_found`): hits at ranks 1 and 3 of 4 gold ids are .4167 and .8333. unitxt and llama-index count "
        "repeats again, llama-index passes 1 by that. " + NOTHING_RETRIEVED,
        aliases=("id_map", "average_precision"),
        former_names=("map_trec", "id_map_trec", "average_precision_trec"),
    ),
    name="map",
    version="2",
)
def mean_average_precision(ranking: IdRanking, *, k: int | None) -> float:
    """Sum over the gold ids that came back of the precision at their rank / gold ids; 0 to 1, higher is better."""
    return ranking.first(k).precision_at_hits() / len(ranking.gold)


@id_metric(
    Description(
        asks="Do the right chunks that came back stand above the wrong ones?",
        formula="Σ over ranks i of a gold id's first place: precision@i / |gold ids that came back|; 0 if none did",
        source="Cohere, unitxt (MAP); ragas and deepeval divide in the same way",
        odd_cases=odd_cases(),
        disagreement="See `map`. No hits are NaN in Cohere's code.",
        aliases=("average_precision_found",),
    ),
    name="map_found",
)
def mean_average_precision_found(ranking: IdRanking, *, k: int | None) -> float:
    """Mean over the gold ids that came back of the precision at their rank; 0 if none; 0 to 1, higher is better.

    It cannot see gold ids that did not come back: read it beside `id_recall`.
    """
    first = ranking.first(k)
    return first.precision_at_hits() / first.found if first.found else 0.0


@id_metric(
    Description(
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
)
def ndcg(
    ranking: IdRanking,
    *,
    k: int | None,
    ideal: Literal["gold", "retrieved"] = option(
        "gold",
        "`gold`: best of all gold ids, as TREC; `retrieved`: of min(n, gold), as TruLens",
        is_in_version=True,
    ),
) -> float:
    """Binary NDCG: Σ 1/log2(i + 1) over the gold ids' ranks, / that sum of the best ranking; 0 to 1, higher is better.

    The best ranking has all gold ids on top, at k min(k, gold) of them, as TREC has it. `ideal="retrieved"` also cuts
    it at what came back, as TruLens does. So where fewer came back than are gold, NDCG at k is above NDCG until k
    reaches the number of gold ids.
    """
    first = ranking.first(k)
    best = len(ranking.gold)
    if k is not None:
        best = min(best, k)
    if ideal == "retrieved":
        best = min(best, len(first.retrieved))
    credited = set(first.credited_ranks)
    gains = [float(rank in credited) for rank in range(1, len(first.retrieved) + 1)]
    return dcg(gains) / dcg([1.0] * best)


@id_metric(
    Description(
        asks="Are the right chunks on top, as many ranks down as there are right chunks?",
        formula="|gold ids among the first G| / G, G = |gold ids|",
        source="TREC (trec_eval Rprec)",
        odd_cases=odd_cases(),
        aliases=("id_r_precision",),
    ),
    kind=IdMetric,
)
def r_precision(ranking: IdRanking) -> float:
    """Gold ids among the first G retrieved / G, the number of gold ids; 0 to 1, higher is better."""
    return ranking.first(len(ranking.gold)).found / len(ranking.gold)
