"""Throttle of an endpoint: the calls that it gets minute by minute; nothing here waits."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.judges.endpoint import EndpointError, EndpointFailure
from evaluator.judges.settings import JudgeSettings
from evaluator.judges.throttle import AdaptiveConcurrency, CircuitBreaker, RateLimiter, Throttle


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_slots_are_halved_once_for_what_was_under_way_together() -> None:
    """Sixteen calls that hear 429 together are one signal; the next one is another."""
    clock = Clock()
    slots = AdaptiveConcurrency(16, clock)
    for _ in range(16):
        slots.busy(began=999.0)
    assert slots.limit == 8
    clock.now += 1
    slots.busy(began=1000.5)
    assert slots.limit == 4


def test_slots_grow_by_one_a_round_up_to_the_most() -> None:
    """As many successes as there are slots are one round."""
    slots = AdaptiveConcurrency(6, Clock())
    slots.busy(began=999.0)
    for _ in range(3 + 4):
        slots.succeeded()
    assert int(slots.limit) in (4, 5)
    for _ in range(30):
        slots.succeeded()
    assert slots.limit == 6


@given(events=st.lists(st.sampled_from(["busy", "success", "nothing"]), max_size=40), most=st.integers(1, 9))
def test_never_more_at_once_than_the_limit_and_none_is_lost(events: list[str], most: int) -> None:
    """Whatever happened, at rest there are as many slots as the limit says."""

    async def run() -> None:
        clock = Clock()
        slots = AdaptiveConcurrency(most, clock)
        for event in events:
            await asyncio.wait_for(slots.acquire(), 5)
            clock.now += 1
            if event == "busy":
                slots.busy(clock.now - 0.5)
            elif event == "success":
                slots.succeeded()
            slots.release()
        for _ in range(most):
            await asyncio.wait_for(slots.acquire(), 5)
            slots.release()
        free = 0
        while not slots._free.locked():
            await slots.acquire()
            free += 1
        assert 1 <= int(slots.limit) == free <= most

    asyncio.run(run())


def test_a_pace_spreads_what_is_booked() -> None:
    """120 a minute are one each half second; what is given back comes off the next wait."""
    clock = Clock()
    pace = RateLimiter(120, clock)
    assert [pace.book(1) for _ in range(3)] == [0.0, 0.5, 1.0]
    pace.give_back(1)
    assert pace.book(10) == 1.0
    clock.now += 100
    assert pace.book(1) == 0.0
    assert [RateLimiter(None, clock).book(10**9) for _ in range(2)] == [0, 0]


@given(amounts=st.lists(st.integers(1, 50), min_size=1, max_size=30), rate=st.integers(1, 600))
def test_no_minute_holds_more_than_the_pace_and_the_call_that_began_it(amounts: list[int], rate: int) -> None:
    """Between the first call and any later one, no more was used than the rate allows."""
    pace = RateLimiter(rate, Clock())
    used = 0
    for amount in amounts:
        wait = pace.book(amount)
        assert used <= wait * rate / 60 + 1e-6
        used += amount


def test_a_breaker_opens_after_five_failures_in_a_row() -> None:
    """Then one call in 30 seconds is let through, until one succeeds; calls that failed together are one failure."""
    clock = Clock()
    breaker = CircuitBreaker(clock)
    for _ in range(64):
        breaker.failed(began=999.0)
    assert breaker.admits()
    for _ in range(4):
        clock.now += 1
        assert breaker.admits()
        breaker.failed(began=clock.now - 0.5)
    assert not breaker.admits()
    clock.now += 30
    assert (breaker.admits(), breaker.admits()) == (True, False)
    breaker.failed(began=clock.now)
    clock.now += 30
    assert breaker.admits()
    breaker.succeeded()
    assert breaker.admits()
    assert breaker.admits()


def test_a_pause_that_one_call_is_asked_for_all_calls_keep() -> None:
    """Retry-After is about the endpoint; one of more than two minutes is not waited for."""
    clock = Clock()
    throttle = Throttle(JudgeSettings(base_url="http://a", model="m"), clock, clock.sleep)

    async def fail(after: float) -> None:
        async with throttle.turn(1):
            raise EndpointError(EndpointFailure("judge_unavailable", retry=True, wait=after, busy=True), "429")

    async def run() -> None:
        with pytest.raises(EndpointError, match="429"):
            await fail(7)
        async with throttle.turn(1):
            assert clock.now == 1007
        with pytest.raises(EndpointError, match="429"):
            await fail(3600)
        with pytest.raises(EndpointError, match="a pause of 3600 s"):
            await fail(0)
        assert throttle.concurrency.limit == pytest.approx(4, abs=0.1)

    asyncio.run(run())
