"""Several judges, and one that is asked again, through the service and a real lake."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from evaluator.answers import Period
from evaluator.service.backfill import Backfill
from evaluator.service.backfill_estimate import estimate
from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.spec.schemas import ANCHORS
from lake.tables.lake import Lake
from tests.evaluator.judged import JUDGED, settings
from tests.evaluator.judges.scripted_server import Request, ScriptedServer, Send, fails, says

NOW = datetime(2026, 11, 20, 13, tzinfo=UTC)
DAY = timedelta(days=1)
NAMES = ("anna", "boris", "chen")


def jury(url: str, folder: Path, combine: str = "majority", **changes: Any) -> EvaluatorSettings:
    judge = {"base_url": url, "prompt_price": 1, "completion_price": 10, "max_tokens": 100}
    given: dict[str, Any] = {"metrics": [JUDGED], "judge": "jury", "judge_calls": folder / "calls", "context_grace": 0}
    given |= {"anchors": {"size": 0}, "judges": {name: judge | {"model": name} for name in NAMES}}
    return EvaluatorSettings.model_validate(
        given | {"ensembles": {"jury": {"judges": NAMES, "combine": combine}}} | changes
    )


async def anna_disagrees(request: Request, send: Send) -> None:
    verdict = "N" if request.body["model"] == "anna" else "S"
    await says(f'{{"verdict": "{verdict}"}}')(request, send)


def test_a_jury_scores_as_one_judge_does(lake: Lake, traffic: Any, judge: ScriptedServer, tmp_path: Path) -> None:
    """Each judge is asked once; the row has the majority's verdict, all names, what each said, and the cost of all."""
    judge.always = anna_disagrees
    traffic.log(traffic.answer("a"))
    with closing(Evaluator(lake, jury(judge.url, tmp_path), lambda: NOW)) as evaluator:
        evaluator.run_once()
    (row,) = traffic.scores()
    assert (row["value"], row["judge"]) == (1.0, "anna+boris+chen")
    assert row["cost"] == pytest.approx(3 * 0.0002)
    details = json.loads(row["details"])
    assert {name: one["value"] for name, one in details["judges"].items()} == {"anna": 0.0, "boris": 1.0, "chen": 1.0}
    assert details["disagreement"] == pytest.approx(2 / 3)
    assert sorted(request.body["model"] for request in judge.requests) == list(NAMES)


def test_the_judges_of_a_jury_are_asked_at_the_same_time(
    lake: Lake, traffic: Any, judge: ScriptedServer, tmp_path: Path
) -> None:
    """None answers its first call, which is alone, before all were asked, nor the next before each has two at once."""
    at_once: Counter[str] = Counter()
    most: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    each_has = {1: asyncio.Event(), 2: asyncio.Event()}

    async def waits_for_all(request: Request, send: Send) -> None:
        name = request.body["model"]
        calls[name] += 1
        at_once[name] += 1
        most[name] = max(most[name], at_once[name])
        for number, event in each_has.items():
            if all(most[one] >= number for one in NAMES):
                event.set()
        try:
            async with asyncio.timeout(20):
                await each_has[min(calls[name], 2)].wait()
            await says()(request, send)
        except TimeoutError:
            await fails(401)(request, send)
        finally:
            at_once[name] -= 1

    judge.always = waits_for_all
    traffic.log(*(traffic.answer(f"{i}", i, answer=f"It is {i}.") for i in range(6)))
    chosen = jury(judge.url, tmp_path)
    judges = {name: one.model_copy(update={"concurrency": 2}) for name, one in chosen.judges.items()}
    with closing(Evaluator(lake, chosen.model_copy(update={"judges": judges}), lambda: NOW)) as evaluator:
        assert evaluator.run_once().scored == 6
    assert (most, len(judge.requests)) == (dict.fromkeys(NAMES, 2), 18)


def test_no_judge_of_a_jury_judges_itself(lake: Lake, traffic: Any, judge: ScriptedServer, tmp_path: Path) -> None:
    """One that is the answer's model is enough to refuse."""
    traffic.log(traffic.answer("own", model="boris-2026-01-01"))
    with closing(Evaluator(lake, jury(judge.url, tmp_path), lambda: NOW)) as evaluator:
        evaluator.run_once()
    assert traffic.values(JUDGED) == {"own": "judge_is_the_model"}
    assert not judge.requests


def test_the_smallest_budget_of_a_jury_decides_the_sample(
    lake: Lake, traffic: Any, judge: ScriptedServer, tmp_path: Path
) -> None:
    """Where one judge's money is short the sample is smaller for all of them, so that each answer has all verdicts."""
    traffic.log(*(traffic.answer(f"{i}", i % 60, answer=f"It is {i}.", chat_id=f"chat-{i}") for i in range(100)))
    chosen = jury(judge.url, tmp_path)
    poor = chosen.judges["chen"].model_copy(update={"budget_per_hour": 0.03})
    chosen = chosen.model_copy(update={"judges": {**chosen.judges, "chen": poor}})
    with closing(Evaluator(lake, chosen, lambda: NOW)) as evaluator:
        evaluator.run_once()
    scores = traffic.scores()
    assert 0 < len(scores) < 60
    assert {len(json.loads(row["details"])["judges"]) for row in scores if row["value"] is not None} == {3}


def test_a_dry_run_counts_all_judges(lake: Lake, traffic: Any, judge: ScriptedServer, tmp_path: Path) -> None:
    """Calls, tokens and money of a jury of three are those of three judges, and nobody is asked."""
    traffic.log(*(traffic.answer(f"{i}", i, answer=f"It is {i}.") for i in range(10)))
    found = []
    for chosen in (jury(judge.url, tmp_path), jury(judge.url, tmp_path, judge="anna")):
        with closing(Backfill(lake, chosen, Period(NOW - 7 * DAY, NOW), clock=lambda: NOW)) as backfill:
            (deployment,) = estimate(backfill)
            (metric,) = deployment.metrics
            assert metric.judging is not None
            found.append(metric.judging)
    assert (found[0].calls, found[1].calls) == (30, 10)
    assert found[0].cost == pytest.approx(3 * found[1].cost)
    assert (found[0].judge, found[1].judge) == ("anna+boris+chen", "anna")
    assert not judge.requests


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"ensembles": {"jury": {"judges": ["anna"]}}}, "at least 2"),
        ({"ensembles": {"jury": {"judges": ["anna", "dora"]}}}, "there is no judge 'dora'; known: anna, boris, chen"),
        ({"ensembles": {"jury": {"judges": ["anna", "anna"]}}}, "names one twice"),
        ({"ensembles": {"jury": {"judges": ["anna", "chen"], "combine": "majority"}}}, "an odd number of judges"),
        ({"ensembles": {"anna": {"judges": ["boris", "chen"]}}, "judge": "anna"}, "a judge and an ensemble"),
        ({"judge": "court"}, "there is no judge 'court'; known: anna, boris, chen, jury"),
    ],
)
def test_a_jury_that_cannot_be_is_an_error(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    """At the start, with the name and what would do."""
    with pytest.raises(ValidationError, match=says):
        jury("http://judge", tmp_path, metrics=["faithfulness_claims"], **changes)


def test_a_judge_that_changes_is_seen_by_its_anchors(
    lake: Lake, traffic: Any, judge: ScriptedServer, tmp_path: Path
) -> None:
    """Its replies are kept, and yet the anchors are asked about anew each day; a combination's judge too."""
    traffic.log(*(traffic.answer(f"{i}", i, answer=f"It is {i}.") for i in range(8)))
    combinations = {"quality": {JUDGED: 1, "context_present": 1}}
    for day, verdict in enumerate("SSN"):
        judge.always = says(f'{{"verdict": "{verdict}"}}')
        chosen = settings(
            judge.url, tmp_path, anchors={"size": 4}, combinations=combinations, metrics=[JUDGED, "quality"]
        )
        with closing(Evaluator(lake, chosen, lambda at=NOW + day * DAY: at)) as evaluator:  # type: ignore[misc]
            assert evaluator.run_once().failures == ()
    rows = lake.table(ANCHORS, "rag").read(["metric", "draw", "value"]).to_pylist()
    for metric, before, after in ((JUDGED, 1.0, 0.0), ("quality", 1.0, 0.5)):
        last = max(row["draw"] for row in rows)
        values = {row["draw"]: row["value"] for row in rows if row["metric"] == metric}
        assert values[last] == after
        assert {value for draw, value in values.items() if draw < last} == {before}
