"""Images beside the texts: the judge sees them, and they are contexts behind the others."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from evaluator.metrics import compute, metric_named
from tests.evaluator.judges.conftest import Bench
from tests.evaluator.judges.scripted_server import Request, ScriptedServer, Send, fails
from tests.evaluator.metrics.llm.judging import row
from tests.evaluator.pictures import colours, data_url, parts, sees_colours


def table(*given: Any, said: str = "red", **changes: Any) -> pd.DataFrame:
    rows = [row(answer=f"The picture is {said}.", **changes) | {"images": images} for images in given]
    return pd.DataFrame({name: pd.Series([one[name] for one in rows], dtype=object) for name in rows[0]})


NAMES = ["faithfulness_claims", "context_relevance_share"]


def scores(bench: Bench, frame: pd.DataFrame, **judge: Any) -> pd.DataFrame:
    with bench.client(**{"images": True, **judge}) as client:
        return compute(frame, NAMES, judge=client.judge("strict"), details=True)


@pytest.mark.parametrize(("shown", "value"), [("red", 1.0), ("blue", 0.0)])
def test_a_claim_is_supported_by_what_an_image_shows(
    bench: Bench, server: ScriptedServer, shown: str, value: float
) -> None:
    """The image is the chunk behind two texts; the value is that of its pixels, by one call."""
    server.always = sees_colours
    found = scores(bench, table([data_url(shown)]))
    assert found["faithfulness_claims"][0] == value
    assert found["context_relevance_share"][0] == pytest.approx(value / 3)
    assert ('"contexts":[2]' in found["faithfulness_claims_details"][0].replace(" ", "")) == bool(value)
    (request,) = server.requests
    assert colours(request) == [shown]
    assert "<chunk 3 " in parts(request)[-1]["text"]
    assert "(image 1 of those above)" in parts(request)[-1]["text"]
    assert "base64" not in parts(request)[-1]["text"]


def test_several_images_are_several_chunks(bench: Bench, server: ScriptedServer) -> None:
    """In their order, each row with its own; without texts an image alone is enough."""
    server.always = sees_colours
    frame = table([data_url("blue"), data_url("red")], [data_url("green")], contexts=[])
    assert list(scores(bench, frame)["faithfulness_claims"]) == [1.0, 0.0]
    assert sorted(map(colours, server.requests)) == [["blue", "red"], ["green"]]


def test_equal_texts_with_other_images_are_other_questions(bench: Bench, server: ScriptedServer) -> None:
    """Neither the memory of a client nor the file of calls takes one for the other."""
    server.always = sees_colours
    both = table([data_url("red")], [data_url("blue")])
    assert list(scores(bench, both)["faithfulness_claims"]) == [1.0, 0.0]
    assert list(scores(bench, both[::-1].reset_index(drop=True))["faithfulness_claims"]) == [0.0, 1.0]
    assert len(server.requests) == 2, "and what was asked once is paid once"


def test_a_judge_that_reads_no_images_gets_texts_alone(bench: Bench, server: ScriptedServer) -> None:
    """By another version, as before; the images of a row are not looked at."""
    server.always = sees_colours
    found = scores(bench, table([data_url("red")]), images=False)
    assert found["faithfulness_claims"][0] == 0.0
    assert isinstance(server.requests[0].body["messages"][1]["content"], str)
    with bench.client() as plain, bench.client(images=True) as seeing:
        versions = [metric_named(NAMES[0], judge=one.judge("strict")).version for one in (plain, seeing)]
    assert versions[0] != versions[1]


@pytest.mark.parametrize(
    ("images", "contexts", "reason"),
    [
        ([None], ["First."], "no_image"),
        ([data_url("red"), None], ["First."], "no_image"),
        (["https://example.com/red.png"], ["First."], "unreadable_images"),
        (None, [], "no_contexts"),
        ([], [], "no_contexts"),
        ([data_url("red")], None, "no_contexts"),
        ([data_url("red")], ["", ""], "no_text_contexts"),
    ],
)
def test_what_is_not_at_hand_is_null_without_a_call(
    bench: Bench, server: ScriptedServer, images: Any, contexts: Any, reason: str
) -> None:
    found = scores(bench, table(images, contexts=contexts))
    assert (found["faithfulness_claims_reason"][0], len(server.requests)) == (reason, 0)


def test_an_image_has_a_bound_of_its_own(bench: Bench, server: ScriptedServer) -> None:
    """Its letters are no tokens of a text: they would cost 0.3, and 3,000 tokens and the reply cost less than 0.05."""
    server.always = sees_colours
    big = data_url("red") + "A" * 900_000
    with bench.client(images=True, budget_per_day=0.05, max_tokens=1000) as client:
        found = compute(table([big]), NAMES[:1], judge=client.judge("strict"))
    assert found["faithfulness_claims_reason"][0] != "judge_budget"


def test_a_schema_as_text_stands_behind_the_images(bench: Bench, server: ScriptedServer) -> None:
    async def knows_text_alone(request: Request, send: Send) -> None:
        await (sees_colours if request.form == "text" else fails(400, message="Extra inputs"))(request, send)

    server.always = knows_text_alone
    assert scores(bench, table([data_url("red")]))["faithfulness_claims"][0] == 1.0
    last = parts(server.requests[-1])
    assert [part["type"] for part in last] == ["image_url", "text"]
    assert "Reply with one JSON object that fits this JSON Schema" in last[1]["text"]
