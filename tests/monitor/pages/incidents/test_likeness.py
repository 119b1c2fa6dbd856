"""Likeness of questions."""

from __future__ import annotations

import pytest

from monitor.pages.incidents.evidence import most_alike

EARLIER = [
    "How many days of leave do I have a year?",
    "Who pays for parking at the office?",
    "Wie viele Urlaubstage habe ich?",
    "",
    None,
    "Who pays for parking at the office?",
]


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("How many days of leave do I have a year?", 0),
        ("how many days of LEAVE do I have in a year", 0),
        ("Who pays for the parking at our office", 1),
        ("Wie viele Tage Urlaub habe ich?", 2),
        ("What is the capital of France?", None),
        ("Who?", None),
        ("", None),
        ("?!", None),
        (None, None),
    ],
)
def test_the_most_alike_is_found_or_none(question: str | None, place: int | None) -> None:
    (found,) = most_alike([question], EARLIER)
    assert (found and found.place) == place


def test_of_equal_ones_the_first_is_given() -> None:
    (found,) = most_alike([EARLIER[1]], EARLIER)
    assert found is not None
    assert (found.place, found.percent) == (1, 100)


def test_nothing_is_like_nothing() -> None:
    assert most_alike([], EARLIER) == []
    assert most_alike(["Who pays?"], []) == [None]


def test_only_the_beginning_of_a_long_question_is_compared() -> None:
    (found,) = most_alike(["x" * 10 + " y" * 500_000], ["x" * 10 + " y" * 200])
    assert found is not None
