from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from runtime.backoff import Backoff, retry_after

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_waits_grow_up_to_the_cap_and_begin_anew_after_a_success() -> None:
    """Each wait is twice the one before, none is longer than the cap, and `reset` begins with the first."""
    backoff = Backoff(first=1.0, cap=5.0)
    assert [backoff.next_delay() for _ in range(5)] == [1.0, 2.0, 4.0, 5.0, 5.0]
    backoff.reset()
    assert [backoff.next_delay() for _ in range(2)] == [1.0, 2.0]


def test_another_factor_and_a_cap_below_the_first_wait_hold() -> None:
    """The factor may be another one, and the cap holds for the first wait too."""
    assert [Backoff(1.0, 100.0, factor=3.0).next_delay(), Backoff(60.0, 5.0).next_delay()] == [1.0, 5.0]
    tripled = Backoff(1.0, 100.0, factor=3.0)
    assert [tripled.next_delay() for _ in range(3)] == [1.0, 3.0, 9.0]


def test_what_fails_for_ever_waits_as_long_as_the_cap() -> None:
    """Thousands of failures overflow no number."""
    backoff = Backoff(first=1.0, cap=60.0)
    assert {backoff.next_delay() for _ in range(3000)} == {1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0}


def test_the_wait_that_a_server_asks_for_is_a_number_or_a_date() -> None:
    """A date without a zone is of UTC, and one in the past asks for no wait."""
    asked = format_datetime(NOW + timedelta(seconds=90), usegmt=True)
    assert [retry_after(header, NOW) for header in ("0", "7", " 1.5 ", asked)] == [0.0, 7.0, 1.5, 90.0]
    assert retry_after("Sun, 01 Mar 2026 12:01:00 -0000", NOW) == 60.0
    assert retry_after("Sun, 01 Mar 2026 11:00:00 GMT", NOW) == 0.0


@pytest.mark.parametrize("header", [None, "", "soon", "-1", "nan", "inf", "Sun, 99 Mar 2026 12:00:00 GMT"])
def test_a_header_that_says_no_wait_is_none(header: str | None) -> None:
    """Neither a number of seconds nor a date."""
    assert retry_after(header, NOW) is None
