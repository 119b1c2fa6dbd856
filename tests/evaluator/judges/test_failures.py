"""An endpoint that fails: what is tried again, what that costs, how it ends."""

import asyncio
import sqlite3
from contextlib import closing
from email.utils import formatdate
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from evaluator.judges.exchange import JudgeError
from evaluator.judges.judge import Judge
from tests.evaluator.judges import scripted_server as server_
from tests.evaluator.judges.conftest import Bench, asked
from tests.evaluator.judges.scripted_server import (
    ScriptedServer,
    as_it_can,
    cut_body,
    cut_json,
    fails,
    gives,
    later,
    once,
    says,
    slow_drip,
)
from tests.servers import free_port

COST = 0.0002
HANG = (later(30), slow_drip)


@pytest.mark.parametrize(
    ("act", "may_be_paid"),
    [
        (fails(429), False),
        (fails(500), False),
        (fails(502), False),
        (fails(503), False),
        (gives("<html>", 503), False),
        (fails(504), True),
        (cut_json, True),
        (cut_body, True),
        (gives({"error": {"message": "upstream", "code": "500"}}), True),
        (gives({"choices": []}), True),
        *[(act, True) for act in HANG],
    ],
)
def test_a_passing_failure_is_tried_again(
    bench: Bench, server: ScriptedServer, act: server_.Act, may_be_paid: bool
) -> None:
    """An answer comes all the same; what may have been paid for counts at its upper bound, here and in the ledger."""
    server.follow(act, act)
    answer = bench.ask(timeout=1.5 if act in HANG else 60)
    assert answer.parsed == {"verdict": "S"}
    tries = len(bench.slept) + 1
    # On a busy machine the right answer may come too late as well.
    assert tries >= 3 if act in HANG else len(server.requests) == tries == 3
    assert bench.spent == pytest.approx(answer.spend.cost)
    assert answer.spend.calls == (tries if may_be_paid else 1)
    assert (answer.spend.cost > COST + 2 * 0.04) == may_be_paid


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (fails(429), "judge_unavailable"),
        (fails(500), "judge_unavailable"),
        (later(30), "judge_timeout"),
        (cut_json, "judge_failed"),
    ],
)
def test_tries_have_an_end(bench: Bench, server: ScriptedServer, act: server_.Act, reason: str) -> None:
    """Five or six, with a chance wait of up to 2, 4, 8, 16 and 30 seconds between them."""
    server.always = act
    is_late = reason == "judge_timeout"
    assert bench.refused(timeout=0.5 if is_late else 60).reason in {reason, "judge_unavailable"}
    assert len(bench.slept) == 5
    # On a busy machine the time may be over before a request was sent.
    assert is_late or len(server.requests) in (5, 6)
    assert all(0 <= wait <= most for wait, most in zip(bench.slept, [2, 4, 8, 16, 30], strict=False))


@pytest.mark.parametrize(
    "headers", [{"retry_after": "7"}, {"retry_after_ms": "7000"}, {"retry_after": formatdate(2**31, usegmt=True)}]
)
def test_a_pause_that_is_asked_for_is_kept(bench: Bench, server: ScriptedServer, headers: dict[str, str]) -> None:
    """In seconds, in milliseconds, or until a date; until one in the far future nobody waits."""
    server.follow(fails(429, **headers))
    if "GMT" in str(headers):
        assert "asks for a pause" in str(bench.refused())
    else:
        bench.ask()
        assert sum(bench.slept) == pytest.approx(7)


def test_an_endpoint_that_is_not_there_costs_nothing(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing was sent, as the log says; after five failures nobody tries for a while."""
    error = bench.refused(base_url=f"http://127.0.0.1:{free_port()}/v1")
    assert (error.reason, bench.spent) == ("judge_unavailable", 0)
    assert "rests now" in str(error)
    assert "judge 'strict' does not answer: no connection could be made; is base_url right" in caplog.messages[0]


@pytest.mark.parametrize(("act", "waits"), [(fails(429), False), (fails(504), True)])
def test_tokens_of_a_failure_that_was_not_paid_may_be_used_at_once(
    bench: Bench, server: ScriptedServer, act: server_.Act, waits: bool
) -> None:
    """At a token a second the next try would wait for the 80 that were booked; where they may be paid, it does."""
    server.follow(act)
    bench.ask(tokens_per_minute=60, max_tokens=80)
    assert (sum(bench.slept) > 80) == waits
    assert waits or len(bench.slept) == 1, "only between the tries"


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (fails(401, message="private"), "status 401"),
        (fails(400, "unsupported_parameter", "private"), "status 400 (unsupported_parameter)"),
        (fails(404, "not a word, private", "private"), "status 404"),
        (says("private", finish_reason="length"), "the reply was cut at 4096 tokens; a higher max_tokens may help"),
    ],
)
def test_the_reason_why_there_are_no_answers_is_logged(
    bench: Bench, server: ScriptedServer, caplog: pytest.LogCaptureFixture, act: server_.Act, reason: str
) -> None:
    """Once in ten minutes, by the judge's name, without a word of what the endpoint says: it may quote the prompt."""
    server.always = act

    async def several(judge: Judge) -> None:
        for minute in (0, 1, 9, 11):
            bench.now = 1000 + 60.0 * minute
            with pytest.raises(JudgeError):
                await asked(judge, f"{minute}")

    bench.run(several)
    assert [record.getMessage() for record in caplog.records] == [f"judge 'strict' gives no answer: {reason}"] * 2


def test_an_endpoint_that_is_down_is_logged_at_once_and_so_is_each_rest(
    bench: Bench, server: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Before the next try, and once when the endpoint is left to rest; a rest ends with an answer."""
    caplog.set_level("INFO", "evaluator.judges")
    logged_before_the_second_try: list[str] = []

    async def down(request: server_.Request, send: server_.Send) -> None:
        if len(server.requests) == 2:
            logged_before_the_second_try.extend(record.getMessage() for record in caplog.records)
        await fails(502, message="private")(request, send)

    server.always = down

    async def refused(judge: Judge, text: str) -> None:
        with pytest.raises(JudgeError):
            await asked(judge, text)

    async def outage(judge: Judge) -> None:
        for number in range(3):
            await refused(judge, f"first {number}")
            bench.now += 31
        server.always = as_it_can
        await asked(judge, "back")
        server.always = down
        for number in range(3):
            await refused(judge, f"second {number}")

    bench.run(outage)
    assert logged_before_the_second_try == ["judge 'strict' does not answer: status 502; it is asked again"]
    messages = [record.getMessage() for record in caplog.records if record.name == "evaluator.judges.judge"]
    rest = "judge 'strict' rests after failures in a row, the last: status 502; "
    rest += "now and then a call is tried, the others fail"
    assert [text for text in messages if "rests after" in text or "again" in text.split()[-1]][1:] == [
        rest, "judge 'strict' answers again", rest,
    ]  # fmt: skip
    assert not any("private" in text for text in messages)


def test_a_busy_endpoint_is_not_logged(bench: Bench, server: ScriptedServer, caplog: pytest.LogCaptureFixture) -> None:
    """Status 429 is how an endpoint sets the pace."""
    server.follow(fails(429), fails(429))
    bench.ask()
    assert caplog.records == []


def test_a_reply_that_never_fits_is_logged_with_its_place(
    bench: Bench, server: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Where in the reply, and nothing of what it says."""
    server.always = says('{"verdict": "private"}')
    assert bench.refused().reason == "judge_failed"
    assert [record.getMessage() for record in caplog.records] == [
        "judge 'strict' gives no answer: two replies did not fit the schema, the last at verdict: "
        'the value is none of ["S", "C", "N"]'
    ]


def test_an_endpoint_that_took_no_request_yet_may_take_it_later(bench: Bench, server: ScriptedServer) -> None:
    """A parameter that the model does not take is no word about a row; where others were taken, a refusal is."""
    unsupported = fails(400, "unsupported_parameter")
    server.always = unsupported
    assert bench.refused().reason == "judge_unavailable"

    async def one_of_two(judge: Judge) -> JudgeError:
        server.always = server_.as_it_can
        await asked(judge, "one")
        server.always = unsupported
        with pytest.raises(JudgeError) as caught:
            await asked(judge, "two")
        return caught.value

    assert bench.run(one_of_two).reason == "judge_failed"


def test_calls_at_once_never_exceed_the_limit_and_shrink_when_busy(bench: Bench, server: ScriptedServer) -> None:
    """Every question is answered although the endpoint bears only four calls at once."""

    async def bears_four(request: server_.Request, send: server_.Send) -> None:
        is_probe = len(server.requests) == 1
        answers = once(lambda: is_probe or server.most_at_once > 4, later(0.01))
        await (answers if server.at_once <= 4 else fails(429))(request, send)

    server.always = bears_four
    limits: list[float] = []

    async def one(judge: Judge, text: str) -> None:
        await asked(judge, text)
        limits.append(judge.throttle.concurrency.limit)

    async def many(judge: Judge) -> None:
        await asked(judge, "probe")
        await asyncio.gather(*(one(judge, f"{i}") for i in range(60)))

    bench.run(many, concurrency=12)
    assert len(limits) == 60
    assert min(limits) < 12
    assert server.most_at_once <= 12
    assert bench.spent == pytest.approx(61 * COST)


def test_a_caller_that_goes_away_leaves_a_paid_call_to_its_end(bench: Bench, server: ScriptedServer) -> None:
    """Its reply is kept for the next who asks."""
    left = Event()
    server.always = once(left.is_set)

    async def impatient(judge: Judge) -> None:
        asking = asyncio.ensure_future(asked(judge))
        while not server.requests:
            await asyncio.sleep(0.01)
        asking.cancel()
        await asyncio.wait([asking])
        assert asking.cancelled()
        left.set()

    bench.run(impatient)
    assert bench.ask().from_cache
    assert len(server.requests) == 1


def test_closing_keeps_what_is_under_way_and_refuses_the_rest(bench: Bench, server: ScriptedServer) -> None:
    """Calls that wait for a slot fail at once; the two that were sent are in the cache."""
    closing = Event()
    server.follow(as_it_can)
    server.always = once(closing.is_set)

    async def close_early(judge: Judge) -> list[Any]:
        await asked(judge, "probe")
        asking = [asyncio.ensure_future(asked(judge, f"{i}")) for i in range(6)]
        while len(server.requests) < 3:
            await asyncio.sleep(0.01)
        closing.set()
        await judge.close()
        return await asyncio.gather(*asking, return_exceptions=True)

    ended = bench.run(close_early, concurrency=2)
    assert [getattr(end, "reason", "answer") for end in ended] == ["answer"] * 2 + ["judge_unavailable"] * 4
    assert bench.spent == pytest.approx(3 * COST)
    assert bench.ask("1").from_cache
    assert len(server.requests) == 3


def test_closing_has_an_end(bench: Bench, server: ScriptedServer) -> None:
    """A call that takes longer than the time of grace is given up, and counts at its upper bound."""
    server.always = later(30)

    async def close_early(judge: Judge) -> Any:
        asking = asyncio.ensure_future(asked(judge))
        while not server.requests:
            await asyncio.sleep(0.01)
        await judge.close()
        return await asyncio.gather(asking, return_exceptions=True)

    (error,) = bench.run(close_early, grace=0.05)
    assert isinstance(error, JudgeError)
    assert error.reason == "judge_unavailable"
    assert bench.spent > 0.04


def test_workers_that_share_the_file_share_answers_and_budget(
    bench: Bench, server: ScriptedServer, tmp_path: Path
) -> None:
    """A second connection, as another process has one, finds the answer and what is spent."""
    bench.ask()
    other = Bench(server, bench.path)
    assert other.ask().from_cache
    assert other.spent == bench.spent
    other.calls.close()


def test_what_is_kept_can_be_read_with_sqlite_alone(bench: Bench) -> None:
    """A row a call: judge, time, cost, and the reply as JSON."""
    bench.ask()
    with closing(sqlite3.connect(bench.path)) as database:
        rows = database.execute("SELECT judge, cost, json_extract(reply, '$.content') FROM calls").fetchall()
    assert rows == [("strict", pytest.approx(COST), '{"verdict": "S"}')]
