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
REPOSITORY = Path(__file__).parents[2]

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
