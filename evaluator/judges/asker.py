"""Judges by name, for code that does not await."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from evaluator.judges.answer import Answer, JudgeError, Request, Spend
from evaluator.judges.calls import Calls
from evaluator.judges.judge import Judge
from evaluator.judges.memo import Memo
from evaluator.judges.settings import JudgeSettings
from evaluator.judges.shared_replies import SharedReplies
from evaluator.judges.traffic import Sleep

_WAITING_EACH = 2
"""Requests that wait for each that is under way: enough to keep the judge busy, few enough to bound the memory."""


class Asker:
    """Asks judges in a thread of its own, which begins with the first request and ends with `close`.

    Any number of threads may use one asker. One that is pickled is made anew where it arrives, from the same settings
    and with the same file of calls, so that processes share replies and budgets. `memo` is for what users of the asker
    work out from replies.
    """

    def __init__(
        self,
        judges: Mapping[str, JudgeSettings],
        calls: Path,
        *,
        grace: float = 30.0,
        sleep: Sleep = asyncio.sleep,
        shared: SharedReplies | None = None,
    ) -> None:
        """`calls` is the file of `Calls`, `grace` how many seconds calls under way get when the asker is closed.

        `shared` is where else replies are looked for, and put.
        """
        self.judges = dict(judges)
        self.memo = Memo()
        self.calls = calls
        self._shared = shared
        self._grace = grace
        self._sleep = sleep
        self._lock = threading.Lock()
        self._room: Future[_Room] | None = None
        self._thread: threading.Thread | None = None
        self._closed = False
        self._spent: defaultdict[str, Spend] = defaultdict(Spend)

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_anew, (self.judges, self.calls, self._grace, self._sleep, self._shared)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def judge(self, name: str) -> BoundJudge:
        """Give a judge by its name. Raises LookupError, which lists the known ones."""
        if name not in self.judges:
            known = ", ".join(sorted(self.judges)) or "none"
            raise LookupError(f"there is no judge {name!r}; known: {known}. Configure it under evaluator.judges.{name}")
        return BoundJudge(self, name)

    def ask_all(self, name: str, requests: Iterable[Request]) -> list[Answer | JudgeError]:
        """Ask a judge several things at once, as many as it takes; an answer, or why there is none, for each in order.

        `requests` is read in the asker's thread, as there is room for the next one. After `close` there are no answers
        (`judge_unavailable`). Raises what opening the file of calls raises (OSError, sqlite3.Error), LookupError for
        a judge that is not there, and ValueError for a schema that cannot be checked.
        """
        settings = self.judge(name).settings
        with self._lock:
            if self._closed:
                return [JudgeError("judge_unavailable", "closed") for _ in requests]
            room = self._opened()
            asked = asyncio.run_coroutine_threadsafe(room.ask_all(name, settings, requests), room.loop)
        try:
            answers = asked.result()
        except BaseException:
            asked.cancel()
            raise
        with self._lock:
            self._spent[name] += sum((answer.spend for answer in answers), Spend())
        return answers

    def spent(self, name: str) -> Spend:
        """Give what this asker's answers from a judge took so far."""
        with self._lock:
            return self._spent[name]

    def close(self) -> None:
        """End: what waits is told that it is too late, what is under way has the time of grace."""
        with self._lock:
            first, self._closed = not self._closed, True
            if first and self._room is not None:
                room = self._room.result()
                room.loop.call_soon_threadsafe(room.end.set)
        if self._thread is not None:
            self._thread.join()

    def _opened(self) -> _Room:
        if self._room is None:
            self._room = Future()
            arguments = (self.calls, self._grace, self._sleep, self._shared, self._room)
            self._thread = threading.Thread(target=_live, args=arguments, name="judges", daemon=True)
            self._thread.start()
            if self._room.exception():
                failed, self._room = self._room, None
                return failed.result()
        return self._room.result()


_VOTES = 1_000
"""Requests of one metric that differ in their draw alone are fewer than these, so that draws never meet."""


@dataclass(frozen=True)
class BoundJudge:
    """One judge of an asker. Each `draw` asks it anew what another draw has asked."""

    asker: Asker
    name: str
    draw: int = 0

    @property
    def settings(self) -> JudgeSettings:
        """Where it is reached and what it costs."""
        return self.asker.judges[self.name]

    def ask_all(self, requests: Iterable[Request]) -> list[Answer | JudgeError]:
        """Ask it several things at once: see `Asker.ask_all`."""
        if self.draw:
            requests = (replace(request, draw=request.draw + _VOTES * self.draw) for request in requests)
        return self.asker.ask_all(self.name, requests)


class _Room:
    """What lives in the asker's thread: a loop, the file of calls, and the judges that were asked so far."""

    def __init__(self, calls: Calls, grace: float, sleep: Sleep, shared: SharedReplies | None) -> None:
        self.loop = asyncio.get_running_loop()
        self.end = asyncio.Event()
        self._calls = calls
        self._shared = shared
        self._grace = grace
        self._sleep = sleep
        self._judges: dict[str, Judge] = {}
        self._asking: set[asyncio.Task[Any]] = set()

    async def ask_all(
        self, name: str, settings: JudgeSettings, requests: Iterable[Request]
    ) -> list[Answer | JudgeError]:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - for the type
        self._asking.add(task)
        try:
            judge = self._judges.get(name) or self._made(name, settings)
            self._judges[name] = judge
            answers: dict[int, Answer | JudgeError] = {}
            numbered = iter(enumerate(requests))

            async def work() -> None:
                for number, request in numbered:
                    answers[number] = await _asked(judge, request)

            await _all(work() for _ in range(_WAITING_EACH * settings.concurrency))
            return [answers[number] for number in range(len(answers))]
        finally:
            self._asking.discard(task)

    def _made(self, name: str, settings: JudgeSettings) -> Judge:
        return Judge(name, settings, self._calls, grace=self._grace, sleep=self._sleep, shared=self._shared)

    async def wait(self) -> None:
        await self.end.wait()
        await asyncio.gather(*(judge.close() for judge in self._judges.values()))
        await asyncio.gather(*self._asking, return_exceptions=True)


async def _asked(judge: Judge, request: Request) -> Answer | JudgeError:
    try:
        return await judge.ask(
            request.messages,
            request.schema,
            prompt_version=request.prompt_version,
            draw=request.draw,
            check=request.check,
        )
    except JudgeError as error:
        return error


async def _all(work: Iterable[Any]) -> None:
    """Do all of it, and stop all of it where one part fails."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def _live(path: Path, grace: float, sleep: Sleep, shared: SharedReplies | None, opened: Future[_Room]) -> None:
    async def live() -> None:
        try:
            calls = Calls(path)
        except BaseException as error:
            opened.set_exception(error)
            return
        try:
            room = _Room(calls, grace, sleep, shared)
            opened.set_result(room)
            await room.wait()
        finally:
            calls.close()

    asyncio.run(live())


def _made_anew(
    judges: Mapping[str, JudgeSettings], calls: Path, grace: float, sleep: Sleep, shared: SharedReplies | None
) -> Asker:
    return Asker(judges, calls, grace=grace, sleep=sleep, shared=shared)
