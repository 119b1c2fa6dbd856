from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from monitor.pages.charts.small import HEIGHT, WIDTH, line


@given(st.lists(st.none() | st.floats(-1, 2), max_size=56))
def test_a_line_stays_in_its_chart(values):
    """Whatever the scores are, all points are inside, and each stretch without a gap is one line."""
    path = line(values)
    points = re.findall(r"[ML]([\d.]+) ([\d.]+)", path)
    assert len(points) == sum(value is not None for value in values)
    assert all(0 <= float(x) <= WIDTH and 0 <= float(y) <= HEIGHT for x, y in points)
