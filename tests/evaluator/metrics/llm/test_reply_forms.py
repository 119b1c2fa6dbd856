"""Forms of a reply that the field's models and endpoints send: which value each gives, in how many calls."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.evaluator.judges.conftest import Bench
from tests.evaluator.judges.scripted_server import ScriptedServer, says
from tests.evaluator.metrics.llm.judging import row, scored

RIVERS = row(
    question="How long are the rivers?",
    contexts=["The alpha river is long.", "X is Y."],
    answer="The alpha river is long. The beta river is short.",
)
ALPHA = {"fact": "The alpha river is long.", "chunks": [1], "verdict": "S"}
BETA = {"fact": "The beta river is short.", "chunks": [], "verdict": "N"}


def reply(alpha: Any = (ALPHA,), beta: Any = (BETA,), **changes: Any) -> dict[str, Any]:
    """The reply that gives 0.5: of two claims one is supported."""
    sentences = [{"sentence": number, "facts": facts, "addresses": True} for number, facts in ((1, alpha), (2, beta))]
    return {"sentences": sentences, "useful": [1], "refusal": False} | changes


GOOD = json.dumps(reply())
DRAFT = json.dumps(reply(beta=[BETA | {"chunks": [2], "verdict": "S"}]))
SENTENCES: list[dict[str, Any]] = json.loads(GOOD)["sentences"]


def without(name: str) -> list[dict[str, Any]]:
    return [{key: value for key, value in one.items() if key != name} for one in SENTENCES]


ONE_CALL = {
    "thoughts in lines of their own": f"[THINK]Maybe {DRAFT} no.[/THINK]\n{GOOD}",
    "channels": f"<|channel|>analysis<|message|>Maybe {DRAFT} no.<|end|><|channel|>final<|message|>{GOOD}",
    "thoughts that never end": f"<think>Maybe {DRAFT} no.\n{GOOD}",
    "a draft and what is final": f"Draft:\n```json\n{DRAFT}\n```\nFinal:\n```json\n{GOOD}\n```",
    "an object around it": f'{{"answer": {GOOD}}}',
    "a string": json.dumps(GOOD),
    "character references": GOOD.replace('"', "&quot;"),
    "commas before the ends": GOOD.replace("}]", "},]").replace("false}", "false,}"),
    "comments": GOOD.replace('"useful"', '// all that help\n"useful"'),
    "single quotes": str(json.loads(GOOD)),
    "words for chunks": json.dumps(reply(alpha=[ALPHA | {"chunks": ["chunk 1"]}])),
    "a number for a list of chunks": json.dumps(reply(alpha=[ALPHA | {"chunks": 1}])),
    "a chunk that does not exist beside one that does": json.dumps(reply(alpha=[ALPHA | {"chunks": [1, 9]}])),
    "a verdict with its reason": json.dumps(reply(alpha=[ALPHA | {"verdict": "S - stated"}])),
    "the same sentence twice": json.dumps(reply(sentences=[*SENTENCES, SENTENCES[1]])),
    "the same fact three times": json.dumps(reply(alpha=[ALPHA, ALPHA, ALPHA | {"fact": "the alpha river is long"}])),
}
TWO_CALLS = {
    "no word on whether a sentence addresses the question": json.dumps(reply(sentences=without("addresses"))),
    "no word on the whole": json.dumps({"sentences": SENTENCES}),
}
NO_VALUE = {
    "a sentence is missing": json.dumps(reply(sentences=SENTENCES[:1])),
    "two versions of a sentence": json.dumps(reply(sentences=[*SENTENCES, SENTENCES[1] | {"facts": [ALPHA]}])),
    "names in another language": GOOD.replace("sentences", "Sätze"),
    "a reply that breaks off": GOOD[:-25],
    "two different objects": f"{DRAFT}\n{GOOD}",
    "a verdict of another kind": json.dumps(reply(alpha=[ALPHA | {"verdict": True}])),
    "support without a chunk": json.dumps(reply(alpha=[ALPHA | {"chunks": []}])),
    "numbers from 0": GOOD.replace('"sentence": 1', '"sentence": 0').replace('"sentence": 2', '"sentence": 1'),
    "null for facts": json.dumps(reply(beta=None)),
    "a hundred facts of a short sentence": json.dumps(reply(alpha=[ALPHA | {"fact": str(i)} for i in range(100)])),
    "two verdicts on one fact": json.dumps(reply(alpha=[ALPHA, ALPHA | {"verdict": "N"}])),
}


@pytest.mark.parametrize("text", ONE_CALL.values(), ids=ONE_CALL)
def test_a_right_reply_counts_in_whichever_form(bench: Bench, server: ScriptedServer, text: str) -> None:
    """It gives the value of the plain one, and is not asked for again."""
    server.always = says(text)
    with bench.client() as client:
        (score,) = scored(client, "faithfulness_claims", RIVERS)
    assert (score.value, score.spend.calls) == (0.5, 1)


@pytest.mark.parametrize("text", TWO_CALLS.values(), ids=TWO_CALLS)
def test_what_no_claim_hangs_on_may_be_missing(bench: Bench, server: ScriptedServer, text: str) -> None:
    """It is asked for once more; if it does not come, the claims count and only what it is about is not known."""
    server.always = says(text)
    with bench.client() as client:
        (score,) = scored(client, "faithfulness_claims", RIVERS)
        (relevance,) = scored(client, "answer_relevance_sentences", RIVERS)
        (refusal,) = scored(client, "refusal_judged", RIVERS)
    assert (score.value, score.spend.calls) == (0.5, 2)
    known = "addresses" in json.loads(text)["sentences"][0]
    assert (relevance.value, refusal.value) == ((1.0, None) if known else (None, 0.0))


@pytest.mark.parametrize("text", NO_VALUE.values(), ids=NO_VALUE)
def test_what_may_mean_several_things_is_no_value(bench: Bench, server: ScriptedServer, text: str) -> None:
    """Null, with the reason, rather than a guess."""
    server.always = says(text)
    with bench.client() as client:
        (score,) = scored(client, "faithfulness_claims", RIVERS)
    assert (score.value, score.reason, score.spend.calls) == (None, "judge_failed", 2)


ODD_REPLIES = json.loads(Path(__file__).with_name("odd_replies.json").read_text("utf-8"))


@pytest.mark.parametrize("odd", [pytest.param(one, id=one["name"]) for one in ODD_REPLIES])
def test_an_odd_reply_gives_the_value_that_it_means_or_none(
    bench: Bench, server: ScriptedServer, odd: dict[str, Any]
) -> None:
    """Forms of the field, and those in which Qwen, Llama, Mistral, DeepSeek, gpt-oss, Gemma and Phi reply.

    Of those with `is_lost` a person knows what is meant; they are asked for again.
    """
    server.always = says(None, message=odd["message"], finish_reason=odd["finish_reason"])
    with bench.client() as client:
        (score,) = scored(client, "faithfulness_claims", RIVERS)
    assert score.value == (None if odd.get("is_lost") else odd["value"])
