"""How often questions of cases were asked, and which metrics compare answers with cases."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lake.queries.ground_truth.asked_questions import comparing_metrics, questions_asked, times_asked
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.tables.lake import Lake

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def _log(lake: Lake, *rows: dict[str, Any]) -> None:
    usual = {"kind": "chat_completion", "is_entry": True, "status": 200, "message_count": 1, "documents": ["d"]}
    made = [{"event_id": f"{n}", "requested_at": NOW - DAY} | usual | row for n, row in enumerate(rows)]
    lake.table(PARSED_LOGS, "hr").append(PARSED_LOGS.rows([one | {"date": one["requested_at"].date()} for one in made]))


def _case(case_id: str, question: str, **columns: Any) -> dict[str, Any]:
    return {"case_id": case_id, "question": question, "conversation_hash": None, "documents": ["d"]} | columns


def test_answers_are_counted_as_they_are_compared(lake_of_each_kind: Lake) -> None:
    """By words, documents and conversation; other times, and what no person asked, do not count."""
    lake = lake_of_each_kind
    later = {"message_count": 3, "prefix_hash": "p", "parent_history_hash": "h"}
    _log(
        lake,
        {"question": "How much LEAVE"},
        {"question": "how much leave?", "requested_at": NOW - 6 * DAY},
        {"question": "How much leave?", "requested_at": NOW - 8 * DAY},
        {"question": "How much leave?", "requested_at": NOW},
        {"question": "How much leave?", "documents": ["other"]},
        {"question": "How much leave?", "origin": "evaluation"},
        {"question": "How much leave?", "is_entry": False},
        {"question": "How much leave?", "status": 500},
        {"question": "And then?"} | later,
        {"question": None},
    )
    # A line that was written twice is one answer.
    _log(lake, {"question": "How much LEAVE"})
    cases = [_case("a", "How much leave?"), _case("b", "And then?", conversation_hash="p"), _case("c", "And then?")]
    assert times_asked(questions_asked(lake, "hr", NOW - 7 * DAY, NOW), cases) == {"a": 2, "b": 1, "c": 0}
    assert times_asked(questions_asked(lake, "hr", NOW - 7 * DAY, NOW), []) == {}
    assert times_asked(questions_asked(lake, "nobody", NOW - 7 * DAY, NOW), cases) == {"a": 0, "b": 0, "c": 0}


def test_of_a_day_with_many_answers_some_are_read(lake_of_each_kind: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the days before it, and not all of it."""
    monkeypatch.setattr("lake.queries.ground_truth.asked_questions.ENOUGH", 5)
    for day, count in ((1, 3), (2, 40), (3, 1)):
        of_day = {"question": "How much leave?", "requested_at": NOW - day * DAY}
        _log(lake_of_each_kind, *(of_day | {"event_id": f"{day} {number}"} for number in range(count)))
    asked = questions_asked(lake_of_each_kind, "hr", NOW - 7 * DAY, NOW)
    assert times_asked(asked, [_case("a", "How much leave?")]) == {"a": 5}


def test_metrics_that_compared_answers_are_named(lake_of_each_kind: Lake) -> None:
    rows = [("facts_recall", "exact", 1), ("case_passed", "exact", 1), ("case_passed", "exact", 2), ("old", "exact", 9)]
    rows += [("faithful", None, 1)]
    made = [
        {"score_id": f"{n}", "metric": metric, "reference_match": match, "requested_at": NOW - days * DAY}
        | {"date": (NOW - days * DAY).date()}
        for n, (metric, match, days) in enumerate(rows)
    ]
    lake_of_each_kind.table(SCORES, "hr").append(SCORES.rows(made))
    found = comparing_metrics(lake_of_each_kind, "hr", NOW - 7 * DAY, NOW)
    assert found == ("case_passed", "facts_recall")
