"""Positions of the evaluator in the tables that it reads, in the tables and between their commits."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from typing import Any

import pytest

from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.schemas import PARSED_LOGS, SCORES, USER_SIGNALS
from lake.spec.table_spec import TableSpec
from lake.tables.lake import Lake
from lake.tables.table import Table

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def new_evaluator(lake: Lake) -> Evaluator:
    return Evaluator(lake, EvaluatorSettings(), clock=lambda: NOW)


@pytest.fixture
def evaluator(lake: Lake) -> Evaluator:
    return new_evaluator(lake)


def version(traffic: Any, spec: TableSpec) -> int | None:
    found: int | None = traffic.lake.table(spec, "rag").version()
    return found


def remove(traffic: Any, spec: TableSpec) -> None:
    shutil.rmtree(traffic.lake.table(spec, "rag").uri)


@pytest.mark.parametrize("restarts", [True, False], ids=["a new process each time", "one process"])
def test_a_log_that_was_removed_and_made_anew_is_read_from_its_beginning(
    lake: Lake, traffic: Any, restarts: bool
) -> None:
    """What has scores or a case gets no second ones, what is new is scored, and so on with each pass."""
    evaluator = new_evaluator(lake)
    for name in "abc":
        traffic.log(traffic.answer(name, question=name))
    traffic.rate(traffic.signal("like", "a"))
    assert (result := evaluator.run_once()).failures == ()
    assert result.cases == 1
    remove(traffic, PARSED_LOGS)
    traffic.log(traffic.answer("a", question="a"), traffic.answer("d", question="d"))
    for name, new in (("", "d"), ("e", "e"), ("f", "f")):
        evaluator = new_evaluator(lake) if restarts else evaluator
        if name:
            traffic.log(traffic.answer(name, question=name))
        traffic.rate(traffic.signal("like", new))
        result = evaluator.run_once()
        assert (result.failures, result.cases) == ((), 1)
    scores = traffic.lake.table(SCORES, "rag").read(["score_id", "event_id"])
    assert sorted(set(scores["event_id"].to_pylist())) == [f"event-{name}" for name in "abcdef"]
    assert len(set(scores["score_id"].to_pylist())) == scores.num_rows
    assert len(traffic.cases()) == 4


def test_signals_that_were_removed_and_made_anew_are_read_from_their_beginning(lake: Lake, traffic: Any) -> None:
    """The case that there is stays the only one of its answer."""
    traffic.log(traffic.answer("a", question="a"), traffic.answer("b", question="b"))
    for minute in range(3):
        traffic.rate(traffic.signal("like", "a", minute))
    new_evaluator(lake).run_once()
    remove(traffic, USER_SIGNALS)
    traffic.rate(traffic.signal("like", "a"), traffic.signal("like", "b"))
    result = new_evaluator(lake).run_once()
    assert (result.failures, result.cases, len(traffic.cases())) == ((), 1, 2)


def test_a_pass_a_minute_commits_once_where_answers_come_and_never_where_none_do(
    evaluator: Evaluator, traffic: Any
) -> None:
    """Rows that no one scores and opinions that make no case are no reason for a commit; an idle table is none."""
    traffic.rate(traffic.signal("like", "unknown"))
    for number in range(3):
        traffic.log(traffic.answer(f"{number}", kind="embedding"))
        evaluator.run_once()
    assert (version(traffic, SCORES), version(traffic, GROUND_TRUTH)) == (None, None)
    traffic.log(traffic.answer("a"))
    evaluator.run_once()
    before = version(traffic, SCORES)
    assert before is not None
    for number in range(3):
        traffic.log(traffic.answer(f"more-{number}"))
        traffic.rate(traffic.signal("dislike", f"more-{number}"))
        evaluator.run_once()
        evaluator.run_once()
    assert (version(traffic, SCORES), version(traffic, GROUND_TRUTH)) == (before + 3, None)


def test_so_many_rows_without_a_score_are_worth_a_commit(
    lake: Lake, traffic: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a new process does not read all of them again."""
    monkeypatch.setattr("lake.tables.pass_transaction._VERSIONS_WITHOUT_ROWS", 3)
    evaluator = new_evaluator(lake)
    traffic.rate(traffic.signal("dislike", "unknown"))
    for number in range(4):
        traffic.log(traffic.answer(f"{number}", kind="embedding"))
        evaluator.run_once()
    # The first commit of each makes the table; scores have one of each pass, that over scores of others included.
    assert (version(traffic, SCORES), version(traffic, GROUND_TRUTH)) == (2, 1)


def test_what_was_read_without_a_commit_is_read_again_by_a_new_process(lake: Lake, traffic: Any) -> None:
    """A like that waits for its answer in one process makes the case in the next."""
    traffic.rate(traffic.signal("like", "a"))
    new_evaluator(lake).run_once()
    traffic.log(traffic.answer("a"))
    assert new_evaluator(lake).run_once().cases == 1


def test_only_signals_on_new_answers_and_answers_with_new_likes_are_read(
    evaluator: Evaluator, traffic: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many were given before; and an opinion that nothing came of is not looked up again."""
    traffic.log(*(traffic.answer(f"old-{number}", number) for number in range(50)))
    traffic.rate(*(traffic.signal("like", f"unknown-{number}", number) for number in range(50)))
    evaluator.run_once()
    read, rows = Table.read, []

    def noted(table: Table, *args: Any, **kwargs: Any) -> Any:
        found = read(table, *args, **kwargs)
        rows.append((table.spec.name, found.num_rows))
        return found

    monkeypatch.setattr(Table, "read", noted)
    traffic.log(traffic.answer("new"))
    evaluator.run_once()
    assert max([count for name, count in rows if name == "user_signals"], default=0) == 0
    traffic.rate(traffic.signal("like", "old-7"), traffic.signal("like", "nobodys"))
    assert evaluator.run_once().cases == 1
    assert max(count for name, count in rows if name in ("user_signals", "parsed_logs")) == 1
    rows.clear()
    evaluator.run_once()
    assert {name for name, _ in rows} == {"ground_truth"}, "cases that changed are looked at once"
    rows.clear()
    evaluator.run_once()
    assert rows == []


def test_a_rating_that_is_a_day_older_than_its_answer_by_its_clock_counts(evaluator: Evaluator, traffic: Any) -> None:
    """Clocks differ, and so do zones of time."""
    traffic.rate(traffic.signal("like", "a", -1440))
    evaluator.run_once()
    traffic.log(traffic.answer("a"))
    assert evaluator.run_once().cases == 1
