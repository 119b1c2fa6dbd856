"""Client of the judges by name, for code that does not await: they run in one thread with an event loop."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Self

from evaluator.judges.budget_ledger import BudgetLedger
from evaluator.judges.calls import Calls
from evaluator.judges.exchange import JudgeError, JudgeReply, JudgeRequest, Reason, Spend
from evaluator.judges.judge import Judge
from evaluator.judges.settings import JudgeSettings
from evaluator.judges.shared_replies import SharedReplies
from evaluator.judges.throttle import Sleep

_MOST_KEPT = 2_048
_FAILURE_SECONDS = 600.0
"""Metrics of the same rows come one after the other: the next one shall not try, and pay, again at once."""


class Memo:
    """The last 2,048 things by their keys, for any number of threads; a failure is forgotten after ten minutes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[Any, float]] = OrderedDict()

    def find(self, key: Hashable) -> Any | None:
        """Return what was kept, None where there is nothing."""
        with self._lock:
            found, until = self._kept.get(key, (None, 0.0))
            if found is None or until < self._clock():
                return None
            self._kept.move_to_end(key)
            return found

    def keep(self, key: Hashable, found: Any, *, is_failure: bool) -> None:
        """Keep something, and forget what was not asked for longest."""
        until = self._clock() + _FAILURE_SECONDS if is_failure else float("inf")
        with self._lock:
            self._kept[key] = (found, until)
            self._kept.move_to_end(key)
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)


_MOST_SPLITS = 3
"""A reply that is cut is asked for in halves at most so often: in eight parts."""
_WAITING_EACH = 2
"""Requests that wait for each that is under way: enough to keep the judge busy, few enough to bound the memory."""

MakeJudge = Callable[[str, JudgeSettings, Calls], Judge]


class JudgeClient:
    """Asks judges in a thread of its own, which begins with the first request and ends with `close`.

    Any number of threads may use one client. One that is pickled is made anew where it arrives, from the same settings
    and with the same file of calls, so that processes share replies and budgets. `memo` is for what users of the client
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
        budgets: BudgetLedger | None = None,
    ) -> None:
        """`calls` is the file of `Calls`, `grace` how many seconds calls under way get when the client is closed.

        `shared` is where else replies are looked for, and put. `budgets` is where the budgets of all machines are kept;
        without it they hold for those who use the same file of calls.
        """
        self.judges = dict(judges)
        self.memo = Memo()
        self.calls = calls
        self._shared = shared
        self._budgets = budgets
        self._grace = grace
        self._sleep = sleep
        self._lock = threading.Lock()
        self._loop: Future[_JudgeLoop] | None = None
        self._thread: threading.Thread | None = None
        self._closed = False
        self._spent: defaultdict[str, Spend] = defaultdict(Spend)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.judges, self.calls, self._grace, self._sleep, self._shared, self._budgets)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def judge(self, name: str) -> BoundJudge:
        """Return a judge by its name. Raises LookupError, which lists the known ones."""
        if name not in self.judges:
            known = ", ".join(sorted(self.judges)) or "none"
            raise LookupError(f"there is no judge {name!r}; known: {known}. Configure it under evaluator.judges.{name}")
        return BoundJudge(self, name)

    def ask_all(self, name: str, requests: Iterable[JudgeRequest]) -> list[JudgeReply | JudgeError]:
        """Ask a judge several things at once, as many as it takes; a reply, or why there is none, for each in order.

        `requests` is read in the client's thread, as there is room for the next one. After `close` there are no replies
        (`judge_unavailable`). Raises what opening the file of calls raises (OSError, sqlite3.Error), LookupError for
        a judge that is not there, and ValueError for a schema that cannot be checked.
        """
        settings = self.judge(name).settings
        with self._lock:
            if self._closed:
                return [JudgeError(Reason.UNAVAILABLE, "closed") for _ in requests]
            running = self._opened()
            asked = asyncio.run_coroutine_threadsafe(running.ask_all(name, settings, requests), running.loop)
        try:
            replies = asked.result()
        except BaseException:
            asked.cancel()
            raise
        with self._lock:
            self._spent[name] += sum((reply.spend for reply in replies), Spend())
        return replies

    def spent(self, name: str) -> Spend:
        """Return what this client's replies from a judge took so far."""
        with self._lock:
            return self._spent[name]

    def close(self) -> None:
        """End: calls that wait fail, calls under way have the time of grace."""
        with self._lock:
            first, self._closed = not self._closed, True
            if first and self._loop is not None:
                running = self._loop.result()
                running.loop.call_soon_threadsafe(running.end.set)
        if self._thread is not None:
            self._thread.join()

    def _opened(self) -> _JudgeLoop:
        if self._loop is None:
            self._loop = Future()
            make = partial(Judge, grace=self._grace, sleep=self._sleep, shared=self._shared, budgets=self._budgets)
            arguments = (self.calls, make, self._loop)
            self._thread = threading.Thread(target=_run_loop, args=arguments, name="judges", daemon=True)
            self._thread.start()
            if self._loop.exception():
                failed, self._loop = self._loop, None
                return failed.result()
        return self._loop.result()


_VOTES = 1_000
"""Requests of one metric that differ in their draw alone are fewer than these, so that draws never meet."""


@dataclass(frozen=True)
class BoundJudge:
    """One judge of a client. Each `draw` asks it anew what another draw has asked."""

    client: JudgeClient
    name: str
    draw: int = 0

    @property
    def settings(self) -> JudgeSettings:
        """Where it is reached and what it costs."""
        return self.client.judges[self.name]

    def ask_all(self, requests: Iterable[JudgeRequest]) -> list[JudgeReply | JudgeError]:
        """Ask it several things at once: see `JudgeClient.ask_all`."""
        if self.draw:
            requests = (replace(request, draw=request.draw + _VOTES * self.draw) for request in requests)
        return self.client.ask_all(self.name, requests)

    def ask_rows(self, asked: Sequence[Sequence[JudgeRequest]]) -> list[list[JudgeReply | JudgeError]]:
        """Ask it about several rows at once, and return the answers to the requests of each."""
        answers = iter(self.ask_all(chain.from_iterable(asked)))
        return [list(islice(answers, len(requests))) for requests in asked]


class _JudgeLoop:
    """What lives in the client's thread: a loop, the file of calls, and the judges that were asked so far."""

    def __init__(self, calls: Calls, make: MakeJudge) -> None:
        self.loop = asyncio.get_running_loop()
        self.end = asyncio.Event()
        self._calls = calls
        self._make = make
        self._judges: dict[str, Judge] = {}
        self._asking: set[asyncio.Task[Any]] = set()

    async def ask_all(
        self, name: str, settings: JudgeSettings, requests: Iterable[JudgeRequest]
    ) -> list[JudgeReply | JudgeError]:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - for the type
        self._asking.add(task)
        try:
            judge = self._judges.get(name) or self._make(name, settings, self._calls)
            self._judges[name] = judge
            replies: dict[int, JudgeReply | JudgeError] = {}
            numbered = iter(enumerate(requests))

            async def work() -> None:
                for number, request in numbered:
                    replies[number] = await _reply_or_error(judge, request)

            await _run_all(work() for _ in range(_WAITING_EACH * settings.concurrency))
            return [replies[number] for number in range(len(replies))]
        finally:
            self._asking.discard(task)

    async def wait(self) -> None:
        await self.end.wait()
        await asyncio.gather(*(judge.close() for judge in self._judges.values()))
        await asyncio.gather(*self._asking, return_exceptions=True)


async def _reply_or_error(judge: Judge, request: JudgeRequest, splits: int = _MOST_SPLITS) -> JudgeReply | JudgeError:
    """Return the reply, or why there is none; one that is cut is asked for in halves, where the request has some."""
    try:
        return await judge.ask(
            request.messages,
            request.schema,
            prompt_version=request.prompt_version,
            draw=request.draw,
            check=request.check,
            optional=request.optional,
            probabilities=request.probabilities,
            usable_cut=request.usable_cut,
        )
    except JudgeError as error:
        if error.reason != Reason.CUT or request.halves is None or not splits:
            return error
        return await _in_halves(judge, request, error, splits - 1)


async def _in_halves(judge: Judge, request: JudgeRequest, cut: JudgeError, splits: int) -> JudgeReply | JudgeError:
    """Ask for the first half, and if it came for the second one: without either the other is of little use."""
    assert request.halves is not None  # noqa: S101 - for the type
    spend, parsed = cut.spend, list[Any]()
    for half in request.halves():
        reply = await _reply_or_error(judge, replace(half, draw=request.draw), splits)
        spend += reply.spend
        if isinstance(reply, JudgeError):
            return JudgeError(reply.reason, str(reply), spend)
        parsed.append(reply.parsed)
    return JudgeReply(_joined(*parsed), spend)


def _joined(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return one reply of two halves: lists of both one after the other, and what the first alone says."""
    return {name: [*one, *second.get(name, ())] if isinstance(one, list) else one for name, one in first.items()}


async def _run_all(work: Iterable[Any]) -> None:
    """Run all of the work, and stop all of it where one part fails."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def _run_loop(path: Path, make: MakeJudge, opened: Future[_JudgeLoop]) -> None:
    async def live() -> None:
        try:
            calls = Calls(path)
        except BaseException as error:
            opened.set_exception(error)
            return
        try:
            running = _JudgeLoop(calls, make)
            opened.set_result(running)
            await running.wait()
        finally:
            calls.close()

    asyncio.run(live())


def _rebuilt(
    judges: Mapping[str, JudgeSettings],
    calls: Path,
    grace: float,
    sleep: Sleep,
    shared: SharedReplies | None,
    budgets: BudgetLedger | None,
) -> JudgeClient:
    return JudgeClient(judges, calls, grace=grace, sleep=sleep, shared=shared, budgets=budgets)
