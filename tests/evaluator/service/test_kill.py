"""An evaluator that is killed while it works."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evaluator.service import new_scores
from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.tables.lake import Lake
from lake.tables.table import Table
from tests.killing import KILLED, Moment, die, run

pytestmark = pytest.mark.integration
NOW = datetime(2026, 11, 21, tzinfo=UTC)


def one_pass(root: str, moment: Moment, table: str) -> None:
    """A pass that dies around its first commit of rows to a table."""
    die(moment, Table, "append", counts=lambda to, rows, *_, **__: rows.num_rows and to.spec.name == table)
    Evaluator(Lake(root), EvaluatorSettings(), clock=lambda: NOW).run_once()


def fill(traffic: Any) -> None:
    traffic.log(traffic.answer("liked"), traffic.answer("same", 5), traffic.answer("plain", 6, chunks=[]))
    traffic.rate(traffic.signal("like", "liked"))


def test_a_killed_pass_is_finished_by_the_next_as_if_undisturbed(tmp_path: Path, traffic: Any) -> None:
    """SIGKILL before and after the commit to each table: the pass that ends well leaves the tables of a quiet run."""
    quiet = type(traffic)(Lake(str(tmp_path / "quiet")), "rag")
    fill(quiet)
    Evaluator(quiet.lake, EvaluatorSettings(), clock=lambda: NOW).run_once()
    fill(traffic)
    for name, cases, scores in [("ground_truth", 1, 0), ("scores", 1, 12)]:
        assert run(one_pass, traffic.lake.root, "before", name) == KILLED
        assert run(one_pass, traffic.lake.root, "after", name) == KILLED
        assert (len(traffic.cases()), len(traffic.scores())) == (cases, scores)
    assert Evaluator(traffic.lake, EvaluatorSettings(), clock=lambda: NOW).run_once().failures == ()
    assert (traffic.scores(), traffic.cases()) == (quiet.scores(), quiet.cases())


def long_pass(root: str) -> None:
    """A pass that commits after each answer, and dies after the first commit."""
    die("after", Table, "append", counts=lambda to, *_, **__: to.spec.name == "scores")
    new_scores._COMMIT_SECONDS = 0
    new_scores.answers_at_once = lambda metrics: 1
    Evaluator(Lake(root), EvaluatorSettings(), clock=lambda: NOW).run_once()


def test_a_long_pass_that_is_killed_between_its_commits_loses_none_and_repeats_none(
    tmp_path: Path, traffic: Any
) -> None:
    """What took long is committed in parts; whoever comes next scores the rest, be it killed again."""
    quiet = type(traffic)(Lake(str(tmp_path / "quiet")), "rag")
    for each in (quiet, traffic):
        each.log(each.answer("early", -5))
        Evaluator(each.lake, EvaluatorSettings(), clock=lambda: NOW).run_once()
        fill(each)
    Evaluator(quiet.lake, EvaluatorSettings(), clock=lambda: NOW).run_once()
    seen = [len(traffic.scores())]
    for _ in range(3):
        assert run(long_pass, traffic.lake.root) == KILLED
        seen.append(len(traffic.scores()))
    assert len(set(seen)) == 4
    assert Evaluator(traffic.lake, EvaluatorSettings(), clock=lambda: NOW).run_once().failures == ()
    by_id = {"key": lambda row: row["score_id"]}
    assert sorted(traffic.scores(), **by_id) == sorted(quiet.scores(), **by_id)
    assert Evaluator(traffic.lake, EvaluatorSettings(), clock=lambda: NOW).run_once().scored == 0
