"""Facts that a judge finds in chunks, in whatever words."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pandas as pd
import pytest

from evaluator.judges.blocking_client import JudgeClient
from evaluator.metrics import compute
from tests.evaluator.judges.conftest import Bench
from tests.evaluator.judges.scripted_server import Request, ScriptedServer, Send, fails, says
from tests.evaluator.metrics.llm.judging import prompt

NAMES = ["facts_recall_judge", "facts_precision_judge", "facts_f1_judge"]


def reply(*chunks: Sequence[int]) -> str:
    return json.dumps({"facts": [{"fact": n, "chunks": list(of)} for n, of in enumerate(chunks, 1)]})


def scores(client: JudgeClient, facts: object, contexts: object) -> pd.DataFrame:
    frame = pd.DataFrame({"facts": pd.Series([facts], dtype=object), "contexts": pd.Series([contexts], dtype=object)})
    return compute(frame, NAMES, judge=client.judge("strict"), details=True)


def test_facts_stand_where_the_judge_says(bench: Bench, server: ScriptedServer) -> None:
    """One call for all three metrics; a fact counts wherever it is stated, and a fact without letters not at all."""
    server.always = says(reply([2, 3], [], [3]))
    with bench.client() as client:
        found = scores(client, ["A.", "B.", "C.", "..."], ["x", "y", "z", "u"])
    assert found[NAMES].iloc[0].tolist() == pytest.approx([2 / 3, 0.5, 4 / 7])
    assert json.loads(found["facts_recall_judge_details"][0]) == {"facts_ranks": [1, -1, 2], "ignored_facts": 1}
    assert len(server.requests) == 1
    assert "facts 1 to 3" in prompt(server.requests[0])


def test_what_the_judge_did_not_say_leaves_bounds(bench: Bench, server: ScriptedServer) -> None:
    """A chunk that does not exist is no verdict, twice: recall is from 1/2 to 1; precision from 1/2 to 1."""
    server.always = says(reply([1], [7]))
    with bench.client() as client:
        found = scores(client, ["A.", "B."], ["x", "y"])
    assert found[NAMES].isna().all(axis=None)
    assert set(found[[f"{name}_reason" for name in NAMES]].iloc[0]) == {"judge_failed"}
    for name in NAMES:
        details = json.loads(found[f"{name}_details"][0])
        assert (details["low"], details["high"]) == (0.5, 1.0), name
    assert "facts[1].chunks: there are 2 chunks" in server.requests[1].body["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("facts", "contexts", "value", "reason"),
    [
        ([], ["x"], None, "no_facts"),
        (["..."], ["x"], None, "no_facts"),
        (["A."], None, None, "no_contexts"),
        (["A."], [], 0.0, "no_contexts"),
        (["A."], [""], None, "no_text_contexts"),
    ],
)
def test_without_facts_or_contexts_nobody_is_asked(
    bench: Bench, server: ScriptedServer, facts: list[str], contexts: list[str] | None, value: float | None, reason: str
) -> None:
    with bench.client() as client:
        found = scores(client, facts, contexts).iloc[0]
    for name in NAMES:
        assert (None if found[name] != found[name] else found[name], found[f"{name}_reason"]) == (value, reason)
    assert not server.requests


def test_many_facts_are_asked_about_in_portions(bench: Bench, server: ScriptedServer) -> None:
    """Twenty in a call; a portion that failed may be found or not."""

    async def act(request: Request, send: Send) -> None:
        if "facts 21 to 21" in prompt(request):
            await fails(400, "content_filter")(request, send)
        else:
            await says(reply(*[[1]] * 20))(request, send)

    server.always = act
    with bench.client() as client:
        found = scores(client, [f"Fact {n}." for n in range(21)], ["x"])
    details = json.loads(found["facts_recall_judge_details"][0])
    assert (details["low"], details["high"]) == (20 / 21, 1.0)
    assert found["facts_recall_judge_reason"][0] == "judge_content_filter"
    assert found["facts_precision_judge"][0] == 1.0, "whatever the last fact is"
