"""Numbers that other packages gave for the same inputs: see README.md one folder up, and the table beside this file."""

import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from evaluator.metrics import AIDIAL_RAG_EVAL, FactsF1, FactsMrr, FactsPrecision, FactsRecall, IdRecall
from tests.evaluator.metrics import golden_table, golden_verdicts
from tests.evaluator.metrics.golden_table import Given, Null, Record, call

SHIPPED = Path(__file__).parents[1] / "golden.json"
GIVEN = Path(os.environ.get("DIALWATCH_GOLDEN") or SHIPPED)
RECORDS: list[Record] = json.loads(GIVEN.read_text(encoding="utf-8"))
TOLERANCE = 1e-9
EPSILON = 1e-6
"""ragas adds a small number to some denominators."""
TABLE: Mapping[str, Callable[[Record], Given]] = {**golden_table.TABLE, **golden_verdicts.TABLE}


def params(records: list[Record], *recommended: str) -> list[Any]:
    """Records of metrics in the table, each with its id."""
    return [pytest.param(r, id=r["id"]) for r in records if r["metric"] in TABLE and r["recommended"] in recommended]


def tolerance(record: Record) -> float:
    return EPSILON if "1e-" in record.get("convention", "") else TOLERANCE


def assert_equal(ours: Any, expected: Any, within: float) -> None:
    """A number to its tolerance, a null where the package has none, a list item by item, a highlight as JSON."""
    if isinstance(ours, list):
        pieces = [json.loads(item) if isinstance(item, str) else item for item in ours]
        assert pieces == [json.loads(item) if isinstance(item, str) else item for item in expected]
    elif expected is None:
        assert isinstance(ours, Null) or math.isnan(ours)
    else:
        assert not isinstance(ours, Null), f"null because of {ours}"
        assert ours == pytest.approx(expected, abs=within, rel=0)


def test_every_metric_of_a_record_is_in_the_table() -> None:
    """No record is passed over in silence: a metric that nobody has heard of fails by its name."""
    unknown = {record["metric"] for record in RECORDS} - set(TABLE)
    assert not unknown, f"{GIVEN} has metrics that golden_table.py maps to no call: {', '.join(sorted(unknown))}"


def test_every_record_says_what_to_make_of_it() -> None:
    """Another word than default, option and avoid would leave a record out."""
    assert {record["recommended"] for record in RECORDS} <= {"default", "option", "avoid"}


@pytest.mark.parametrize("record", params(RECORDS, "default", "option"))
def test_a_golden_number_is_met(record: Record) -> None:
    """Where a package's number is recommended ours is the same, and its NaN is our null."""
    ours, expected = TABLE[record["metric"]](record), record["expected"]
    names = [name for name in expected if name != "is"]
    assert names
    for name in names:
        assert_equal(ours[name], expected[name], tolerance(record))


@pytest.mark.parametrize("record", [p for p in params(RECORDS, "default") if "facts" in p.values[0]["inputs"]])
def test_the_metrics_of_facts_in_the_form_of_the_package_are_its_columns(record: Record) -> None:
    """On usable facts they are equal; without any, all four are null, where the package says precision 0."""
    if record["metric"] == "facts_match_exact":
        return
    inputs = record["inputs"]
    columns = TABLE[record["metric"]](record)
    row = {"facts": inputs["facts"], "contexts": inputs["context"]}
    k = inputs.get("k")
    for metric, name in ((FactsRecall, "recall"), (FactsPrecision, "precision"), (FactsMrr, "mrr"), (FactsF1, "f1")):
        assert call(metric(k, matcher=AIDIAL_RAG_EVAL), **row) == (
            columns[name] if inputs["facts"] else Null("no_facts")
        )


def null(record: Record) -> None:
    """Nothing can be said: null with a reason, or the 0 of a system that gave nothing."""
    row = record["inputs"]
    nothing_came_back = row.get("contexts", row.get("retrieved_contexts")) == [] or (
        row.get("retrieved") == [] and row.get("relevant")
    )
    for number in TABLE[record["metric"]](record).values():
        assert (isinstance(number, Null) and number.reason) or (nothing_came_back and number == 0.0)


def ids_are_strings(record: Record) -> None:
    """A whole number is the id of its digits."""
    texts = {name: [str(item) for item in ids] if name != "k" else ids for name, ids in record["inputs"].items()}
    ours = TABLE[record["metric"]](record)
    assert ours == TABLE[record["metric"]]({**record, "inputs": texts})
    assert max(number for number in ours.values() if not isinstance(number, Null)) > 0


def repeats_earn_nothing(record: Record) -> None:
    """A repeat counts as an id that is not gold would, but for precision, which counts ranks."""
    retrieved = record["inputs"]["retrieved"]
    fresh = [f"repeat {rank}" if item in retrieved[:rank] else item for rank, item in enumerate(retrieved)]
    ours = TABLE[record["metric"]](record)
    once = TABLE[record["metric"]]({**record, "inputs": {**record["inputs"], "retrieved": fresh}})
    for name, number in ours.items():
        assert 0 <= number <= 1
        assert name.startswith("precision") or number == once[name]


def facts_are_not_counted(record: Record) -> None:
    """A fact that nobody can look for is an input error."""
    row = {"facts": record["inputs"]["facts"], "contexts": record["inputs"]["context"]}
    assert call(FactsRecall(record["inputs"].get("k")), **row) == Null("no_facts")


def highlight_is_where_the_fact_is(record: Record) -> None:
    """The numbers are the package's, and the piece that is marked is the fact."""
    ours = TABLE[record["metric"]](record)
    for name in ("facts_ranks", "context_relevance", "recall", "precision", "mrr", "f1"):
        assert_equal(ours[name], record["expected"][name], TOLERANCE)
    for highlight in ours["context_highlight"]:
        marked = [piece["text"] for piece in json.loads(highlight)["match"] if piece["facts"]]
        assert marked == record["inputs"]["facts"]


def texts_that_differ_are_not_equal(record: Record) -> None:
    """Only identical texts have a BLEU of 1."""
    assert TABLE[record["metric"]](record)["value"] < 1


def a_side_without_claims_has_no_share(record: Record) -> None:
    """What is a share of claims that are not there is null, beside it what can be said of the other side is not."""
    ours, inputs = TABLE[record["metric"]](record), record["inputs"]
    shares = {"value", "precision", "f1", "faithfulness", "hallucination", "self_knowledge"}
    shares |= {name for name in ours if name.startswith("noise")}
    assert not inputs.get("verdicts", inputs.get("answer2response"))
    assert all(number == Null("no_claims") for name, number in ours.items() if name in shares)
    assert not any(isinstance(number, Null) for name, number in ours.items() if name not in shares)


def nothing_said_is_not_right(record: Record) -> None:
    """The factual part of an answer without statements is 0, so that its similarity alone counts, by its weight."""
    inputs = record["inputs"]
    weighted = inputs["similarity"] * inputs["weights"][1] / sum(inputs["weights"])
    assert TABLE[record["metric"]](record) == {"value": pytest.approx(weighted)}


def order_does_not_matter(record: Record) -> None:
    """Votes in reverse order give the same, and a tie none."""
    inputs = record["inputs"]
    backwards = {**record, "inputs": {**inputs, "votes": inputs["votes"][::-1]}}
    ours = TABLE[record["metric"]](record)
    assert ours["value"] == TABLE[record["metric"]](backwards)["value"] == Null("tie")


def the_phrase_is_no_sentence(record: Record) -> None:
    """A reply that no sentence matters is 0."""
    assert TABLE[record["metric"]](record) == {"value": 0.0}


INSTEAD: Mapping[str, Callable[[Record], None]] = {
    "no exception in a batch: null plus a status": null,
    "no ground truth is not a score of 0: null plus a status": null,
    "an empty reference is in everything": null,
    "compare ids as strings": ids_are_strings,
    "repeats counted as new hits": repeats_earn_nothing,
    "repeats counted as new hits; can pass 1": repeats_earn_nothing,
    "repeats counted; can pass 1": repeats_earn_nothing,
    "repeats must not be counted again in recall": repeats_earn_nothing,
    "a fact without a letter or digit is an input error: warn, do not count it": facts_are_not_counted,
    "numbers right, highlight one character off": highlight_is_where_the_fact_is,
    "wrong in ragas: 1.0 for texts that differ": texts_that_differ_are_not_equal,
    "zero claims is not 0": a_side_without_claims_has_no_share,
    "zero claims is not 1": a_side_without_claims_has_no_share,
    "no statements: null plus a status": null,
    "no chunks: null plus a status": null,
    "no entities in the ground truth: null plus a status": null,
    "no question came back: null plus a status": null,
    "nothing to compare: null plus a status (the two APIs of ragas give 0 and 1)": null,
    "an answer without statements must not get factual score 1": nothing_said_is_not_right,
    "ties must not depend on order": order_does_not_matter,
    "the phrase the prompt asks for is counted as a sentence": the_phrase_is_no_sentence,
}
"""What we do where a package's number is a defect, by what the record says of it."""


# What to do about a defect is said in words, so only words that were read can be checked.
@pytest.mark.parametrize("record", params(json.loads(SHIPPED.read_text(encoding="utf-8")), "avoid"))
def test_a_packages_defect_is_not_repeated(record: Record) -> None:
    """Where a package raises, repeats count twice or numbers are not strings, we do what its record recommends."""
    INSTEAD[record["recommended_note"]](record)


def test_nothing_retrieved_can_be_null_as_in_ragas_and_trulens() -> None:
    """By default it is 0, or a dead retriever would lift the mean."""
    row = {"context_ids": [], "reference_context_ids": ["a"]}
    assert call(IdRecall(), **row) == 0.0
    assert call(IdRecall(nothing_retrieved="null"), **row) == Null("no_contexts")
