"""Several judges on the same rows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evaluator.judges.blocking_client import JudgeClient
from evaluator.metrics import Score, metric_named
from evaluator.metrics.ensemble import Combine, Ensemble
from evaluator.metrics.llm.llm_metric import LlmMetric
from tests.evaluator.judges.conftest import Bench
from tests.evaluator.judges.scripted_server import Request, ScriptedServer, Send, fails, says
from tests.evaluator.metrics.llm.judging import answered, frame, row, sentences

JUDGES = ("anna", "boris", "chen")
S, N = ([1], "S"), ([], "N")


WRONG = "not an answer"


def judging_each(replies: dict[str, Any]) -> Any:
    """Each model gives its own verdicts; None is an endpoint that fails, WRONG a reply that never fits."""

    async def act(request: Request, send: Send) -> None:
        reply = replies[request.body["model"]]
        if reply == WRONG:
            await says("{}")(request, send)
        else:
            await (fails(401) if reply is None else says(answered([reply])))(request, send)

    return act


def scored(bench: Bench, combine: Combine, replies: dict[str, Any], **changes: Any) -> Score:
    settings = {name: bench.settings(model=name) for name in replies}
    with JudgeClient(settings, bench.path) as client:
        scores = ensemble(client, combine, tuple(replies)).score(frame(row(**({"answer": sentences(1)} | changes))))
    value = scores.values[0]
    return Score(None if value != value else value, scores.reasons[0], scores.details[0], scores.spends[0])


def ensemble(client: JudgeClient, combine: Combine, names: tuple[str, ...] = JUDGES) -> Ensemble:
    members = (metric_named("faithfulness_claims", None, client.judge(name)) for name in names)
    return Ensemble(tuple(one for one in members if isinstance(one, LlmMetric)), combine)


@pytest.mark.parametrize(("combine", "value"), [("mean", (1 + 0.5 + 0) / 3), ("median", 0.5), ("majority", 1.0)])
def test_scores_of_judges_are_made_one(bench: Bench, server: ScriptedServer, combine: Combine, value: float) -> None:
    """Mean, median, or what more than half say; each judge's word and how far they are apart are kept."""
    server.always = judging_each({"anna": [S], "boris": [S, N], "chen": [N]})
    found = scored(bench, combine, dict.fromkeys(JUDGES))
    assert found.value == pytest.approx(value)
    assert found.details["disagreement"] == pytest.approx((0.5 + 1 + 0.5) / 3)
    assert {name: one["value"] for name, one in found.details["judges"].items()} == {
        "anna": 1.0, "boris": 0.5, "chen": 0.0
    }  # fmt: skip
    assert found.spend.calls == len(server.requests) == 3
    json.dumps(dict(found.details))


def test_a_judge_without_a_usable_reply_is_left_out_while_more_than_half_speak(
    bench: Bench, server: ScriptedServer
) -> None:
    """Of three one may fail for good."""
    server.always = judging_each({"anna": [S], "boris": WRONG, "chen": [S, N]})
    found = scored(bench, "mean", dict.fromkeys(JUDGES))
    assert found.value == 0.75
    assert found.details["judges"]["boris"]["reason"] == "judge_failed"


def test_a_mean_waits_for_a_judge_that_may_answer_later(bench: Bench, server: ScriptedServer) -> None:
    """An outage of one judge is not a change of the mean: the score is pending."""
    server.always = judging_each({"anna": [S], "boris": None, "chen": [S, N]})
    found = scored(bench, "mean", dict.fromkeys(JUDGES))
    assert (found.value, found.reason) == (None, "judge_unavailable")


def test_too_few_judges_give_no_value(bench: Bench, server: ScriptedServer) -> None:
    """With two of three away the row is null."""
    server.always = judging_each({"anna": [S], "boris": None, "chen": None})
    found = scored(bench, "mean", dict.fromkeys(JUDGES))
    assert (found.value, found.reason) == (None, "judge_unavailable")
    assert found.details["judges"]["anna"]["value"] == 1.0


@pytest.mark.parametrize(
    ("replies", "value"),
    [(([S], None, [S]), 1.0), (([N], [N], None), 0.0), (([S], None, [N]), None), (([S], [N], WRONG), None)],
)
def test_a_majority_is_one_of_all_judges(
    bench: Bench, server: ScriptedServer, replies: tuple[Any, ...], value: float | None
) -> None:
    """A judge that is away changes no value: where its vote would decide there is none yet."""
    server.always = judging_each(dict(zip(JUDGES, replies, strict=True)))
    found = scored(bench, "majority", dict.fromkeys(JUDGES))
    assert found.value == value
    if value is None:
        assert found.reason == ("judge_failed" if WRONG in replies else "judge_unavailable")


@pytest.mark.parametrize(
    ("replies", "reason"),
    [((WRONG, None, [S]), "judge_unavailable"), ((WRONG, WRONG, None), "judge_failed")],
)
def test_the_reason_is_that_of_a_judge_that_may_answer_later(
    bench: Bench, server: ScriptedServer, replies: tuple[Any, ...], reason: str
) -> None:
    """So that the score is pending as long as it can come, and no longer."""
    server.always = judging_each(dict(zip(JUDGES, replies, strict=True)))
    found = scored(bench, "median", dict.fromkeys(JUDGES))
    assert (found.value, found.reason) == (None, reason)


def test_what_needs_no_judge_is_decided_without_one(bench: Bench, server: ScriptedServer) -> None:
    """An empty answer is null for all of them, without a call."""
    found = scored(bench, "median", dict.fromkeys(JUDGES), answer="")
    assert (found.value, found.reason) == (None, "no_answer")
    assert not server.requests


def test_the_version_changes_with_any_judge_and_with_the_combination(bench: Bench) -> None:
    """Scores of different ensembles are never compared."""
    settings = {name: bench.settings(model=name) for name in (*JUDGES, "dora")}
    with JudgeClient(settings, bench.path) as client:
        versions = {
            ensemble(client, "mean").version,
            ensemble(client, "median").version,
            ensemble(client, "mean", ("anna", "boris", "dora")).version,
        }
    assert len(versions) == 3


def test_what_is_no_ensemble_is_refused(bench: Bench) -> None:
    """One judge, one judge twice, and a majority of two."""
    with JudgeClient({name: bench.settings(model=name) for name in JUDGES}, bench.path) as client:
        for names in (("anna",), ("anna", "anna")):
            with pytest.raises(ValueError, match="one metric of several judges"):
                ensemble(client, "mean", names)
        with pytest.raises(ValueError, match="an odd number of judges, not the 2"):
            ensemble(client, "majority", ("anna", "boris"))
