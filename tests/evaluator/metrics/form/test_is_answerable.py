"""Answers that decline where there is an answer, and answers where there is none."""

from typing import Any

import pandas as pd
import pytest

from evaluator.metrics import compute

DECLINES = "I don't know. The documents do not mention it."
ANSWERS = "Delhi is the seat of government."


def scored(answer: Any, references: Any) -> pd.Series:
    cells = {"answer": pd.Series([answer], dtype=object), "reference_answers": pd.Series([references], dtype=object)}
    return compute(pd.DataFrame(cells), ["is_answerable"], details=True).iloc[0]


@pytest.mark.parametrize(
    ("answer", "references", "value"),
    [
        (ANSWERS, ["Delhi"], 1.0),
        (DECLINES, ["Delhi"], 0.0),
        (DECLINES, ["The provided documents do not say."], 1.0),
        (ANSWERS, ["The provided documents do not say."], 0.0),
        ("Das weiß ich leider nicht.", ["There is no information about it."], 1.0),
        (ANSWERS, ["I don't know.", "Delhi"], 1.0),
        (DECLINES, ["I don't know.", "", None], 1.0),
    ],
)
def test_right_is_to_decline_where_every_reference_declines(answer: str, references: list[str], value: float) -> None:
    """One reference that answers is enough for a question to have an answer; blank ones do not count."""
    found = scored(answer, references)
    assert (found["is_answerable"], found["is_answerable_reason"]) == (value, None)


def test_the_details_have_both_sides() -> None:
    """So that an answer made up can be distinguished from one that is held back."""
    assert scored(ANSWERS, [DECLINES])["is_answerable_details"] == '{"is_answerable":false,"declines":false}'
    assert scored(DECLINES, [ANSWERS])["is_answerable_details"] == '{"is_answerable":true,"declines":true}'


@pytest.mark.parametrize(
    ("answer", "references", "value", "reason"),
    [
        ("", [ANSWERS], 0.0, "no_answer"),
        (" \n", [DECLINES], 0.0, "no_answer"),
        (None, [ANSWERS], None, "no_answer"),
        (ANSWERS, [], None, "no_ground_truth"),
        (ANSWERS, None, None, "no_ground_truth"),
        (ANSWERS, ["", None, " "], None, "no_ground_truth"),
        (3, [ANSWERS], None, "unreadable_answer"),
    ],
)
def test_silence_is_no_refusal_and_blank_references_say_nothing(
    answer: Any, references: Any, value: float | None, reason: str
) -> None:
    """Silence is 0, also where there is no answer, so that a dead application does not look careful."""
    found = scored(answer, references)
    assert (None if pd.isna(found["is_answerable"]) else found["is_answerable"]) == value
    assert found["is_answerable_reason"] == reason
