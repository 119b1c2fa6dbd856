"""Prompts as they are sent to a judge."""

import json
from typing import Any

import pytest

from tests.evaluator.judges.conftest import Bench
from tests.evaluator.judges.scripted_server import Request, ScriptedServer, says
from tests.evaluator.metrics.llm.judging import answered, compared, prompt, row, scored

CLAIMS = (
    "Read a fragment as the answer to the question, whose premises are no claims:",
    '"41" claims only that Ann died at 41',
    'the world or its sources ("several chunks say so")',
    'Empty for greetings, questions, talk about the answer itself, and "the texts do not tell".',
)
INFERENCE = (
    "What follows (arithmetic, dates, logic) counts as said",
    '"some" is not "all"',
    "where only one answer can be right, another contradicts it",
)


@pytest.fixture(params=[False, True], ids=["without reasons", "with reasons"])
def tasks(request: pytest.FixtureRequest, bench: Bench, server: ScriptedServer) -> dict[str, str]:
    """What comes after the texts, of each prompt of claims, by the names of the properties of its reply."""
    reason = {"reason": "So."} if request.param else {}
    replies: dict[str, Any] = {
        "sentences useful refusal": json.loads(answered([[([1], "S")], []])),
        "reference answer_facts": json.loads(compared([[([1], True)]], "S")),
        "sentences": {"sentences": [{"sentence": 1, "facts": ["So."]}, {"sentence": 2, "facts": []}]},
        "chunks verdict": {"chunks": [1], "verdict": "S"},
    }
    found: dict[str, str] = {}

    def with_reason(value: Any) -> Any:
        if isinstance(value, dict):
            items = {name: with_reason(one) for name, one in value.items()}
            return items | (reason if {"verdict", "stated"} & items.keys() else {})
        return [with_reason(one) for one in value] if isinstance(value, list) else value

    async def act(asked: Request, send: Any) -> None:
        names = asked.body["response_format"]["json_schema"]["schema"]["properties"]
        key = " ".join(name for name in names if name != "reason")
        found[key] = prompt(asked).rpartition("TASK.")[2]
        await says(json.dumps(with_reason(replies[key])))(asked, send)

    server.always = act
    with bench.client(reasons=request.param) as client:
        assert scored(client, "claims_f1", row())[0].value == 1.0
        assert scored(client, "faithfulness_claims_apart", row())[0].value == 1.0
    assert found.keys() == replies.keys()
    return found


def test_what_a_claim_is_stands_in_every_prompt_that_asks_for_claims(tasks: dict[str, str]) -> None:
    """Of the answer, of the reference answer, and where claims are asked for by themselves: the same words."""
    for key in ("sentences useful refusal", "reference answer_facts", "sentences"):
        for rule in CLAIMS:
            assert tasks[key].count(rule) == 1
    assert CLAIMS[0] not in tasks["chunks verdict"]


def test_what_counts_as_support_stands_in_every_prompt_that_asks_for_verdicts(tasks: dict[str, str]) -> None:
    """How inference counts, that a support is whole, and what no chunk means."""
    for key in ("sentences useful refusal", "reference answer_facts", "chunks verdict"):
        for rule in INFERENCE:
            assert tasks[key].count(rule) == 1
    for key in ("sentences useful refusal", "chunks verdict"):
        assert "S if together they support all of it" in tasks[key]
        assert "else N; without such chunks always N." in tasks[key]
    assert (
        "the numbers of those that together support all of it, empty if they do not" in tasks["reference answer_facts"]
    )


def test_an_evasive_sentence_does_not_address_the_question(tasks: dict[str, str]) -> None:
    """The prompt of the answer says so."""
    assert 'help to answer the question? Evasive ones ("it depends") do not.' in tasks["sentences useful refusal"]


def test_no_mark_of_a_prompt_file_reaches_a_judge(tasks: dict[str, str]) -> None:
    """Parts and values are in their places, and parts that were not asked for leave no gap."""
    for task in tasks.values():
        assert [mark for mark in ("{{", "}}", "$", "  ") if mark in task] == []
