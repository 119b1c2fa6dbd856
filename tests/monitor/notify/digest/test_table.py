"""When a digest is due, which days it is about, and what its words say."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from monitor.notify.digest.table import (
    DigestEvery,
    DigestPeriod,
    DigestRow,
    Quality,
    due_period,
    last_period,
    table_of,
)
from monitor.notify.digest.words import NOTHING, headline, row_line, total_line
from monitor.notify.formats.digest_mail import digest_mail

DAILY, WEEKLY = DigestEvery.DAILY, DigestEvery.WEEKLY
WEEK = DigestPeriod(WEEKLY, date(2026, 11, 23))


def due(every: DigestEvery, day: int, hour: int, minute: int = 0, zone: str = "UTC") -> date | None:
    """Give the end of the period that is due at a local time of November 2026."""
    local = datetime(2026, 11, day, hour, minute, tzinfo=ZoneInfo(zone))
    found = due_period(every, local.astimezone(UTC), ZoneInfo(zone))
    return None if found is None else found.end


def test_a_daily_digest_is_due_at_eight_and_half_a_day_later_no_more() -> None:
    assert due(DAILY, 24, 7, 59) is None
    assert due(DAILY, 24, 8) == date(2026, 11, 24)
    assert due(DAILY, 24, 20) == date(2026, 11, 24)
    assert due(DAILY, 24, 20, 1) is None


def test_a_weekly_digest_is_due_on_monday_at_eight() -> None:
    """The 23rd is one; a monitor that was away sends it until Thursday evening."""
    assert due(WEEKLY, 23, 7, 59) is None
    assert due(WEEKLY, 23, 8) == date(2026, 11, 23)
    assert due(WEEKLY, 26, 20) == date(2026, 11, 23)
    assert due(WEEKLY, 26, 20, 1) is None
    assert due(WEEKLY, 29, 12) is None


@pytest.mark.parametrize(
    ("zone", "hour"),
    [
        ("Europe/Berlin", 8), ("America/Los_Angeles", 8), ("Asia/Kathmandu", 8), ("Asia/Singapore", 9),
        ("Asia/Tokyo", 10), ("Australia/Sydney", 12), ("Pacific/Auckland", 14), ("Pacific/Kiritimati", 15),
    ],
)  # fmt: skip
def test_eight_is_that_of_the_zone_and_weeks_end_with_sunday(zone: str, hour: int) -> None:
    """Far in the east it is later: an hour after UTC has Monday, when the lines of Sunday are collected."""
    for every in (WEEKLY, DAILY):
        assert due(every, 23, hour - 1, 59, zone) in (None, date(2026, 11, 22))
        assert due(every, 23, hour, 0, zone) == date(2026, 11, 23)
    assert due(WEEKLY, 23, hour - 1, 59, zone) is None
    assert DigestPeriod(WEEKLY, date(2026, 11, 23)).begin.weekday() == 0


def test_eight_stays_eight_when_the_clocks_change() -> None:
    """In Berlin on 2026-10-25: 8 o'clock is 7 UTC after it, and 6 before."""
    zone = ZoneInfo("Europe/Berlin")
    for day, hour in ((24, 6), (25, 7), (26, 7)):
        at = datetime(2026, 10, day, hour, tzinfo=UTC)
        found = due_period(DAILY, at, zone)
        assert found is not None
        assert found.end == at.date()
        assert due_period(DAILY, at.replace(hour=hour - 1, minute=59), zone) is None


def test_a_week_is_compared_with_the_week_before_and_a_day_too() -> None:
    assert (WEEK.begin, WEEK.before) == (date(2026, 11, 16), date(2026, 11, 9))
    day = DigestPeriod(DAILY, date(2026, 11, 23))
    assert (day.begin, day.before) == (date(2026, 11, 22), date(2026, 11, 15))
    assert WEEK.words == "the week 16 Nov to 22 Nov 2026 (UTC)"
    assert day.words == "22 Nov 2026 (UTC)"
    now = datetime(2026, 11, 28, 1, tzinfo=UTC)
    assert last_period(WEEKLY, now) == WEEK
    assert last_period(DAILY, now).end == date(2026, 11, 28)


def test_each_digest_of_a_receiver_has_an_id() -> None:
    ids = {
        DigestPeriod(every, date(2026, 11, day)).id_of(name)
        for every in DigestEvery for day in (22, 23) for name in ("a", "b")
    }  # fmt: skip
    assert len(ids) == 8


def row(name: str, **columns: Any) -> DigestRow:
    return DigestRow(name, **columns)


def test_problems_come_first() -> None:
    worse = Quality("m", 0.5, 90, 0.7, "worse")
    rows = [
        row("busy", requests=900), row("quiet", requests=1), row("over", incidents=1),
        row("worse", quality=worse), row("open", incidents=1, open_incidents=1), row("a", requests=1),
    ]  # fmt: skip
    table = table_of(rows, WEEK)
    assert [one.deployment for one in table.rows] == ["open", "worse", "over", "busy", "a", "quiet"]
    assert [one.deployment for one in table_of(rows, WEEK, lambda name: name in ("a", "open")).rows] == ["open", "a"]


def test_the_words_say_what_is_known() -> None:
    """In one line each, whatever a name has in it."""
    bad = row(
        "rag\nbot", quality=Quality("facts_recall", 0.5, 90, 0.7, "worse"), incidents=2, open_incidents=1,
        requests=1000, failed=20, likes=1, dislikes=3, cost=12.345, judge_cost=0.5, is_new_version=True,
    )  # fmt: skip
    assert row_line(bad, "EUR") == (
        "rag bot (new version): “facts found” 0.50, 0.70 the week before (worse); 2 incidents, 1 still open; "
        "1,000 requests, 2.0 % failed; 1 like, 3 dislikes; cost 12.35 EUR"
    )
    assert row_line(row("idle", incidents=1), "") == "idle: 1 incident; 0 requests, – failed"
    same = Quality("facts_recall", 0.5, 90, 0.51)
    assert "0.50, 0.51 the week before (no change beyond chance)" in row_line(row("x", quality=same), "")
    assert row_line(row("x", quality=Quality("m", 0.5, 3)), "").startswith("x: “m” 0.50; ")
    table = table_of([bad, row("fine", requests=1000)], WEEK, currency="EUR")
    assert headline(table) == (
        "Digest of the week 16 Nov to 22 Nov 2026 (UTC): 1 of 2 deployments got worse, 2 incidents"
    )
    assert total_line(table) == (
        "All together: 2,000 requests, 1.0 % failed; 1 like, 3 dislikes; cost 12.35 EUR; judges cost 0.50 EUR."
    )
    assert headline(table_of([], WEEK)).endswith("(UTC): no request")
    assert total_line(table_of([], WEEK)) == NOTHING
    assert headline(table_of([row("fine", requests=1)], WEEK)).endswith(": no deployment got worse, no incident")


def test_what_is_missing_is_said() -> None:
    """In the headline, with the totals and in its row, which comes before those that are well."""
    table = table_of([row("fine", requests=9), row("lost", is_missing=True)], WEEK)
    assert [one.deployment for one in table.rows] == ["lost", "fine"]
    assert headline(table).endswith(": no deployment got worse, no incident, 1 deployment could not be looked at")
    assert total_line(table) == (
        "All together: 9 requests, 0 % failed. 1 deployment could not be looked at and is not counted."
    )
    assert row_line(table.rows[0], "") == "lost: could not be looked at, see the log of the monitor"
    mail = digest_mail(table, [], "", "")
    assert "lost: could not be looked at" in mail.text
    assert mail.html.count("see the log of the monitor") == 1
    both = table_of([row("lost", is_missing=True), row("gone", is_missing=True)], WEEK)
    assert "2 deployments could not be looked at and are not counted." in total_line(both)
