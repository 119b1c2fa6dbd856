"""One question to a judge: what is sent, what is read, what is kept, what it costs."""

import asyncio
import sqlite3
from typing import Any

import pytest

from evaluator.judges.exchange import JudgeError, Spend
from evaluator.judges.judge import Judge
from evaluator.judges.schema import MisfitError
from tests.evaluator.judges import scripted_server as server_
from tests.evaluator.judges.conftest import Bench, asked
from tests.evaluator.judges.scripted_server import (
    ScriptedServer,
    as_it_can,
    called,
    fails,
    gives,
    knows,
    later,
    once,
    says,
)

PAID = Spend(calls=1, prompt_tokens=100, cached_prompt_tokens=40, completion_tokens=10, cost=0.0002)

CUT = ("length", "max_tokens", "MAX_TOKENS", "model_length", "FinishReason.MAX_TOKENS")
"""Words of the field for a reply that ended at the most tokens."""


def test_an_answer_is_its_value_and_what_it_took(bench: Bench) -> None:
    """100 tokens at 1 a million and 10 at 10: 0.0002, which is what the ledger has too."""
    answer = bench.ask()
    assert (answer.parsed, answer.from_cache) == ({"verdict": "S"}, False)
    assert answer.spend == PAID
    assert bench.spent == pytest.approx(0.0002)


def test_dial_is_asked_by_deployment_with_its_header(bench: Bench, server: ScriptedServer) -> None:
    """The URL, the version and the key are where DIAL and Azure look for them; no bearer token goes along."""
    bench.ask(base_url=server.url, deployment="gpt-4o", model=None, api_key="secret", api_version="2024-06-01")
    (request,) = server.requests
    assert request.path == "/openai/deployments/gpt-4o/chat/completions"
    assert request.query == {"api-version": ["2024-06-01"]}
    assert request.headers["api-key"] == "secret"
    assert request.headers["baggage"] == "dialwatch.origin=judge"
    assert request.headers["x-job-title"] == "dialwatch/judge"
    assert "authorization" not in request.headers
    assert request.body["model"] == "gpt-4o"


def test_a_judge_without_a_key_sends_none_of_the_environment(
    bench: Bench, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key for one endpoint is never sent to another."""
    for name in ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"):
        monkeypatch.setenv(name, "leaked")
    bench.ask()
    bench.ask(base_url=server.url, deployment="gpt-4o")
    assert not any("leaked" in value for request in server.requests for value in request.headers.values())
    bench.ask(api_key="own", model="other")
    assert server.requests[-1].headers["authorization"] == "Bearer own"


def test_parameters_that_a_model_does_not_take_are_left_out(bench: Bench, server: ScriptedServer) -> None:
    """Newer models take no temperature, and have another name for the limit."""
    bench.ask(temperature=None, limit_parameter="max_completion_tokens", max_tokens=7)
    assert not {"temperature", "max_tokens"} & set(server.requests[0].body)
    assert server.requests[0].body["max_completion_tokens"] == 7


@pytest.mark.parametrize(
    ("known", "first"),
    [(("schema",), ["schema"]), (("tool",), ["schema", "tool"]), (("text",), ["schema", "tool", "text"])],
)
def test_the_form_that_an_endpoint_knows_is_found_once(
    bench: Bench, server: ScriptedServer, known: tuple[str, ...], first: list[str]
) -> None:
    """A refused form is not tried again, also where many ask at the beginning; what was refused costs nothing."""
    server.always = knows(*known)

    async def many(judge: Judge) -> list[Any]:
        return await asyncio.gather(*(asked(judge, f"question {i}") for i in range(5)))

    answers = bench.run(many)
    assert [answer.parsed["verdict"] for answer in answers] == ["S"] * 5
    assert server.forms == [*first, *[first[-1]] * 4]
    assert bench.spent == pytest.approx(5 * 0.0002)


def test_all_forms_begin_with_the_same_messages(bench: Bench, server: ScriptedServer) -> None:
    """An endpoint's cache of prefixes serves them all; only text has the schema in it."""
    server.always = knows("text")
    bench.ask("Is it so?")
    schema, tool, text = (request.body["messages"][0]["content"] for request in server.requests)
    assert schema == tool == "Is it so?"
    assert text.startswith("Is it so?\n\nReply with one JSON object")
    assert '"enum":["S","C","N"]' in text


@pytest.mark.parametrize("wrong", [says("SUPPORTED"), says('{"verdict": "yes"}'), says(""), gives(called("{"))])
def test_a_reply_that_does_not_fit_is_asked_for_once_more(
    bench: Bench, server: ScriptedServer, wrong: server_.Act
) -> None:
    """The judge sees its reply and what is wrong with it; both calls are paid."""
    server.follow(wrong)
    answer = bench.ask()
    assert (answer.parsed, answer.spend) == ({"verdict": "S"}, PAID + PAID)
    question, reply, complaint = server.requests[1].body["messages"]
    assert (question["content"], reply["role"], complaint["role"]) == ("Is it so?", "assistant", "user")
    assert "does not fit" in complaint["content"]
    assert '"enum":["S","C","N"]' in complaint["content"], "an endpoint may not heed the schema that stands beside"


def test_a_reply_that_fits_the_schema_and_not_the_question_is_not_shown_the_schema(
    bench: Bench, server: ScriptedServer
) -> None:
    """What is wrong with it is enough, and the schema is paid for."""

    def check(parsed: Any) -> None:
        raise MisfitError("verdict", "there is no such claim")

    assert bench.run(lambda judge: asked(judge, check=check)).spend.calls == 2
    assert "there is no such claim" in server.requests[1].body["messages"][-1]["content"]
    assert "enum" not in server.requests[1].body["messages"][-1]["content"]


def test_an_endpoint_that_ignores_the_schema_fits_once_it_is_shown_as_text(
    bench: Bench, server: ScriptedServer
) -> None:
    """Also where the schema stands in the text anyway it is shown once a message."""

    async def heeds_text(request: server_.Request, send: server_.Send) -> None:
        shown = request.body["messages"][-1]["content"].count('"enum":["S","C","N"]')
        assert shown <= 1
        await says(server_.FITS if shown else '{"outcome": "supported"}')(request, send)

    server.always = heeds_text
    assert bench.ask().spend.calls == 2
    server.follow(fails(400), fails(400), says("no"))
    assert bench.ask("Is it not?").spend.calls == 2
    assert server.forms[2:] == ["schema", "tool", "text", "text"]


def test_a_judge_that_never_fits_has_failed(bench: Bench, server: ScriptedServer) -> None:
    """There is no third try; the message says where, not what it says there, and a second run pays nothing."""
    server.always = says('{"verdict": "private"}')
    error = bench.refused()
    assert (error.reason, error.spend, len(server.requests)) == ("judge_failed", PAID + PAID, 2)
    assert 'the last at verdict: the value is none of ["S", "C", "N"]' in str(error)
    assert "private" not in str(error)
    assert bench.refused().spend == Spend()
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("{}", "the last at the reply: 'verdict' is missing"),
        ("private", "the last at the reply: is no JSON, or holds no whole JSON object"),
        ('{"verdict": {"private": 1}}', "the last at verdict: the value is no string"),
    ],
)
def test_the_error_of_a_misfit_has_no_text_of_the_reply(
    bench: Bench, server: ScriptedServer, reply: str, message: str
) -> None:
    """The message says what is wrong there, in words of the schema alone."""
    server.always = says(reply)
    error = str(bench.refused())
    assert error.endswith(message)
    assert "private" not in error


@pytest.mark.parametrize(
    ("act", "reason", "paid"),
    [
        (fails(400, "content_filter"), "judge_content_filter", 0),
        (says("", finish_reason="content_filter"), "judge_content_filter", 1),
        (says(None, message={"refusal": "I cannot."}), "judge_refused", 1),
        *((says('{"verdict": ', finish_reason=word), "judge_cut", 1) for word in CUT),
        (fails(400, "context_length_exceeded"), "judge_failed", 0),
        (fails(401), "judge_unavailable", 0),
        (fails(404, "DeploymentNotFound"), "judge_unavailable", 0),
        (fails(429, "insufficient_quota"), "judge_unavailable", 0),
    ],
)
def test_what_more_calls_would_not_change_fails_at_once(
    bench: Bench, server: ScriptedServer, act: server_.Act, reason: str, paid: int
) -> None:
    """One word for each; what was paid is kept, so that it is not paid again."""
    server.always = act
    assert (bench.refused().reason, bench.slept) == (reason, [])
    before = len(server.requests)
    assert bench.refused().reason == reason
    assert len(server.requests) == before * (1 if paid else 2)
    assert bench.spent == pytest.approx(0.0002 * paid)


def test_a_second_run_makes_no_call(bench: Bench, server: ScriptedServer) -> None:
    """Another judge object, as after a restart, finds what was paid; it costs nothing."""
    first, second = bench.ask(), bench.ask()
    assert second.parsed == first.parsed
    assert (second.from_cache, second.spend, len(server.requests)) == (True, Spend(), 1)


def test_what_changes_the_answer_is_another_request(bench: Bench, server: ScriptedServer) -> None:
    """Another text, version, draw, model or parameter is another call; another price or key is not."""
    bench.ask()
    bench.ask(prompt_price=2, api_key="other", concurrency=1, timeout=5)
    assert len(server.requests) == 1
    bench.ask("Is it not?")
    bench.ask(model="n")
    bench.ask(temperature=1)
    bench.ask(max_tokens=9)
    bench.run(lambda judge: asked(judge, draw=1))
    assert len(server.requests) == 6


def test_the_same_question_at_the_same_time_is_one_call(bench: Bench, server: ScriptedServer) -> None:
    """One of those who asked pays it."""
    server.always = later(0.05)

    async def thrice(judge: Judge) -> list[Any]:
        return await asyncio.gather(*(asked(judge) for _ in range(3)))

    answers = bench.run(thrice)
    assert len(server.requests) == 1
    assert sum((answer.spend for answer in answers), Spend()) == PAID
    assert [answer.from_cache for answer in answers] == [False, True, True]


def test_tokens_that_an_endpoint_does_not_count_are_estimated(bench: Bench, server: ScriptedServer) -> None:
    """DIAL writes zeros, others nothing: a third of the bytes of prompt, schema and reply."""
    server.follow(says(usage=None), says(usage={"prompt_tokens": 0, "completion_tokens": 0}))
    for text in ("first", "other"):
        spend = bench.ask(text).spend
        assert spend.completion_tokens == 6
        assert 60 < spend.prompt_tokens < 80
        assert spend.cost == pytest.approx((spend.prompt_tokens + 60) / 1e6)


def test_half_a_surrogate_pair_can_be_asked_about(bench: Bench, server: ScriptedServer) -> None:
    """Such text stands in real logs; it can neither be sent nor stored as it is."""
    server.follow(says('{"verdict": "\ud800"}'), says('"\ud800"'))
    assert bench.refused("a\ud800b").reason == "judge_failed"
    assert server.requests[0].body["messages"][0]["content"] == "a?b"


def test_a_judge_without_prices_is_not_called(bench: Bench, server: ScriptedServer) -> None:
    """Unless that is allowed; a price of 0 is a price."""
    assert bench.refused(prompt_price=None, completion_price=None).reason == "judge_unpriced"
    assert server.requests == []
    assert bench.ask(prompt_price=None, completion_price=None, allow_unpriced=True).spend.cost == 0
    assert bench.ask("other", prompt_price=0, completion_price=0).spend.cost == 0


def test_a_budget_is_never_overspent_and_is_used(bench: Bench, server: ScriptedServer) -> None:
    """Calls under way count as 0.0009 each: with 0.0033 left three at a time; others wait until nothing is set free."""
    server.follow(as_it_can, as_it_can)
    server.always = once(lambda: server.most_at_once >= 3)

    async def thirty(judge: Judge) -> list[Any]:
        return await asyncio.gather(*(asked(judge, f"{i}") for i in range(30)), return_exceptions=True)

    bench.ask("probe", budget_per_day=0.0035, max_tokens=80)
    answers = bench.run(thirty, budget_per_day=0.0035, max_tokens=80)
    refused = [answer for answer in answers if isinstance(answer, JudgeError)]
    assert {error.reason for error in refused} == {"judge_budget"}
    assert server.most_at_once == 3
    assert 0.0035 - 0.0009 - 0.0002 < bench.spent <= 0.0035
    assert len(server.requests) == 31 - len(refused)
    assert bench.refused(budget_per_hour=1e-9).reason == "judge_budget"


def test_a_call_that_cannot_be_kept_is_not_used(bench: Bench, server: ScriptedServer) -> None:
    """Where the file of calls fails there is no answer, rather than one that would be paid again."""

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    bench.calls.finish = full  # type: ignore[method-assign]
    error = bench.refused()
    assert error.reason == "judge_unavailable"
    assert "disk is full" in str(error)
    assert bench.spent > 0.0002
