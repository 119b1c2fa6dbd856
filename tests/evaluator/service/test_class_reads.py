"""How often a week of answers is read to decide which class an application has."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.queries.application_classes import seen_answers
from lake.spec.application_classes import SeenAnswers
from lake.tables.lake import Lake
from lake.tables.table import Table
from tests.evaluator.service.test_class_decisions import CALLS, DAY, NOW, PLAIN, known, log


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[datetime]:
    """When a week of answers was read."""
    found: list[datetime] = []

    def counted(logs: Table, now: datetime, *others: Any) -> SeenAnswers:
        found.append(now)
        return seen_answers(logs, now, *others)

    monkeypatch.setattr("evaluator.service.class_decisions.seen_answers", counted)
    return found


def test_answers_are_read_again_only_where_a_class_is_due_and_answers_came(
    lake: Lake, traffic: Any, reads: list[datetime]
) -> None:
    """A pass costs nothing: 7 days of answers are read once in 7 days."""
    clock = NOW
    evaluator = Evaluator(lake, EvaluatorSettings(), clock=lambda: clock)
    log(traffic, "a", 49, **PLAIN)
    for _ in range(3):
        evaluator.run_once()
    # Once before the answers were scored, and once after they had come.
    assert len(reads) == 2
    log(traffic, "b", 1, **PLAIN)
    for day in range(7):
        clock = NOW + timedelta(days=day)
        log(traffic, f"day-{day}", 1, day * DAY, **PLAIN)
        evaluator.run_once()
    assert len(reads) == 3


def test_a_week_of_answers_that_show_nothing_is_not_read_in_each_pass(
    lake: Lake, traffic: Any, reads: list[datetime]
) -> None:
    """They failed, and never are enough for a class: they are read again once 50 more came."""
    evaluator = Evaluator(lake, EvaluatorSettings(), clock=lambda: NOW)
    log(traffic, "a", 600, answer_kind="failed")
    evaluator.run_once()
    evaluator.run_once()
    assert len(reads) == 2
    for number in range(5):
        log(traffic, f"b{number}", 20, answer_kind="failed")
        evaluator.run_once()
    assert len(reads) == 3
    log(traffic, "c", 60, **CALLS)
    evaluator.run_once()
    evaluator.run_once()
    assert list(known(lake)) == ["calls_tools"]
