"""Who asked a deployment within a period."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

from lake.queries.affected import (
    MOST_PROJECTS,
    GroupKind,
    ProjectRequests,
    StandsOut,
    affected,
    standing_out,
    without_names,
)
from lake.queries.worst_answers.compared_answers import ComparedAnswer, ComparedAnswers
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


def _answers(count: int, **columns: Any) -> tuple[ComparedAnswer, ...]:
    none = dict.fromkeys(("chat_id", "project", "client", "language"))
    usual: dict[str, Any] = {"question": "", **none, "documents": ()}
    return tuple(ComparedAnswer(**usual | columns) for _ in range(count))


def test_what_the_worst_answers_have_and_good_ones_lack_stands_out() -> None:
    """A project, a client, a language and a document each by the same rule."""
    worst = _answers(30, project="hr", client="bot", language="de", documents=("leave.pdf", "all.pdf"))
    good = _answers(90, project="legal", client="portal", language="en", documents=("all.pdf",))
    shared = _answers(10, project="hr", client="bot", language="de", documents=("leave.pdf", "all.pdf"))
    found = standing_out(ComparedAnswers(worst, (*good, *shared)))
    assert found == (
        StandsOut(GroupKind.PROJECT, "hr", 30, 30, 10, 100),
        StandsOut(GroupKind.CLIENT, "bot", 30, 30, 10, 100),
        StandsOut(GroupKind.LANGUAGE, "de", 30, 30, 10, 100),
        StandsOut(GroupKind.DOCUMENT, "leave.pdf", 30, 30, 10, 100),
    )
    assert str(found[0]) == "project hr (30 of 30 worst answers, 10 of 100 good ones)"
    hidden = without_names(found, with_texts=False)
    assert [one.name for one in hidden] == ["hr", "bot", "de", ""]
    assert str(hidden[3]).startswith("one document (30 of 30")
    assert without_names(found, with_texts=True) == found


def test_what_all_answers_have_alike_does_not_stand_out() -> None:
    """Nor what only good ones have, nor one conversation, nor that nothing is known."""
    alike = {"project": "hr", "client": "bot", "language": "de", "documents": ("a.pdf",)}
    assert standing_out(ComparedAnswers(_answers(40, **alike), _answers(90, **alike))) == ()
    assert standing_out(ComparedAnswers(_answers(40), _answers(90, **alike))) == ()
    assert standing_out(ComparedAnswers(_answers(40, **alike, chat_id="one"), _answers(90))) == ()
    assert standing_out(ComparedAnswers(_answers(40, **alike), ())) == ()


def test_one_of_a_kind_at_most_stands_out() -> None:
    both = _answers(40, documents=("a.pdf", "b.pdf")) + _answers(20, documents=("b.pdf",))
    (one,) = standing_out(ComparedAnswers(both, _answers(200, documents=("c.pdf",))))
    assert one.name == "b.pdf"


def test_by_chance_nothing_stands_out_in_19_of_20_incidents() -> None:
    chance = random.Random(5)

    def some(count: int) -> tuple[ComparedAnswer, ...]:
        return tuple(
            one
            for _ in range(count)
            for one in _answers(
                1,
                project=chance.choice("aaaabbc"),
                client=chance.choice("aaaabbc"),
                language=chance.choice(["en", "en", "en", "de", "fr"]),
                documents=tuple({f"{int(60 ** chance.random())}.pdf" for _ in range(4)}),
            )
        )

    incidents = [(worst, good) for worst, good in ((15, 40), (40, 100), (300, 600)) for _ in range(70)]
    shown = sum(bool(standing_out(ComparedAnswers(some(worst), some(good)))) for worst, good in incidents)
    assert shown <= len(incidents) / 20
