"""Preference between the answers of two runs: asked in both orders, kept with the run, and added up."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from evaluator.judges.blocking_client import JudgeClient
from evaluator.replays import ReplayRun, ReplaySettings, replay
from evaluator.settings import EvaluatorSettings
from lake.queries.preferences import Preferences
from lake.spec.case_tables import REPLAYS
from lake.tables.lake import Lake
from tests.evaluator.judges.conftest import Bench
from tests.evaluator.judges.scripted_server import ScriptedServer, fails
from tests.evaluator.metrics.llm.judging import prompt
from tests.evaluator.preferences.comparing import choosing, shown
from tests.evaluator.replays.test_run import CASES, NAME, NOW, Scripted, fill, misses, right


def the_fact(_: str, one: str, other: str) -> str:
    """The answer that says how many kinds of tea there are."""
    return "tie" if ("kinds" in one) == ("kinds" in other) else "first" if "kinds" in one else "second"


def run(lake: Lake, answer: Callable[[str], object], client: JudgeClient | None) -> ReplayRun:
    judge = None if client is None else client.judge("strict")
    made = replay(lake, NAME, Scripted(answer), ReplaySettings(), [], judge=judge)  # type: ignore[arg-type]
    assert made is not None
    return made


def preferred(made: ReplayRun) -> set[tuple[float | None, str | None]]:
    found = (score for row in made.rows for score in row["scores"] if score["metric"] == "preference")
    return {(score["value"], score["reason"]) for score in found}


@pytest.mark.parametrize(
    ("before", "now", "value", "counts"),
    [(right, misses, 0.0, (0, CASES, 0, 0)), (misses, right, 1.0, (CASES, 0, 0, 0))],
)
def test_the_answer_that_is_preferred_in_both_orders_counts(
    bench: Bench,
    server: ScriptedServer,
    lake: Lake,
    before: Callable[[str], object],
    now: Callable[[str], object],
    value: float,
    counts: tuple[int, ...],
) -> None:
    """Two calls a case, one in each order; the values are in the table, with the judge in the version."""
    fill(lake)
    server.always = choosing(the_fact)
    with bench.client() as client:
        assert run(lake, before, client).preferences is None, "there is nothing to compare the first run with"
        assert not server.requests
        made = run(lake, now, client)
    assert preferred(made) == {(value, None)}
    assert made.preferences == Preferences(*counts, 2 / 2**CASES)
    assert len(server.requests) == 2 * CASES
    orders = [shown(request) for request in server.requests]
    assert {(question, two, one) for question, one, two in orders} == set(orders)
    kept = [score for row in lake.table(REPLAYS, NAME).read().to_pylist() for score in row["scores"]]
    assert {score["metric_version"][:4] for score in kept if score["metric"] == "preference"} == {"1-m-"}


def test_a_judge_that_takes_the_first_answer_decides_nothing(
    bench: Bench,
    server: ScriptedServer,
    lake: Lake,
) -> None:
    """Its choice changes with the order: null with the reason, and undecided."""
    fill(lake)
    server.always = choosing(lambda *_: "first")
    with bench.client() as client:
        run(lake, right, client)
        made = run(lake, misses, client)
    assert preferred(made) == {(None, "judge_orders_differ")}
    assert made.preferences == Preferences(0, 0, 0, CASES, 1.0)


def test_a_tie_in_one_order_alone_is_undecided(bench: Bench, server: ScriptedServer, lake: Lake) -> None:
    fill(lake)
    server.always = choosing(lambda _, one, __: "tie" if "kinds" in one else "second")
    with bench.client() as client:
        run(lake, right, client)
        made = run(lake, misses, client)
    assert preferred(made) == {(None, "judge_orders_differ")}


def test_equal_answers_are_a_tie_without_a_call(bench: Bench, server: ScriptedServer, lake: Lake) -> None:
    fill(lake)
    with bench.client() as client:
        run(lake, right, client)
        made = run(lake, right, client)
    assert (preferred(made), len(server.requests)) == ({(0.5, None)}, 0)
    assert made.preferences == Preferences(0, 0, CASES, 0, 1.0)


def test_a_judge_without_a_reply_leaves_its_reason(bench: Bench, server: ScriptedServer, lake: Lake) -> None:
    """The run is compared and written all the same."""
    fill(lake)
    server.always = fails(400, "content_filter")
    with bench.client() as client:
        run(lake, right, client)
        made = run(lake, misses, client)
    assert preferred(made) == {(None, "judge_content_filter")}
    assert made.comparison is not None


def test_a_judge_does_not_judge_its_own_answers(bench: Bench, server: ScriptedServer, lake: Lake) -> None:
    fill(lake)
    with bench.client(model=f"vendor/{NAME}") as client:
        run(lake, right, client)
        made = run(lake, misses, client)
    assert (preferred(made), len(server.requests)) == ({(None, "judge_is_the_model")}, 0)


def test_no_verdict_depends_on_the_judge(
    bench: Bench,
    server: ScriptedServer,
    tmp_path: Path,
) -> None:
    """The same runs without a judge come to the same, and have no preferences."""
    server.always = choosing(lambda *_: "tie")
    found = []
    with bench.client() as client:
        for name, asked in (("with", client), ("without", None)):
            own = Lake(str(tmp_path / name))
            fill(own)
            run(own, right, asked)
            found.append(run(own, misses, asked))
    judged, plain = found
    assert (judged.verdict, judged.comparison) == (plain.verdict, plain.comparison)
    assert (judged.preferences is None, plain.preferences) == (False, None)


def test_the_judge_sees_the_reference_answer(bench: Bench, server: ScriptedServer, lake: Lake) -> None:
    fill(lake, 1)
    server.always = choosing(the_fact)
    with bench.client() as client:
        run(lake, misses, client)
        run(lake, right, client)
    assert all("<reference 1 " in prompt(request) for request in server.requests)


def test_a_case_that_asks_something_else_now_is_not_judged(bench: Bench, server: ScriptedServer, lake: Lake) -> None:
    """Its earlier answer was to another question."""
    fill(lake)
    server.always = choosing(the_fact)
    with bench.client() as client:
        run(lake, right, client)
        fill(lake, 1, version=2, question="How many kinds of coffee has store 0?", updated_at=NOW + timedelta(days=1))
        made = run(lake, misses, client)
    assert made.preferences == Preferences(0, CASES - 1, 0, 0, 2 / 2 ** (CASES - 1))
    assert not any("coffee" in prompt(request) for request in server.requests)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({}, "there is no judge 'strict'"),
        (
            {"judges": {"strict": {"base_url": "http://judge", "model": "m"}}},
            "replay.preference is 'strict', and it is",
        ),
    ],
)
def test_a_judge_that_cannot_be_asked_is_refused(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        EvaluatorSettings.model_validate(settings | {"replay": {"preference": "strict"}})


def test_the_word_names_no_other_metric() -> None:
    with pytest.raises(ValueError, match="replays use it"):
        EvaluatorSettings.model_validate({"combinations": {"preference": {"context_present": 1}}})
