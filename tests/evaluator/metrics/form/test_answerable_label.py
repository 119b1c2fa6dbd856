"""`is_answerable` where a label says whether the question has an answer."""

import math

import pandas as pd
import pytest

from evaluator.metrics import compute

DECLINES, ANSWERS = "I don't know.", "It is 5."


@pytest.mark.parametrize(
    ("label", "answer", "reference", "value"),
    [
        (True, ANSWERS, DECLINES, 1.0),
        (True, DECLINES, ANSWERS, 0.0),
        (False, DECLINES, ANSWERS, 1.0),
        ("false", ANSWERS, ANSWERS, 0.0),
        (1, ANSWERS, None, 1.0),
        (0.0, DECLINES, None, 1.0),
        (None, DECLINES, DECLINES, 1.0),
        ("", ANSWERS, ANSWERS, 1.0),
    ],
)
def test_the_label_says_whether_a_question_has_an_answer(
    label: object, answer: str, reference: str | None, value: float
) -> None:
    """Whatever the reference answer says; without a label that decides."""
    row = {"answer": [answer], "reference_answers": [None if reference is None else [reference]]}
    frame = pd.DataFrame(row | {"is_answerable_label": pd.Series([label], dtype=object)})
    assert compute(frame, ["is_answerable"])["is_answerable"][0] == value
    if label in (None, ""):
        assert compute(pd.DataFrame(row), ["is_answerable"])["is_answerable"][0] == value


def test_what_is_no_label_makes_a_row_unreadable() -> None:
    frame = pd.DataFrame({"answer": [ANSWERS], "reference_answers": [[ANSWERS]], "is_answerable_label": ["perhaps"]})
    scores = compute(frame, ["is_answerable"])
    assert math.isnan(scores["is_answerable"][0])
    assert scores["is_answerable_reason"][0] == "unreadable_is_answerable_label"
