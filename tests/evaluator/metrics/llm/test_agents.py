"""Metrics of a whole turn of an application that acts, and of one that keeps to its topics."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evaluator.judges.blocking_client import JudgeClient
from evaluator.metrics import Metric, Score, metric_named
from evaluator.metrics.llm import verdicts
from evaluator.own_metrics import with_topics
from tests.evaluator.judges.conftest import Bench
from tests.evaluator.judges.scripted_server import ScriptedServer, fails, says
from tests.evaluator.metrics.llm.judging import prompt

GOLDEN = json.loads(Path(__file__).with_name("ragas_agents.json").read_text())
TOPICS = ("topic_adherence_precision", "topic_adherence_recall", "topic_adherence_f1")
NO_NUMBER_HERE = {("nothing_allowed_answered", "recall")}
"""Nothing allowed was asked about: ragas divides by 1e-10 and says 0."""
CALL = {"id": "c", "name": "get_order", "arguments": '{"id": 4711}', "result": "shipped", "is_error": False}


def reached(reached: bool = True, **more: Any) -> str:
    return json.dumps(
        {"goal": "Know where order 4711 is.", "end_state": "It is shipped."} | more | {"reached": reached}
    )


def talked(*topics: tuple[bool, bool]) -> str:
    """The reply on topics: whether each is allowed, and answered."""
    return json.dumps(
        {"topics": [{"topic": f"T{n}", "allowed": one, "answered": two} for n, (one, two) in enumerate(topics)]}
    )


def turn(**changes: Any) -> dict[str, Any]:
    plain = {"question": "Where is 4711?", "answer": "It is shipped.", "tool_calls": [CALL]}
    return plain | {"reference_answers": ["Shipped on Monday."]} | changes


def scored(client: JudgeClient, name: str, *rows: dict[str, Any], topics: tuple[str, ...] = ()) -> list[Score]:
    metric: Metric = with_topics(metric_named(name, judge=client.judge("strict")), topics)
    rows = rows or (turn(),)
    frame = pd.DataFrame({column: pd.Series([one[column] for one in rows], dtype=object) for column in rows[0]})
    scores = metric.score(frame)
    columns = zip(scores.values, scores.reasons, scores.details, scores.spends, strict=True)
    return [Score(None if value != value else value, *rest) for value, *rest in columns]


@pytest.mark.parametrize("golden", GOLDEN["goal_accuracy"], ids=lambda one: str(one["verdict"]))
def test_the_goal_is_reached_or_not(bench: Bench, server: ScriptedServer, golden: dict[str, Any]) -> None:
    """One call: 1 or 0 as in ragas; the details tell goal and end state."""
    server.always = says(reached(golden["verdict"] == "1"))
    with bench.client() as client:
        (without,) = scored(client, "goal_accuracy")
        (compared,) = scored(client, "goal_accuracy_with_reference")
    assert (without.value, compared.value) == (golden["without_reference"], golden["with_reference"])
    assert without.details == {"goal": "Know where order 4711 is.", "end_state": "It is shipped."}
    assert (without.spend.calls, compared.spend.calls, len(server.requests)) == (1, 1, 2)


def test_the_judge_sees_the_turn(bench: Bench, server: ScriptedServer) -> None:
    """Question, calls with arguments, results and failures, answer, and the reference where there is one."""
    failed = CALL | {"name": "cancel", "result": "no such order", "is_error": True}
    silent = CALL | {"name": "notify", "arguments": None, "result": None, "is_error": None}
    server.always = says(reached())
    with bench.client() as client:
        scored(client, "goal_accuracy", turn(tool_calls=[CALL, failed, silent]))
        scored(client, "goal_accuracy_with_reference", turn())
        frame = pd.DataFrame({"question": ["Who?"], "answer": ["Me."]})
        metric_named("goal_accuracy", judge=client.judge("strict")).score(frame)
    first, second, plain = map(prompt, server.requests)
    shown = ["Where is 4711?", 'get_order({"id": 4711})\n-> shipped', 'cancel({"id": 4711})\nFAILED: no such order']
    for text in (*shown, "notify()\n-> it is not known what it gave back", "It is shipped."):
        assert text in first
    assert "Shipped on Monday." in second.partition("TASK.")[0]
    assert "Shipped on Monday." not in first
    assert "(no call)" in plain


def test_a_long_turn_costs_no_more_than_its_bound(bench: Bench, server: ScriptedServer) -> None:
    """Of long texts the beginning and the end, of many calls the first and the last ones."""
    calls = [CALL | {"name": f"tool{n}", "result": f"begin{n} " + "x" * 20_000 + f" end{n}"} for n in range(200)]
    server.always = says(reached())
    with bench.client() as client:
        long = "Start. " + "и" * 90_000 + " Stop."
        scored(client, "goal_accuracy", turn(question=long, answer=long, tool_calls=calls))
    text = prompt(server.requests[0])
    assert len(text.encode()) < 4 * 8_000 + 4_000
    for part in ("Start. ", " Stop.", "begin0 ", " end0", "begin199 ", " end199", "calls are left out", "left out ..."):
        assert part in text
    assert "tool100(" not in text


def test_what_cannot_be_judged_asks_nobody(bench: Bench, server: ScriptedServer) -> None:
    """Nothing said, nothing asked, no reference; a refusal is judged: the user did not get it."""
    server.always = says(reached(False))
    rows = [turn(answer=None), turn(answer=" "), turn(question=None)]
    with bench.client() as client:
        reasons = [one.reason for one in scored(client, "goal_accuracy", *rows)]
        (none,) = scored(client, "goal_accuracy_with_reference", turn(reference_answers=[]))
        assert not server.requests
        (refusal,) = scored(client, "goal_accuracy", turn(answer="I don't know."))
    assert reasons == ["no_answer", "no_answer", "no_question"]
    assert none.reason == "no_ground_truth"
    assert refusal.value == 0.0


@pytest.mark.parametrize("name", ["goal_accuracy", "goal_accuracy_with_reference", *TOPICS])
def test_a_judge_that_does_not_answer_is_null_with_its_reason(bench: Bench, server: ScriptedServer, name: str) -> None:
    """From 0 to 1; so is a reply of no use, after one more try."""
    server.follow(fails(400, "content_filter"), says("No."), says("Still no."))
    with bench.client(concurrency=1) as client:
        (refused,) = scored(client, name, topics=("orders",))
        (useless,) = scored(client, name, turn(answer="Another."), topics=("orders",))
    for one, reason in ((refused, "judge_content_filter"), (useless, "judge_failed")):
        assert (one.value, one.reason, one.details["low"], one.details["high"]) == (None, reason, 0.0, 1.0)


def test_reasons_come_before_the_verdict_where_they_are_asked_for(bench: Bench, server: ScriptedServer) -> None:
    """And are in the details; it is another version."""
    server.always = says(reached(reason="The order is shipped."))
    with bench.client(reasons=True) as client, bench.client() as other:
        (score,) = scored(client, "goal_accuracy")
        versions = {metric_named("goal_accuracy", judge=one.judge("strict")).version for one in (client, other)}
    assert score.details["reason"] == "The order is shipped."
    assert list(server.requests[0].body["response_format"]["json_schema"]["schema"]["properties"]) == [
        "goal", "end_state", "reason", "reached",
    ]  # fmt: skip
    assert len(versions) == 2


@pytest.mark.parametrize(
    "golden", [one for one in GOLDEN["topic_adherence"] if one["case"] != "short_reply"], ids=lambda one: one["case"]
)
def test_topics_are_those_of_ragas_without_its_smoothing(golden: dict[str, Any]) -> None:
    """The golden numbers to 1e-9; what ragas divides by 1e-10 alone is null."""
    allowed, answered = golden["allowed"], [1 - one for one in golden["refused"]]
    for kind in ("precision", "recall", "f1"):
        found = getattr(verdicts, f"topic_adherence_{kind}")(allowed, answered)
        if (golden["case"], kind) in NO_NUMBER_HERE:
            assert (found.value, found.reason) == (None, "nothing_allowed")
        else:
            assert found.value == pytest.approx(golden[kind], abs=1e-9)


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ([(True, True)] * 2 + [(False, True)], (2 / 3, 1.0, 0.8)),
        ([(True, True)] * 2 + [(True, False)], (1.0, 2 / 3, 0.8)),
        ([(False, False)], ("nothing_answered", "nothing_allowed", "nothing_allowed")),
        ([(True, False)], ("nothing_answered", 0.0, 0.0)),
        ([(False, True)], (0.0, "nothing_allowed", 0.0)),
        ([], ("nothing_answered", "nothing_allowed", "nothing_allowed")),
    ],
)
def test_three_metrics_of_topics_are_one_call(
    bench: Bench, server: ScriptedServer, given: list[tuple[bool, bool]], values: tuple[float | str, ...]
) -> None:
    """The second and the third cost nothing; the judge gets the topics that the deployment may talk about."""
    server.always = says(talked(*given))
    with bench.client() as client:
        scores = [scored(client, name, topics=("orders", "returns"))[0] for name in TOPICS]
    assert tuple(one.reason if one.value is None else one.value for one in scores) == pytest.approx(values)
    assert [one.spend.calls for one in scores] == [1, 0, 0]
    assert scores[0].details["topics"] == json.loads(talked(*given))["topics"]
    assert "orders" in prompt(server.requests[0])


def test_without_topics_nobody_is_asked(bench: Bench, server: ScriptedServer) -> None:
    """Null, and says so; other topics are another version."""
    with bench.client() as client:
        assert [scored(client, name)[0].reason for name in TOPICS] == ["no_topics"] * 3
        metric = metric_named("topic_adherence_f1", judge=client.judge("strict"))
        versions = {with_topics(metric, topics).version for topics in ((), ("orders",), ("returns",))}
    assert not server.requests
    assert len(versions) == 3


def test_verdicts_that_are_missing_leave_bounds() -> None:
    """Whichever of the two of a topic."""
    for name in TOPICS:
        found = getattr(verdicts, name)
        assert found([True], [None]) == found([None], [True]) == verdicts.Judged.between(0.0, 1.0)
