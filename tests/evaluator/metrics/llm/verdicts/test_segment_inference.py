import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.metrics.llm.verdicts import Judged, Segment, segment_inference

SEGMENTS = st.lists(st.builds(Segment, st.integers(0, 5), st.floats(0, 1)), min_size=1, max_size=5)


def test_worked_example() -> None:
    """Three statements that follow in one segment and one in another that does not: .75."""
    assert segment_inference([Segment(3, 1.0), Segment(1, 0.0)]) == Judged.known(0.75)


def test_of_no_statements_there_is_no_share() -> None:
    """A segment without statements has no weight."""
    assert segment_inference([Segment(0, 0.0), Segment(0, 0.0)]) == segment_inference([]) == Judged.nothing("no_claims")
    assert segment_inference([Segment(0, 0.0), Segment(2, 1.0)]) == Judged.known(1.0)


@pytest.mark.parametrize("lost", [None, math.nan])
def test_a_segment_that_was_not_judged_makes_bounds(lost: float | None) -> None:
    """It is counted as 0 and as 1, by its weight."""
    found = segment_inference([Segment(2, 0.5), Segment(3, lost)])
    assert (found.value, found.reason) == (None, "judge_failed")
    assert (found.low, found.high) == (pytest.approx(0.2), pytest.approx(0.8))
    assert segment_inference([Segment(2, 1.0), Segment(0, lost)]) == Judged(None, "judge_failed", 1.0, 1.0)


def test_a_segment_whose_statements_are_lost_leaves_everything_open() -> None:
    """Nobody knows how much it weighs."""
    assert segment_inference([Segment(2, 0.5), Segment(None, None)]) == Judged(None, "judge_failed", 0.0, 1.0)


@given(SEGMENTS, st.data())
def test_the_bounds_enclose_the_value(segments: list[Segment], data: st.DataObject) -> None:
    """Whatever the missing shares are; the value is 0 to 1 and has no order."""
    whole = segment_inference(segments)
    if whole.value is None:
        return
    assert 0 <= whole.value <= 1
    assert segment_inference(segments[::-1]).value == pytest.approx(whole.value, abs=1e-12)
    lost = data.draw(st.sets(st.integers(0, len(segments) - 1), min_size=1))
    found = segment_inference([Segment(s.statements, None) if i in lost else s for i, s in enumerate(segments)])
    assert found.value is None
    assert found.low is not None
    assert found.high is not None
    assert found.low - 1e-12 <= whole.value <= found.high + 1e-12
