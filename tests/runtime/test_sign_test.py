"""Sign test against the binomial distribution by hand."""

import pytest

from runtime.sign_test import sign_test


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 2 / 32), (0, 5, 2 / 32), (9, 1, 22 / 1024), (3, 3, 1.0), (4, 3, 1.0)],
)
def test_the_probability_is_that_of_both_tails(one: int, other: int, expected: float) -> None:
    assert sign_test(one, other) == pytest.approx(expected)


def test_many_pairs_are_exact() -> None:
    """1,050 of 2,000: about 0.0268 by the exact distribution."""
    assert sign_test(950, 1050) == pytest.approx(0.02681, abs=2e-5)
    assert 0.0 < sign_test(1_000, 0) < 1e-300
