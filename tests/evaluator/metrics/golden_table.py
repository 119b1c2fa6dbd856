"""Table with our call for each record of other packages' numbers: one entry a metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from evaluator.metrics import (
    AIDIAL_RAG_EVAL,
    EXACT,
    AnswerCorrectnessTokenF1,
    AnswerCorrectnessTokenPrecision,
    AnswerCorrectnessTokenRecall,
    Bleu,
    Chrf,
    ContextCorrectness,
    ContextRelevanceTokenPrecision,
    ExactMatch,
    FactMatcher,
    FactsFound,
    FaithfulnessKPrecision,
    HitRate,
    IdPrecision,
    IdRecall,
    MeanAveragePrecision,
    MeanAveragePrecisionFound,
    Metric,
    Ndcg,
    NonLlmContextPrecision,
    NonLlmContextRecall,
    Rouge,
    RPrecision,
    StringPresence,
    StringSimilarity,
    columns_of,
    cosine,
    ragas_score,
    retrieval_columns,
)
from evaluator.metrics.retrieval.contexts import row_value
from evaluator.metrics.retrieval.facts import ndcg

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Null:
    """What stands for no number: why."""

    reason: str


Number = float | Null
Given = Mapping[str, Any]
"""Our numbers by the names that the record has for them."""


def call(metric: Metric, **row: object) -> Number:
    """Score one row."""
    scores = metric.score(pd.DataFrame({column: pd.Series([cell], dtype=object) for column, cell in row.items()}))
    value, reason = scores.values.iloc[0], scores.reasons.iloc[0]
    return Null(reason) if math.isnan(value) else float(value)


def wants(record: Record, *words: str) -> bool:
    """Whether a record is an option, and its note or its convention names it so."""
    notes = f"{record.get('recommended_note', '')} {record.get('convention', '')}"
    return record["recommended"] == "option" and any(word in notes for word in words)


def by_ids(metric: Metric) -> Callable[[Record], Given]:
    return lambda record: {"value": on_ids(metric, record)}


def on_ids(metric: Any, record: Record) -> Number:
    inputs = record["inputs"]
    if record["recommended"] == "option" and not inputs["retrieved"] and inputs["relevant"]:
        metric = replace(metric, nothing_retrieved="null" if record["expected"].get("value") is None else "zero")
    return call(metric, context_ids=inputs["retrieved"], reference_context_ids=inputs["relevant"])


def precision(record: Record) -> Given:
    return {"value": on_ids(IdPrecision(repeats="distinct" if wants(record, "distinct") else "slots"), record)}


def precision_at_k(record: Record) -> Given:
    k = record["inputs"]["k"]
    return {"value": on_ids(IdPrecision(k, denominator="k" if wants(record, "TREC") else "retrieved"), record)}


def average_precision(record: Record) -> Given:
    metric = MeanAveragePrecision() if wants(record, "map_trec") else MeanAveragePrecisionFound()
    return {"value": on_ids(metric, record)}


def ndcg_of_ids(record: Record) -> Given:
    return {"value": on_ids(Ndcg(ideal="retrieved" if wants(record, "cut at n") else "gold"), record)}


def retrieval_at_k(record: Record) -> Given:
    found = {}
    for k in record["inputs"]["k"]:
        found[f"precision_at_{k}"] = on_ids(IdPrecision(k), record)
        found[f"recall_at_{k}"] = on_ids(IdRecall(k), record)
        found[f"match_at_{k}"] = on_ids(HitRate(k), record)
    return found


def context_correctness(record: Record) -> Given:
    ids, gold = record["inputs"]["context_ids"], record["inputs"]["ground_truths_context_ids"]
    return {"value": call(ContextCorrectness(), context_ids=ids, reference_context_ids=gold)}


def facts(matcher: FactMatcher) -> Callable[[Record], Given]:
    def found(record: Record) -> Given:
        inputs = record["inputs"]
        return vars(retrieval_columns(inputs["facts"], inputs["context"][: inputs.get("k")], matcher))

    return found


def facts_from_ranks(record: Record) -> Given:
    found = FactsFound(record["inputs"]["facts_ranks"], record["inputs"]["context_relevance"])
    return vars(columns_of(found, []))


def ndcg_of_facts(record: Record) -> Given:
    return {"value": ndcg(record["inputs"]["context_relevance"], record["inputs"].get("k"))}


def ndcg_exponential(record: Record) -> Given:
    return {"value": ndcg(record["inputs"]["context_relevance"], gain="exponential")}


def token_overlap(record: Record) -> Given:
    row = {"answer": record["inputs"]["prediction"], "reference_answers": record["inputs"]["references"]}
    return {
        "precision": call(AnswerCorrectnessTokenPrecision(tokenisation="squad"), **row),
        "recall": call(AnswerCorrectnessTokenRecall(tokenisation="squad"), **row),
        "f1": call(AnswerCorrectnessTokenF1(tokenisation="squad"), **row),
    }


def token_recall(record: Record) -> Given:
    inputs = record["inputs"]
    row = {"answer": inputs["answer"], "reference_answers": inputs["ground_truths"]}
    return {"value": call(AnswerCorrectnessTokenRecall(tokenisation="squad"), **row)}


def from_contexts(metric: Metric) -> Callable[[Record], Given]:
    return lambda record: {"value": call(metric, **record["inputs"])}


def from_reference(metric: Metric) -> Callable[[Record], Given]:
    def compared(record: Record) -> Given:
        inputs = record["inputs"]
        return {"value": call(metric, answer=inputs["response"], reference_answers=[inputs["reference"]])}

    return compared


def bleu(record: Record) -> Given:
    return from_reference(Bleu(effective_order=record["recommended"] != "option"))(record)


def reference_contexts(metric: Callable[..., Metric]) -> Callable[[Record], Given]:
    def compared(record: Record) -> Given:
        inputs = record["inputs"]
        found = metric(threshold=inputs["threshold"], strict=wants(record, "strict"))
        row = {"contexts": inputs["retrieved_contexts"], "reference_contexts": inputs["reference_contexts"]}
        return {"value": call(found, **row)}

    return compared


def perplexity(record: Record) -> Given:
    return {"value": row_value(record["inputs"]["per_context_geometric_means"])}


def similarity_of_vectors(record: Record) -> Given:
    value = cosine(record["inputs"]["response_vector"], record["inputs"]["reference_vector"])
    return {"value": Null("zero_vector") if value is None else value}


TABLE: Mapping[str, Callable[[Record], Given]] = {
    "precision": precision,
    "precision_at_k": precision_at_k,
    "id_context_precision": precision,
    "recall": by_ids(IdRecall()),
    "recall_at_k": lambda record: {"value": on_ids(IdRecall(record["inputs"]["k"]), record)},
    "id_context_recall": by_ids(IdRecall()),
    "hit_rate": by_ids(HitRate()),
    "hit_rate_granular": by_ids(HitRate(granular=True)),
    "reciprocal_rank": by_ids(ContextCorrectness()),
    "reciprocal_rank_granular": by_ids(ContextCorrectness(granular=True)),
    "context_correctness": context_correctness,
    "average_precision": average_precision,
    "ndcg": ndcg_of_ids,
    "ndcg_at_k": lambda record: {"value": on_ids(Ndcg(record["inputs"]["k"]), record)},
    "r_precision": by_ids(RPrecision()),
    "retrieval_at_k": retrieval_at_k,
    "facts_match_citation": facts(AIDIAL_RAG_EVAL),
    "facts_match_citation_at_k": facts(AIDIAL_RAG_EVAL),
    "facts_match_exact": facts(EXACT),
    "facts_metrics_from_ranks": facts_from_ranks,
    "ndcg_facts": ndcg_of_facts,
    "ndcg_facts_at_k": ndcg_of_facts,
    "ndcg_facts_exponential": ndcg_exponential,
    "non_llm_context_precision": reference_contexts(NonLlmContextPrecision),
    "non_llm_context_recall": reference_contexts(NonLlmContextRecall),
    "token_overlap": token_overlap,
    "answer_correctness_token_recall": token_recall,
    "faithfulness_k_precision": from_contexts(FaithfulnessKPrecision("max", tokenisation="squad")),
    "faithfulness_k_precision_joined": from_contexts(FaithfulnessKPrecision(tokenisation="squad")),
    "context_relevance_token_precision": from_contexts(ContextRelevanceTokenPrecision(tokenisation="squad")),
    "rouge1_precision": from_reference(Rouge("rouge1", "precision")),
    "rouge1_recall": from_reference(Rouge("rouge1", "recall")),
    "rouge1_fmeasure": from_reference(Rouge("rouge1", "fmeasure")),
    "rougeL_precision": from_reference(Rouge("rougeL", "precision")),
    "rougeL_recall": from_reference(Rouge("rougeL", "recall")),
    "rougeL_fmeasure": from_reference(Rouge("rougeL", "fmeasure")),
    "bleu": bleu,
    "chrf": from_reference(Chrf()),
    "exact_match": from_reference(ExactMatch()),
    "string_presence": from_reference(StringPresence()),
    "string_similarity_levenshtein": from_reference(StringSimilarity("levenshtein")),
    "string_similarity_hamming": from_reference(StringSimilarity("hamming")),
    "string_similarity_jaro": from_reference(StringSimilarity("jaro")),
    "string_similarity_jaro_winkler": from_reference(StringSimilarity("jaro_winkler")),
    "context_relevance_perplexity_aggregation": perplexity,
    "semantic_similarity": similarity_of_vectors,
    "ragas_score": lambda record: {"value": ragas_score(record["inputs"]["metric_means"])},
}
"""From a record's metric to the function that gives our numbers for its inputs."""
