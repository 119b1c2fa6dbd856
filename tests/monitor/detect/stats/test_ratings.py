from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from lake.spec.schemas import USER_SIGNALS
from monitor.detect.regression import RegressionSettings, Streams
from monitor.detect.stats.ratings import RATING_COLUMNS, Ratings
from tests.monitor.detect.regression.feeding import feed

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


def rating(number: int, signal: str, minutes_ago: float, **columns: Any) -> dict[str, Any]:
    at = NOW - minutes_ago * MINUTE
    defaults = {"response_id": "answer", "deployment": "rag", "origin": "explicit", "user_id": "ann"}
    return {"signal_id": str(number), "signal": signal, "signaled_at": at, **defaults} | columns


def added(ratings: Ratings, *rows: dict[str, Any]) -> Ratings:
    ratings.add(USER_SIGNALS.rows(list(rows)).select(RATING_COLUMNS))
    return ratings


def new() -> Ratings:
    return Ratings(HOUR, 10 * MINUTE)


def values(ratings: Ratings, now: datetime = NOW + 2 * HOUR) -> list[float]:
    return sorted(ratings.settled(now)["value"].to_pylist())


def test_only_likes_and_dislikes_that_people_gave_count() -> None:
    """What was read from the traffic, what cannot be read and a like of nothing is no rating; lower is better."""
    ratings = added(
        new(),
        rating(1, "like", 50, response_id="a"),
        rating(2, "dislike", 50, response_id="b"),
        rating(3, "regenerate", 50, response_id="c", origin="implicit"),
        rating(4, "dislike", 50, response_id="d", origin="implicit"),
        rating(5, "unreadable", 50, response_id="e"),
        rating(6, "like", 50, response_id=None, user_id=None),
        rating(7, "like", 50, deployment=None),
    )
    rows = ratings.settled(NOW + 2 * HOUR)
    assert dict(zip(rows["response_id"].to_pylist(), rows["value"].to_pylist(), strict=True)) == {"a": 0.0, "b": 1.0}
    assert set(rows["direction"].to_pylist()) == {"down"}
    assert set(rows["metric"].to_pylist()) == {"dislikes"}


def test_ratings_of_answers_that_share_an_id_count_each() -> None:
    """Also those of answers without an id, or without a conversation; one person's second rating replaces the first."""
    for shared, chat, user in itertools.product(("chat", None), ("c", None), ("u", None)):
        if chat is None and user is None:
            continue
        who = [{"chat_id": chat and f"c{n}", "user_id": user and f"u{n}"} for n in range(6)]
        rows = [rating(n, "dislike", 50, response_id=shared, **who[n]) for n in range(6)]
        again = rating(7, "like", 40, response_id=shared, **who[0])
        ratings = added(new(), *rows, again)
        kept = new()
        kept.hold(ratings.held_of("rag"))
        settled = kept.settled(NOW + 2 * HOUR)
        assert sorted(settled["value"].to_pylist()) == [0.0, *[1.0] * 5]
        assert len(set(settled["event_id"].to_pylist())) == 6


def test_a_rating_of_the_first_day_of_the_calendar_counts() -> None:
    """Also where its batch, of a week, begins before it."""
    first = datetime.min.replace(tzinfo=UTC)
    ratings = Ratings(timedelta(days=7), 10 * MINUTE)
    assert values(added(ratings, rating(1, "dislike", 0, signaled_at=first))) == [1.0]


def test_the_newest_rating_of_an_hour_counts() -> None:
    """Who changes their mind within the hour is taken at their last word; two people are two."""
    like, dislike = rating(1, "like", 50), rating(2, "dislike", 40)
    assert values(added(new(), like, dislike)) == [1.0]
    assert values(added(new(), dislike, like)) == [1.0]
    assert values(added(new(), like, rating(2, "dislike", 40, user_id="bob"))) == [0.0, 1.0]


def test_what_was_used_is_not_undone() -> None:
    """A rating is handed on once, 10 minutes after its hour; a later one of the same answer is one more."""
    ratings = added(new(), rating(1, "like", 50))
    assert values(ratings, NOW + 9 * MINUTE) == []
    assert values(ratings, NOW + 10 * MINUTE) == [0.0]
    assert values(ratings) == []
    assert values(added(ratings, rating(2, "dislike", -5))) == [1.0]


@pytest.mark.parametrize("steps", [2, 17])
def test_a_rise_of_dislikes_is_found_and_a_restart_finds_the_same(steps: int) -> None:
    """Read hour by hour or all at once, the detector fires with the same batch; an observation is a conversation."""
    random = Random(1)
    rows = [
        rating(n, "dislike" if random.random() < (0.1 if n < 400 else 0.8) else "like", 60 * 60 - 6 * n,
               response_id=f"r{n}", chat_id=f"c{n // 2}")
        for n in range(600)
    ]  # fmt: skip
    settings = RegressionSettings(reference_observations=60)

    def found(steps: int) -> list[Any]:
        streams, ratings, transitions = Streams(settings), new(), []
        for step in range(steps):
            now = NOW + 2 * HOUR - (60 * HOUR) * (steps - 1 - step) / steps
            done = NOW + 2 * HOUR - (60 * HOUR) * (steps - step) / steps
            mine = [row for row in rows if (step == 0 or row["signaled_at"] > done) and row["signaled_at"] <= now]
            added(ratings, *mine)
            transitions += feed(streams, ratings.settled(now), now)
        return [(t.key, t.change, t.at, t.reading.log_evidence, t.worst) for t in transitions]

    once = found(1)
    assert next((key.metric, change) for key, change, *_ in once) == ("dislikes", "firing")
    assert found(steps) == once


def test_a_rating_at_the_end_of_time_holds_up_no_other() -> None:
    """A line may say any year: one of 9999 waits, and what was said today is handed on."""
    end = rating(1, "like", 50) | {"signaled_at": datetime(9999, 12, 31, 23, 30, tzinfo=UTC)}
    assert values(added(new(), end, rating(2, "dislike", 40))) == [1.0]
