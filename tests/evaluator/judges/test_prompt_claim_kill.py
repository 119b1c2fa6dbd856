"""Processes that ask the same at the same time, of which one is killed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from evaluator.judges import judge as judge_module
from evaluator.judges.calls import Calls
from evaluator.judges.judge import Judge
from evaluator.judges.settings import JudgeSettings
from evaluator.judges.shared_replies import SharedReplies
from lake.tables.lake import Lake
from tests.evaluator.judges.conftest import asked
from tests.evaluator.judges.scripted_server import calls_of
from tests.evaluator.judges.test_prompt_claim import objects
from tests.killing import kill, start
from tests.servers import wait_for

pytestmark = pytest.mark.integration

QUESTIONS, AT_ONCE = 100, 8


def ask_all(url: str, root: str, path: str) -> None:
    """Ask every question, in a process with a file of calls of its own; a claim is abandoned after five seconds."""
    judge_module.ABANDONED_SECONDS = 0.0  # type: ignore[attr-defined]
    prices = {"prompt_price": 1, "completion_price": 10}
    given = {"base_url": url, "model": "m", "concurrency": AT_ONCE, "timeout": 5} | prices
    shared = SharedReplies.of(Lake(root))

    async def run() -> None:
        async with Judge("strict", JudgeSettings.model_validate(given), Calls(Path(path)), shared=shared) as judge:
            await asyncio.gather(*(asked(judge, f"{number}") for number in range(QUESTIONS)))

    asyncio.run(run())


def test_two_processes_at_once_pay_no_prompt_twice(judge_url: str, tmp_path: Path) -> None:
    """As two backfills of one period on two machines do."""
    root, before = str(tmp_path / "lake"), calls_of(judge_url)
    both = [start(ask_all, judge_url, root, str(tmp_path / f"{name}.sqlite")) for name in range(2)]
    for one in both:
        one.join()
    assert [one.exitcode for one in both] == [0, 0]
    assert calls_of(judge_url) - before == QUESTIONS


@pytest.mark.parametrize("after", [3, 40])
def test_what_a_killed_process_had_claimed_is_asked_by_another(judge_url: str, tmp_path: Path, after: int) -> None:
    """SIGKILL beside another: that has all replies in the end, and pays twice at most what was under way."""
    root, before = str(tmp_path / "lake"), calls_of(judge_url)
    both = [start(ask_all, judge_url, root, str(tmp_path / f"{name}.sqlite")) for name in range(2)]
    wait_for(lambda: calls_of(judge_url) - before >= after)
    kill(both[0])
    both[1].join()
    assert both[1].exitcode == 0
    assert calls_of(judge_url) - before <= QUESTIONS + AT_ONCE
    replies = [path.read_bytes() for path in objects(SharedReplies.of(Lake(root)).folder)]
    assert len(replies) == QUESTIONS
    assert not any(b"claimed_by" in reply for reply in replies)
