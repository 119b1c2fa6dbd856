"""Query of the page that compares answers."""

from __future__ import annotations

from monitor.pages.compare.query import CompareQuery
from tests.monitor.conftest import NOW


def test_spaces_around_a_value_do_not_count() -> None:
    """A copied name is found; a value of spaces alone is as an absent one."""
    today = NOW.date()
    spaced = {
        "deployment": " rag ",
        "metric": "m\n",
        "after_since": " 2026-11-19 ",
        "before_run": " ",
        "after_run": "\tr",
    }
    plain = {"deployment": "rag", "metric": "m", "after_since": "2026-11-19", "after_run": "r"}
    assert CompareQuery.read(spaced, today) == CompareQuery.read(plain, today)
