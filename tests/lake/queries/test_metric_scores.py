"""Scores of one metric within a period, and texts of the answers that have them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lake.queries.metric_scores import metric_scores, texts_of_answers
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.tables.lake import Lake

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
DAY, INSTANT = timedelta(days=1), timedelta(microseconds=1)


def score(event_id: str, at: datetime, value: float | None, **more: Any) -> dict[str, Any]:
    row = {"event_id": event_id, "response_id": f"r-{event_id}", "score_id": f"{event_id}-{value}", "metric": "m"}
    return row | {"metric_version": "1", "value": value, "date": at.date(), "requested_at": at, "scored_at": at} | more


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Three days of scores, and the answers of two of them."""
    made = Lake(str(tmp_path / "lake"))
    scores = [
        score("a", NOON - 2 * DAY, 0.1),
        score("b", NOON - DAY, 0.2),
        score("c", NOON - INSTANT, 0.3),
        score("d", NOON, 0.4),
        score("d", NOON, 0.5, scored_at=NOON + DAY),
        score("e", NOON, None),
        score("f", NOON, float("nan")),
        score("g", NOON, 0.7, metric="other"),
        score("h", NOON, 0.8, metric_version="2"),
    ]
    made.table(SCORES, "rag").append(SCORES.rows(scores))
    logs = [{"event_id": one, "date": at.date(), "requested_at": at} for one, at in (("b", NOON - DAY), ("d", NOON))]
    texts = {"question": "Who is it?", "answer": "Ann."}
    made.table(PARSED_LOGS, "rag").append(PARSED_LOGS.rows([row | texts for row in logs]))
    return made


def found(lake: Lake, since: datetime, until: datetime, enough: int = 9) -> dict[str, float]:
    rows = metric_scores(lake, "rag", "m", "1", since, until, enough).to_pylist()
    assert all(row["response_id"] == f"r-{row['event_id']}" for row in rows)
    assert all(row["date"] == row["requested_at"].date() for row in rows)
    return {row["event_id"]: row["value"] for row in rows}


def test_values_are_the_latest_of_each_answer_asked_for_within_the_period(lake: Lake) -> None:
    """Its beginning is in it and its end is not; what has no finite value, and other versions, are not there."""
    assert found(lake, NOON - 2 * DAY, NOON + INSTANT) == {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.5}
    assert found(lake, NOON - 2 * DAY + INSTANT, NOON) == {"b": 0.2, "c": 0.3}
    assert found(lake, NOON, NOON + DAY) == {"d": 0.5}


def test_days_are_read_whole_the_latest_first_until_there_are_enough(lake: Lake) -> None:
    assert found(lake, NOON - 2 * DAY, NOON + DAY, enough=1) == {"c": 0.3, "d": 0.5}
    assert found(lake, NOON - 2 * DAY, NOON + DAY, enough=2) == {"c": 0.3, "d": 0.5}
    assert found(lake, NOON - 2 * DAY, NOON + DAY, enough=3) == {"b": 0.2, "c": 0.3, "d": 0.5}


def test_texts_are_cut_and_those_of_erased_answers_are_absent(lake: Lake) -> None:
    scores = metric_scores(lake, "rag", "m", "1", NOON - 2 * DAY, NOON + DAY, 9)
    texts = texts_of_answers(lake, "rag", scores, ("question", "answer"), 3)
    assert texts == {
        "b": {"event_id": "b", "question": "Who", "answer": "Ann"},
        "d": {"event_id": "d", "question": "Who", "answer": "Ann"},
    }
    assert texts_of_answers(lake, "rag", scores.slice(0, 0), ("question",), 3) == {}
