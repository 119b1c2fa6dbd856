from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from collector.duplicates import DuplicateWindow

START = datetime(2026, 11, 20, tzinfo=UTC)
ONE, OTHER = f"{1:032x}", f"{2:032x}"


def test_the_first_stays_and_the_next_is_a_duplicate() -> None:
    """An id is new once."""
    window = DuplicateWindow(timedelta(hours=48))
    assert not window.is_duplicate(ONE, "file:a", 1, START)
    assert window.is_duplicate(ONE, "file:b", 9, START)
    assert not window.is_duplicate(OTHER, "file:a", 2, START)


def test_a_line_of_a_batch_that_was_cut_off_is_not_its_own_duplicate() -> None:
    """A line that comes again from its stored position is the same line; from elsewhere it is a duplicate."""
    window = DuplicateWindow(timedelta(hours=48))
    window.expect_again(ONE, "file:a", 7)
    window.expect_again(OTHER, "file:a", 8)
    assert not window.is_duplicate(ONE, "file:a", 7, START)
    assert window.is_duplicate(ONE, "file:a", 7, START)
    assert window.is_duplicate(OTHER, "file:b", 8, START)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 30)), max_size=60))
def test_an_id_is_known_for_the_window_and_forgotten_soon_after(arrivals: list[tuple[int, int]]) -> None:
    """Within the window an id is always known, after one and a half windows never."""
    window = DuplicateWindow(timedelta(hours=48))
    first: dict[int, datetime] = {}
    now = START
    for number, hours in arrivals:
        now += timedelta(hours=hours)
        known = window.is_duplicate(f"{number:032x}", "file:a", 0, now)
        age = now - first.get(number, now)
        if number not in first or age > timedelta(hours=72):
            assert not known
        elif age <= timedelta(hours=48):
            assert known
        if not known:
            first[number] = now
