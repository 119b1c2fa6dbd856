"""Comments that people wrote when they disliked an answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import pyarrow.dataset as ds

from lake.queries.answer_lookup import questions_of
from lake.spec.schemas import USER_SIGNALS
from lake.spec.vocabulary import Signal
from lake.tables.day_reading import DayReader, within
from lake.tables.lake import Lake

_EARLIER = timedelta(days=7)
_READ = ("signal_id", "signaled_at", "response_id", "details")


@dataclass(frozen=True)
class Comment:
    """A comment on an answer; `response_id` is null where the client named no answer.

    `question` is that of the answer, shortened, and `requested_at` its time; null where they were not looked for, or
    are not in the log.
    """

    signaled_at: datetime
    response_id: str | None
    text: str
    question: str | None = None
    requested_at: datetime | None = None


def newest_comments(
    lake: Lake, deployment: str | None, since: datetime, until: datetime, most: int
) -> tuple[Comment, ...]:
    """Return the comments of dislikes from `since` on and before `until`, the newest first, at most so many."""
    return tuple(islice(_comments(lake, deployment, since, until), most))


def with_questions(lake: Lake, deployment: str | None, comments: Sequence[Comment]) -> tuple[Comment, ...]:
    """Return the comments with the questions of their answers, which were asked for within a week before."""
    ids = {one.response_id for one in comments if one.response_id is not None}
    if not ids:
        return tuple(comments)
    days = [one.signaled_at.astimezone(UTC).date() for one in comments]
    found = questions_of(lake, deployment, ids, min(days) - _EARLIER, max(days))
    asked = [(one, found.get(one.response_id or "")) for one in comments]
    return tuple(replace(c, question=a.question, requested_at=a.requested_at) if a else c for c, a in asked)


def _comments(lake: Lake, deployment: str | None, since: datetime, until: datetime) -> Iterator[Comment]:
    # Partitions are of the days of the signals, so the latest day has the newest ones.
    reader = DayReader(lake.table(USER_SIGNALS, deployment), since.astimezone(UTC).date(), until.astimezone(UTC).date())
    where = within("signaled_at", since, until)
    where &= (ds.field("signal") == Signal.DISLIKE) & ds.field("details").is_valid()
    for day in reader.days():
        rows = reader.read(_READ, where, [day])
        seen: set[str] = set()
        for row in rows.sort_by([("signaled_at", "descending"), ("signal_id", "descending")]).to_pylist():
            text = comment_of(members_of(row["details"]))
            if text and text.strip() and row["signal_id"] not in seen:
                seen.add(row["signal_id"])
                yield Comment(row["signaled_at"], row["response_id"], text)


def members_of(details: str | None) -> dict[str, Any] | None:
    """Read the JSON object of a column `details`; None where it is none."""
    try:
        members = json.loads(details) if details else None
    except (ValueError, RecursionError):
        return None
    return members if isinstance(members, dict) else None


def comment_of(members: dict[str, Any] | None) -> str | None:
    """Return the comment that came with a rating; None where there is none."""
    comment = (members or {}).get("comment")
    return comment if isinstance(comment, str) else None
