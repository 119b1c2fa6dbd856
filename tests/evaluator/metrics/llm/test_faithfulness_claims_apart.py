"""Claims checked one by one, in calls of their own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.evaluator.judges.conftest import Bench
from tests.evaluator.judges.scripted_server import Request, ScriptedServer, Send, fails, says
from tests.evaluator.metrics.llm.judging import prompt, properties, row, scored, sentences


def judging_apart(facts: list[list[str]], verdicts: Mapping[str, tuple[list[int], str] | None]) -> Any:
    """The facts of each sentence, and of each fact its chunks and verdict; None is an endpoint that fails."""

    async def act(request: Request, send: Send) -> None:
        if "sentences" in properties(request):
            sentences = [{"sentence": number, "facts": mine} for number, mine in enumerate(facts, 1)]
            await says(json.dumps({"sentences": sentences}))(request, send)
            return
        found = next(verdict for fact, verdict in verdicts.items() if f"\n{fact}\n" in prompt(request))
        if found is None:
            await fails(401)(request, send)
        else:
            await says(json.dumps({"chunks": found[0], "verdict": found[1]}))(request, send)

    return act


def test_each_claim_is_a_call_and_the_share_is_the_same(bench: Bench, server: ScriptedServer) -> None:
    """One call without the contexts for three claims, one for each beside the contexts: two of three are supported."""
    verdicts = {"It is red.": ([1], "S"), "It is big.": ([1, 2], "S"), "It is old.": ([2], "C")}
    server.always = judging_apart([["It is red.", "It is big."], ["It is old."]], verdicts)
    with bench.client() as client:
        (score,) = scored(client, "faithfulness_claims_apart", row(answer=sentences(2)))
    assert (score.value, score.reason) == (pytest.approx(2 / 3), None)
    assert [fact["contexts"] for fact in score.details["facts"]] == [[0], [0, 1], [1]]
    assert score.spend.calls == len(server.requests) == 4
    shown = ["First chunk." in prompt(request) for request in server.requests]
    assert sorted(shown) == [False, True, True, True]


def test_a_claim_without_a_verdict_leaves_bounds(bench: Bench, server: ScriptedServer) -> None:
    """Null with the reason, between what it would be with the claim not supported and supported."""
    server.always = judging_apart([["It is red.", "It is big."]], {"It is red.": ([1], "S"), "It is big.": None})
    with bench.client() as client:
        (score,) = scored(client, "faithfulness_claims_apart", row(answer=sentences(1)))
    assert (score.value, score.reason) == (None, "judge_unavailable")
    assert (score.details["low"], score.details["high"]) == (0.5, 1.0)


def test_a_chunk_that_is_not_there_is_asked_for_again(bench: Bench, server: ScriptedServer) -> None:
    """Support without a place to show is no support: it is asked once more, then the verdict is missing."""
    server.always = judging_apart([["It is red."]], {"It is red.": ([7], "S")})
    with bench.client() as client:
        (score,) = scored(client, "faithfulness_claims_apart", row(answer=sentences(1)))
    assert score.value is None
    assert score.details["facts"][0]["no_such_contexts"] == [6]
    assert len(server.requests) == 3


def test_without_claims_there_is_no_number(bench: Bench, server: ScriptedServer) -> None:
    """An answer that claims nothing is null, after one call."""
    server.always = judging_apart([[]], {})
    with bench.client() as client:
        (score,) = scored(client, "faithfulness_claims_apart", row(answer=sentences(1)))
    assert (score.value, score.reason) == (None, "no_claims")
    assert len(server.requests) == 1
