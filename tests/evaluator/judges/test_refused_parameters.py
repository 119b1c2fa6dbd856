"""An endpoint that refuses a parameter of a request, or all requests."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evaluator.judges.exchange import JudgeError, JudgeReply
from evaluator.judges.judge import Judge
from tests.evaluator.judges.conftest import Bench, asked
from tests.evaluator.judges.scripted_server import Act, Request, ScriptedServer, Send, as_it_can, fails, gives, later

UNSUPPORTED = "Unsupported parameter: '{}' is not supported with this model."


def error(message: str, param: str | None = None, code: str | None = None, status: int = 400) -> Act:
    return gives({"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}, status)


def of_pydantic(name: str) -> Act:
    """The 422 of servers that check requests by a model."""
    detail = [{"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted", "input": 0}]
    return gives({"detail": detail}, 422)


def refusing(refusals: dict[str, Act]) -> Act:
    """A right answer to a request without these parameters, else the refusal of the first that it has."""

    async def act(request: Request, send: Send) -> None:
        named = next((name for name in refusals if name in request.body), None)
        await (as_it_can if named is None else refusals[named])(request, send)

    return act


REFUSALS: dict[str, dict[str, Act]] = {
    "temperature of OpenAI": {
        "temperature": error(
            "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) value is "
            "supported.",
            "temperature",
            "unsupported_value",
        )
    },
    "temperature in words": {"temperature": error("`temperature` is deprecated for this model.")},
    "temperature of a server with pydantic": {"temperature": of_pydantic("temperature")},
    "the limit of OpenAI": {
        "max_tokens": error(
            f"{UNSUPPORTED.format('max_tokens')} Use 'max_completion_tokens' instead.",
            "max_tokens",
            "unsupported_parameter",
        )
    },
    "all that a reasoning model refuses": {
        "max_tokens": error(UNSUPPORTED.format("max_tokens"), "max_tokens"),
        "temperature": error(UNSUPPORTED.format("temperature"), "temperature"),
        "response_format": error(UNSUPPORTED.format("response_format"), "response_format"),
    },
}


@pytest.mark.parametrize("refusals", REFUSALS.values(), ids=REFUSALS.keys())
def test_a_parameter_that_is_refused_is_left_out_from_then_on(
    bench: Bench, server: ScriptedServer, caplog: pytest.LogCaptureFixture, refusals: dict[str, Act]
) -> None:
    """After the first 400 that names it; the limit of tokens has another name, and each is said once."""
    server.always = refusing(refusals)

    async def three(judge: Judge) -> list[Any]:
        return [(await asked(judge, text)).parsed for text in ("first", "second", "third")]

    assert bench.run(three) == [{"verdict": "S"}] * 3
    assert len(server.requests) == 3 + len(refusals)
    for request in server.requests[-2:]:
        assert refusals.keys().isdisjoint(request.body)
        assert {"max_tokens", "max_completion_tokens"} & request.body.keys()
    said = [line.partition(": it is asked with")[0] for line in caplog.messages]
    assert said == [f"judge 'strict' takes no parameter {name}" for name in refusals if name != "response_format"]


def test_calls_that_are_under_way_together_do_without_it_too(bench: Bench, server: ScriptedServer) -> None:
    """Each of them is refused at most once."""
    server.always = refusing(REFUSALS["temperature of OpenAI"])

    async def many(judge: Judge) -> list[JudgeReply]:
        judge._formats["{}"] = "schema"
        return await asyncio.gather(*(asked(judge, f"{number}") for number in range(8)))

    assert len(bench.run(many)) == 8
    assert len(server.requests) <= 16


@pytest.mark.parametrize(
    ("act", "says"),
    [
        (error("max_tokens is too large: 4096. This model supports at most 2048", "max_tokens"), "lower max_tokens"),
        (error("temperature must be between 0 and 1", "temperature"), "set temperature to null"),
        (error("The model `m` does not exist", "model", "model_not_found", 404), "set model or deployment"),
        (
            refusing({name: error(UNSUPPORTED.format(name), name) for name in ("max_tokens", "max_completion_tokens")}),
            "lower max_tokens, or set limit_parameter",
        ),
    ],
)
def test_a_failure_names_the_parameter_and_what_to_do(
    bench: Bench, server: ScriptedServer, caplog: pytest.LogCaptureFixture, act: Act, says: str
) -> None:
    """A value that is out of range is not left out: the model's own would be another setting."""
    server.always = act
    assert says in str(bench.refused())
    assert says in caplog.text
    assert all("temperature" in request.body for request in server.requests)
    assert bench.spent == 0


@pytest.mark.parametrize("period", ["hour", "day"])
def test_a_budget_that_is_smaller_than_one_call_says_so(
    bench: Bench, server: ScriptedServer, caplog: pytest.LogCaptureFixture, period: str
) -> None:
    """What a call may cost, the setting, and what to change; nothing is asked."""
    refused = bench.refused(**{f"budget_per_{period}": 0.001})
    assert refused.reason == "judge_budget"
    says = f"one call may cost 0.041032, and budget_per_{period} is 0.001: raise it, or lower max_tokens"
    assert says in str(refused)
    assert says in caplog.text
    assert server.requests == []


@pytest.mark.parametrize(
    ("act", "seconds"), [(fails(429), 60.0), (fails(429, retry_after="60"), 60.0), (later(30), 0.05)]
)
def test_an_endpoint_that_never_answers_is_given_up_within_minutes(
    bench: Bench, server: ScriptedServer, caplog: pytest.LogCaptureFixture, act: Act, seconds: float
) -> None:
    """Whatever the number of questions: those that are left have no reply at once, and the log says why, early."""
    server.always = act

    async def many(judge: Judge) -> list[Any]:
        asking = (asked(judge, f"{number}") for number in range(100))
        return await asyncio.gather(*asking, return_exceptions=True)

    began = bench.now
    replies = bench.run(many, timeout=seconds, concurrency=4)
    assert all(isinstance(reply, JudgeError) for reply in replies)
    assert bench.now - began < 600
    assert len(server.requests) < 200
    assert "judge 'strict' does not answer" in caplog.text
    assert "judge 'strict' rests after failures in a row" in caplog.text
