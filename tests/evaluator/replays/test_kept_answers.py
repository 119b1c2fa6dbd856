"""Answers of the baseline, compared as their cases and the metrics are now."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evaluator.metrics import metric_named
from evaluator.replays import Outcome, ReplaySettings, Reply, replay
from lake.queries.ground_truth.case_versions import change_cases
from lake.spec.case_tables import REPLAYS
from lake.spec.case_vocabulary import ReplayVerdict
from lake.tables.lake import Lake
from tests.evaluator.replays.test_run import CASES, NAME, NOW, Scripted, fill, misses, right, run, written


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


def edit(lake: Lake, **columns: Any) -> None:
    """A person changes all cases."""
    change_cases(lake, NAME, lambda cases: dict.fromkeys(cases, columns), "ann", NOW)


def test_cases_that_were_edited_are_compared_as_they_are_now(lake: Lake) -> None:
    """The same answers are no worse because somebody wrote more into the references."""
    fill(lake)
    run(lake, right)
    edit(lake, facts=["Every store is open on Sundays"], answer="Every store is open on Sundays, says the handbook")
    made = run(lake, right)
    assert made.comparison is not None
    assert {(one.before, one.after) for one in made.comparison.metrics if one.metric == "case_passed"} == {(0.0, 0.0)}
    assert (made.verdict, made.comparison.count(Outcome.SAME)) == (ReplayVerdict.NO_REGRESSION, CASES)


def test_cases_that_ask_something_else_are_left_out_and_counted(lake: Lake) -> None:
    """The answer of the baseline says nothing of another question, or of other documents."""
    fill(lake)
    run(lake, right)

    def change(cases: Mapping[str, Any]) -> Mapping[str, Any]:
        first, second, *_ = sorted(cases)
        return {first: {"question": "How many kinds has store 99?"}, second: {"documents": ["files/coffee.pdf"]}}

    change_cases(lake, NAME, change, "ann", NOW)
    made = run(lake, right)
    assert made.comparison is not None
    assert (made.changed, len(made.comparison.cases)) == (2, CASES - 2)


def test_answers_of_the_baseline_are_scored_by_the_metrics_of_now(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an upgrade whose metrics have other versions a broken application is found all the same."""
    fill(lake)
    first = run(lake, right)
    rows = [
        row | {"scores": [score | {"metric_version": "0"} for score in row["scores"]], "run_id": "old"}
        for row in first.rows
    ]
    old = Lake(f"{lake.root}-old")
    fill(old)
    old.table(REPLAYS, NAME).append(REPLAYS.rows(rows))
    made = run(old, misses)
    assert made.verdict == ReplayVerdict.REGRESSION
    assert {row["compared_with"] for row in made.rows} == {"old"}


def test_contexts_that_are_only_cited_are_not_scored_as_retrieved(lake: Lake) -> None:
    """Neither when a case is asked, nor when its kept answer is scored anew."""

    def cites(question: str) -> Reply:
        return dataclasses.replace(right(question), cited_only=True)

    fill(lake)
    faithfulness = [metric_named("faithfulness_kprecision")]
    replay(lake, NAME, Scripted(cites), ReplaySettings(), faithfulness)
    assert {row["cited_only"] for row in written(lake)} == {True}
    edit(lake, answer="Stores sell tea")
    made = replay(lake, NAME, Scripted(right), ReplaySettings(), faithfulness)
    assert made is not None
    assert made.comparison is not None
    assert (made.verdict, made.comparison.metrics) == (ReplayVerdict.TOO_FEW, ())
