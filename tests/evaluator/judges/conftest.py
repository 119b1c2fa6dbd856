"""A scripted endpoint, and judges that ask it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evaluator.judges.blocking_client import JudgeClient
from evaluator.judges.calls import Calls
from evaluator.judges.exchange import ChatMessage, JudgeError, JudgeReply
from evaluator.judges.judge import Judge
from evaluator.judges.settings import JudgeSettings
from evaluator.judges.shared_replies import SharedReplies
from tests.evaluator.judges.scripted_server import ScriptedServer, Stage, serving

SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "enum": ["S", "C", "N"]}},
    "required": ["verdict"],
    "additionalProperties": False,
}


NOON = datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp()


class Bench:
    """Judges at the endpoint. Their waits are not waited: the clock goes on by them."""

    def __init__(self, server: ScriptedServer, path: Path) -> None:
        self.server = server
        self.path = path
        self.calls = Calls(path, lambda: NOON)  # the ledger is by the hour and the day, and this one does not end
        self.now = 1000.0
        self.slept: list[float] = []

    def settings(self, **changes: Any) -> JudgeSettings:
        given = {"base_url": f"{self.server.url}/v1", "model": "m", "prompt_price": 1, "completion_price": 10}
        return JudgeSettings.model_validate(given | changes)

    def judge(self, grace: float = 30, shared: SharedReplies | None = None, **changes: Any) -> Judge:
        return Judge(
            "strict",
            self.settings(**changes),
            self.calls,
            grace=grace,
            clock=lambda: self.now,
            sleep=self.sleep,
            chance=random.Random(1),
            shared=shared,
        )

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)

    def client(self, **changes: Any) -> JudgeClient:
        return JudgeClient({"strict": self.settings(**changes)}, self.path, sleep=at_once)

    def run(self, work: Callable[[Judge], Awaitable[Any]], **changes: Any) -> Any:
        async def run() -> Any:
            async with self.judge(**changes) as judge:
                return await work(judge)

        return asyncio.run(run())

    def ask(self, text: str = "Is it so?", **changes: Any) -> JudgeReply:
        answer: JudgeReply = self.run(lambda judge: asked(judge, text), **changes)
        return answer

    def refused(self, text: str = "Is it so?", **changes: Any) -> JudgeError:
        with pytest.raises(JudgeError) as caught:
            self.ask(text, **changes)
        return caught.value

    @property
    def spent(self) -> float:
        return self.calls.spent("strict")[1]


async def at_once(seconds: float) -> None:
    await asyncio.sleep(0)


async def asked(judge: Judge, text: str = "Is it so?", **given: Any) -> JudgeReply:
    return await judge.ask([ChatMessage("user", text)], SCHEMA, prompt_version="1", **given)


def is_ending(client: JudgeClient | None) -> bool:
    """Whether the judges have been closed."""
    return client is not None and client._loop is not None and client._loop.result().end.is_set()


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    with serving() as stage:
        yield stage


@pytest.fixture
def server(stage: Stage) -> ScriptedServer:
    return stage.fresh()


@pytest.fixture
def bench(server: ScriptedServer, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(server, tmp_path / "calls.sqlite")
    yield bench
    bench.calls.close()
