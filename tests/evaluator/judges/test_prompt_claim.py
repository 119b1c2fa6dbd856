"""Workers that ask the same at the same time, over a lake with shared replies."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from evaluator.judges import prompt_claim as claims
from evaluator.judges.blocking_client import JudgeClient
from evaluator.judges.completion import ChatCompletion
from evaluator.judges.exchange import ChatMessage, JudgeError, JudgeReply, JudgeRequest, Reason
from evaluator.judges.judge import Judge
from evaluator.judges.shared_replies import ReplyClaim, SharedReplies
from lake.store.requests import REQUESTS
from lake.tables.lake import Lake
from tests.evaluator.judges.conftest import SCHEMA, Bench, asked
from tests.evaluator.judges.scripted_server import (
    FITS,
    Act,
    Request,
    ScriptedServer,
    Send,
    as_it_can,
    fails,
    later,
)
from tests.servers import Bucket, wait_for

REPLY = ChatCompletion(FITS, None, None, "stop", 100, 40, 10)


@pytest.fixture
def local(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


@pytest.fixture
def shared(local: Lake) -> SharedReplies:
    return SharedReplies.of(local)


def worker(bench: Bench, name: str, shared: SharedReplies, **settings: Any) -> JudgeClient:
    """One machine's: with a file of calls of its own."""
    judges = {"strict": bench.settings(**settings)}
    return JudgeClient(judges, bench.path.parent / name, sleep=lambda _: asyncio.sleep(0.005), shared=shared)


def prompts(count: int) -> list[JudgeRequest]:
    return [JudgeRequest([ChatMessage("user", f"Is {number} so?")], SCHEMA, "1") for number in range(count)]


def objects(folder: str) -> list[Path]:
    return [path for path in Path(folder).rglob("*") if path.is_file()]


def key_of(bench: Bench, shared: SharedReplies) -> str:
    """The key under which "Is it so?" is kept: another worker asks it, and what it leaves is removed."""
    bench.ask(shared=SharedReplies.of(Lake(str(bench.path.parent / "another lake"))))
    (kept,) = objects(str(bench.path.parent / "another lake"))
    bench.calls.forget_replies()
    bench.server.requests.clear()
    return kept.stem


@pytest.mark.parametrize("order", [1, -1], ids=["same order", "other order"])
def test_two_workers_at_once_pay_each_prompt_once(
    bench: Bench, server: ScriptedServer, lake_of_each_kind: Lake, order: int
) -> None:
    """Each makes some of the calls, takes the other's replies, and both have all of them."""
    server.always = later(0.02)
    shared = [SharedReplies.of(lake_of_each_kind) for _ in range(2)]
    asking = [prompts(60), prompts(60)[::order]]
    with ThreadPoolExecutor(2) as pool, worker(bench, "a", shared[0]) as one, worker(bench, "b", shared[1]) as two:
        both = list(pool.map(lambda client, asked: client.judge("strict").ask_all(asked), (one, two), asking))
        paid = [client.spent("strict").calls for client in (one, two)]
    assert len({request.body["messages"][-1]["content"] for request in server.requests}) == 60
    assert sum(paid) == len(server.requests) == 60
    assert all(isinstance(reply, JudgeReply) for replies in both for reply in replies)


def test_who_waits_for_a_reply_reserves_no_money(bench: Bench, shared: SharedReplies) -> None:
    """And takes it when it is there: no call, no spend, and the polls go further apart."""
    key = key_of(bench, shared)
    before, taken = bench.spent, []
    assert shared.claim(key, "other") == ReplyClaim("other")
    slept = bench.sleep

    async def answered_after_a_while(seconds: float) -> None:
        taken.append(bench.spent)
        if len(taken) == 5:
            shared.keep(key, REPLY)
        await slept(seconds)

    bench.sleep = answered_after_a_while  # type: ignore[method-assign]
    reply = bench.ask(shared=shared, budget_per_hour=1)
    assert (reply.from_cache, bench.server.requests) == (True, [])
    assert taken == [before] * 5
    assert bench.slept[0] < 0.4
    assert bench.slept == sorted(bench.slept)
    assert bench.slept[-1] > 1


def test_a_claim_that_nobody_answers_is_abandoned_after_the_time_of_a_call(bench: Bench, shared: SharedReplies) -> None:
    """The waiter then asks: a minute for the call and half a minute around it, by its own clock; not before."""
    shared.claim(key_of(bench, shared), "killed")
    assert bench.ask(shared=shared, timeout=60).spend.calls == 1
    assert 90 <= sum(bench.slept) < 94
    assert isinstance(shared.find(objects(shared.folder)[0].stem), ChatCompletion)


def test_a_claim_whose_writer_was_killed_before_it_was_whole_is_abandoned_too(
    bench: Bench, shared: SharedReplies
) -> None:
    """The file is there and empty."""
    key = key_of(bench, shared)
    place = Path(shared.folder, key[:2], f"{key}.json")
    place.parent.mkdir(parents=True)
    place.touch()
    assert bench.ask(shared=shared).spend.calls == 1
    assert sum(bench.slept) >= 90


@pytest.mark.parametrize("hours", [-1, 1])
def test_clocks_that_differ_make_no_claim_older(bench: Bench, shared: SharedReplies, hours: int) -> None:
    """A claim from a machine whose clock is an hour off is waited for as long as any other."""
    key = key_of(bench, shared)
    shared.claim(key, "other")
    (claim,) = objects(shared.folder)
    os.utime(claim, (time.time() + hours * 3600,) * 2)
    assert bench.ask(shared=shared).spend.calls == 1
    assert 90 <= sum(bench.slept) < 94


def test_a_claim_that_is_renewed_is_waited_for(bench: Bench, shared: SharedReplies) -> None:
    """Its worker lives and tries again: each try begins the time anew."""
    key = key_of(bench, shared)
    shared.claim(key, "0")
    slept, renewed = bench.sleep, []

    async def renewing(seconds: float) -> None:
        if sum(bench.slept) >= 80 * (len(renewed) + 1) and len(renewed) < 3:
            renewed.append(shared.claim(key, f"{len(renewed) + 1}", {f"{len(renewed)}"}))
        await slept(seconds)

    bench.sleep = renewing  # type: ignore[method-assign]
    bench.ask(shared=shared)
    assert renewed == [ReplyClaim("1"), ReplyClaim("2"), ReplyClaim("3")]
    assert 3 * 80 + 90 <= sum(bench.slept) < 3 * 80 + 100


def test_a_claim_is_released_where_no_reply_comes(bench: Bench, server: ScriptedServer, shared: SharedReplies) -> None:
    """Nothing is left, and the next worker asks at once."""
    server.follow(fails(401))
    assert bench.refused(shared=shared).reason == Reason.UNAVAILABLE
    assert objects(shared.folder) == []
    bench.slept.clear()
    assert bench.ask(shared=shared).spend.calls == 1
    assert bench.slept == []


def test_who_waits_for_a_claim_that_is_released_asks(bench: Bench, shared: SharedReplies) -> None:
    """Not only after the time of a call."""
    key = key_of(bench, shared)
    shared.claim(key, "other")
    slept = bench.sleep

    async def released(seconds: float) -> None:
        shared.release(key, "other")
        await slept(seconds)

    bench.sleep = released  # type: ignore[method-assign]
    assert bench.ask(shared=shared).spend.calls == 1
    assert sum(bench.slept) < 1


def test_nobody_releases_the_claim_or_reply_of_another(shared: SharedReplies) -> None:
    """Which is in its place where a worker was slower than the time of a call."""
    key = "ab" * 32
    shared.claim(key, "two")
    shared.release(key, "one")
    assert shared.find(key) == ReplyClaim("two")
    shared.keep(key, REPLY)
    shared.release(key, "two")
    assert shared.find(key) == REPLY
    shared.release("cd" * 32, "one")


def test_the_next_try_of_a_call_takes_the_reply_that_came_meanwhile(
    bench: Bench, server: ScriptedServer, shared: SharedReplies
) -> None:
    """What the first try may have cost is in the spend all the same."""
    key = key_of(bench, shared)

    async def overtaken(request: Request, send: Send) -> None:
        shared.keep(key, REPLY)
        await fails(504)(request, send)

    server.follow(overtaken)
    reply = bench.ask(shared=shared)
    assert (reply.parsed, len(server.requests)) == ({"verdict": "S"}, 1)
    assert (reply.spend.calls, reply.spend.completion_tokens) == (1, 0)
    assert reply.spend.cost > 0


def test_each_try_of_a_call_renews_its_claim(bench: Bench, server: ScriptedServer, shared: SharedReplies) -> None:
    """So that nobody takes it for abandoned while its worker waits to try again."""
    key, seen = key_of(bench, shared), []

    def look(act: Act) -> Act:
        async def noted(request: Request, send: Send) -> None:
            seen.append(shared.find(key))
            await act(request, send)

        return noted

    server.follow(look(fails(503)), look(fails(503)), look(as_it_can))
    assert bench.ask(shared=shared).spend.calls == 1
    assert all(isinstance(one, ReplyClaim) for one in seen)
    assert len(set(seen)) == 3
    assert shared.find(key) == ChatCompletion(FITS, None, None, "stop", 100, 40, 10)


def test_a_refused_budget_claims_nothing(bench: Bench, shared: SharedReplies) -> None:
    """Another machine may have the money."""
    assert bench.refused(shared=shared, budget_per_hour=1e-9).reason == Reason.BUDGET
    assert objects(shared.folder) == []


def test_a_rate_limit_counts_no_request_that_another_worker_makes(bench: Bench, shared: SharedReplies) -> None:
    """A prompt that is claimed between the look and its turn gives its place back to the next."""
    key = key_of(bench, shared)
    bench.slept.clear()
    found = shared.find

    def late(asked: str) -> Any:
        there = found(asked)
        if asked == key and there is None:
            shared.claim(key, "other")
            shared.keep(key, REPLY)
        return there

    shared.find = late  # type: ignore[method-assign]

    async def two(judge: Judge) -> list[JudgeReply]:
        return [await asked(judge), await asked(judge, "And that?")]

    first, second = bench.run(two, shared=shared, requests_per_minute=1)
    assert (first.from_cache, second.from_cache, bench.slept) == (True, False, [])


def test_a_claim_holds_no_text_and_goes_with_the_replies(bench: Bench, server: ScriptedServer, local: Lake) -> None:
    """Neither its name nor its content says anything of the prompt; an erasure removes it."""
    shared, texts = SharedReplies.of(local), []

    async def look(request: Request, send: Send) -> None:
        (claim,) = objects(shared.folder)
        texts.append(f"{claim} {claim.read_text()}")
        assert shared.forget() == 1
        await as_it_can(request, send)

    server.follow(look)
    bench.ask("A secret question", shared=shared)
    assert "secret" not in texts[0]
    assert "claimed_by" in texts[0]


@pytest.mark.integration
def test_a_paid_reply_takes_three_requests_of_the_store(bench: Bench, bucket: Bucket) -> None:
    """A look, a claim, the reply; one that another has paid takes one."""
    shared = SharedReplies.of(Lake(bucket.uri, bucket.storage))
    counted = []
    for name in ("a", "b"):
        with worker(bench, name, shared) as client:
            before = sum(REQUESTS.read().values())
            client.judge("strict").ask_all(prompts(10))
            counted.append(sum(REQUESTS.read().values()) - before)
    assert counted == [30, 10]


@pytest.mark.parametrize("seed", range(6))
def test_a_store_that_fails_at_random_stops_no_judging(
    bench: Bench, server: ScriptedServer, local: Lake, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before what was asked is done, or after: all prompts have replies, at worst each worker pays them all."""
    chance, names = random.Random(seed), ("_read", "_write", "_create", "_release")
    for name in names:
        monkeypatch.setattr(SharedReplies, name, failing(getattr(SharedReplies, name), chance))
    monkeypatch.setattr("evaluator.judges.shared_replies._QUIET_SECONDS", 0.01)
    monkeypatch.setattr(claims, "_LONGEST_POLL_SECONDS", 0.01)
    monkeypatch.setattr("evaluator.judges.judge.ABANDONED_SECONDS", 0.3 - 60)
    server.always = later(0.01)
    shared = [SharedReplies.of(local) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool, worker(bench, "a", shared[0]) as one, worker(bench, "b", shared[1]) as two:
        both = list(pool.map(lambda client: client.judge("strict").ask_all(prompts(40)), (one, two)))
    assert all(isinstance(reply, JudgeReply) for replies in both for reply in replies)
    assert 40 <= len(server.requests) <= 80


def failing(work: Callable[..., Any], chance: random.Random) -> Callable[..., Any]:
    def maybe(*given: Any) -> Any:
        fails = chance.choice(("before", "after", *["never"] * 6))
        if fails == "before":
            raise OSError("the store is away")
        result = work(*given)
        if fails == "after":
            raise OSError("the answer was lost")
        return result

    return maybe


def test_a_claim_that_cannot_be_written_is_counted(bench: Bench, local: Lake, caplog: pytest.LogCaptureFixture) -> None:
    """The calls are made without it; the log says once that it fails, and how many there were when it works again."""
    caplog.set_level("INFO", "evaluator.judges.shared_replies")
    Path(local.root).write_text("a file where the folder shall be")
    now = [0.0]
    shared = SharedReplies(f"{local.root}/_judge_replies", local.storage, lambda: now[0])
    assert [shared.claim(f"{number:064x}", "me") for number in range(5)] == [None] * 5
    assert len(caplog.records) == 1
    Path(local.root).unlink()
    now[0] = 61.0
    assert shared.claim("ab" * 32, "me") == ReplyClaim("me")
    assert [record.getMessage().partition("; ")[2] for record in caplog.records[1:]] == ["5 were not"]


def test_one_whose_answer_was_lost_is_known_as_ones_own(shared: SharedReplies) -> None:
    """The store has it, and its library tried again."""
    assert shared.claim("ab" * 32, "me") == ReplyClaim("me")
    assert shared.claim("ab" * 32, "me") == ReplyClaim("me")
    assert shared.claim("ab" * 32, "you") == ReplyClaim("me")
    assert shared.claim("ab" * 32, "you", {"me"}) == ReplyClaim("you")


def test_who_closes_while_it_waits_for_another_ends_at_once(bench: Bench, shared: SharedReplies) -> None:
    """Without a reply, and without a claim of its own."""
    key = key_of(bench, shared)
    shared.claim(key, "other")
    with ThreadPoolExecutor(1) as pool:
        client = worker(bench, "a", shared)
        asking = pool.submit(
            client.judge("strict").ask_all, [JudgeRequest([ChatMessage("user", "Is it so?")], SCHEMA, "1")]
        )
        time.sleep(0.1)
        client.close()
        (error,) = asking.result(10)
    assert isinstance(error, JudgeError)
    assert (error.reason, bench.server.requests) == (Reason.UNAVAILABLE, [])
    assert shared.find(key) == ReplyClaim("other")


def test_who_closes_while_it_waits_to_try_again_leaves_no_claim(
    bench: Bench, server: ScriptedServer, shared: SharedReplies
) -> None:
    """Others need not wait for it."""
    server.always = fails(503, retry_after="100")
    judges = {"strict": bench.settings()}
    client = JudgeClient(judges, bench.path.parent / "a", shared=shared)
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(client.judge("strict").ask_all, prompts(1))
        wait_for(lambda: server.answered)
        client.close()
        (error,) = asking.result(10)
    assert isinstance(error, JudgeError)
    assert objects(shared.folder) == []
