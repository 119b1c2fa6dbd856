"""The threshold that people's labels speak for, and which answers count as evidence of their own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evaluator.calibration import agreement, best_threshold, calibrate, rows_of


def high(seed: int, answers: int = 300) -> pd.DataFrame:
    """Scores that all lie above 0.5, those of good answers from 0.8 on, of bad ones up to 0.9."""
    chance = np.random.default_rng(seed)
    good = chance.random(answers) < 0.6
    score = np.where(good, 0.8 + 0.2 * chance.random(answers), 0.5 + 0.4 * chance.random(answers))
    return pd.DataFrame({"score": score, "label": good.astype(float), "question": np.arange(answers) // 2})


def test_the_best_threshold_parts_what_people_part() -> None:
    """At 0.5 kappa is 0 although the scores order nearly all answers; between 0.8 and 0.9 it is good."""
    rows = rows_of(high(1))
    assert agreement(rows).kappa.value == pytest.approx(0.0)
    found = best_threshold(rows)
    assert found is not None
    assert found.threshold.value is not None
    assert 0.78 < found.threshold.value < 0.9
    assert found.threshold.low is not None
    assert found.threshold.high is not None
    assert 0.75 < found.threshold.low <= found.threshold.value <= found.threshold.high < 0.95
    assert found.agreement.kappa.value is not None
    assert found.agreement.kappa.value > 0.65


@pytest.mark.slow
def test_the_interval_holds_the_best_threshold_of_all_answers() -> None:
    """Good ones lie around 0.7, bad ones as widely around 0.4: the best is 0.55."""

    def table(seed: int, answers: int) -> pd.DataFrame:
        chance = np.random.default_rng(seed)
        good = chance.random(answers) < 0.5
        score = np.clip(np.where(good, 0.7, 0.4) + 0.15 * chance.standard_normal(answers), 0, 1)
        return pd.DataFrame({"score": score, "label": good.astype(float)})

    held = [best_threshold(rows_of(table(seed, 80))) for seed in range(20)]
    inside = [one.threshold.low <= 0.55 <= one.threshold.high for one in held if one is not None]  # type: ignore[operator]
    assert sum(inside) >= 18


@pytest.mark.slow
def test_the_balanced_accuracy_is_not_that_of_the_labels_it_was_chosen_by() -> None:
    """Of scores that say nothing, the best cut of 40 answers looks better than chance, and is not."""
    chance = np.random.default_rng(3)
    values, chosen = [], []
    for _ in range(20):
        label = (chance.random(40) < 0.5).astype(float)
        found = best_threshold(rows_of(pd.DataFrame({"score": chance.random(40), "label": label})))
        assert found is not None
        values.append(found.balanced_accuracy.value)
        chosen.append((found.agreement.tpr.value + found.agreement.tnr.value) / 2)  # type: ignore[operator]
    assert np.mean(values) == pytest.approx(0.5, abs=0.05)
    assert np.mean(chosen) > 0.57


@pytest.mark.parametrize(
    ("scores", "labels", "found"),
    [
        ([0, 0, 1, 1], [0, 0, 1, 1], 0.5),
        ([0.6, 0.6, 0.9, 0.9], [0, 0, 1, 1], 0.75),
        ([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1], 0.3),
        ([0.2, 0.4, 0.6, 0.8], [0, 0, 1, 1], 0.5),
        ([0.1, 0.1, 0.1, 0.1], [0, 0, 1, 1], None),
        ([0.1, 0.2, 0.3, 0.4], [1, 1, 1, 1], None),
    ],
)
def test_thresholds_lie_between_scores(scores: list[float], labels: list[float], found: float | None) -> None:
    """Of equally good ones the nearest to 0.5; none where there is nothing to part."""
    best = best_threshold(rows_of(pd.DataFrame({"score": scores, "label": labels}, dtype=float)))
    assert (None if best is None else best.threshold.value) == found


@pytest.mark.parametrize(
    ("columns", "questions"),
    [
        ({}, 6),
        ({"question": ["a", "a", "b", "b", None, None]}, 4),
        ({"question": ["Summarise."] * 6}, 6),
        ({"question": ["Summarise."] * 6, "contexts": [["x"], ["x"], ["y"], ["y"], ["z"], ["z"]]}, 3),
        ({"question": ["Summarise."] * 6, "contexts": [["x"], ["y"], ["x", "y"], ["z"], ["u"], ["z", "v"]]}, 3),
        ({"question": ["a", "a", "b", "b", "b", None], "contexts": ["x", "x", "x", "x", "y", "y"]}, 4),
        ({"question": ["a"] * 6, "contexts": [None] * 6}, 1),
    ],
)
def test_answers_to_one_question_are_no_independent_evidence(columns: dict[str, list[object]], questions: int) -> None:
    """One prompt for many documents is no question."""
    frame = pd.DataFrame({"score": np.linspace(0, 1, 6), "label": [0.0, 1, 0, 1, 0, 1], **columns})
    assert rows_of(frame).questions == questions


def test_labelled_answers_without_a_score_are_counted() -> None:
    """They are in no figure, and the report must not be silent about them."""
    frame = pd.DataFrame({"score": [1.0, 0.0, None, None, None, 1.0], "label": [1.0, 0.0, 0.0, 0.0, 1.0, None]})
    found = calibrate(frame)
    assert (found.scored, found.agreement.answers, found.unscored, found.unscored_passed) == (3, 2, 3, 1)
