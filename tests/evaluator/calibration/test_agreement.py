"""Agreement of a judge with people."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evaluator.calibration import agreement, difference, means, repeatability, rows_of


def _frame(both_yes: int, judge_only: int, person_only: int, both_no: int) -> pd.DataFrame:
    cells = [(1, 1, both_yes), (1, 0, judge_only), (0, 1, person_only), (0, 0, both_no)]
    rows = [(float(score), float(label)) for score, label, times in cells for _ in range(times)]
    return pd.DataFrame(rows, columns=["score", "label"])


def test_a_table_of_two_raters_gives_the_numbers_of_the_textbook() -> None:
    """Twenty yes, fifteen no, ten and five mixed: Cohen's kappa is 0.4 (Wikipedia's example of the grant proposals)."""
    found = agreement(rows_of(_frame(20, 5, 10, 15)))
    assert found.kappa.value == pytest.approx(0.4)
    assert found.weighted_kappa.value == pytest.approx(0.4)
    assert found.accuracy.value == pytest.approx(0.7)
    assert found.tpr.value == pytest.approx(20 / 30)
    assert found.tnr.value == pytest.approx(15 / 20)
    assert found.prevalence.value == pytest.approx(30 / 50)
    assert (found.answers, found.questions) == (50, 50)
    assert found.kappa.low is not None
    assert found.kappa.high is not None
    assert found.kappa.low < 0.4 < found.kappa.high


def test_few_failures_give_a_low_kappa_beside_a_high_accuracy() -> None:
    """Where people pass 95 of 100, a judge that passes all has accuracy 0.95, kappa 0 and TNR 0."""
    found = agreement(rows_of(_frame(95, 5, 0, 0)))
    assert (found.accuracy.value, found.kappa.value, found.tnr.value) == pytest.approx((0.95, 0.0, 0.0))


def test_what_cannot_be_said_is_none() -> None:
    """Without a failure among the labels there is no TNR, AUROC or kappa, and without labels there is nothing."""
    found = agreement(rows_of(_frame(10, 0, 0, 0)))
    assert (found.tnr.value, found.auroc.value, found.kappa.value) == (None, None, None)
    nothing = agreement(rows_of(pd.DataFrame({"score": [0.5], "label": [None]})))
    assert (nothing.answers, nothing.accuracy.value) == (0, None)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), st.booleans()), min_size=2, max_size=40))
def test_auroc_is_the_share_of_pairs_in_the_right_order(pairs: list[tuple[float, bool]]) -> None:
    """AUROC is Mann and Whitney's U over the number of pairs, equal scores counting half."""
    frame = pd.DataFrame(pairs, columns=["score", "label"])
    good, bad = (frame.score[frame.label == passed].to_numpy() for passed in (True, False))
    found = agreement(rows_of(frame)).auroc.value
    if not len(good) or not len(bad):
        assert found is None
    else:
        assert found == pytest.approx(stats.mannwhitneyu(good, bad).statistic / (len(good) * len(bad)))


def test_weights_stand_for_rows_that_were_not_drawn() -> None:
    """An answer of weight 3 counts as three answers."""
    once = _frame(3, 2, 1, 4).assign(weight=3.0, question=range(10))
    thrice = pd.concat([_frame(3, 2, 1, 4)] * 3)
    mixed = pd.concat([_frame(3, 2, 1, 4).assign(weight=2.0), _frame(3, 2, 1, 4)])
    expected = agreement(rows_of(thrice)).kappa.value
    assert agreement(rows_of(once)).kappa.value == pytest.approx(expected)
    assert agreement(rows_of(mixed)).kappa.value == pytest.approx(expected)


def test_answers_to_one_question_are_no_independent_evidence() -> None:
    """Ten copies of each answer under one question leave the interval as wide as it was without them."""
    alone = _frame(20, 5, 10, 15).assign(question=range(50))
    copied = pd.concat([alone] * 10)
    narrow, wide = agreement(rows_of(copied.drop(columns="question"))), agreement(rows_of(copied))
    single = agreement(rows_of(alone))
    assert wide.kappa.width == pytest.approx(single.kappa.width, rel=0.1)
    assert narrow.kappa.width is not None
    assert wide.kappa.width is not None
    assert narrow.kappa.width < wide.kappa.width / 2


def test_another_judge_is_accepted_only_where_it_is_as_good() -> None:
    """A judge that errs on 1 % of other answers may take the place of one, and one that errs on 15 % more may not."""
    chance = np.random.default_rng(3)
    label = (chance.random(1000) < 0.7).astype(float)
    mine, near, far = (np.where(chance.random(1000) < error, 1 - label, label) for error in (0.1, 0.1, 0.25))
    near = np.where(chance.random(1000) < 0.99, mine, near)
    rows = rows_of(pd.DataFrame({"score": mine, "label": label}))
    assert difference(rows, near).accepted
    refused = difference(rows, far)
    assert not refused.accepted
    assert refused.kappa.high is not None
    assert refused.kappa.high < 0


def test_another_judge_is_compared_by_the_same_threshold() -> None:
    """What is a yes by 0.5 and none by 0.8 is a difference at 0.8 alone."""
    frame = pd.DataFrame({"score": [0.9, 0.9, 0.1, 0.1] * 5, "label": [1, 1, 0, 0] * 5})
    other = np.array([0.9, 0.7, 0.1, 0.1] * 5)
    assert difference(rows_of(frame), other).tpr.value == 0
    assert difference(rows_of(frame, 0.8), other).tpr.value == -0.5


def test_repeatability_and_the_share_of_yes_go_by_the_threshold() -> None:
    """Draws on both sides of it are two verdicts; the corrected share is that of scores at or above it."""
    frame = pd.DataFrame({"score": [0.9, 0.7, 0.7, 0.1] * 5, "label": [1, 0, 0, 0] * 5})
    draws = np.column_stack([frame["score"], [0.8, 0.9, 0.7, 0.1] * 5])
    for threshold, same, share in ((0.5, 1.0, None), (0.8, 0.75, 0.25)):
        rows = rows_of(frame, threshold)
        assert repeatability(rows, draws).same.value == same
        assert share is None or means(rows, agreement(rows)).rogan_gladen == pytest.approx(share)
