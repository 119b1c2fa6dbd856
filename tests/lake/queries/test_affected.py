"""Who asked a deployment within a period."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from lake.queries.affected import MOST_PROJECTS, ProjectRequests, affected
from lake.spec.schemas import PARSED_LOGS
from lake.spec.vocabulary import Kind, Origin
from lake.tables.lake import Lake

SINCE = datetime(2026, 11, 20, 22, tzinfo=UTC)
UNTIL = SINCE + timedelta(hours=5)


def _write(lake: Lake, *rows: dict[str, Any]) -> None:
    defaults = {"kind": Kind.CHAT_COMPLETION, "is_entry": True, "status": 200, "deployment": "hr"}
    complete = [{"event_id": str(n), "requested_at": SINCE, **defaults, **row} for n, row in enumerate(rows)]
    for row in complete:
        row["date"] = row["requested_at"].date()
    lake.table(PARSED_LOGS, "hr").append(PARSED_LOGS.rows(complete))


def test_people_and_conversations_of_two_days_count_once(lake_of_each_kind: Lake) -> None:
    """The first instant counts, the last does not; a failed request counts, as its asker is affected, too."""
    _write(
        lake_of_each_kind,
        {"user_id": "ann", "chat_id": "a"},
        {"user_id": "ann", "chat_id": "a2", "requested_at": SINCE + timedelta(hours=3), "status": 500},
        {"user_id": "bob", "chat_id": "b", "requested_at": UNTIL - timedelta(microseconds=1)},
        {"requested_at": SINCE + timedelta(hours=4)},
        {"user_id": "cyd", "chat_id": "c", "requested_at": SINCE - timedelta(microseconds=1)},
        {"user_id": "cyd", "chat_id": "c", "requested_at": UNTIL},
    )
    found = affected(lake_of_each_kind, "hr", SINCE, UNTIL)
    assert (found.requests, found.people, found.conversations, found.without_user) == (4, 2, 3, 1)


def test_only_what_people_asked_counts(lake_of_each_kind: Lake) -> None:
    _write(
        lake_of_each_kind,
        {"user_id": "ann"},
        {"user_id": "bob", "is_entry": False},
        {"user_id": "cyd", "origin": Origin.EVALUATION},
        {"user_id": "dan", "kind": Kind.EMBEDDING},
    )
    assert affected(lake_of_each_kind, "hr", SINCE, UNTIL).people == 1


def test_projects_with_the_most_requests_come_first(lake_of_each_kind: Lake) -> None:
    projects = [name for number, name in enumerate("abcdefg", 1) for _ in range(number)]
    _write(lake_of_each_kind, {}, *({"project_id": name} for name in projects))
    # A line that was written twice is one request.
    _write(lake_of_each_kind, {"event_id": "28", "project_id": "g"})
    found = affected(lake_of_each_kind, "hr", SINCE, UNTIL).projects
    assert found[0] == ProjectRequests("g", 7)
    assert [one.requests for one in found] == [7, 6, 5, 4, 3]
    assert len(found) == MOST_PROJECTS


def test_a_lake_without_the_deployment_has_nobody(lake_of_each_kind: Lake) -> None:
    found = affected(lake_of_each_kind, "hr", SINCE, UNTIL)
    assert (found.requests, found.people, found.projects) == (0, 0, ())
