from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake import PARSED_LOGS
from monitor.pages.charts.small import HEIGHT, WIDTH, axis_of, bars, line
from monitor.stats.timeline import KEPT_QUARTERS, Timeline

QUARTERS = st.lists(st.integers(1_900_000, 1_900_000 + 4 * KEPT_QUARTERS), min_size=1, max_size=40)


def timeline(quarters: list[int]) -> Timeline:
    return Timeline(dict.fromkeys(quarters, (1.0, 0.5)))


@given(QUARTERS)
def test_a_chart_shows_the_newest_days(quarters):
    """The axis ends with the newest data, has at most 56 slots, and loses nothing that is less than two weeks old."""
    axis = axis_of([timeline(quarters)])
    assert axis is not None
    assert 1 <= axis.slots <= 56
    sums = axis.sums(timeline(quarters))
    assert sums[-1][0] > 0
    recent = {quarter for quarter in quarters if quarter > max(quarters) - 55 * axis.quarters}
    assert sum(weight for weight, _ in sums) >= len(recent)


def test_a_timeline_keeps_a_week():
    """Older quarters are dropped as newer ones come, and an empty column changes nothing."""
    week = KEPT_QUARTERS * 900_000_000
    kind = PARSED_LOGS.schema.field("requested_at").type
    old = Timeline().with_values(pa.chunked_array([pa.array([0], kind)]), np.ones(1), np.ones(1))
    new = old.with_values(pa.chunked_array([pa.array([week, week + 1], kind)]), np.ones(2), np.array([0.5, 1.0]))
    assert new.quarters == {KEPT_QUARTERS: (2.0, 1.5)}
    assert new.with_values(pa.chunked_array([pa.array([], kind)]), np.ones(0), np.ones(0)) is new


@given(st.lists(st.none() | st.floats(-1, 2), max_size=56))
def test_a_line_stays_in_its_chart(values):
    """Whatever the scores are, all points are inside, and each stretch without a gap is one line."""
    path = line(values)
    points = re.findall(r"[ML]([\d.]+) ([\d.]+)", path)
    assert len(points) == sum(value is not None for value in values)
    assert all(0 <= float(x) <= WIDTH and 0 <= float(y) <= HEIGHT for x, y in points)


@pytest.mark.parametrize(("heights", "drawn"), [([], 0), ([0.0, 0.0], 0), ([1.0, 0.0, 100000.0], 2)])
def test_every_slot_with_something_has_a_bar(heights, drawn):
    """A slot without answers has no bar, one with a single answer has a visible one."""
    lengths = [float(length) for length in re.findall(r"v-([\d.]+)h", bars(heights))]
    assert len(lengths) == drawn
    assert all(1.5 <= length <= HEIGHT for length in lengths)
