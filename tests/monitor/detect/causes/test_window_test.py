"""Student's t without scipy."""

from __future__ import annotations

import pytest
from scipy import stats

from monitor.detect.causes.window_comparison import two_sided_t


@pytest.mark.parametrize("freedom", range(1, 20))
@pytest.mark.parametrize("value", [0.0, 0.3, 1.0, -2.5, 6.0])
def test_it_is_that_of_scipy(value: float, freedom: int) -> None:
    assert two_sided_t(value, freedom) == pytest.approx(2 * stats.t.sf(abs(value), freedom), abs=1e-12)
