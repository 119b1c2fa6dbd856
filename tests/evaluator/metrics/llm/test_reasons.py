"""A few words of the judge before each verdict, where they are asked for."""

import json
from typing import Any

import pytest

from evaluator.metrics import AspectCritique, metric_named
from tests.evaluator.judges.conftest import Bench
from tests.evaluator.judges.scripted_server import Request, ScriptedServer
from tests.evaluator.metrics.llm.judging import answered, compared, frame, judging, prompt, row, scored

WHY = "Chunk 1: 'it is so'"


def with_reasons(reply: str) -> str:
    """The reply with a reason in each object that has a verdict or `stated`."""

    def add(value: Any) -> Any:
        if isinstance(value, list):
            return [add(one) for one in value]
        if not isinstance(value, dict):
            return value
        items = {name: add(one) for name, one in value.items()}
        return items | ({"reason": WHY} if {"verdict", "stated"} & value.keys() else {})

    return json.dumps(add(json.loads(reply)))


def judged_objects(request: Request) -> list[list[str]]:
    """The names of the properties, in order, of every object of a request's schema in which something is judged."""

    def found(schema: dict[str, Any]) -> list[list[str]]:
        properties = schema.get("properties", {})
        inner = [*properties.values(), *([schema["items"]] if "items" in schema else [])]
        mine = [list(properties)] if {"verdict", "stated"} & properties.keys() else []
        return mine + [names for one in inner for names in found(one)]

    return found(request.body["response_format"]["json_schema"]["schema"])


def test_reasons_come_before_verdicts_and_into_the_details(bench: Bench, server: ScriptedServer) -> None:
    """In both calls about a row; a judge that is not asked for them is asked as before."""
    answer = answered([[([1], "S")], [([], "N")]])
    server.always = judging(with_reasons(answer), with_reasons(compared([[([1], True)]], "SN")))
    with bench.client(reasons=True) as client:
        (score,) = scored(client, "claims_f1")
    for request in server.requests:
        for names in judged_objects(request):
            assert names.index("reason") < min(
                names.index(one) for one in ("chunks", "stated", "verdict") if one in names
            )
        assert '"reason", in at most 12 words' in prompt(request)
    assert [fact["reason"] for fact in score.details["facts"]] == [WHY, WHY]
    assert [fact["reason_in_reference"] for fact in score.details["facts"]] == [WHY, WHY]
    assert [fact["reason"] for fact in score.details["reference_facts"]] == [WHY]
    asked = len(server.requests)
    server.always = judging(answer, compared([[([1], True)]], "SN"))
    with bench.client() as client:
        (plain,) = scored(client, "claims_f1")
    assert plain.value == score.value
    assert not any("reason" in json.dumps(request.body) for request in server.requests[asked:])
    assert "reason" not in json.dumps(plain.details)


@pytest.mark.parametrize(
    "name", ["faithfulness_claims", "claims_f1", "faithfulness_claims_apart", "aspect_harmfulness"]
)
def test_scores_with_reasons_are_of_another_version(bench: Bench, name: str) -> None:
    """Words before a verdict change it, so the two are never compared."""
    with bench.client() as plain, bench.client(reasons=True) as thoughtful:
        versions = {metric_named(name, judge=client.judge("strict")).version for client in (plain, thoughtful)}
    assert len(versions) == 2


def test_claims_apart_and_aspects_have_reasons_too(bench: Bench, server: ScriptedServer) -> None:
    """One for each claim, and one for each vote."""
    facts = {"sentences": [{"sentence": 1, "facts": ["It is so."]}, {"sentence": 2, "facts": []}]}
    fact = {"reason": WHY, "chunks": [1], "verdict": "S"}
    vote = {"reason": WHY, "sentences": [1], "verdict": True}

    async def act(request: Request, send: Any) -> None:
        names = list(request.body["response_format"]["json_schema"]["schema"]["properties"])
        reply = facts if names == ["sentences"] else vote if "sentences" in names else fact
        assert (names[0] == "reason") == (reply is not facts)
        await judging(json.dumps(reply), reason=json.dumps(reply))(request, send)

    server.always = act
    with bench.client(reasons=True) as client:
        (apart,) = scored(client, "faithfulness_claims_apart", row())
        aspect = AspectCritique("politeness", "Is the answer polite?", strictness=3, judged_by=client.judge("strict"))
        votes = aspect.score(frame(row())).details.iloc[0]
    assert [one["reason"] for one in apart.details["facts"]] == [WHY]
    assert votes["reasons"] == [WHY] * 3
