"""The page of a scored table."""

from __future__ import annotations

import numpy as np

from dialwatch.reports.score_page import bars


def test_every_value_has_its_bar() -> None:
    """Both ends of the range count, and a single row among thousands can be seen."""
    drawn = bars(np.array([0.0] * 5000 + [1.0, 0.5]), 0.0, 1.0)
    assert [bar.count for bar in drawn if bar.count] == [5000, 1, 1]
    assert all(bar.height >= 1 for bar in drawn if bar.count)
    assert max(bar.x + bar.width for bar in drawn) <= 240
