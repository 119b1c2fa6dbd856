"""Counts of who asked a deployment within a period: requests, conversations, people, projects; no user is named."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc

from lake.queries.answer_rows import ENTRY_COLUMNS, IS_ENTRY
from lake.queries.latest_rows import each_once
from lake.spec.schemas import PARSED_LOGS
from lake.tables.day_reading import DayReader, RequestPeriod, within
from lake.tables.lake import Lake

MOST_PROJECTS = 5
_READ = tuple(
    dict.fromkeys(("event_id", "requested_at", "ingested_at", "user_id", "chat_id", "project_id", *ENTRY_COLUMNS))
)


@dataclass(frozen=True)
class ProjectRequests:
    """Requests with the API keys of a project."""

    project: str
    requests: int


@dataclass(frozen=True)
class Affected:
    """People's own requests from `since` on, counted, also those that failed.

    `people` and `conversations` are those that the log tells apart: a request without a user or a chat counts in none.
    """

    since: datetime
    requests: int
    conversations: int
    people: int
    without_user: int
    """Requests whose line has no user."""
    projects: tuple[ProjectRequests, ...]
    """Those with the most requests, at most five."""


def affected(lake: Lake, deployment: str | None, since: datetime, until: datetime) -> Affected:
    """Count the entries of a deployment from `since` on and before `until`, a day at a time."""
    reader = DayReader(lake.table(PARSED_LOGS, deployment), since.astimezone(UTC).date(), until.astimezone(UTC).date())
    where = IS_ENTRY & within("requested_at", since, until)
    people: set[str] = set()
    conversations: set[str] = set()
    projects: Counter[str] = Counter()
    requests = without_user = 0
    for day in reader.days():
        rows = each_once(reader.read(_READ, where, [day], RequestPeriod(since, until)))
        requests += rows.num_rows
        without_user += rows["user_id"].null_count
        people.update(_known(rows["user_id"]))
        conversations.update(_known(rows["chat_id"]))
        for one in pc.value_counts(rows["project_id"].drop_null()).to_pylist():
            projects[one["values"]] += one["counts"]
    most = tuple(ProjectRequests(*one) for one in projects.most_common(MOST_PROJECTS))
    return Affected(since, requests, len(conversations), len(people), without_user, most)


def _known(column: pa.ChunkedArray) -> list[str]:
    return [str(value) for value in pc.unique(column.drop_null()).to_pylist()]
