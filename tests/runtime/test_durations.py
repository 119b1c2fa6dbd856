"""Durations in settings, and as people read them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from runtime.durations import duration, reads_seconds


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 seconds"),
        (0.5, "0.5 seconds"),
        (1, "1 second"),
        (29.7, "30 seconds"),
        (119, "119 seconds"),
        (120, "2 minutes"),
        (7199, "120 minutes"),
        (7200, "2 hours"),
        (5.6 * 3600, "5.5 hours"),
        (5.8 * 3600, "6 hours"),
        (10.6 * 3600, "11 hours"),
        (238_160, "3 days"),
    ],
)
def test_a_length_of_time_is_in_the_unit_that_people_would_take(seconds: float, words: str) -> None:
    assert duration(seconds) == duration(timedelta(seconds=seconds)) == words


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30", 30), ("30s", 30), (" 1.5 m ", 90), ("24h", 86_400), ("2d", 172_800), ("0s", 0)],
)
def test_a_number_with_a_unit_is_so_many_seconds(text: str, seconds: float) -> None:
    assert reads_seconds("smhd")(text) == seconds


@pytest.mark.parametrize("value", ["2d", "1w", "-1s", "1e3", "", "s", "1 s 2", 30, 1.5, None])
def test_all_else_is_left_to_the_settings(value: Any) -> None:
    """A unit that is not meant, and what is no text."""
    assert reads_seconds("smh")(value) is value
