"""Since when answers are disliked: by when they were given, not by when people rated them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from lake.spec.alert_vocabulary import AlertEvent
from lake.spec.schemas import ALERTS, PARSED_LOGS, USER_SIGNALS
from lake.spec.vocabulary import DISLIKES
from lake.tables.lake import Lake
from monitor.service.monitor import Monitor
from tests.monitor.conftest import NOW, Clock

HOUR = timedelta(hours=1)
BEGIN = (NOW - timedelta(days=14)).replace(minute=0, second=0, microsecond=0)
FALL = BEGIN + timedelta(days=9, hours=5)


@pytest.fixture
def fallen(lake: Lake) -> Callable[..., None]:
    """Writes two answers an hour, each rated a day to two days later; from FALL on most are disliked."""

    def write(unnamed: bool = False) -> None:
        random, logs, signals = Random(7), list[dict[str, Any]](), list[dict[str, Any]]()
        for number in range(2 * 24 * 14):
            at = BEGIN + number * HOUR / 2
            rated_at = at + timedelta(hours=random.uniform(24, 48))
            is_bad = random.random() < (0.8 if at >= FALL else 0.1)
            same = {"response_id": f"r{number}", "chat_id": f"c{number}", "user_id": f"u{number}", "deployment": "rag"}
            logs.append(
                {"event_id": f"e{number}", "requested_at": at, "date": at.date(), "kind": "chat_completion"}
                | {"status": 200, "is_entry": True, "question": "Why?", "answer": "So.", "response_ids": [f"r{number}"]}
                | same
            )
            if rated_at < NOW:
                signals.append(
                    {"signal_id": f"s{number}", "signaled_at": rated_at, "date": rated_at.date()}
                    | {"signal": "dislike" if is_bad else "like", "origin": "explicit"}
                    | (same | {"response_id": f"x{number}"} if unnamed else same)
                )
        lake.table(PARSED_LOGS, "rag").append(PARSED_LOGS.rows(logs))
        lake.table(USER_SIGNALS, "rag").append(USER_SIGNALS.rows(signals))

    return write


def alerts(lake: Lake) -> list[dict[str, Any]]:
    columns = ["metric", "change", "since", "details", "changed_at"]
    rows = lake.table(ALERTS, "rag").read(columns).sort_by("changed_at").to_pylist()
    return [row for row in rows if row["metric"] == DISLIKES]


def test_dislikes_say_when_the_answers_became_bad(
    make_monitor: Callable[[], Monitor], lake: Lake, fallen: Callable[..., None]
) -> None:
    """The alert and what is shown of the stream say the same, also after a restart."""
    fallen()
    monitor = make_monitor()
    monitor.refresh()
    (since,) = {row["since"] for row in alerts(lake) if row["change"] == AlertEvent.FIRING}
    assert abs(since - FALL) <= 4 * HOUR
    for shown in (monitor, make_monitor()):
        shown.refresh()
        assert shown.snapshot is not None
        assert shown.snapshot.deployments["rag"].readings[DISLIKES].since == since


def test_ratings_of_no_known_answer_keep_the_time_of_the_ratings(
    monitor: Monitor, lake: Lake, fallen: Callable[..., None]
) -> None:
    """Nobody can say when their answers were given."""
    fallen(unnamed=True)
    monitor.refresh()
    (since,) = {row["since"] for row in alerts(lake) if row["change"] == AlertEvent.FIRING}
    assert since >= FALL + 20 * HOUR


def test_the_end_of_an_alert_has_the_onset_of_its_begin(
    make_monitor: Callable[[], Monitor], lake: Lake, fallen: Callable[..., None], clock: Clock
) -> None:
    """Answers that are good again end it days later."""
    fallen()
    make_monitor().refresh()
    since = {row["since"] for row in alerts(lake) if row["change"] == AlertEvent.FIRING}
    signals = [
        {"signal_id": f"g{number}", "signaled_at": NOW + number * HOUR / 4, "date": (NOW + number * HOUR / 4).date()}
        | {"signal": "like", "origin": "explicit", "response_id": f"g{number}", "chat_id": f"g{number}"}
        | {"deployment": "rag"}
        for number in range(4 * 24 * 5)
    ]
    lake.table(USER_SIGNALS, "rag").append(USER_SIGNALS.rows(signals))
    clock.now = NOW + timedelta(days=6)
    make_monitor().refresh()
    (ended,) = (row for row in alerts(lake) if row["change"] == AlertEvent.RESOLVED)
    assert {ended["since"]} == since
