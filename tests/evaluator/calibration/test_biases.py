"""Biases of a judge's scores, and tables that cannot be used."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evaluator.calibration import CalibrationError, length_bias, repeatability, rows_of


def test_repeatability_counts_answers_whose_draws_agree() -> None:
    """Of four answers two get the same verdict each time, one changes sides, and one that lacks a draw is left out."""
    rows = rows_of(pd.DataFrame({"score": [1.0, 0.0, 1.0, 1.0], "label": [np.nan] * 4}))
    draws = np.array([[1.0, 1.0, 0.9], [0.0, 0.1, 0.0], [1.0, 0.0, 1.0], [1.0, np.nan, 1.0]])
    found = repeatability(rows, draws)
    assert (found.answers, found.draws) == (3, 3)
    assert found.same.value == pytest.approx(2 / 3)
    assert found.deviation == pytest.approx(np.sqrt((0.01 / 3 + 0.01 / 3 + 1 / 3) / 3))


def test_one_draw_says_nothing() -> None:
    """There is no repeatability of a single draw."""
    rows = rows_of(pd.DataFrame({"score": [1.0], "label": [1.0]}))
    assert repeatability(rows, np.array([[1.0]])).same.value is None


def test_a_judge_that_favours_long_answers_is_seen() -> None:
    """Half a point more for answers above the median length is a bias of 0.5; a fair judge has none."""
    answers = ["short"] * 20 + ["quite a long answer with many words"] * 20
    label = [0.5] * 40
    biased = rows_of(pd.DataFrame({"score": [0.5] * 20 + [1.0] * 20, "label": label, "answer": answers}))
    fair = rows_of(pd.DataFrame({"score": label, "label": label, "answer": answers}))
    assert length_bias(biased).value == pytest.approx(0.5)
    assert length_bias(fair).value == 0.0
    assert length_bias(rows_of(pd.DataFrame({"score": label, "label": label}))).value is None


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"score": [1.0]}, "the table has no column 'label'; it has score"),
        ({"score": [1.0, 1.5], "label": [1, 1]}, "row 2 has the score 1.5; it must be a number from 0 to 1"),
        ({"score": [1.0], "label": ["good"]}, "row 1 has the label good; it must be a number from 0 to 1"),
        ({"score": [1.0], "label": [1.0], "weight": [0.0]}, "row 1 has the weight 0.0; it must be a number above 0"),
    ],
)
def test_a_table_that_cannot_be_used_is_an_error(columns: dict[str, list[object]], message: str) -> None:
    """The message names the column, the row and the value."""
    with pytest.raises(CalibrationError, match=message.replace("'", ".")):
        rows_of(pd.DataFrame(columns))


def test_rows_without_a_score_are_left_out_and_absent_questions_are_their_own() -> None:
    """An answer that the judge could not score is no row, and two answers without a question are two questions."""
    frame = pd.DataFrame({"score": [1.0, np.nan, 0.0, 1.0], "label": [True, True, False, None]})
    frame["question"] = ["q", "q", None, None]
    rows = rows_of(frame)
    assert len(rows) == 3
    assert rows.questions == 3
