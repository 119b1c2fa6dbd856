"""Old answers that a judge is asked about, within its budget, and what that would take."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from evaluator.answers import Period
from evaluator.service.backfill import Backfill, Backfilled
from evaluator.service.backfill_estimate import estimate
from evaluator.service.passes import Evaluator
from lake.tables.lake import Lake
from tests.evaluator.judged import settings
from tests.evaluator.judges.scripted_server import ScriptedServer, fails, says

NOW = datetime(2026, 11, 21, tzinfo=UTC)
WEEK = Period(NOW - timedelta(days=7), NOW)
COST = 0.0002


def backfilled(lake: Lake, server: ScriptedServer, folder: Path, **changes: Any) -> Backfilled:
    with closing(Backfill(lake, settings(server.url, folder, **changes), WEEK, clock=lambda: NOW)) as backfill:
        (done,) = backfill.run().deployments
        return done


def fill(traffic: Any, number: int = 120) -> None:
    traffic.log(*(traffic.answer(f"{i}", i % 60, answer=f"It is {i}.", chat_id=f"chat-{i}") for i in range(number)))


def test_a_backfill_stops_where_the_budget_is_spent_and_goes_on_later(
    lake: Lake, traffic: Any, judge: ScriptedServer, tmp_path: Path
) -> None:
    """In the second batch of 50; with money again the rest is scored: each answer once, and no call is paid twice."""
    fill(traffic)
    budget = {"budget_per_day": 40 * COST + 0.01, "concurrency": 2}
    first = backfilled(lake, judge, tmp_path, judge=budget)
    assert first.budget_spent
    assert 50 <= first.counts.scored < first.counts.total == 100
    again = backfilled(lake, judge, tmp_path, judge=budget)
    assert again.budget_spent
    last = backfilled(lake, judge, tmp_path)
    assert not last.budget_spent
    rows = [row for row in traffic.scores() if row["value"] is not None]
    assert len({row["event_id"] for row in rows}) == len(rows) == len(judge.requests) == 120
    assert {row["is_backfill"] for row in rows} == {True}
    assert len({row["score_id"] for row in traffic.scores()}) == len(traffic.scores())


def test_a_backfill_asks_about_the_configured_sample_and_what_is_pending(
    lake: Lake, traffic: Any, judge: ScriptedServer, tmp_path: Path
) -> None:
    """What the service sampled and is pending keeps its probability, whatever the sample is now."""
    fill(traffic)
    judge.always = fails(401)
    with closing(Evaluator(lake, settings(judge.url, tmp_path, sampling={"rate": 0.1}), lambda: NOW)) as evaluator:
        pending = evaluator.run_once().unscored["judge_unavailable"]
    assert 0 < pending < 40
    judge.always = ScriptedServer().always
    done = backfilled(lake, judge, tmp_path, sampling={"rate": 0.05})
    assert (done.counts.scored, done.counts.not_sampled) == (pending, 120 - pending)
    assert {row["sampling_probability"] for row in traffic.scores()} == {0.1}


def test_a_reply_that_was_cut_is_asked_for_again_once_max_tokens_is_higher(
    lake: Lake, traffic: Any, judge: ScriptedServer, tmp_path: Path
) -> None:
    """With the probability of the first; before that nobody is asked, neither by the service nor by a backfill."""
    fill(traffic, 1)
    judge.always = says('{"verdict": ', finish_reason="length")
    for minutes in (0, 20):
        now = NOW - timedelta(hours=12, minutes=-minutes)
        with closing(Evaluator(lake, settings(judge.url, tmp_path, sampling={"rate": 0.999}), lambda: now)) as service:  # noqa: B023
            service.run_once()
    again = backfilled(lake, judge, tmp_path)
    assert (again.counts.total, again.counts.pending, len(judge.requests)) == (0, 0, 1)
    judge.always = says()
    done = backfilled(lake, judge, tmp_path, judge={"max_tokens": 200})
    assert (done.counts.scored, len(judge.requests)) == (1, 2)
    rows = traffic.scores()
    assert {(row["reason"], row["value"]) for row in rows} == {("judge_cut", None), (None, 1.0)}
    assert {row["sampling_probability"] for row in rows} == {0.999}
    assert len({row["metric_version"] for row in rows}) == 1


def test_a_backfill_takes_the_replies_that_another_machine_shared(
    lake: Lake, traffic: Any, judge: ScriptedServer, tmp_path: Path
) -> None:
    """With a file of calls of its own it pays for none of them."""
    fill(traffic, 2)
    backfilled(lake, judge, tmp_path / "one", share_judge_replies=True)
    traffic.log(*(traffic.answer(f"again {i}", i, answer=f"It is {i}.") for i in range(2)))
    assert backfilled(lake, judge, tmp_path / "two", share_judge_replies=True).counts.scored == 2
    assert len(judge.requests) == 2


def test_a_dry_run_counts_calls_tokens_and_money_and_asks_nobody(
    lake: Lake, traffic: Any, judge: ScriptedServer, tmp_path: Path
) -> None:
    """From the very prompts: three bytes a token, ten tokens around each text; 300 tokens a reply, 5 s a call."""
    fill(traffic, 40)
    chosen = settings(judge.url, tmp_path, {"concurrency": 2}, sampling={"rate": 0.5})
    with closing(Backfill(lake, chosen, WEEK, clock=lambda: NOW)) as backfill:
        (estimated,) = estimate(backfill)
        (metric,) = estimated.metrics
        asked = metric.judging
    assert asked is not None
    assert (asked.judge, asked.answers, asked.calls, asked.completion_tokens) == ("strict", 20, 20, 6000)
    assert 20 * 70 < asked.prompt_tokens < 20 * 90
    assert asked.cost == pytest.approx((asked.prompt_tokens + 60_000) / 1_000_000)
    assert metric.seconds == pytest.approx(20 * 5 / 2)
    assert (judge.requests, traffic.scores()) == ([], [])


def test_a_dry_run_shows_what_anchors_take_a_day(
    lake: Lake, traffic: Any, judge: ScriptedServer, tmp_path: Path
) -> None:
    """Ten anchors, twice a day, each as an answer of the backfill; none where there are no anchors."""
    fill(traffic, 40)
    for size, calls in ((10, 20), (0, 0)):
        chosen = settings(judge.url, tmp_path, anchors={"size": size, "every": "12h"}, sampling={"rate": 0.5})
        with closing(Backfill(lake, chosen, WEEK, clock=lambda: NOW)) as backfill:
            (estimated,) = estimate(backfill)
        judging = estimated.metrics[0].judging
        assert judging is not None
        assert estimated.anchor_calls == pytest.approx(calls)
        assert estimated.anchor_cost == pytest.approx(judging.cost * calls / judging.calls)


def test_a_dry_run_knows_kept_replies_and_budgets(
    lake: Lake, traffic: Any, judge: ScriptedServer, tmp_path: Path
) -> None:
    """Replies of this judge had ten tokens; a budget for two fifths of the cost is waited for twice."""
    fill(traffic, 40)
    backfilled(lake, judge, tmp_path)
    traffic.log(*(traffic.answer(f"more {i}", i, answer=f"It was {i}.") for i in range(40)))
    with closing(Backfill(lake, settings(judge.url, tmp_path), WEEK, clock=lambda: NOW)) as backfill:
        first = estimate(backfill)[0].metrics[0].judging
    assert first is not None
    assert (first.calls, first.completion_tokens) == (40, 400)
    tight = settings(judge.url, tmp_path, {"budget_per_hour": first.cost / 2.5})
    with closing(Backfill(lake, tight, WEEK, clock=lambda: NOW)) as backfill:
        assert estimate(backfill)[0].seconds == pytest.approx(7200, rel=0.01)


def test_a_dry_run_counts_no_answer_of_the_judges_own_model(
    lake: Lake, traffic: Any, judge: ScriptedServer, tmp_path: Path
) -> None:
    """It would not be asked about them."""
    traffic.log(traffic.answer("own", model="m"), traffic.answer("other", 1, answer="It is 1."))
    with closing(Backfill(lake, settings(judge.url, tmp_path), WEEK, clock=lambda: NOW)) as backfill:
        judging = estimate(backfill)[0].metrics[0].judging
    assert judging is not None
    assert judging.calls == 1


def test_a_dry_run_counts_both_steps_of_claims_apart(
    lake: Lake, traffic: Any, judge: ScriptedServer, tmp_path: Path
) -> None:
    """One call for the claims of an answer and one for each of them, of which a sentence is taken to have two."""
    traffic.log(traffic.answer("a", answer="It is so. It was so."), traffic.answer("b", 1, answer="It will be so."))
    metrics = ["faithfulness_claims", "faithfulness_claims_apart"]
    with closing(Backfill(lake, settings(judge.url, tmp_path, metrics=metrics), WEEK, clock=lambda: NOW)) as backfill:
        joint, apart = (metric.judging for metric in estimate(backfill)[0].metrics)
    assert joint is not None
    assert apart is not None
    assert (joint.calls, apart.calls) == (2, 2 + 2 * 3)
    assert apart.prompt_tokens > 2 * joint.prompt_tokens
    assert judge.requests == []
