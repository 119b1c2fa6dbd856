"""The exact signed-rank test, against all signs written out and against scipy."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, rankdata, wilcoxon

from evaluator.replays.signed_rank import probability_of_worse

differences = st.lists(st.integers(-4, 4), min_size=1, max_size=9).map(lambda some: np.array(some, float))


@given(differences)
def test_it_is_the_share_of_signs_that_are_as_bad(some: np.ndarray) -> None:
    changed = some[some != 0]
    ranks = rankdata(np.abs(changed)) if len(changed) else changed
    observed = ranks[changed > 0].sum()
    signs = itertools.product((0, 1), repeat=len(changed))
    bad = [np.dot(ranks, sign) <= observed + 1e-9 for sign in signs]
    assert probability_of_worse(some) == pytest.approx(np.mean(bad))


def test_it_is_scipys_where_there_are_no_ties() -> None:
    some = np.random.default_rng(3).normal(-0.2, 1, 40)
    expected = wilcoxon(some, alternative="less", method="exact").pvalue
    assert probability_of_worse(some) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("better", "worse"), [(0, 10), (3, 12), (500, 500), (450, 550)])
def test_of_passes_and_failures_it_is_the_sign_test(better: int, worse: int) -> None:
    some = np.array([1.0] * better + [-1.0] * worse + [0.0] * 5)
    assert probability_of_worse(some) == pytest.approx(binom.cdf(better, better + worse, 0.5), rel=1e-9)


def test_nothing_that_changed_is_no_evidence() -> None:
    assert probability_of_worse(np.zeros(5)) == 1.0
    assert probability_of_worse(np.zeros(0)) == 1.0
