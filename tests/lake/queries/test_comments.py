"""Comments of dislikes within a period."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lake.queries.comments import comment_of, members_of, newest_comments, with_questions
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
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


def test_the_question_of_the_answer_stands_beside_its_comment(lake_of_each_kind: Lake) -> None:
    """Shortened, by whichever id of the answer the client named; that of a person before that of a call within it."""
    row = {"deployment": "hr", "requested_at": SINCE, "date": SINCE.date(), "kind": "chat_completion"}
    rows = [
        {"event_id": "e1", "response_id": "r1", "response_ids": ["r1", "r2"], "question": "Leave?", "is_entry": True},
        {"event_id": "e2", "response_id": "r1", "question": "rewritten", "is_entry": False},
        {"event_id": "e3", "response_id": "r3", "question": "x" * 201, "is_entry": True},
    ]
    lake_of_each_kind.table(PARSED_LOGS, "hr").append(PARSED_LOGS.rows([row | one for one in rows]))
    for number, name in enumerate(("r1", "r2", "r3", "gone", None)):
        _write(lake_of_each_kind, SINCE + timedelta(minutes=number), str(name), response_id=name)
    comments = newest_comments(lake_of_each_kind, "hr", SINCE, UNTIL, 9)
    found = with_questions(lake_of_each_kind, "hr", comments)
    assert {one.text: one.question for one in found} == {
        "r1": "Leave?", "r2": "Leave?", "r3": "x" * 200 + "…", "gone": None, "None": None
    }  # fmt: skip
    assert {one.text: one.requested_at for one in found} == {
        "r1": SINCE, "r2": SINCE, "r3": SINCE, "gone": None, "None": None
    }  # fmt: skip
    assert [one.text for one in found] == [one.text for one in comments]
    assert with_questions(lake_of_each_kind, "other", comments) == comments


@pytest.mark.parametrize(
    "details", [None, "", "[", "[1]", '"x"', "{}", '{"comment": 5}', '{"comment": null}', "[" * 99999]
)
def test_what_is_no_comment_is_none(details: str | None) -> None:
    assert comment_of(members_of(details)) is None
