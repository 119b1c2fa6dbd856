from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.commit import duplicates
from collector.commit.batch import Counts
from collector.commit.duplicates import DuplicateWindow, id_number, id_numbers
from collector.commit.position import Partition, Piece
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from lake.tables.lake import Lake
from tests.collector.lines import chat_line

START = datetime(2026, 11, 20, tzinfo=UTC)
ONE, OTHER = 1 << 100, 2
FILE = Partition("file", "/logs/a.log", "a")
OTHER_FILE = Partition("file", "/logs/b.log", "b")


def test_the_first_stays_and_the_next_is_a_duplicate() -> None:
    """An id is new once."""
    window = DuplicateWindow(timedelta(hours=48))
    assert not window.is_duplicate(ONE, FILE, 1, START)
    assert window.is_duplicate(ONE, OTHER_FILE, 9, START)
    assert not window.is_duplicate(OTHER, FILE, 2, START)


def test_a_line_of_a_batch_that_was_cut_off_is_not_its_own_duplicate() -> None:
    """A line that comes again from its stored position is the same line; from elsewhere it is a duplicate."""
    window = DuplicateWindow(timedelta(hours=48))
    window.remember([], START, {ONE: (FILE, 7), OTHER: (FILE, 8)})
    assert not window.is_duplicate(ONE, FILE, 7, START)
    assert window.is_duplicate(ONE, FILE, 7, START)
    assert window.is_duplicate(OTHER, OTHER_FILE, 8, START)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 30)), max_size=60))
def test_an_id_is_known_for_the_window_and_forgotten_soon_after(arrivals: list[tuple[int, int]]) -> None:
    """Within the window an id is always known, after one and a half windows never."""
    window = DuplicateWindow(timedelta(hours=48))
    first: dict[int, datetime] = {}
    now = START
    for number, hours in arrivals:
        now += timedelta(hours=hours)
        known = window.is_duplicate(number, FILE, 0, now)
        age = now - first.get(number, now)
        if number not in first or age > timedelta(hours=72):
            assert not known
        elif age <= timedelta(hours=48):
            assert known
        if not known:
            first[number] = now


@pytest.mark.parametrize("hours", range(13))
@pytest.mark.parametrize("goes_on", [False, True])
def test_an_id_is_known_for_48_hours_to_the_moment_and_for_60_at_most(hours: int, goes_on: bool) -> None:
    """Wherever in its quarter of the window an id came, and whether others come meanwhile or not."""
    last_known, first_gone = timedelta(hours=48), timedelta(hours=60, microseconds=1)
    for age, is_known in ((last_known, True), (first_gone, False)):
        window = DuplicateWindow(timedelta(hours=48))
        window.is_duplicate(1000, FILE, 0, START)
        came = START + timedelta(hours=hours) - timedelta(microseconds=hours == 12)
        assert not window.is_duplicate(ONE, FILE, 0, came)
        for later in range(1, int(age / timedelta(hours=1)) if goes_on else 0):
            window.is_duplicate(1000 + later, FILE, 0, came + timedelta(hours=later))
        assert window.is_duplicate(ONE, OTHER_FILE, 0, came + age) is is_known


def test_a_collector_knows_its_own_lines_for_the_window(tmp_path: Path) -> None:
    """A line that comes again at the end of the window is a duplicate, a quarter of it later it is a row."""
    now = [START]
    collector = Collector(Lake(str(tmp_path)), CollectorSettings(duplicate_window_hours=48), lambda: now[0])
    for offset, hours in enumerate((0, 11.9, 59.9, 72), 1):
        now[0] = START + timedelta(hours=hours)
        # The first line begins the quarter in which the second one comes.
        collector.add(Piece(FILE, chat_line(0 if hours == 0 else 1), offset))
    collector.flush()
    assert collector.totals == Counts(lines=4, stored=3, duplicates=1)


@given(st.lists(st.integers(0, 40), max_size=60), st.integers(1, 7))
def test_a_full_window_forgets_nothing(numbers: list[int], most_loose: int) -> None:
    """However many ids are kept sorted and how many loose, each is new once: also those with equal upper halves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicates, "_MOST_LOOSE_IDS", most_loose)
        window = DuplicateWindow(timedelta(hours=48))
        ids = [(number % 3) << 64 | number for number in numbers]
        found = [window.is_duplicate(number, FILE, 0, START) for number in ids]
    assert found == [number in ids[:place] for place, number in enumerate(ids)]


HEX = st.text("0123456789abcdefABCDEF", min_size=32, max_size=32)


@pytest.mark.slow
@given(st.lists(HEX | st.text(max_size=40)), st.integers(0, 3))
def test_a_column_of_ids_has_the_numbers_of_its_ids(ids: list[str], skipped: int) -> None:
    """Reading a whole column at once gives what reading id by id gives, whatever is no hash, slices too."""
    numbers = id_numbers(pa.array(ids, pa.string()).slice(skipped))
    assert numbers.dtype == np.uint64
    assert [upper << 64 | lower for upper, lower in numbers.tolist()] == [id_number(text) for text in ids[skipped:]]
