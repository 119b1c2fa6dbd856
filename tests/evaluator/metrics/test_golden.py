"""Numbers that other packages gave for the same metrics: see README.md one folder up."""

import json
import math
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evaluator.metrics import AnswerCorrectnessTokenRecall, FactsRecall, FaithfulnessKPrecision, Metric, fact_ranks

SHIPPED = Path(__file__).parents[1] / "golden.json"
GIVEN = Path(os.environ.get("DIALWATCH_GOLDEN") or SHIPPED)
Case = tuple[Metric, dict[str, Any], str]

KPRECISION, BEST_CHUNK = FaithfulnessKPrecision(), FaithfulnessKPrecision(aggregation="max")
RECALL, FACTS = AnswerCorrectnessTokenRecall(), FactsRecall()


def comparisons(record: dict[str, Any]) -> list[Case]:
    """The metrics of ours that a record is about: metric, row, and the name of the expected number."""
    given, k = record["inputs"], record["inputs"].get("k")
    match record["metric"]:
        case "faithfulness_k_precision":
            return [(BEST_CHUNK, given, "value")]
        case "faithfulness_k_precision_joined":
            return [(KPRECISION, given, "value")]
        case "answer_correctness_token_recall":
            return [(RECALL, {"answer": given["answer"], "reference_answers": given["ground_truths"]}, "value")]
        case "token_overlap":
            answer, references = given["prediction"], given["references"]
            return [
                (BEST_CHUNK, {"answer": answer, "contexts": references}, "precision"),
                (RECALL, {"answer": answer, "reference_answers": references}, "recall"),
            ]
        case "facts_match_citation" | "facts_match_citation_at_k":
            return [(FACTS, {"facts": given["facts"], "contexts": given["context"][:k]}, "recall")]
    return []


def records(path: Path, *recommended: str) -> list[Any]:
    found = json.loads(path.read_text(encoding="utf-8"))
    return [pytest.param(r, id=r["id"]) for r in found if r["recommended"] in recommended and comparisons(r)]


HELD = records(GIVEN, "default", "option")
# What to do about a defect is said in words, so only the records that were read are checked.
AVOIDED = records(SHIPPED, "avoid")


def score(metric: Metric, row: dict[str, Any]) -> tuple[float, str | None]:
    scores = metric.score(pd.DataFrame([row]))
    return scores.values.iloc[0], scores.reasons.iloc[0]


@pytest.mark.parametrize("record", HELD)
def test_a_golden_number_is_met_to_1e_9(record: dict[str, Any]) -> None:
    """Where the package's number is recommended, ours is the same; its NaN is our null with a reason."""
    for metric, row, number in comparisons(record):
        value, reason = score(metric, row)
        expected = record["expected"][number]
        if expected is None:
            assert math.isnan(value)
            assert reason
        else:
            assert value == pytest.approx(expected, abs=1e-9, rel=0)


@pytest.mark.parametrize("record", [p for p in HELD if "facts_ranks" in p.values[0]["expected"]])
def test_fact_ranks_are_the_citation_matchers(record: dict[str, Any]) -> None:
    """Each fact is found in the chunk where aidial-rag-eval finds it."""
    assert fact_ranks(record["inputs"]["facts"], record["inputs"]["context"]) == record["expected"]["facts_ranks"]


@pytest.mark.parametrize("record", AVOIDED)
def test_an_input_that_breaks_a_package_is_null_with_a_reason(record: dict[str, Any]) -> None:
    """Where the package raises, or counts a fact without a letter, ours is null, unless the number is right."""
    for metric, row, number in comparisons(record):
        value, reason = score(metric, row)
        usable_facts = any(c.isalnum() for fact in row.get("facts", []) for c in fact)
        if usable_facts:
            assert value == pytest.approx(record["expected"][number], abs=1e-9, rel=0)
        else:
            assert math.isnan(value)
            assert reason in ("no_contexts", "no_ground_truth", "no_facts")
