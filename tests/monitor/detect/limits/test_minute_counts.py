from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from monitor.detect.limits.minute_counts import LONGEST, MinuteCounts, minute_of

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def added(minutes: MinuteCounts, rows: list[tuple[int, bool]]) -> None:
    times = pa.chunked_array([pa.array([NOW - ago * MINUTE for ago, _ in rows], pa.timestamp("us", "UTC"))])
    why = pa.chunked_array([pa.array(["503" if bad else None for _, bad in rows], pa.string())])
    minutes.add(times, np.array([bad for _, bad in rows], bool), why, NOW)


def as_tuples(minutes: MinuteCounts, window: int, minimum: int) -> list[tuple[int, ...]]:
    found = minutes.windows(window * MINUTE, minimum, NOW)
    return list(zip(*(one.tolist() for one in (found.ends, found.firsts, found.totals, found.bad)), strict=True))


@given(
    rows=st.lists(st.tuples(st.integers(-5, 3000), st.booleans()), max_size=60),
    cuts=st.lists(st.integers(0, 60), max_size=3),
    window=st.integers(1, 60),
    minimum=st.integers(1, 30),
    random=st.randoms(use_true_random=False),
)
def test_a_stretch_is_the_window_or_as_much_longer_as_it_needs(
    rows: list[tuple[int, bool]], cuts: list[int], window: int, minimum: int, random: Any
) -> None:
    """Counted row by row it is the same, in whatever order and portions the rows come."""
    counted = MinuteCounts()
    shuffled = random.sample(rows, len(rows))
    for begin, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(rows)], strict=True):
        if shuffled[begin:end]:
            added(counted, shuffled[begin:end])
    at = [(minute_of(NOW) - ago, bad) for ago, bad in rows if 0 <= ago <= 2 * 1440]
    expected = []
    for end in sorted({minute for minute, _ in at}):
        first = end - window + 1
        day = end - LONGEST // MINUTE + 1
        while first > day and sum(first <= minute <= end for minute, _ in at) < minimum:
            first -= 1
        inside = [(minute, bad) for minute, bad in at if first <= minute <= end]
        expected.append((end, min(m for m, _ in inside), len(inside), sum(bad for _, bad in inside)))
    assert as_tuples(counted, window, minimum) == expected


def test_what_is_older_than_two_days_is_forgotten() -> None:
    """Rows of the past take no memory, and their reasons neither."""
    minutes = MinuteCounts()
    added(minutes, [(3000, True), (2 * 1440 + 1, True), (5, True), (4, False)])
    assert [row[2:] for row in as_tuples(minutes, 15, 1)] == [(1, 1), (2, 1)]
    assert minutes.reasons(0, minute_of(NOW)) == {"503": 1}
