"""An evaluator that is killed while its judge is asked."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evaluator.service import new_scores
from evaluator.service.passes import Evaluator
from lake.tables.lake import Lake
from tests.evaluator import judged
from tests.evaluator.judges.scripted_server import calls_of
from tests.evaluator.judges.test_kill import counts
from tests.killing import kill, run, start

pytestmark = pytest.mark.integration
NOW = datetime(2026, 11, 20, 13, tzinfo=UTC)
ANSWERS, AT_ONCE = 80, 4


def one_pass(root: str, url: str, folder: str) -> None:
    """A pass that commits after each batch of a few answers."""
    new_scores._COMMIT_SECONDS = 0
    new_scores.answers_at_once = lambda metrics: 30
    judged.register()
    settings = judged.settings(url, Path(folder), {"concurrency": AT_ONCE})
    evaluator = Evaluator(Lake(root), settings, lambda: NOW)
    evaluator.run_once()
    evaluator.close()


def kill_and_count(traffic: Any, url: str, folder: Path, kills: int) -> None:
    arguments = (traffic.lake.root, url, str(folder))
    before = calls_of(url)
    killed = 0
    for number in range(kills):
        begun = calls_of(url) + 1 + 37 * number % 23
        calls_of(url, most=begun + AT_ONCE)  # with all answered it might end before it is killed
        worker = start(one_pass, *arguments)
        while calls_of(url) < begun and worker.is_alive():
            time.sleep(0.001)
        killed += kill(worker)
    assert killed
    calls_of(url, most=math.inf)
    assert run(one_pass, *arguments) == 0
    kept, under_way = counts(folder / "calls.sqlite")
    assert kept == ANSWERS
    # A call that was under way when its process died may be begun at the server or not.
    assert kept <= calls_of(url) - before <= kept + under_way
    assert under_way <= AT_ONCE * killed
    rows = traffic.scores()
    assert len({row["score_id"] for row in rows}) == len(rows) == ANSWERS
    assert {row["value"] for row in rows} == {1.0}


def fill(traffic: Any) -> None:
    traffic.log(*(traffic.answer(f"{i}", i % 60, answer=f"It is {i}.") for i in range(ANSWERS)))


def test_a_pass_with_a_judge_that_is_killed_pays_no_call_twice(traffic: Any, judge_url: str, tmp_path: Path) -> None:
    """SIGKILL twice, then once to the end: each answer has one score, each reply is kept, and none was asked again."""
    fill(traffic)
    kill_and_count(traffic, judge_url, tmp_path, kills=2)


@pytest.mark.slow
def test_a_pass_with_a_judge_that_is_killed_fifty_times_pays_no_call_twice(
    tmp_path: Path, judge_url: str, traffic: Any
) -> None:
    """The same at fifty moments, in ten lakes."""
    for i in range(10):
        each = type(traffic)(Lake(str(tmp_path / f"lake-{i}")), "rag")
        fill(each)
        kill_and_count(each, judge_url, tmp_path / f"{i}", kills=5)
