"""An evaluator that is killed while it works."""

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evaluator import Evaluator, EvaluatorSettings
from lake import Lake

NOW = datetime(2026, 11, 21, tzinfo=UTC)
REPOSITORY = Path(__file__).parents[3]

# The child kills itself before or after its first commit of rows to the table that it is told.
CHILD = """
import os, signal, sys
from datetime import UTC, datetime
from evaluator import Evaluator, EvaluatorSettings
from lake import Lake, Table

root, moment, name = sys.argv[1:]
append = Table.append

def append_and_die(table, rows, *args, **kwargs):
    kill = rows.num_rows and table.spec.name == name
    if kill and moment == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    append(table, rows, *args, **kwargs)
    if kill:
        os.kill(os.getpid(), signal.SIGKILL)

Table.append = append_and_die
Evaluator(Lake(root), EvaluatorSettings(), clock=lambda: datetime(2026, 11, 21, tzinfo=UTC)).run_once()
"""


def fill(traffic: Any) -> None:
    traffic.log(traffic.answer("liked"), traffic.answer("same", 5), traffic.answer("plain", 6, chunks=[]))
    traffic.rate(traffic.signal("like", "liked"))


def test_a_killed_pass_is_finished_by_the_next_as_if_undisturbed(tmp_path: Path, traffic: Any) -> None:
    """SIGKILL before and after the commit to each table: the pass that ends well leaves the tables of a quiet run."""
    quiet = type(traffic)(Lake(str(tmp_path / "quiet")), "rag")
    fill(quiet)
    Evaluator(quiet.lake, EvaluatorSettings(), clock=lambda: NOW).run_once()
    fill(traffic)
    for name, cases, scores in [("ground_truth", 1, 0), ("scores", 1, 10)]:
        assert killed(traffic, "before", name) == -signal.SIGKILL
        assert killed(traffic, "after", name) == -signal.SIGKILL
        assert (len(traffic.cases()), len(traffic.scores())) == (cases, scores)
    assert Evaluator(traffic.lake, EvaluatorSettings(), clock=lambda: NOW).run_once().failures == ()
    assert (traffic.scores(), traffic.cases()) == (quiet.scores(), quiet.cases())


def killed(traffic: Any, moment: str, name: str) -> int:
    return subprocess.run(
        [sys.executable, "-c", CHILD, traffic.lake.root, moment, name],
        cwd=REPOSITORY,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        check=False,
    ).returncode


SLOW_CHILD = """
import os, signal, sys
from datetime import UTC, datetime
from evaluator import Evaluator, EvaluatorSettings
from evaluator.service import new_scores
from lake import Lake, Table

root, commits = sys.argv[1], int(sys.argv[2])
append, made = Table.append, []

def append_and_die(table, rows, *args, **kwargs):
    append(table, rows, *args, **kwargs)
    made.extend([1] if table.spec.name == "scores" else [])
    if len(made) == commits:
        os.kill(os.getpid(), signal.SIGKILL)

Table.append = append_and_die
new_scores._COMMIT_SECONDS = 0
new_scores.answers_at_once = lambda metrics: 1
Evaluator(Lake(root), EvaluatorSettings(), clock=lambda: datetime(2026, 11, 21, tzinfo=UTC)).run_once()
"""


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
    for commits in (1, 1, 1):
        command = [sys.executable, "-c", SLOW_CHILD, traffic.lake.root, str(commits)]
        environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
        ended = subprocess.run(command, cwd=REPOSITORY, env=environment, check=False)
        assert ended.returncode == -signal.SIGKILL
        seen.append(len(traffic.scores()))
    assert len(set(seen)) == 4
    assert Evaluator(traffic.lake, EvaluatorSettings(), clock=lambda: NOW).run_once().failures == ()
    by_id = {"key": lambda row: row["score_id"]}
    assert sorted(traffic.scores(), **by_id) == sorted(quiet.scores(), **by_id)
    assert Evaluator(traffic.lake, EvaluatorSettings(), clock=lambda: NOW).run_once().scored == 0
