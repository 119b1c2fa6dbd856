"""Our calls for the records of the arithmetic of judged metrics: verdicts are given, no judge is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evaluator.metrics.llm.verdicts import (
    UNDECIDED,
    ClaimMatrix,
    Judged,
    Segment,
    answer_correctness,
    answer_relevancy,
    aspect_critique,
    claim_numbers,
    context_entity_recall,
    context_precision,
    context_relevance_sentences,
    factual_f_beta,
    noise_sensitivity,
    odd_strictness,
    segment_inference,
    supported_share,
)
from tests.evaluator.metrics.golden_table import Given, Null, Number, Record, wants


def number(judged: Judged) -> Number:
    return Null(judged.reason or "") if judged.value is None else judged.value


def bound(judged: Judged, at: float | None) -> Number:
    return Null(judged.reason or "") if at is None else at


def verdicts(record: Record) -> list[Any]:
    """Verdicts of a record; a row that no judge can be asked about has none."""
    return [UNDECIDED if verdict == "idk" else verdict for verdict in record["inputs"].get("verdicts", [])]


def claims(record: Record) -> Given:
    return {"value": number(supported_share(verdicts(record), undecided_passes=wants(record, "undecided passes")))}


def entities(record: Record) -> Given:
    inputs = record["inputs"]
    denominator: Any = "listed" if wants(record, "list length") else "distinct"
    reference, contexts = inputs["ground_truth_entities"], inputs["context_entities"]
    return {"value": number(context_entity_recall(reference, contexts, denominator=denominator))}


def reverse_questions(record: Record) -> Given:
    inputs = record["inputs"]
    if "generated_question_vectors" not in inputs:
        missing = [None for _ in inputs["generated_questions"]]
        return {"value": number(answer_relevancy([], missing, missing))}
    vectors, noncommittal = inputs["generated_question_vectors"], inputs["noncommittal"]
    return {"value": number(answer_relevancy(inputs["question_vector"], vectors, noncommittal))}


def factual(record: Record) -> Judged:
    inputs = record["inputs"]
    return factual_f_beta(inputs["tp"], inputs["fp"], inputs["fn"], inputs.get("beta", 1.0))


def correctness(record: Record) -> Given:
    inputs = record["inputs"]
    return {"value": number(answer_correctness(factual(record), inputs["similarity"], tuple(inputs["weights"])))}


def critique(record: Record) -> Given:
    strictness = odd_strictness(record["inputs"]["strictness"])
    votes = record["inputs"]["votes"][: 1 if strictness == 1 else None]
    return {"value": number(aspect_critique(votes)), "strictness_used": strictness}


def relevant_sentences(record: Record) -> Given:
    return {"value": number(context_relevance_sentences(record["inputs"]["contexts"], record["inputs"]["extracted"]))}


def inference(record: Record) -> Given:
    segments = [Segment(segment["statements"], segment["inference"]) for segment in record["inputs"]["segments"]]
    found = segment_inference(segments)
    return {
        "inference": number(found),
        "inference_min": bound(found, found.low),
        "inference_max": bound(found, found.high),
    }


def noise(kind: str) -> Callable[[Record], Given]:
    def found(record: Record) -> Given:
        inputs = record["inputs"]
        rows = (inputs["ground_truth2answer"], inputs["retrieved2answer"], inputs["retrieved2ground_truth"])
        return {"value": number(getattr(noise_sensitivity(*rows), kind))}

    return found


def diagnostics(record: Record) -> Given:
    inputs = record["inputs"]
    sides = (inputs["answer2response"], inputs["response2answer"])
    found = claim_numbers(ClaimMatrix(*sides, inputs["retrieved2response"], inputs["retrieved2answer"]))
    return {name: number(judged) for name, judged in vars(found).items()}


TABLE: Mapping[str, Callable[[Record], Given]] = {
    "claims_faithfulness": claims,
    "claims_precision": claims,
    "claims_score_lenient": claims,
    "claims_score_strict": claims,
    "context_recall": claims,
    "context_precision": lambda record: {"value": number(context_precision(verdicts(record)))},
    "context_relevance_sentences": relevant_sentences,
    "context_entity_recall": entities,
    "factual_f_beta": lambda record: {"value": number(factual(record))},
    "answer_correctness": correctness,
    "answer_relevancy": reverse_questions,
    "aspect_critique": critique,
    "inference_aggregate": inference,
    "noise_sensitivity_in_relevant": noise("relevant"),
    "noise_sensitivity_in_irrelevant": noise("irrelevant"),
    "ragchecker_all": diagnostics,
}
"""From a record's metric to the function that gives our numbers for its inputs."""
