"""Cases that ask the same: which may stay as one, and which contradict each other."""

from __future__ import annotations

from typing import Any

import pytest

from lake.queries.ground_truth.alike_cases import AlikeCases, alike_cases


def case(case_id: str, answer: str | None, question: str = "Where?", **columns: Any) -> dict[str, Any]:
    made = {"case_id": case_id, "question": question, "answer": answer, "documents": ["a", "b"]}
    return made | {"conversation_hash": None, "status": "proposed"} | columns


@pytest.mark.parametrize(
    ("one", "other", "contradict"),
    [
        ("In Delhi. [1]", "It is in Delhi [2]", False),
        ("1,200 units", "1200 of them", False),
        ("1,200 units", "900 units", True),
        ("3 of 12", "12 alone", False),
        ("In 2021", "Never", True),
        ("Yes.", "No!", True),
        ("YES", "yes, it is", False),
        ("在德里市", "德里", False),
        ("在德里市", "孟买", True),
        ("", "Something", False),
        (None, "Something", False),
    ],
)
def test_answers_contradict_by_their_numbers_or_by_all_their_words(
    one: str | None, other: str, contradict: bool
) -> None:
    """Marks of citations, case and commas within numbers do not count."""
    found = alike_cases([case("x", one), case("y", other)])
    assert found["x"] == (AlikeCases((), ("y",)) if contradict else AlikeCases(("y",), ()))
    assert found["y"] == (AlikeCases((), ("x",)) if contradict else AlikeCases(("x",), ()))


def test_only_the_same_question_about_the_same_documents_in_the_same_conversation_counts() -> None:
    """The order of documents does not; rejected cases are nobody's duplicates."""
    cases = [
        case("1", "A"),
        case("2", "A", " WHERE? "),
        case("3", "A", documents=["b", "a"]),
        case("4", "A", documents=["a"]),
        case("5", "A", conversation_hash="h"),
        case("6", "A", status="rejected"),
        case("7", "A", question="Who?"),
        case("8", "A", documents=None),
    ]
    found = alike_cases(cases)
    assert {name: alike.duplicates for name, alike in found.items()} == {
        "1": ("2", "3"),
        "2": ("1", "3"),
        "3": ("1", "2"),
    }
