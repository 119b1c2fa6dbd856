"""The mean that a judge's scores and people's labels give together."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from evaluator.calibration import Means, agreement, means, more_labels, rows_of
from evaluator.calibration.corrected_mean import _student

TRUE_MEAN = 0.7


def _data(
    chance: np.random.Generator, labels: int, rows: int = 2000, tpr: float = 0.95, tnr: float = 0.7
) -> pd.DataFrame:
    truth = chance.random(rows) < TRUE_MEAN
    score = np.where(truth, chance.random(rows) < tpr, chance.random(rows) >= tnr).astype(float)
    label: npt.NDArray[np.float64] = truth.astype(float)
    label[labels:] = np.nan
    return pd.DataFrame({"score": score, "label": label})


def _means(frame: pd.DataFrame) -> Means:
    rows = rows_of(frame)
    return means(rows, agreement(rows))


def test_the_formula_on_numbers_worked_out_by_hand() -> None:
    """Trust is the covariance over (1 + n/N) times the variance, and the mean moves by the labels' residual."""
    labelled = [(1.0, 1.0), (1.0, 0.0), (0.0, 0.0), (1.0, 1.0)]
    unlabelled = [1.0, 1.0, 0.0, 1.0]
    frame = pd.DataFrame(labelled + [(score, np.nan) for score in unlabelled], columns=["score", "label"])
    # cov(Y, f) = 1/6 and var(f) = 1/4 on both sides, n = N = 4.
    trust = (1 / 6) / (2 * 1 / 4)
    found = _means(frame)
    assert found.trust == pytest.approx(trust)
    assert found.corrected.value == pytest.approx(trust * 0.75 + 0.5 - trust * 0.75)
    assert found.judge.value == pytest.approx(0.75)
    assert found.labels.value == pytest.approx(0.5)


def test_the_corrected_interval_holds_the_truth_where_the_judge_alone_does_not() -> None:
    """With 100 labels about 95 % of the corrected intervals hold 0.7, and next to none of the judge's."""
    chance = np.random.default_rng(7)
    held = {"judge": 0, "labels": 0, "corrected": 0}
    widths = {"labels": 0.0, "corrected": 0.0}
    for _ in range(200):
        frame = _data(chance, 100)
        rows = rows_of(frame)
        found = means(rows, _AGREED)
        for name in held:
            one = getattr(found, name)
            held[name] += one.low <= TRUE_MEAN <= one.high
        for name in widths:
            widths[name] += getattr(found, name).width / 200
    assert held["judge"] <= 4
    assert held["labels"] >= 180
    assert held["corrected"] >= 180
    assert widths["corrected"] == pytest.approx(0.131, abs=0.01)
    assert widths["labels"] == pytest.approx(0.178, abs=0.01)


_AGREED = agreement(rows_of(_data(np.random.default_rng(0), 50, 60)))


def test_a_judge_that_knows_nothing_is_not_trusted() -> None:
    """Scores without a relation to the labels leave the labels' own mean, about as wide as alone."""
    chance = np.random.default_rng(1)
    label = (chance.random(1000) < 0.6).astype(float)
    label[200:] = np.nan
    found = _means(pd.DataFrame({"score": chance.random(1000), "label": label}))
    assert found.trust == pytest.approx(0.0, abs=0.3)
    assert found.corrected.width == pytest.approx(found.labels.width, rel=0.05)


def test_clustered_answers_widen_the_interval() -> None:
    """Five copies of each answer to a question are worth one."""
    frame = _data(np.random.default_rng(2), 100, 400)
    alone = _means(frame.assign(question=range(400)))
    copies = _means(pd.concat([frame.assign(question=range(400))] * 5))
    assert copies.corrected.width == pytest.approx(alone.corrected.width, rel=0.02)


def test_known_probabilities_of_labels_are_undone() -> None:
    """Where failures were labelled four times as often, weights of 1 over the probability give the true mean."""
    chance = np.random.default_rng(5)
    frame = _data(chance, 6000, 6000)
    drawn = np.where(frame.score == 0, 0.2, 0.05)
    frame.loc[chance.random(6000) >= drawn, "label"] = np.nan
    frame["weight"] = np.where(frame.label.isna(), 1 / (1 - drawn), 1 / drawn)
    found = _means(frame)
    assert found.corrected.value == pytest.approx(TRUE_MEAN, abs=0.05)
    assert _means(frame.drop(columns="weight")).labels.value == pytest.approx(0.5, abs=0.06)


def test_more_labels_are_worth_what_they_then_bring() -> None:
    """The width that is foretold for 500 labels is about the width that 500 labels give."""
    chance = np.random.default_rng(11)
    frame = _data(chance, 500)
    few = frame.assign(label=frame.label.where(frame.index < 150))
    rows = rows_of(few)
    foretold = {line.labels: line for line in more_labels(rows, means(rows, agreement(rows)))}
    assert list(foretold) == [200, 300, 500, 1000]
    assert foretold[500].corrected == pytest.approx(_means(frame).corrected.width, rel=0.2)
    assert foretold[500].labels_alone == pytest.approx(_means(frame).labels.width, rel=0.2)


def test_rogan_and_gladen_undo_the_rates_and_are_silent_where_these_say_nothing() -> None:
    """A share of yes is corrected by TPR and TNR; a judge near chance gives none."""
    chance = np.random.default_rng(4)
    assert _means(_data(chance, 400)).rogan_gladen == pytest.approx(TRUE_MEAN, abs=0.1)
    assert _means(_data(chance, 400, tpr=0.5, tnr=0.5)).rogan_gladen is None


def test_without_labels_only_the_judge_speaks() -> None:
    """There is no corrected mean without labels, nor an interval for two of them."""
    nobody = _means(pd.DataFrame({"score": [1.0, 0.0, 1.0], "label": [np.nan] * 3}))
    assert (nobody.judge.value, nobody.labels.value, nobody.corrected.value) == (pytest.approx(2 / 3), None, None)
    two = _means(pd.DataFrame({"score": [1.0, 0.0, 1.0], "label": [1.0, 0.0, np.nan]}))
    assert two.labels.value == 0.5
    assert two.labels.low is None


@pytest.mark.parametrize(("degrees", "expected"), [(3, 3.182), (9, 2.262), (29, 2.045), (1000, 1.962)])
def test_the_quantile_is_that_of_the_tables(degrees: int, expected: float) -> None:
    """Student's quantile is within a hundredth of the tables'."""
    assert _student(degrees) == pytest.approx(expected, abs=0.01)
