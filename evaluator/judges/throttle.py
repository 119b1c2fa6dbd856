"""Throttle of the calls to an endpoint: rate limits, adaptive concurrency, and a circuit breaker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from evaluator.judges.endpoint import EndpointError, EndpointFailure
from evaluator.judges.exchange import Reason
from evaluator.judges.settings import JudgeSettings

_FAILURES_TO_OPEN = 5
_OPEN_SECONDS = 30.0
_BUSY_SECONDS = 20.0
"""An endpoint that says for so long that it is busy, and answers nothing, is worth a word."""
_BUSY_FOR_GOOD_SECONDS = 120.0
"""Two windows of a quota for a minute: an endpoint that answers nothing in them does not work."""
_LONGEST_PAUSE_SECONDS = 120.0
Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]


class RateLimiter:
    """At most so many a minute, evenly spaced: what is booked now may begin when all that was booked before is over."""

    def __init__(self, per_minute: int | None, clock: Clock) -> None:
        self._seconds_each = 60 / per_minute if per_minute else 0.0
        self._clock = clock
        self._free_from = 0.0

    def book(self, amount: int) -> float:
        """Return the seconds to wait before an amount may be used."""
        begins = max(self._free_from, self._clock())
        self._free_from = begins + amount * self._seconds_each
        return begins - self._clock()

    def give_back(self, amount: int) -> None:
        """Give back what was booked and not used."""
        self._free_from -= amount * self._seconds_each


class CircuitBreaker:
    """Stops calls to an endpoint that does not work.

    It opens after five failures in a row, where those of calls that were under way together count as one, and where the
    endpoint says for two minutes that it is busy, and answers nothing. From then on one call in 30 seconds is let
    through, until one succeeds.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures = 0
        self._last_failure = -1.0
        self._next_trial = 0.0
        self._busy_since: float | None = None

    @property
    def is_busy(self) -> bool:
        """Whether the endpoint says for a while that it is busy, and answers nothing."""
        return self._busy_since is not None and self._clock() - self._busy_since >= _BUSY_SECONDS

    @property
    def is_open(self) -> bool:
        """Whether it stops calls, but for one now and then."""
        return self._failures >= _FAILURES_TO_OPEN

    def admits(self) -> bool:
        """Whether a call may be made; where the breaker is open, a yes stands for one call."""
        if not self.is_open:
            return True
        if self._clock() < self._next_trial:
            return False
        self._next_trial = self._clock() + _OPEN_SECONDS
        return True

    def succeeded(self) -> None:
        """Close the breaker: the endpoint has answered."""
        self._failures = 0
        self._busy_since = None

    def busy(self) -> None:
        """Note that the endpoint said that it is busy; it opens where that has lasted."""
        if self._busy_since is None:
            self._busy_since = self._clock()
        if self._clock() - self._busy_since >= _BUSY_FOR_GOOD_SECONDS:
            self._failures = _FAILURES_TO_OPEN
            self._next_trial = self._clock() + _OPEN_SECONDS

    def failed(self, began: float) -> None:
        """Count the failure of a call that began then."""
        if began <= self._last_failure:
            return
        self._failures += 1
        self._last_failure = self._clock()
        self._next_trial = self._clock() + _OPEN_SECONDS


class AdaptiveConcurrency:
    """Calls at once: halved when the endpoint is busy, one more after as many successes as there are slots (AIMD).

    Calls that were under way together when it was busy halve the slots once.
    """

    def __init__(self, most: int, clock: Clock) -> None:
        self.limit = float(most)
        self._most = most
        self._given_out = most
        self._free = asyncio.Semaphore(most)
        self._clock = clock
        self._last_cut = -1.0

    async def acquire(self) -> None:
        """Wait for a free slot."""
        await self._free.acquire()

    def release(self) -> None:
        """Free a slot, or take it away where there are too many."""
        if self._given_out > int(self.limit):
            self._given_out -= 1
        else:
            self._free.release()

    def succeeded(self) -> None:
        """Allow a little more."""
        self.limit = min(self._most, self.limit + 1 / self.limit)
        while self._given_out < int(self.limit):
            self._given_out += 1
            self._free.release()

    def busy(self, began: float) -> None:
        """Halve, unless the call began before the last halving."""
        if began > self._last_cut:
            self.limit = max(1.0, self.limit / 2)
            self._last_cut = self._clock()


class Throttle:
    """When a call to an endpoint may be made: rate limits, concurrency, pauses that it asked for, a circuit breaker."""

    def __init__(self, settings: JudgeSettings, clock: Clock, sleep: Sleep) -> None:
        self.concurrency = AdaptiveConcurrency(settings.concurrency, clock)
        self._requests = RateLimiter(settings.requests_per_minute, clock)
        self._tokens = RateLimiter(settings.tokens_per_minute, clock)
        self._breaker = CircuitBreaker(clock)
        self._paused_until = 0.0
        self._clock, self._sleep = clock, sleep

    @asynccontextmanager
    async def turn(self, tokens: int, check: Callable[[], None] = lambda: None) -> AsyncIterator[None]:
        """Wait until a call of so many tokens may be made; the body makes it.

        `check` may raise before time is booked for the call. An EndpointError that leaves the body slows down those
        who come later. Raises EndpointError itself where the endpoint rests: the breaker is open, or it asked for a
        pause of more than two minutes.
        """
        await self.concurrency.acquire()
        try:
            check()
            await self._wait_for_turn(tokens)
            began = self._clock()
            try:
                yield
            except EndpointError as error:
                self._slow_down(error.failure, began)
                raise
            self.concurrency.succeeded()
            self._breaker.succeeded()
        finally:
            self.concurrency.release()

    @property
    def is_open(self) -> bool:
        """Whether the circuit is open: the endpoint failed again and again, and gets one call now and then."""
        return self._breaker.is_open

    @property
    def is_busy(self) -> bool:
        """Whether the endpoint says for a while that it is busy, and answers nothing."""
        return self._breaker.is_busy

    def give_back(self, tokens: int, requests: int = 0) -> None:
        """Give back tokens and requests that were booked and not used."""
        self._tokens.give_back(tokens)
        self._requests.give_back(requests)

    async def _wait_for_turn(self, tokens: int) -> None:
        is_trial = self._breaker.is_open
        if not self._breaker.admits():
            raise _resting()
        await self._wait_for_pause()
        if self._breaker.is_open and not is_trial:
            raise _resting()
        wait = max(self._requests.book(1), self._tokens.book(tokens))
        if wait > 0:
            await self._sleep(wait)
            await self._wait_for_pause()

    async def _wait_for_pause(self) -> None:
        while (wait := self._paused_until - self._clock()) > 0:
            if wait > _LONGEST_PAUSE_SECONDS:
                raise EndpointError(
                    EndpointFailure(Reason.UNAVAILABLE), f"the endpoint asks for a pause of {wait:.0f} s"
                )
            await self._sleep(wait)

    def _slow_down(self, failure: EndpointFailure, began: float) -> None:
        self._paused_until = max(self._paused_until, self._clock() + failure.wait)
        if failure.busy:
            self.concurrency.busy(began)
        if failure.down:
            self._breaker.failed(began)
        elif failure.busy:
            self._breaker.busy()


def _resting() -> EndpointError:
    what = "the endpoint failed again and again; it rests now"
    return EndpointError(EndpointFailure(Reason.UNAVAILABLE), what)
