"""A worker that is killed while its judge is asked."""

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from evaluator.judges.calls import Calls
from evaluator.judges.exchange import ChatMessage
from evaluator.judges.judge import Judge
from evaluator.judges.settings import JudgeSettings
from tests.evaluator.judges.conftest import SCHEMA
from tests.evaluator.judges.scripted_server import calls_of
from tests.killing import kill, start

pytestmark = pytest.mark.integration

QUESTIONS, AT_ONCE = 200, 8
COST, BOUND = 0.0002, 0.04


def ask_all(url: str, path: str) -> list[bool]:
    """Ask every question; whether each answer was there before."""
    prices = {"prompt_price": 1, "completion_price": 10}
    settings = JudgeSettings.model_validate({"base_url": url, "model": "m", "concurrency": AT_ONCE} | prices)

    async def run() -> list[bool]:
        async with Judge("strict", settings, Calls(Path(path))) as judge:
            asking = (judge.ask([ChatMessage("user", f"{i}")], SCHEMA, prompt_version="1") for i in range(QUESTIONS))
            return [answer.from_cache for answer in await asyncio.gather(*asking)]

    return asyncio.run(run())


def ask_until_killed(url: str, path: Path, calls: int) -> None:
    """Kill a worker with SIGKILL once the server has seen so many more calls."""
    begun = calls_of(url) + calls
    worker = start(ask_all, url, str(path))
    while calls_of(url) < begun and worker.is_alive():
        time.sleep(0.001)
    kill(worker)


def kill_and_count(url: str, path: Path, kills: int) -> None:
    earlier = calls_of(url)
    for number in range(kills):
        ask_until_killed(url, path, calls=1 + 37 * number % 23)
        kept, under_way = counts(path)
        assert kept <= calls_of(url) - earlier <= kept + under_way
        assert under_way <= AT_ONCE * (number + 1)
        assert spent(path) == pytest.approx(costs(path))
        assert spent(path) >= kept * COST + under_way * BOUND - 1e-9
    kept, under_way = counts(path)
    before = calls_of(url)
    there = ask_all(url, str(path))
    assert (sum(there), calls_of(url) - before) == (kept, QUESTIONS - kept)
    assert counts(path) == (QUESTIONS, under_way)


def counts(path: Path) -> tuple[int, int]:
    (row,) = rows(path, "SELECT count(reply), count(*) - count(reply) FROM calls")
    return row[0], row[1]


def spent(path: Path) -> float:
    return rows(path, "SELECT total(cost) FROM ledger")[0][0]


def costs(path: Path) -> float:
    return rows(path, "SELECT total(cost) FROM calls")[0][0]


def rows(path: Path, query: str) -> list[tuple]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(query).fetchall()


def test_no_paid_call_is_forgotten_by_a_worker_that_is_killed(judge_url: str, tmp_path: Path) -> None:
    """SIGKILL three times: what was answered is kept and never asked again, what was under way counts as paid."""
    kill_and_count(judge_url, tmp_path / "calls.sqlite", kills=3)


@pytest.mark.slow
def test_no_paid_call_is_forgotten_by_a_worker_that_is_killed_fifty_times(judge_url: str, tmp_path: Path) -> None:
    """The same at fifty moments, over and over the same questions."""
    for i in range(10):
        path = tmp_path / f"{i}.sqlite"
        kill_and_count(judge_url, path, kills=5)
