"""Sums by hour: the same in whatever portions events come, and bounded."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from lake import PARSED_LOGS, SCORES, USER_SIGNALS
from monitor.stats.hourly import KEPT_HOURS, HourlySums
from monitor.stats.ratings import RATING_COLUMNS
from monitor.stats.requests import LOG_COLUMNS, RequestStats
from monitor.stats.scores import SCORE_COLUMNS, ScoreStats

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR = int(NOW.timestamp()) // 3600
EVENTS = st.lists(st.tuples(st.integers(0, 900 * 3600), st.integers(0, 9)), max_size=60)


def added(sums: HourlySums, events: list[tuple[int, int]]) -> HourlySums:
    at = [NOW + timedelta(seconds=seconds) for seconds, _ in events]
    values = np.array([value for _, value in events], dtype=np.float64)
    return sums.with_values(pa.chunked_array([pa.array(at, pa.timestamp("us", "UTC"))]), np.ones(len(at)), values)


@given(EVENTS, st.integers(0, 60), st.integers(0, 900), st.integers(0, 900))
def test_any_portions_and_any_hours_add_up(events: list[tuple[int, int]], cut: int, first: int, length: int) -> None:
    """Sums between two hours are those of the events in them, and do not depend on how the events came."""
    whole = added(HourlySums(), events)
    assert added(added(HourlySums(), events[:cut]), events[cut:]) == whole
    begin, end = HOUR + first, HOUR + first + length
    inside = [value for seconds, value in events if first <= seconds // 3600 <= first + length]
    if events:
        assert whole.total(begin, end) == (len(inside), sum(inside))
        slots = whole.by_slot(begin, end, 7)
        assert len(slots) == length // 7 + 1
        assert slots.sum(axis=0).tolist() == [len(inside), sum(inside)]
    else:
        assert whole.total(begin, end) == ()


def test_what_is_held_is_bounded() -> None:
    """After a year 30 days and an hour are held, and one event of the far future removes one hour alone."""
    year = added(HourlySums(), [(3600 * hour, 1) for hour in range(365 * 24)])
    assert len(year.hours) == len(year.sums) == KEPT_HOURS
    later = added(year, [(3600 * 24 * 40_000, 1)])
    assert len(later.hours) == KEPT_HOURS
    assert later.total(int(year.hours[0]), int(year.hours[-1])) == (KEPT_HOURS - 1, KEPT_HOURS - 1)


def logs(*rows: dict[str, Any]) -> pa.Table:
    return PARSED_LOGS.rows([{"requested_at": NOW, "is_entry": True} | row for row in rows]).select(LOG_COLUMNS)


def test_failures_are_counted_by_reason() -> None:
    """By status, or as without a whole answer; statuses that HTTP has not are one reason; undated ones are in none."""
    stats = RequestStats().with_logs(
        logs(
            {"status": 200},
            {"status": 429},
            {"status": 429, "error": "cut"},
            {"status": 200, "error": "cut"},
            {"status": 7000},
            {"status": 7001},
            {"status": 500, "requested_at": None},
        )
    )
    found = {reason: sums.total(HOUR, HOUR) for reason, sums in stats.failed_by_hour.items()}
    assert found == {"429": (2,), "no whole answer": (1,), "other status": (2,)}
    assert stats.by_hour.total(HOUR, HOUR) == (6, 1)


def test_likes_and_dislikes_are_counted_by_hour() -> None:
    """Others, and those without a time, are not."""
    signals = [(NOW, "like"), (NOW, "dislike"), (NOW, "dislike"), (NOW, "retry"), (None, "dislike"), (NOW, None)]
    rows = USER_SIGNALS.rows([{"signaled_at": at, "signal": signal} for at, signal in signals])
    stats = RequestStats().with_signals(rows.select(RATING_COLUMNS))
    assert stats.rated_by_hour.total(HOUR, HOUR) == (1, 2)


def test_means_are_those_of_the_newest_version_and_scored_answers_of_all() -> None:
    """A version that comes begins anew; a late score of the old one, and a backfill as scored answer, do not count."""

    def scores(*rows: dict[str, Any]) -> pa.Table:
        common = {"metric": "m", "requested_at": NOW, "sampling_probability": 0.5}
        return SCORES.rows([common | row for row in rows]).select(SCORE_COLUMNS)

    old = {"metric_version": "1", "value": 0.2, "scored_at": NOW}
    new = {"metric_version": "2", "value": 0.8, "scored_at": NOW + timedelta(minutes=1)}
    backfill = new | {"value": 0.4, "is_backfill": True}
    for portions in ([[old, old, new, backfill, old]], [[old], [old, new], [backfill], [old]]):
        stats = ScoreStats()
        for portion in portions:
            stats = stats.with_scores(scores(*portion))
        metric = stats.metrics["m"]
        weight, total = metric.means_by_hour.total(HOUR, HOUR)
        assert (weight, round(total, 9)) == (4, 2.4)
        assert metric.scored_by_hour.total(HOUR, HOUR) == (4,)
