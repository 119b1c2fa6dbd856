"""Findings of judges about a whole turn or conversation, on the page of its last answer."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient

from lake.queries.answer_details import AnswerDetails, AnswerScore
from lake.queries.failures import AnswerStatus
from lake.queries.ratings import AnswerLabel, AnswerRating
from monitor.pages.answers.outcomes import Outcome, OutcomeKind, outcomes_in
from monitor.pages.answers.reasons import ReasonKind, reasons_of
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from tests.monitor.conftest import NOW, ScoreColumns
from tests.monitor.pages.answers.conftest import TODAY

GOAL = {"goal": "Get a refund.", "end_state": "A promise.", "reason": "no call"}
TALK = {
    "turns": 9, "left_out": 2, "forgot": [4], "repeats": [5, 9],
    "intents": [{"intent": "Find the parcel", "met": True}, {"intent": "Get a refund", "met": False}],
}  # fmt: skip
TOPICS = [
    {"topic": f"T{allowed}{answered}", "allowed": allowed, "answered": answered}
    for allowed in (True, False)
    for answered in (True, False)
]


def answer_with(details: dict[str, Any], value: float | None = 0.0) -> AnswerDetails:
    score = AnswerScore("goal_accuracy", "1", value, None, "strict", details, None, 0, 1, 0, NOW, False, True)
    return AnswerDetails(
        {"answer": "Yes."}, AnswerStatus.OK, (), AnswerRating.NONE, AnswerLabel.NONE, (), None, (), (score,), (), ()
    )  # fmt: skip


def lines(details: dict[str, Any], value: float | None = 0.0) -> list[tuple[str, bool, str]]:
    return [
        (one.verdict, one.is_bad, one.text) for found in outcomes_in(answer_with(details, value)) for one in found.lines
    ]


def test_a_goal_says_what_was_wanted_and_how_it_ended() -> None:
    """With the judge's reason where it gave one; a score without a value says nothing."""
    assert lines(GOAL) == [("not reached", True, "Get a refund. At the end: A promise. (no call)")]
    assert lines({"goal": "Get it."}, 1.0) == [("reached", False, "Get it.")]
    assert lines(GOAL, None) == []


def test_a_conversation_says_what_was_not_met_and_which_turns_were_bad() -> None:
    """Each intent, and the turns by their number."""
    assert lines(TALK) == [
        ("met", False, "Find the parcel"),
        ("not met", True, "Get a refund"),
        ("forgot what was said", True, "turn 4 of 9; 2 turns were not read"),
        ("repeated itself", True, "turns 5, 9 of 9; 2 turns were not read"),
    ]


def test_a_topic_is_bad_where_it_was_wrongly_answered_or_not() -> None:
    """Four ways."""
    assert lines({"topics": TOPICS}) == [
        ("answered", False, "TTrueTrue"),
        ("its own, and not answered", True, "TTrueFalse"),
        ("not its own, and answered", True, "TFalseTrue"),
        ("not its own, and not answered", False, "TFalseFalse"),
    ]


def test_several_judges_have_their_findings_apart_and_several_metrics_share_them() -> None:
    """By its own value each; what is the same is there once."""
    found = outcomes_in(answer_with({"judges": {"a": GOAL | {"value": 1.0}, "b": GOAL | {"value": 0.0}}}))
    assert [(one.judge, one.lines[0].verdict) for one in found] == [("a", "reached"), ("b", "not reached")]
    twice = answer_with(TALK)
    assert len(outcomes_in(replace(twice, scores=twice.scores * 2))) == 1


@pytest.mark.parametrize(
    "details",
    [{"goal": 3}, {"intents": [3, {"intent": "x"}, {"met": True}]}, {"topics": "x"}, {"forgot": [True, -1, "2"]},
     {"forgot": [2]}, {"turns": "9", "repeats": [1]}, {"topics": [{"topic": "x", "allowed": 1, "answered": True}]}],
)  # fmt: skip
def test_what_has_another_form_counts_as_absent(details: dict[str, Any]) -> None:
    """Details may be of any writer."""
    assert lines(details) == []


def test_they_are_reasons_of_an_incident() -> None:
    """What was wanted and not got, topics, turns."""
    reasons = list(reasons_of(answer_with(GOAL | TALK | {"topics": TOPICS}), None))
    assert [(one.kind, len(one.texts)) for one in reasons] == [
        (ReasonKind.UNMET, 2), (ReasonKind.TOPIC, 2), (ReasonKind.TURNS, 2),
    ]  # fmt: skip
    assert list(reasons_of(answer_with({"goal": "Get it."}, 1.0), None)) == []


def test_the_page_of_the_last_answer_shows_them(rows: ScoreColumns, monitor: Monitor) -> None:
    """As text, whatever they say."""
    rows.logs("rag", {"event_id": "e1", "question": "Thanks", "answer": "Bye"})
    hostile = TALK | {"intents": [{"intent": "<script>alert(1)</script>", "met": False}]}
    score = {"event_id": "e1", "score_id": "s", "metric": "conversation_completeness", "judge": "strict"}
    rows.scores("rag", score | {"details": json.dumps(hostile)})
    monitor.refresh()
    page = TestClient(create_app(monitor)).get(f"/answer?deployment=rag&date={TODAY}&event_id=e1").text
    assert "<h2>The conversation</h2>" in page
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>" not in page
    assert "turns 5, 9 of 9" in page


def test_an_outcome_is_plain_data() -> None:
    """As pages and reports read it."""
    (found,) = outcomes_in(answer_with({"goal": "Get it."}))
    assert found.lines == (Outcome(OutcomeKind.GOAL, "not reached", True, "Get it."),)
    assert found.title == "What the person wanted"
