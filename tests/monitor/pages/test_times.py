"""Times in a zone, as the pages write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from monitor.pages.times import IN_UTC, Times

BERLIN, KATHMANDU = Times(ZoneInfo("Europe/Berlin")), Times(ZoneInfo("Asia/Kathmandu"))


def test_times_are_in_utc_unless_a_zone_is_given() -> None:
    """Whatever zone a time has, the page says it in UTC."""
    at = datetime(2026, 11, 20, 1, 5, tzinfo=timezone(timedelta(hours=2)))
    assert IN_UTC.moment(at) == "19 Nov 2026, 23:05 UTC"
    assert IN_UTC.brief_moment(at) == "19 Nov, 23:05 UTC"
    assert IN_UTC.time_of_day(at) == "23:05:00 UTC"
    assert IN_UTC.moment(None) == "an unknown time"
    assert Times(ZoneInfo("UTC")).moment(at) == IN_UTC.moment(at)


def test_an_hour_that_comes_twice_can_be_told_apart() -> None:
    """On the day on which clocks are set back, the abbreviation differs."""
    first = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert BERLIN.brief_moment(first) == "25 Oct, 02:30 CEST"
    assert BERLIN.brief_moment(first + timedelta(hours=1)) == "25 Oct, 02:30 CET"


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("Asia/Kathmandu", "20 Nov 2026, 17:45 UTC+05:45"),
        ("America/Sao_Paulo", "20 Nov 2026, 09:00 UTC-03:00"),
        ("America/New_York", "20 Nov 2026, 07:00 EST"),
    ],
)
def test_a_zone_without_an_abbreviation_has_its_distance_from_utc(zone: str, text: str) -> None:
    """Zones have either."""
    assert Times(ZoneInfo(zone)).moment(datetime(2026, 11, 20, 12, tzinfo=UTC)) == text


def test_the_last_day_that_there_is_can_be_written() -> None:
    """A silence may last for ever, and a row may have any time."""
    assert KATHMANDU.moment(datetime(9999, 12, 31, 23, tzinfo=UTC)) == "31 Dec 9999, 23:00 UTC"
    assert Times(ZoneInfo("America/New_York")).moment(datetime(1, 1, 1, tzinfo=UTC)).endswith("00:00 UTC")


def test_times_in_messages_are_those_of_the_zone() -> None:
    """Only what messages write as a time changes."""
    said = "x fell since 2026-11-20 23:30 UTC; found until 2026-07-01 12:00 UTC. 9999-99-99 99:99 UTC"
    assert BERLIN.zoned(said) == (
        "x fell since 21 Nov 2026, 00:30 CET; found until 1 Jul 2026, 14:00 CEST. 9999-99-99 99:99 UTC"
    )
    assert IN_UTC.zoned("since 2026-11-20 23:30 UTC") == "since 20 Nov 2026, 23:30 UTC"
