"""Replies that end at the limit of their tokens: they are asked for again in halves."""

import json
import re
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from evaluator.metrics import compute
from tests.evaluator.judges.conftest import Bench
from tests.evaluator.judges.scripted_server import Act, Request, ScriptedServer, Send, says
from tests.evaluator.metrics.llm.judging import prompt, row, scored, sentences


def asked_numbers(request: Request, what: str) -> range:
    """Numbers of `what` that the task asks about; none where it asks for an empty list."""
    found = re.search(rf"{what} (\d+) to (\d+)", prompt(request).split("TASK.")[1])
    return range(int(found[1]), int(found[2]) + 1) if found else range(0)


def written(request: Request) -> tuple[dict[str, Any], int]:
    """A whole reply, and of how many numbered things it is; every third sentence or fact is not supported."""
    numbers, facts = asked_numbers(request, "sentences"), asked_numbers(request, "facts")
    if '"answer_facts"' in prompt(request):
        reference = [{"sentence": n, "facts": [{"fact": f"R{n}.", "chunks": [1], "stated": True}]} for n in numbers]
        verdicts = [{"fact": n, "verdict": "N" if n % 3 == 0 else "S"} for n in facts]
        return {"reference": reference, "answer_facts": verdicts}, max(len(numbers), len(facts))
    if not numbers:
        return {"facts": [{"fact": n, "chunks": [] if n % 3 == 0 else [1]} for n in facts]}, len(facts)
    found = [
        {"sentence": n, "facts": [{"fact": f"F{n}.", "chunks": [1], "verdict": "N" if n % 3 == 0 else "S"}]}
        for n in numbers
    ]
    reply: dict[str, Any] = {"sentences": [one | {"addresses": True} for one in found]}
    if '"useful"' in prompt(request):
        reply |= {"useful": [2], "refusal": False}
    return reply, len(numbers)


def writing_at_most(most: int) -> Act:
    """A judge whose tokens are enough for so many numbered things."""

    async def act(request: Request, send: Send) -> None:
        reply, count = written(request)
        text = json.dumps(reply)
        await (says(text) if count <= most else says(text[: len(text) // 2], finish_reason="length"))(request, send)

    return act


@pytest.mark.parametrize(("most", "calls"), [(20, 1), (10, 3), (5, 7), (3, 15)])
def test_a_cut_reply_is_asked_for_in_halves(bench: Bench, server: ScriptedServer, most: int, calls: int) -> None:
    """The value is that of a judge with more tokens, in the same order; the cut replies are paid too."""
    server.always = writing_at_most(most)
    with bench.client() as client:
        (score,) = scored(client, "faithfulness_claims", row(answer=sentences(20)))
        (useful,) = scored(client, "context_relevance_share", row(answer=sentences(20)))
    assert (score.value, score.reason, score.spend.calls) == (14 / 20, None, calls)
    assert [fact["sentence"] for fact in score.details["facts"]] == list(range(1, 21))
    assert useful.value == 0.5, "what is asked about the whole comes from the first half"
    assert len(server.requests) == calls


def test_only_what_was_cut_is_asked_for_again(bench: Bench, server: ScriptedServer) -> None:
    """Of an answer of 25 sentences the first portion is halved; the second, of five, came whole and is paid once."""
    server.always = writing_at_most(10)
    with bench.client() as client:
        (score,) = scored(client, "faithfulness_claims", row(answer=sentences(25)))
    assert score.value == 17 / 25
    asked = sorted((one.start, one.stop - 1) for one in (asked_numbers(each, "sentences") for each in server.requests))
    assert asked == [(1, 10), (1, 20), (11, 20), (21, 25)]
    assert sum('"useful"' in prompt(request) for request in server.requests) == 2, "in the portion, and its first half"


@pytest.mark.parametrize("most", [0, 1, 2])
def test_halving_ends(bench: Bench, server: ScriptedServer, most: int) -> None:
    """A judge that writes on and on costs four calls of twenty sentences, and the second halves are not asked for."""
    server.always = writing_at_most(most)
    with bench.client() as client:
        (score,) = scored(client, "faithfulness_claims", row(answer=sentences(20)))
    assert (score.value, score.reason, score.spend.calls) == (None, "judge_cut", 4)
    assert len(server.requests) == 4


def test_a_sentence_alone_has_no_halves(bench: Bench, server: ScriptedServer) -> None:
    server.always = writing_at_most(0)
    with bench.client() as client:
        (score,) = scored(client, "faithfulness_claims", row(answer=sentences(1)))
    assert (score.reason, len(server.requests)) == ("judge_cut", 1)


def test_comparisons_with_the_reference_are_halved(bench: Bench, server: ScriptedServer) -> None:
    """Sentences of the reference answer and facts of the answer are halved together."""
    server.always = writing_at_most(20)
    long = row(answer=sentences(20), reference_answers=[sentences(3, "Reference")])
    with bench.client() as client:
        (whole,) = scored(client, "correctness", long)
    server.always = writing_at_most(10)
    with bench.client(model="other") as client:
        (halved,) = scored(client, "correctness", long)
        (coverage,) = scored(client, "coverage", long)
    assert (halved.value, halved.details) == (whole.value, whole.details) == (14 / 20, whole.details)
    assert (coverage.value, halved.spend.calls) == (1.0, 6)


def test_facts_are_halved(bench: Bench, server: ScriptedServer) -> None:
    server.always = writing_at_most(4)
    with bench.client() as client:
        table = pd.DataFrame({"facts": [[f"Fact {n}." for n in range(8)]], "contexts": [["x"]]})
        found = compute(table, ["facts_recall_judge"], judge=client.judge("strict"))
    assert (found["facts_recall_judge"][0], len(server.requests)) == (6 / 8, 3)


def test_halves_are_drawn_as_their_whole(bench: Bench, server: ScriptedServer) -> None:
    """Another draw of a judge asks for halves of its own; the same draw pays them once."""
    server.always = writing_at_most(10)
    for draw in (0, 1, 1):
        with bench.client() as client:
            judge = replace(client.judge("strict"), draw=draw)
            compute(pd.DataFrame([row(answer=sentences(20))]), ["faithfulness_claims"], judge=judge)
    assert len(server.requests) == 6


def test_claims_that_are_checked_apart_are_asked_for_in_halves(bench: Bench, server: ScriptedServer) -> None:
    """The call for the claims of four sentences is cut; those for two are not, and each claim is one more."""

    async def act(request: Request, send: Send) -> None:
        numbers = asked_numbers(request, "sentences")
        if not numbers:
            await says('{"chunks": [1], "verdict": "S"}')(request, send)
            return
        reply = json.dumps({"sentences": [{"sentence": n, "facts": [f"F{n}."]} for n in numbers]})
        await (says(reply[:9], finish_reason="length") if len(numbers) > 2 else says(reply))(request, send)

    server.always = act
    with bench.client() as client:
        (score,) = scored(client, "faithfulness_claims_apart", row(answer=sentences(4)))
    assert (score.value, score.spend.calls) == (1.0, 3 + 4)
