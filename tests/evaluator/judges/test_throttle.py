"""Throttle of an endpoint: the calls that it gets minute by minute; nothing here waits."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.judges.endpoint import EndpointError, EndpointFailure
from evaluator.judges.exchange import Reason
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


def throttle_of(clock: Clock, sleep: Any = None, **settings: Any) -> Throttle:
    return Throttle(JudgeSettings(base_url="http://a", model="m", **settings), clock, sleep or clock.sleep)


async def hears(throttle: Throttle, **failure: Any) -> None:
    with pytest.raises(EndpointError, match="heard"):
        async with throttle.turn(1):
            raise EndpointError(EndpointFailure("judge_unavailable", retry=True, **failure), "heard")


def test_a_pause_that_is_asked_for_while_a_call_waits_for_its_pace_is_kept() -> None:
    """The call that waits for its minute does not begin in the pause that another one was asked for meanwhile."""
    clock, asked = Clock(), list[float]()

    async def sleep(seconds: float) -> None:
        asked.append(seconds)
        clock.now += seconds
        if len(asked) == 1:
            throttle._slow_down(EndpointFailure("judge_unavailable", retry=True, wait=50), clock.now)

    throttle = throttle_of(clock, sleep, requests_per_minute=6)

    async def run() -> None:
        async with throttle.turn(1):
            pass
        async with throttle.turn(1):
            assert clock.now == 1060
        assert asked == [10, 50]

    asyncio.run(run())


@pytest.mark.parametrize(("wait", "is_waited"), [(120.0, True), (120.5, False)])
def test_a_pause_of_up_to_two_minutes_is_waited_for(wait: float, is_waited: bool) -> None:
    """A shorter one that is asked for later does not end it."""
    clock = Clock()
    throttle = throttle_of(clock)

    async def run() -> None:
        await hears(throttle, wait=wait)
        throttle._slow_down(EndpointFailure("judge_unavailable", wait=1), clock.now)
        if is_waited:
            async with throttle.turn(1):
                assert clock.now == 1000 + wait
            return
        with pytest.raises(EndpointError, match="the endpoint asks for a pause of 120 s") as caught:
            async with throttle.turn(1):
                pass
        assert caught.value.failure == EndpointFailure(Reason.UNAVAILABLE)

    asyncio.run(run())


def test_only_what_is_down_opens_the_circuit_and_only_what_is_busy_halves_the_slots() -> None:
    """A success closes it; while it is open no time is booked, and no slot is lost."""
    clock = Clock()
    throttle = throttle_of(clock, concurrency=4, requests_per_minute=60)

    async def run() -> None:
        for _ in range(9):
            clock.now += 1
            await hears(throttle, busy=True)
        assert (throttle.is_open, throttle.concurrency.limit) == (False, 1)
        for failures in range(1, 6):
            clock.now += 1
            await hears(throttle, down=True)
            assert throttle.is_open is (failures == 5)
        for _ in range(9):
            with pytest.raises(EndpointError, match="the endpoint failed again and again; it rests now"):
                async with throttle.turn(1):
                    pass
        clock.now += 30
        begins = clock.now
        async with throttle.turn(1):
            assert clock.now == begins
        assert (throttle.is_open, throttle.concurrency.limit) == (False, 2)

    asyncio.run(run())


def test_a_check_comes_before_anything_is_booked() -> None:
    """What it refuses takes no slot and no time; what is given back may be used at once."""
    clock = Clock()
    throttle = throttle_of(clock, concurrency=1, requests_per_minute=6, tokens_per_minute=60)

    def refuse() -> None:
        raise ValueError("no budget")

    async def run() -> None:
        for _ in range(3):
            with pytest.raises(ValueError, match="no budget"):
                async with throttle.turn(1000, refuse):
                    pass
        async with throttle.turn(100):
            assert clock.now == 1000
        throttle.give_back(85, requests=1)
        async with throttle.turn(1):
            assert clock.now == 1015

    asyncio.run(run())
