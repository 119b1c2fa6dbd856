"""Sums over periods: the same in whatever portions events come, and bounded."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from lake.spec.schemas import PARSED_LOGS, SCORES, USER_SIGNALS
from monitor.detect.stats.means import LEAST_FOR_INTERVAL, mean_of, weighted_sums
from monitor.detect.stats.period_sums import KEPT_DAYS, KEPT_HOURS, PeriodSums
from monitor.detect.stats.ratings import RATING_COLUMNS
from monitor.detect.stats.requests import LOG_COLUMNS, RequestStats
from monitor.detect.stats.scores import SCORE_COLUMNS, ScoreStats

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR = int(NOW.timestamp()) // 3600
EVENTS = st.lists(st.tuples(st.integers(0, 180 * 3600), st.integers(0, 9)), max_size=60)
EVENTS_OF_DAYS = st.lists(st.tuples(st.integers(0, 80 * 24 * 3600), st.integers(0, 9)), min_size=1, max_size=60)


def added(sums: PeriodSums, events: list[tuple[int, int]]) -> PeriodSums:
    at = [NOW + timedelta(seconds=seconds) for seconds, _ in events]
    values = np.array([value for _, value in events], dtype=np.float64)
    return sums.with_values(pa.chunked_array([pa.array(at, pa.timestamp("us", "UTC"))]), np.ones(len(at)), values)


@given(EVENTS, st.integers(0, 60), st.integers(0, 180), st.integers(0, 180))
def test_any_portions_and_any_hours_add_up(events: list[tuple[int, int]], cut: int, first: int, length: int) -> None:
    """Sums between two hours are those of the events in them, and do not depend on how the events came."""
    whole = added(PeriodSums(), events)
    assert added(added(PeriodSums(), events[:cut]), events[cut:]) == whole
    begin, end = HOUR + first, HOUR + first + length
    inside = [value for seconds, value in events if first <= seconds // 3600 <= first + length]
    if events:
        assert whole.total(begin, end) == (len(inside), sum(inside))
        slots = whole.by_slot(begin, end, 7)
        assert len(slots) == length // 7 + 1
        assert slots.sum(axis=0).tolist() == [len(inside), sum(inside)]
    else:
        assert whole.total(begin, end) == ()


@given(EVENTS_OF_DAYS, st.integers(0, 60), st.integers(0, 60), st.integers(9, 60))
def test_longer_periods_are_of_whole_days(events: list[tuple[int, int]], cut: int, first_day: int, days: int) -> None:
    """A period that is longer than hours are kept has all events of its days (UTC)."""
    whole = added(PeriodSums(), events)
    assert added(added(PeriodSums(), events[:cut]), events[cut:]) == whole
    begin = (HOUR // 24 + first_day) * 24
    inside = [value for seconds, value in events if 0 <= (HOUR + seconds // 3600 - begin) // 24 <= days]
    assert whole.total(begin, begin + 24 * days + 5) == (len(inside), sum(inside))
    slots = whole.by_slot(begin, begin + 24 * days + 5, 24)
    assert len(slots) == days + 1
    assert slots.sum(axis=0).tolist() == [len(inside), sum(inside)]


def test_what_is_held_is_bounded() -> None:
    """After a year 8 days of hours and 90 of days are held; an event of the far future removes one of each alone."""
    year = added(PeriodSums(), [(3600 * hour, 1) for hour in range(365 * 24)])
    assert len(year.hours.numbers) == len(year.hours.sums) == KEPT_HOURS
    assert len(year.days.numbers) == len(year.days.sums) == KEPT_DAYS
    later = added(year, [(3600 * 24 * 40_000, 1)])
    assert len(later.hours.numbers) == KEPT_HOURS
    last = int(year.hours.numbers[-1])
    assert year.total((last // 24 - 9) * 24, last) == (9 * 24 + last % 24 + 1,) * 2
    assert later.total(last - KEPT_HOURS + 1, last) == (KEPT_HOURS - 1, KEPT_HOURS - 1)


SCORES_AND_WEIGHTS = st.lists(st.tuples(st.floats(0, 1), st.floats(1, 20)), min_size=LEAST_FOR_INTERVAL, max_size=50)


@given(SCORES_AND_WEIGHTS)
def test_the_interval_is_that_of_a_weighted_mean(scores: list[tuple[float, float]]) -> None:
    """From sums alone come the mean and its standard error; scores of equal weight give the usual one."""
    values, weights = np.array(scores).T
    found = mean_of([float(one.sum()) for one in weighted_sums(values, weights)])
    assert found is not None
    assert found.error is not None
    mean = float(weights @ values / weights.sum())
    number = len(values)
    expected = np.sqrt((weights**2 @ (values - mean) ** 2) * number / (number - 1)) / weights.sum()
    assert np.isclose(found.value, mean)
    assert np.isclose(found.error, expected, atol=1e-7)
    equal = mean_of([float(one.sum()) for one in weighted_sums(values, np.ones(number))])
    assert equal is not None
    assert equal.error is not None
    assert np.isclose(equal.error, values.std(ddof=1) / np.sqrt(number), atol=1e-7)


def test_few_scores_have_no_interval() -> None:
    """Four that happen to be alike would look certain."""
    few = mean_of([float(one.sum()) for one in weighted_sums(np.full(4, 0.5), np.ones(4))])
    assert few is not None
    assert (few.number, few.value, few.interval) == (4, 0.5, None)
    assert mean_of([0.0] * 6) is None
    assert mean_of(()) is None


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
    found = {reason: sums.total(HOUR, HOUR) for reason, sums in stats.failed_by_time.items()}
    assert found == {"429": (2,), "no whole answer": (1,), "other status": (2,)}
    assert stats.by_time.total(HOUR, HOUR)[:2] == (6, 1)


def test_likes_and_dislikes_are_counted_by_time() -> None:
    """Others, and those without a time, are not."""
    signals = [(NOW, "like"), (NOW, "dislike"), (NOW, "dislike"), (NOW, "retry"), (None, "dislike"), (NOW, None)]
    rows = USER_SIGNALS.rows([{"signaled_at": at, "signal": signal} for at, signal in signals])
    stats = RequestStats().with_signals(rows.select(RATING_COLUMNS))
    assert stats.rated_by_time.total(HOUR, HOUR) == (1, 2)


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
        mean = mean_of(metric.means_by_time.total(HOUR, HOUR))
        assert mean is not None
        assert (mean.number, round(mean.value, 9)) == (2, 0.6)
        assert metric.scored_by_time.total(HOUR, HOUR) == (4,)
