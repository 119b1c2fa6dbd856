"""Durations in settings."""

from __future__ import annotations

from typing import Any

import pytest

from lake.runtime.durations import reads_seconds


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
