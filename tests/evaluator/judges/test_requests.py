"""Requests and replies as they are written and read, and what a dry run counts of them."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from evaluator.judges.blocking_client import BoundJudge
from evaluator.judges.completion import ChatCompletion, UnreadableCompletionError, completion_from_json, read_completion
from evaluator.judges.dry_run import DryRunClient, RequestCount, least, seconds_for
from evaluator.judges.exchange import ChatMessage, JudgeError, JudgeReply, JudgeRequest, Reason, Spend
from evaluator.judges.prompt_claim import ABANDONED_SECONDS, ClaimedError, PromptClaim
from evaluator.judges.request_formats import asked_again, request, token_bound
from evaluator.judges.schema import MisfitError
from evaluator.judges.settings import JudgeSettings
from evaluator.judges.shared_replies import ReplyClaim
from tests.evaluator.judges.conftest import SCHEMA, Bench
from tests.evaluator.judges.scripted_server import ScriptedServer

REPLY = ChatCompletion("yes", None, None, "stop", 10, 0, 5)


def settings(**changes: Any) -> JudgeSettings:
    return JudgeSettings.model_validate({"base_url": "http://a", "model": "m"} | changes)


def test_the_documented_defaults_of_a_judge() -> None:
    """As many calls at once, tokens and seconds as its docs say."""
    found = settings().model_dump(exclude={"base_url", "model"})
    assert found == {
        "deployment": None, "api_version": "2024-10-21", "api_key": None, "temperature": 0.0, "max_tokens": 4096,
        "limit_parameter": "max_tokens", "timeout": 60.0, "prompt_price": None, "cached_prompt_price": None,
        "completion_price": None, "allow_unpriced": False, "allow_own_model": False, "reasons": False,
        "images": False, "logprobs": False,
        "budget_per_hour": None, "budget_per_day": None, "concurrency": 16, "requests_per_minute": None,
        "tokens_per_minute": None,
    }  # fmt: skip
    priced = settings(prompt_price=2, completion_price=10)
    assert priced.cost(1000, 100, 400) == (1000 * 2 + 100 * 10) / 1e6
    free = settings(prompt_price=2, completion_price=10, cached_prompt_price=0)
    assert free.cost(1000, 100, 400) == (600 * 2 + 100 * 10) / 1e6


def test_a_request_has_its_parameters() -> None:
    """A temperature of 0 is one; the schema as text stands once, after the last message."""
    messages = [ChatMessage("system", "Be strict."), ChatMessage("user", "Is it \ud800 so?")]
    common = {
        "model": "m",
        "messages": [{"role": "system", "content": "Be strict."}, {"role": "user", "content": "Is it ? so?"}],
        "max_tokens": 4096,
        "temperature": 0.0,
    }
    named = {"name": "answer", "schema": SCHEMA, "strict": True}
    assert request(settings(), messages, SCHEMA, "schema") == common | {
        "response_format": {"type": "json_schema", "json_schema": named}
    }
    tool = {"name": "answer", "description": "Give the answer.", "parameters": SCHEMA}
    assert request(settings(), messages, SCHEMA, "tool") == common | {
        "tools": [{"type": "function", "function": tool}],
        "tool_choice": {"type": "function", "function": {"name": "answer"}},
    }
    text = request(settings(), messages, SCHEMA, "text")
    shown = "\n\nReply with one JSON object that fits this JSON Schema, and with nothing else:\n"
    whole = shown + json.dumps(SCHEMA, separators=(",", ":"))
    assert text["messages"][1]["content"] == "Is it ? so?" + whole
    again = asked_again(messages, "", MisfitError("verdict", "is missing"), SCHEMA)
    assert [message.role for message in again] == ["system", "user", "assistant", "user"]
    assert [message.content for message in again[2:]] == [
        "(empty)",
        "That reply does not fit what was asked for. verdict: is missing\nReply again, with the whole JSON object."
        + whole,
    ]
    once = request(settings(), again, SCHEMA, "text")
    assert sum(message["content"].count(shown.strip()) for message in once["messages"]) == 1


@pytest.mark.parametrize(
    ("message", "usage", "expected"),
    [
        ({"content": "yes"}, None, ChatCompletion("yes", None, None, None, None, 0, None)),
        ({"content": ""}, {}, ChatCompletion(None, None, None, None, None, 0, None)),
        (
            {"content": "yes", "refusal": "no", "tool_calls": [{"function": {"arguments": "{3}"}}]},
            {"prompt_tokens": 0, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 3}},
            ChatCompletion("yes", "{3}", "no", None, 0, 3, 7),
        ),
        (
            {"tool_calls": [{"function": {"arguments": {"a": 1}}}]},
            {"prompt_tokens": True, "completion_tokens": -1, "prompt_tokens_details": None},
            ChatCompletion(None, '{"a": 1}', None, None, None, 0, None),
        ),
        (
            {"content": [{"type": "text", "text": "So:"}, {"type": "tool_use", "name": "answer", "input": {"a": 1}}]},
            {},
            ChatCompletion("So:", '{"a": 1}', None, None, None, 0, None),
        ),
        (
            {"content": [{"functionCall": {"name": "answer", "args": {"a": 1}}}]},
            {},
            ChatCompletion(None, '{"a": 1}', None, None, None, 0, None),
        ),
        ({"content": {"a": 1}}, {}, ChatCompletion(None, '{"a": 1}', None, None, None, 0, None)),
        (
            {"content": "", "function_call": {"arguments": "{1}"}, "tool_calls": [{"function": {"arguments": "{2}"}}]},
            {},
            ChatCompletion(None, "{1}\n{2}", None, None, None, 0, None),
        ),
        ({"tool_calls": []}, {"prompt_tokens": 1.5}, ChatCompletion(None, None, None, None, None, 0, None)),
    ],
)
def test_a_completion_is_read_as_far_as_it_can_be(message: Any, usage: Any, expected: ChatCompletion) -> None:
    """Numbers that are none are not known; the arguments of a tool come before the content; and it is kept whole."""
    body = {"choices": [{"message": message}], "usage": usage}
    found = read_completion(json.dumps(body).encode())
    assert found == completion_from_json(found.to_json()) == expected
    assert found.text == (expected.arguments or expected.content or "")


@pytest.mark.parametrize(
    ("body", "said", "code"),
    [
        (b"<html>", "no JSON", None),
        (b"[" * 100_000, "no JSON", None),
        (b"{}", "no choices", None),
        (b'{"choices": {}}', "no choices", None),
        (b"[]", "no choices", None),
        (b'{"error": {"code": "content_filter"}}', "an error and status 200", "content_filter"),
        (b'{"error": {"code": 500}, "choices": [1]}', "an error and status 200", None),
    ],
)
def test_what_is_no_completion_says_so(body: bytes, said: str, code: str | None) -> None:
    with pytest.raises(UnreadableCompletionError, match=said) as caught:
        read_completion(body)
    assert caught.value.code == code


def test_a_bound_of_tokens_is_a_third_of_the_bytes_and_ten_a_text() -> None:
    """Rounded up; halves of surrogate pairs are one byte."""
    assert [token_bound(), token_bound(""), token_bound("abcd"), token_bound("é", "\ud800")] == [0, 10, 12, 21]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (SCHEMA, {"verdict": "S"}),
        ({"type": ["integer", "null"]}, 0),
        ({"type": "integer", "minimum": 3}, 3),
        ({"type": "number", "maximum": -2}, -2),
        ({"type": "number", "maximum": 5}, 0),
        ({"type": "array", "items": {"type": "boolean"}, "minItems": 2}, [False, False]),
        ({"type": "array", "items": {"type": "string"}}, []),
        ({"type": "string"}, ""),
        ({}, None),
    ],
)
def test_the_least_value_of_a_schema_fits_it(schema: Any, expected: Any) -> None:
    assert least(schema) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, 20 * 5 / 16),
        ({"concurrency": 1}, 100),
        ({"requests_per_minute": 4}, 300),
        ({"tokens_per_minute": 100}, 600),
        ({"budget_per_hour": 1.5}, 2 * 3600),
        ({"budget_per_day": 1.5}, 2 * 86400),
        ({"budget_per_hour": 4.0, "concurrency": 1}, 100),
    ],
)
def test_calls_take_as_long_as_the_narrowest_limit(given: dict[str, Any], expected: float) -> None:
    """Of twenty calls with a thousand tokens, which cost 3."""
    prices = {"prompt_price": 1, "completion_price": 1} if "budget" in str(given) else {}
    assert seconds_for(settings(**given, **prices), 20, 1000, 3.0) == pytest.approx(expected)


def test_a_dry_run_counts_each_request_once(bench: Bench) -> None:
    """Another draw is another one; the reply is the usual one."""
    with bench.client() as client:
        dry = DryRunClient(client)
        one = JudgeRequest([ChatMessage("user", "So?")], SCHEMA, prompt_version="1")
        usual = JudgeRequest([ChatMessage("user", "So?")], SCHEMA, prompt_version="1", draw=1, usual={"verdict": "N"})
        replies = dry.ask_all("strict", [one, one, usual])
        assert [reply.parsed["verdict"] for reply in replies if isinstance(reply, JudgeReply)] == ["S", "S", "N"]
        each = token_bound(json.dumps(SCHEMA), "So?")
        assert dry.counted == RequestCount(2, 2 * each)
        assert dry.counted - RequestCount(1, 1) == RequestCount(1, 2 * each - 1)


def test_a_client_sums_up_what_its_replies_took(bench: Bench, server: ScriptedServer) -> None:
    """And each draw of a judge asks anew, without meeting another's."""
    with bench.client() as client:
        for draw in (0, 0, 1, 2):
            bound = BoundJudge(client, "strict", draw)
            requests = [JudgeRequest([ChatMessage("user", "So?")], SCHEMA, prompt_version="1", draw=n) for n in (0, 1)]
            assert not any(isinstance(one, JudgeError) for one in bound.ask_all(requests))
        assert client.spent("strict").calls == len(server.requests) == 6
        assert client.spent("strict").cost == pytest.approx(6 * 0.0002)
        assert client.spent("other") == Spend()


class Shared:
    """Replies that other workers share: what is found, look by look."""

    def __init__(self, *found: Any) -> None:
        self.found = list(found)
        self.kept: list[ChatCompletion] = []
        self.released: list[str] = []
        self.claimed: list[set[str]] = []

    def find(self, _: str) -> Any:
        return self.found.pop(0) if len(self.found) > 1 else self.found[0]

    def claim(self, _: str, mark: str, instead_of: set[str]) -> Any:
        self.claimed.append(instead_of)
        return ReplyClaim(mark)

    def keep(self, _: str, reply: ChatCompletion) -> None:
        self.kept.append(reply)

    def release(self, _: str, mark: str) -> None:
        self.released.append(mark)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def answered(shared: Shared, clock: Clock, send: Callable[[PromptClaim], Any], patience: float = 10.0) -> Any:
    claim = PromptClaim(shared, "key", patience, clock, clock.sleep, random.Random(1))  # type: ignore[arg-type]
    return asyncio.run(claim.answered_or_sent(lambda: send(claim)))


async def sent(claim: PromptClaim) -> Any:
    await claim.take()
    return REPLY, Spend(calls=1)


def test_who_waits_looks_more_and_more_seldom_and_gives_up_after_its_patience() -> None:
    """From a quarter of a second to two, half as much more or less; it then asks in the place of that claim."""
    shared, clock = Shared(ReplyClaim("theirs")), Clock()
    assert answered(shared, clock, sent) == (REPLY, Spend(calls=1))
    assert clock.now >= 10.0 > clock.now - clock.slept[-1]
    for number, slept in enumerate(clock.slept):
        planned = min(0.25 * 2**number, 2.0)
        assert 0.5 * planned <= slept <= 1.5 * planned
    assert shared.claimed == [{"theirs"}]
    assert shared.kept == [REPLY]
    assert ABANDONED_SECONDS == 30.0


def test_a_claim_that_changes_is_waited_for_anew() -> None:
    """Another one has taken it; its reply costs nothing, and one that is released is asked for."""
    changing = Shared(*[ReplyClaim(str(number // 3)) for number in range(30)], REPLY)
    clock = Clock()
    assert answered(changing, clock, sent, patience=8.0) == (REPLY, Spend())
    assert clock.now > 8.0
    assert answered(Shared(ReplyClaim("a"), None), Clock(), sent) == (REPLY, Spend(calls=1))
    assert answered(Shared(REPLY), Clock(), sent) == (REPLY, Spend())


def test_what_each_try_took_is_added_up() -> None:
    """Also where another one answers in the end, and where nobody does."""
    calls = list[int]()

    async def tries(claim: PromptClaim) -> Any:
        calls.append(1)
        if len(calls) < 3:
            raise ClaimedError(ReplyClaim("theirs"), Spend(calls=2))
        return await sent(claim)

    shared = Shared(None, ReplyClaim("theirs"), None, ReplyClaim("theirs"), None)
    assert answered(shared, Clock(), tries) == (REPLY, Spend(calls=5))

    async def fails(claim: PromptClaim) -> Any:
        if not calls:
            await claim.take()
            raise JudgeError(Reason.TIMEOUT, "late", Spend(calls=1))
        calls.clear()
        raise ClaimedError(ReplyClaim("theirs"), Spend(calls=2))

    lost = Shared(None)
    with pytest.raises(JudgeError, match="late") as caught:
        answered(lost, Clock(), fails)
    assert (caught.value.spend, len(lost.released), lost.kept) == (Spend(calls=3), 1, [])
