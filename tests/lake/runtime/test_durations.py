from __future__ import annotations

from datetime import timedelta

import pytest

from lake import duration


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
        (238_160, "3 days"),
    ],
)
def test_a_length_of_time_is_in_the_unit_that_people_would_take(seconds: float, words: str) -> None:
    assert duration(seconds) == duration(timedelta(seconds=seconds)) == words
