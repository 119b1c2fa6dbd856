"""Comments of dislikes within a period."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lake.queries.comments import comment_of, members_of, newest_comments
from lake.spec.schemas import USER_SIGNALS
from lake.tables.lake import Lake

SINCE = datetime(2026, 11, 20, 22, tzinfo=UTC)
UNTIL = SINCE + timedelta(hours=5)


def _write(lake: Lake, at: datetime, comment: str, **columns: Any) -> None:
    row = {"signal_id": comment, "signaled_at": at, "date": at.date(), "signal": "dislike", "deployment": "hr"}
    row |= {"response_id": "r", "details": json.dumps({"comment": comment})} | columns
    lake.table(USER_SIGNALS, "hr").append(USER_SIGNALS.rows([row]))


def test_the_newest_of_several_days_come_first(lake_of_each_kind: Lake) -> None:
    """The first instant belongs to the period, the last does not; a signal that was written twice is one."""
    _write(lake_of_each_kind, SINCE, "first")
    _write(lake_of_each_kind, SINCE + timedelta(hours=3), "next day")
    _write(lake_of_each_kind, SINCE + timedelta(hours=3), "next day")
    _write(lake_of_each_kind, SINCE + timedelta(hours=1), "second")
    _write(lake_of_each_kind, SINCE - timedelta(microseconds=1), "before")
    _write(lake_of_each_kind, UNTIL, "after")
    found = newest_comments(lake_of_each_kind, "hr", SINCE, UNTIL, 9)
    assert [one.text for one in found] == ["next day", "second", "first"]
    assert newest_comments(lake_of_each_kind, "hr", SINCE, UNTIL, 2) == found[:2]


def test_only_dislikes_with_words_count(lake_of_each_kind: Lake) -> None:
    _write(lake_of_each_kind, SINCE, "good", signal="like")
    _write(lake_of_each_kind, SINCE, " ")
    _write(lake_of_each_kind, SINCE, "none", details=None)
    assert newest_comments(lake_of_each_kind, "hr", SINCE, UNTIL, 9) == ()
    assert newest_comments(lake_of_each_kind, "other", SINCE, UNTIL, 9) == ()


@pytest.mark.parametrize(
    "details", [None, "", "[", "[1]", '"x"', "{}", '{"comment": 5}', '{"comment": null}', "[" * 99999]
)
def test_what_is_no_comment_is_none(details: str | None) -> None:
    assert comment_of(members_of(details)) is None
