"""Calls a second of a judge, against what its endpoint could answer.

    python -m benchmarks.evaluator.judges [calls]

A server in a process of its own answers each call after 200 ms, however many there are, and 64 are asked at once: it
could answer 320 a second. Prompts have 16,000 characters, about 4,000 tokens. The bare client is `openai` with a
semaphore and nothing else: no cache, no ledger, no check of the reply, and the transport that it has by default. Each
round times both, one after the other, so that what else the machine does hits both; shown is the median. CPU is that of
the asking process. The second run asks for the same again and makes no call.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import openai

from evaluator.judges.calls import Calls
from evaluator.judges.exchange import ChatMessage
from evaluator.judges.judge import Judge
from evaluator.judges.settings import JudgeSettings

_AT_ONCE, _SECONDS, _ROUNDS = 64, 0.2, 3
_SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "enum": ["S", "C", "N"]}},
    "required": ["verdict"],
    "additionalProperties": False,
}
_CHOICE = {"message": {"role": "assistant", "content": '{"verdict": "S"}'}, "finish_reason": "stop", "index": 0}
_USAGE = {"prompt_tokens": 4000, "completion_tokens": 8, "total_tokens": 4008}
_BODY = json.dumps({"id": "1", "object": "chat.completion", "choices": [_CHOICE], "usage": _USAGE}).encode()
_HEAD = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(_BODY)}\r\n\r\n".encode()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            received = asyncio.get_running_loop().time()
            await reader.readexactly(int(head.split(b"content-length:")[1].split(b"\r\n")[0]))
            await asyncio.sleep(received + _SECONDS - asyncio.get_running_loop().time())
            writer.write(_HEAD + _BODY)
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def _serve(port: multiprocessing.Queue[int]) -> None:
    async def run() -> None:
        server = await asyncio.start_server(_answer, "127.0.0.1", 0)
        port.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def prompt(number: int) -> str:
    """Some 4,000 tokens, other ones for each number."""
    return f"{number} " + "The seat of government is Delhi. " * 485


async def ask_all(ask: Callable[[str], Awaitable[object]], calls: int) -> float:
    """Give the calls a second where twice as many ask as may be called at once, each one question after the other."""
    questions = iter(range(calls))

    async def ask_on() -> None:
        for number in questions:
            await ask(prompt(number))

    begun = time.perf_counter()
    await asyncio.gather(*(ask_on() for _ in range(2 * _AT_ONCE)))
    return calls / (time.perf_counter() - begun)


async def with_judge(url: str, path: Path, calls: int) -> float:
    """Give the calls a second of a judge."""
    settings = JudgeSettings(base_url=url, model="m", prompt_price=1, completion_price=10, concurrency=_AT_ONCE)
    kept = Calls(path)
    async with Judge("judge", settings, kept) as judge:

        async def ask(text: str) -> None:
            await judge.ask([ChatMessage("user", text)], _SCHEMA, prompt_version="1")

        # The first call finds out the form that the endpoint knows, and nothing else runs beside it.
        await ask("first")
        rate = await ask_all(ask, calls)
    kept.close()
    return rate


async def with_bare_client(url: str, calls: int) -> float:
    """Give the calls a second of the client alone."""
    free = asyncio.Semaphore(_AT_ONCE)
    async with openai.AsyncOpenAI(base_url=url, api_key="none") as client:

        async def ask(text: str) -> None:
            async with free:
                await client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])

        await ask("first")
        return await ask_all(ask, calls)


def timed(asking: Coroutine[Any, Any, float], calls: int) -> tuple[float, float]:
    """Give calls a second, and milliseconds of CPU a call."""
    before = time.process_time()
    rate = asyncio.run(asking)
    return rate, (time.process_time() - before) / calls * 1000


def main(calls: int = 3200) -> None:
    """Print calls a second, and their share of what is possible."""
    port: multiprocessing.Queue[int] = multiprocessing.Queue()
    server = multiprocessing.Process(target=_serve, args=(port,), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{port.get()}/v1"
    seen: dict[str, list[tuple[float, float]]] = {"bare client": [], "judge": [], "judge, second run": []}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(_ROUNDS):
            path = Path(folder) / f"{turn}.sqlite"
            seen["bare client"].append(timed(with_bare_client(url, calls), calls))
            seen["judge"].append(timed(with_judge(url, path, calls), calls))
            seen["judge, second run"].append(timed(with_judge(url, path, calls), calls))
    server.terminate()
    possible = _AT_ONCE / _SECONDS
    print(f"{calls} calls, {_AT_ONCE} at once, answered in {_SECONDS:g} s each: {possible:.0f} a second possible")
    for name, rounds in seen.items():
        rates, milliseconds = [rate for rate, _ in rounds], statistics.median(cpu for _, cpu in rounds)
        rate = statistics.median(rates)
        share = f"{100 * rate / possible:.1f} % of the possible" if "second" not in name else ""
        print(
            f"{name:18}{rate:6.0f} a second ({min(rates):.0f} to {max(rates):.0f}), {milliseconds:.2f} ms CPU  {share}"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
