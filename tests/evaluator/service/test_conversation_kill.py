"""An evaluator that is killed while it scores conversations."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from evaluator.service import conversation_scores
from evaluator.service.passes import Evaluator
from lake.tables.lake import Lake
from tests.evaluator import judged
from tests.evaluator.conftest import Traffic
from tests.evaluator.conversing import Talk
from tests.evaluator.judges.scripted_server import Request, Send, calls_of, says, serve
from tests.evaluator.judges.test_kill import counts
from tests.killing import kill, run, start
from tests.servers import free_port, wait_for

pytestmark = pytest.mark.integration
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
TALKS, AT_ONCE = 24, 4
METRICS = ["conversation_completeness", "knowledge_retention", "repetition"]


async def judges(request: Request, send: Send) -> None:
    numbers = re.findall(r"^<assistant (\d+) ", request.body["messages"][1]["content"], re.MULTILINE)
    turns = ", ".join(f'{{"turn": {number}, "forgot": false, "repeats": false}}' for number in numbers)
    await says(f'{{"intents": [{{"intent": "It", "met": true}}], "turns": [{turns}]}}')(request, send)


@pytest.fixture
def url() -> Iterator[str]:
    port = free_port()
    process = start(serve, port, 0.02, judges)
    url = f"http://127.0.0.1:{port}"
    wait_for(lambda: calls_of(url) == 0)
    yield url
    kill(process)


def one_pass(root: str, url: str, folder: str, minute: int) -> None:
    """A pass that commits after each few conversations."""
    conversation_scores._COMMIT_SECONDS = 0
    conversation_scores._TURNS_AT_ONCE = 8
    conversation_scores._REQUESTS_AT_ONCE = 20
    settings = judged.settings(url, Path(folder), {"concurrency": AT_ONCE}, metrics=METRICS)
    evaluator = Evaluator(Lake(root), settings, lambda: NOON + timedelta(minutes=minute))
    assert evaluator.run_once().failures == ()
    evaluator.close()


def test_a_look_that_is_killed_scores_no_conversation_twice(traffic: Traffic, url: str, tmp_path: Path) -> None:
    """SIGKILL three times, then once to the end: each has one score of each metric, and no reply is paid for twice."""
    root = traffic.lake.root
    Talk(traffic, "before").log(("A", "a", -300))
    assert run(one_pass, root, url, str(tmp_path), 0) == 0
    for number in range(TALKS):
        Talk(traffic, f"chat{number}").log(("A", f"a{number}", 1), ("B", "b", 2))
    killed = 0
    for number in range(3):
        begun = calls_of(url) + 1 + 5 * number
        calls_of(url, most=begun + AT_ONCE)
        worker = start(one_pass, root, url, str(tmp_path), 75 + number)
        while calls_of(url) < begun and worker.is_alive():
            time.sleep(0.001)
        killed += kill(worker)
    assert killed
    calls_of(url, most=math.inf)
    assert run(one_pass, root, url, str(tmp_path), 80) == 0
    assert run(one_pass, root, url, str(tmp_path), 120) == 0
    kept, under_way = counts(tmp_path / "calls.sqlite")
    assert kept == TALKS
    assert kept <= calls_of(url) <= kept + under_way
    assert under_way <= AT_ONCE * killed
    rows = traffic.scores()
    assert len({row["score_id"] for row in rows}) == len(rows) == TALKS * len(METRICS)
    assert {row["value"] for row in rows if row["metric"] == "repetition"} == {0.0}
