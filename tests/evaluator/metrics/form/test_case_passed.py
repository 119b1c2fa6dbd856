"""Answers that agree with their case, and the part of the application that failed where they do not."""

import json
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.metrics import CasePassed, compute
from evaluator.metrics.form.case_passed import agrees
from lake.spec.case_vocabulary import FailedPart

FACT = "India has 28 states and 8 union territories"
OTHERS = ["Delhi is the seat of government.", "The monsoon comes in June.", "Tea grows in Assam.", "Rice is eaten."]
REFERENCE = "India has 28 states and 8 union territories. [1]"
DECLINES = "I don't know. The documents do not mention it."


def scored(answer: Any, contexts: Any, references: Any = (REFERENCE,), facts: Any = (FACT,), **cells: Any) -> pd.Series:
    row = {"answer": answer, "contexts": contexts, "reference_answers": list(references), "facts": list(facts)} | cells
    frame = pd.DataFrame({name: pd.Series([cell], dtype=object) for name, cell in row.items()})
    return compute(frame, ["case_passed"], details=True).iloc[0]


def part(found: pd.Series) -> str | None:
    return None if found["case_passed"] else json.loads(found["case_passed_details"])["failed_part"]


GOOD = [FACT, *OTHERS]
LOW = [*OTHERS, FACT]
MISSED = OTHERS


@pytest.mark.parametrize(
    ("answer", "contexts", "references", "failed"),
    [
        ("It has 28 states and 8 union territories.", GOOD, [REFERENCE], None),
        ("It has 28 states and 8 union territories.", MISSED, [REFERENCE], None),
        ("India has 29 states and 9 union territories.", GOOD, [REFERENCE], FailedPart.GENERATION),
        ("Delhi is the seat of government.", GOOD, [REFERENCE], FailedPart.GENERATION),
        ("Delhi is the seat of government.", LOW, [REFERENCE], FailedPart.RANKING),
        ("Delhi is the seat of government.", MISSED, [REFERENCE], FailedPart.RETRIEVAL),
        ("Delhi is the seat of government.", [], [REFERENCE], FailedPart.RETRIEVAL),
        (DECLINES, MISSED, [REFERENCE], FailedPart.RETRIEVAL),
        (DECLINES, GOOD, [REFERENCE], FailedPart.REFUSAL),
        (DECLINES, LOW, [REFERENCE], FailedPart.RANKING),
        (DECLINES, MISSED, [DECLINES], None),
        ("Delhi is the seat of government.", MISSED, [DECLINES], FailedPart.UNANSWERABLE),
        ("", GOOD, [REFERENCE], FailedPart.GENERATION),
        ("Tea grows in Assam.", GOOD, [DECLINES, "Tea grows in Assam."], None),
    ],
)
def test_the_first_part_of_the_chain_that_failed_is_named(
    answer: str, contexts: list[str], references: list[str], failed: FailedPart | None
) -> None:
    """An answer that agrees passes, wherever its application found it."""
    assert part(scored(answer, contexts, references)) == failed


def call(name: str, is_error: bool | None = None, arguments: str | None = '{"id": 1}') -> dict[str, Any]:
    return {"name": name, "arguments": arguments, "is_error": is_error}


@pytest.mark.parametrize(
    ("calls", "needed", "failed"),
    [
        ([call("get", True)], [call("get")], FailedPart.TOOL),
        ([call("get", True), call("get", False)], [call("get")], None),
        ([call("get", True), call("get", False, '{"id": 2}')], [call("get")], FailedPart.TOOL),
        ([call("get", True, '{"id": 3}'), call("get", False, '{"id": 2}')], [call("get")], None),
        ([call("get", True, '{"id": 3}')], [call("get")], FailedPart.TOOL),
        ([call("get", True, '{ "id":1}'), call("get", False, '{"id": 2}')], [call("get")], FailedPart.TOOL),
        ([call("get", None)], [call("get")], None),
        ([call("put", True)], [call("get")], FailedPart.WRONG_TOOL),
        ([], [call("get")], FailedPart.WRONG_TOOL),
        ([call("put", True)], [call("get"), call("put")], FailedPart.TOOL),
        ([call("get", False)], [call("get"), call("put")], FailedPart.WRONG_TOOL),
        ([call("put", True)], [], None),
        ([call("put", True)], None, None),
        (None, [call("get")], None),
        ("odd", [call("get")], None),
        ([call("get", True)], [{"name": 5}], None),
    ],
)
@pytest.mark.parametrize("contexts", [GOOD, LOW, MISSED, []])
def test_a_needed_tool_that_failed_or_was_not_called_is_named_first(
    calls: Any, needed: Any, failed: FailedPart | None, contexts: list[str]
) -> None:
    """Where nothing is known of the calls the part is that of an answer without them; the value is the same."""
    for answer in ("Delhi is the seat of government.", DECLINES):
        plain = scored(answer, contexts)
        found = scored(answer, contexts, tool_calls=calls, reference_tool_calls=needed)
        assert (found["case_passed"], part(found)) == (plain["case_passed"], failed or part(plain))
    right = "It has 28 states and 8 union territories."
    assert scored(right, contexts, tool_calls=calls, reference_tool_calls=needed)["case_passed"] == 1.0
    denied = scored("Tea.", contexts, [DECLINES], tool_calls=calls, reference_tool_calls=needed)
    assert part(denied) == FailedPart.UNANSWERABLE


@pytest.mark.parametrize(
    ("answer", "reference", "passes"),
    [
        ("Der Zinssatz beträgt 35 Prozent.", "Der Zinssatz beträgt 3,5 Prozent.", False),
        ("Der Zinssatz beträgt 3.5 %.", "Der Zinssatz beträgt 3,5 Prozent.", True),
        ("The freezer is at 20 °C all day.", "The freezer is at -20 °C all day.", False),
        ("The freezer is at \u221220\u00a0°C all day.", "The freezer is at -20 °C all day.", True),
        ("The fee is 1000 euros a year.", "The fee is 1.000 euros a year.", True),
        ("The fee is €1,000 a year.", "The fee is 1 000 euros a year.", True),
        ("The fee is 5 dollars a year.", "The fee is 5 euros a year.", False),
        ("A was 5, B was 6, C was 7, D was 9.", "A was 5, B was 6, C was 7, D was 8.", False),
        ("The fee is 5 euros; call 030 1234 for more.", "The fee is 5 euros.", True),
        ("You have 2 million users in Cafe\u0301 plans.", "You have 2,000,000 users in Café plans.", True),
    ],
)
def test_a_number_that_disagrees_fails_a_case_however_many_words_agree(
    answer: str, reference: str, passes: bool
) -> None:
    """Numbers are compared by value and unit, however they are written; further numbers do no harm."""
    assert scored(answer, [reference], [reference], [reference])["case_passed"] == float(passes)


def test_a_chunk_of_the_case_that_lost_its_fact_makes_the_reference_stale() -> None:
    ids = {"context_ids": ["a#1", "b", "c", "d"], "reference_context_ids": ["a#1"]}
    assert part(scored("Rice is eaten.", MISSED, **ids)) == FailedPart.REFERENCE
    ids["reference_context_ids"] = ["z", None]
    assert part(scored("Rice is eaten.", MISSED, **ids)) == FailedPart.RETRIEVAL
    kept = {"context_ids": ["a#1", "b", "c", "d", "e"], "reference_context_ids": ["a#1", "z"]}
    two = scored("Rice is eaten.", GOOD, facts=[FACT, "Lassi is sweet"], **kept)
    assert part(two) == FailedPart.RETRIEVAL, "the chunk that was retrieved still has its fact"


def test_where_facts_must_stand_is_an_option() -> None:
    frame = pd.DataFrame(
        {"answer": ["Rice."], "contexts": [LOW], "reference_answers": [[REFERENCE]], "facts": [[FACT]]}
    )
    found = compute(frame, ["case_passed@5", "case_passed@4"], details=True).iloc[0]
    assert '"generation"' in found["case_passed@5_details"]
    assert '"ranking"' in found["case_passed@4_details"]


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"references": []}, "no_ground_truth"),
        ({"references": [" "]}, "no_ground_truth"),
        ({"facts": []}, "no_facts"),
        ({"facts": ["..."]}, "no_facts"),
        ({"contexts": None}, "no_contexts"),
        ({"answer": None}, "no_answer"),
    ],
)
def test_what_is_not_known_is_not_said(cells: dict[str, Any], reason: str) -> None:
    found = scored(**{"answer": "Rice.", "contexts": GOOD} | cells)
    assert (found["case_passed"] != found["case_passed"], found["case_passed_reason"]) == (True, reason)


texts = st.text(st.characters(codec="utf-8"), max_size=40)


@given(texts, st.lists(texts, max_size=4), texts, st.lists(texts, max_size=3))
def test_it_passes_or_names_a_part_or_says_why_not(
    answer: str, contexts: list[str], reference: str, facts: list[str]
) -> None:
    found = scored(answer, contexts, [reference], facts)
    if found["case_passed"] == found["case_passed"]:
        assert found["case_passed"] == (part(found) is None)
        assert part(found) in {None, *FailedPart}
    else:
        assert found["case_passed_reason"] in {"no_ground_truth", "no_facts", "no_text_contexts"}


@pytest.mark.parametrize("k", [0, -1, True, 1.5])
def test_a_cut_is_a_whole_number_of_contexts(k: Any) -> None:
    with pytest.raises(ValueError, match="k is a whole number of 1 or more"):
        CasePassed(k=k)


@pytest.mark.parametrize(
    ("answer", "reference", "agree"),
    [
        ("Delhi is the seat", "The seat is Delhi.", True),
        ("Delhi", "", False),
        ("Delhi", "?!", False),
        ("", "Delhi", False),
        ("30 days", "30 days of leave", True),
        ("20 days of leave", "30 days of leave", False),
        ("days of leave: 20 after 5 years", "days of leave: 30 after 5 years", False),
        ("28 states and 8 territories", "28 states", True),
        ("x 30 at 40", "x 20 of 40", False),
    ],
)
def test_an_answer_agrees_with_half_of_the_words_and_numbers_of_a_reference_that_has_some(
    answer: str, reference: str, agree: bool
) -> None:
    assert agrees(answer, reference) is agree


def test_the_first_letter_of_a_text_belongs_to_the_word_before_a_number() -> None:
    """A number in the place of another one is another answer, also after the first word."""
    assert not agrees("The room 6 and the north wing, 3 tables", "Room 7 (north wing, 3 tables)")
