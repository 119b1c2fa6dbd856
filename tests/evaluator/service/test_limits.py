"""Retries, pools, passes and backfills at each of their limits."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from evaluator.answers import DeploymentTables, Period
from evaluator.engines import engine_of
from evaluator.judges.budget_ledger import BudgetLedger
from evaluator.judges.calls import Calls
from evaluator.judges.exchange import Reason
from evaluator.metrics import registry
from evaluator.scoring import ScoreCounts, Scorer
from evaluator.service import backfill as backfill_module
from evaluator.service import new_scores, pending_scores
from evaluator.service.backfill import Backfill
from evaluator.service.backfill_estimate import BackfillEstimate, MetricEstimate, estimate
from evaluator.service.judge_estimate import Judging, _together
from evaluator.service.judge_pool import JudgeCallsError, JudgePool, forget_replies
from evaluator.service.passes import Evaluator, Failure, PassResult
from evaluator.service.pending_scores import AGE, JudgeRetries, PendingScore, pending_probabilities
from evaluator.settings import EvaluatorSettings
from lake.queries.ground_truth.question_keys import QuestionKeys
from lake.spec.case_vocabulary import ReferenceMatch
from lake.spec.schemas import SCORES
from lake.tables.lake import Lake
from lake.tables.table import Table
from tests.evaluator.judged import JUDGED, Addresses, settings
from tests.evaluator.judges.scripted_server import ScriptedServer

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
TEN = 10 * MINUTE
PENDING = PendingScore("e", NOW.date(), 0.5, NOW)


@pytest.mark.parametrize(("failures", "minutes"), [(0, 20), (1, 40), (5, 640)])
def test_each_gap_is_twice_the_one_before(failures: int, minutes: int) -> None:
    """But where no call was made: then it is ten minutes, and counts as no failure."""
    before = replace(PENDING, failures=failures)
    for reason in (None, Reason.UNAVAILABLE, Reason.TIMEOUT):
        assert before.failed(NOW, reason) == replace(before, due=NOW + minutes * MINUTE, failures=failures + 1)
    for reason in (Reason.BUDGET, Reason.UNPRICED):
        assert before.failed(NOW, reason) == replace(before, due=NOW + TEN)


def counts(**unscored: int) -> ScoreCounts:
    made = ScoreCounts()
    made.unscored.update({getattr(Reason, name): number for name, number in unscored.items()})
    return made


def test_a_retry_is_planned_and_said_where_scores_are_pending(caplog: pytest.LogCaptureFixture) -> None:
    """With the reasons that may pass; a deployment that was not looked at yet is looked at anyway."""
    retries = JudgeRetries(SimpleNamespace())  # type: ignore[arg-type]
    pending = counts(TIMEOUT=2, UNAVAILABLE=1, FAILED=5)
    assert pending.pending
    retries.plan("rag", pending, NOW)
    assert caplog.messages == [
        "scores of deployment 'rag' are pending (2 judge_timeout, 1 judge_unavailable): their judge is asked again for "
        "a day"
    ]
    assert retries._due == {}
    for due, expected in [(None, NOW + TEN), (NOW + HOUR, NOW + TEN), (NOW + MINUTE, NOW + MINUTE)]:
        retries._due["rag"] = due
        retries.plan("rag", pending, NOW)
        assert retries._due["rag"] == expected
        retries.plan("rag", counts(FAILED=5), NOW + HOUR)
        assert retries._due["rag"] == expected
    retries._pending = {("rag", "m", "1"): {"e": PENDING}}
    retries.clock_was_set(HOUR)
    assert (retries._due["rag"], retries._pending["rag", "m", "1"]["e"].due) == (NOW + MINUTE + HOUR, NOW + HOUR)
    retries._due["rag"] = None
    retries.clock_was_set(-HOUR)
    assert retries._due["rag"] is None
    assert (timedelta(days=1), TEN, 1_000) == (AGE, pending_scores._AGAIN_AFTER, pending_scores._MOST)


def pending_rows(traffic: Any, version: str, *ages: timedelta) -> None:
    rows = [
        {"score_id": f"{number}", "event_id": f"event-{number}", "metric": JUDGED, "metric_version": version,
         "reason": "judge_timeout", "date": (NOW - age).date(), "requested_at": NOW - age, "scored_at": NOW - TEN,
         "sampling_probability": 0.25}
        for number, age in enumerate(ages)
    ]  # fmt: skip
    traffic.lake.table(SCORES, "rag").append(SCORES.rows(rows))


@pytest.mark.parametrize("most", [1_000, 2])
def test_the_latest_pending_scores_of_a_day_are_asked_about_first(
    traffic: Any, judge: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Exactly a day old is too old; so many at a time, and their rows have the probability of the first ones."""
    monkeypatch.setattr(pending_scores, "_MOST", most)
    ages = (HOUR, 2 * HOUR, AGE, 3 * HOUR)
    traffic.log(
        *(traffic.answer(str(n), answer=str(n)) | {"requested_at": NOW - age, "date": (NOW - age).date()}
          for n, age in enumerate(ages))
    )  # fmt: skip
    with closing(JudgePool(settings(judge.url, tmp_path), traffic.lake)) as pool:
        metrics = pool.bound([registry.REGISTRY[JUDGED]])  # type: ignore[index]
        pending_rows(traffic, metrics[0].version, *ages)
        tables = DeploymentTables.of(traffic.lake, "rag")
        chosen = settings(judge.url, tmp_path)
        retries = JudgeRetries(Scorer(QuestionKeys(traffic.lake), engine_of(chosen.engine, chosen.workers, chosen.ray)))
        assert retries.score(tables, metrics, NOW - MINUTE).total == 0
        assert retries.score(tables, metrics, NOW - MINUTE + TEN / 10 - TEN / 1000).total == 0
        done = retries.score(tables, metrics, NOW)
        asked = {request.body["messages"][-1]["content"] for request in judge.requests}
        assert asked == ({"0", "1", "3"} if most == 1_000 else {"0", "1"})
        assert done.scored == len(asked)
        found = [row for row in traffic.scores() if row["value"] is not None]
        assert {row["sampling_probability"] for row in found} == {0.25}
        assert retries.score(tables, metrics, NOW).scored == (0 if most == 1_000 else 1)
        known = pending_probabilities(tables.scores, metrics, pa.dataset.field("date") == NOW.date())
        assert known == {f"event-{n}": 0.25 for n in (0, 1, 3)}
        assert pending_probabilities(tables.scores, [], pa.dataset.field("date") == NOW.date()) == {}


def test_a_pool_gives_what_was_spent_today_and_what_a_call_did_cost(
    lake: Lake, judge: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the whole day; the first estimate of a call is what earlier ones did cost."""
    clock = [(NOW - HOUR).timestamp()]
    monkeypatch.setattr("evaluator.service.judge_pool.opened_calls", lambda path: Calls(path, lambda: clock[0]))
    chosen = settings(judge.url, tmp_path, {"budget_per_day": 1.0})
    with closing(JudgePool(chosen, lake)) as pool:
        assert pool.spent_today() == {}
        with closing(Calls(tmp_path / "calls.sqlite", lambda: clock[0])) as calls:
            for number, hours in enumerate((-1, 0)):
                clock[0] = (NOW + hours * HOUR).timestamp()
                calls.finish(calls.begin("strict", str(number), 0.1), '{"completion_tokens": 1}', 0.02)
        metrics = pool.bound([registry.REGISTRY[JUDGED]])  # type: ignore[index]
        assert pool.spent_today() == {"strict": pytest.approx(0.04)}
        times = pa.table({"requested_at": pa.array([NOW, NOW], pa.timestamp("us", "UTC"))})
        BudgetLedger(lake).reserve("strict", NOW - HOUR, 0.5, {"day": 1.0})
        every = chosen.every
        left = 0.5 * every / (every + 12 * 3600)
        share = pool.sampling("rag", metrics, times, NOW).share
        assert share == pytest.approx(min(1.0, left / (2 * 0.02)), rel=0.05)


def test_judges_that_are_opened_after_the_end_are_closed(lake: Lake, judge: ScriptedServer, tmp_path: Path) -> None:
    """A pass that is running then gets no reply."""
    pool = JudgePool(settings(judge.url, tmp_path), lake)
    pool.close()
    bound = pool.judge("strict")
    assert bound.client._closed
    pool.close()
    with pytest.raises(LookupError):
        pool.judge("kind")


def test_replies_are_forgotten_where_there_is_a_file_of_them(tmp_path: Path) -> None:
    """A file that is none is an error that says what to do."""
    path = tmp_path / "calls.sqlite"
    assert forget_replies(path) is None
    with closing(Calls(path)) as calls:
        calls.finish(calls.begin("strict", "k", 0.1), "{}", 0.1)
    forgotten = forget_replies(path)
    assert forgotten is not None
    assert (forgotten.replies, forgotten.is_overwritten) == (1, True)
    path.write_bytes(b"no database" * 100)
    with pytest.raises(JudgeCallsError, match=r"cannot be used: .*name a file on a local disk"):
        forget_replies(path)


SERVED = EvaluatorSettings(metrics=("context_present",))


def test_a_long_pass_commits_every_minute(traffic: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part is marked until the last commit; what then follows is whole again."""
    assert new_scores._COMMIT_SECONDS == 60.0
    seconds = iter([0.0, 59.9, 60.0, 60.0, 119.9, 120.0, *[121.0] * 50])
    monkeypatch.setattr(new_scores, "monotonic", lambda: next(seconds))
    monkeypatch.setattr(new_scores, "answers_at_once", lambda _: 1)
    traffic.log(*(traffic.answer(str(number), number) for number in range(5)))
    appended: list[tuple[int, int | None]] = []
    append = Table.append

    def noted(table: Table, rows: Any, progress: Any = None, *given: Any, **named: Any) -> None:
        if table.spec is SCORES:
            appended.append((rows.num_rows, (progress or {}).get(new_scores.PARTIAL)))
        append(table, rows, progress, *given, **named)

    monkeypatch.setattr(Table, "append", noted)
    evaluator = Evaluator(traffic.lake, SERVED, lambda: NOW)
    assert evaluator.run_once().scored == 5
    assert [rows for rows, _ in appended] == [2, 2, 1]
    assert appended[0][1] == 1
    assert appended[-1][1] == 2
    traffic.log(traffic.answer("later", 9))
    assert evaluator.run_once().scored == 1
    assert appended[-1][0] == 1
    assert len({row["score_id"] for row in traffic.scores()}) == 6


def test_a_pass_says_what_is_missing_and_matched_once(traffic: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A deployment that the settings name and the lake does not; how answers found their cases."""
    caplog.set_level("INFO")
    chosen = EvaluatorSettings.model_validate(
        {"metrics": ["facts_recall"], "deployments": {"typo": {"metrics": ["refusal"]}}}
    )
    evaluator = Evaluator(traffic.lake, chosen, lambda: NOW + HOUR)
    traffic.log(traffic.answer("liked"), *(traffic.answer(str(n), n, answer=f"{n} x") for n in (1, 2)))
    traffic.rate(traffic.signal("like", "liked"))
    for _ in range(2):
        evaluator.run_once()
    missing = [one for one in caplog.messages if "typo" in one]
    assert missing == ["evaluator.deployments names 'typo', of which the lake holds nothing yet"]
    matched = [one for one in caplog.messages if "compared with a case" in one]
    assert matched == ["answers of deployment 'rag' that were compared with a case, by how it was found: 2 exact"]


def test_settings_that_need_a_judge_are_refused_at_the_start(lake: Lake, tmp_path: Path) -> None:
    """Those of all deployments, and those of one."""
    registry_of = {JUDGED: Addresses()}
    for given in ({"metrics": [JUDGED]}, {"metrics": ["refusal"], "deployments": {"rag": {"metrics": [JUDGED]}}}):
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(registry.REGISTRY, JUDGED, registry_of[JUDGED])  # type: ignore[arg-type]
            with pytest.raises(ValueError, match="judge"):
                Evaluator(lake, EvaluatorSettings.model_validate(given | {"judge_calls": tmp_path / "c"}))


WEEK = Period(NOW - timedelta(days=7), NOW + timedelta(days=1))


def test_a_backfill_counts_all_deployments_together(lake: Lake, traffic: Any, other_traffic: Any) -> None:
    """How far it is, in all; a deployment that is named twice is done once."""
    for each, number in ((traffic, 3), (other_traffic, 2)):
        each.log(*(each.answer(str(n), n) for n in range(number)))
    looked: list[tuple[int, int]] = []
    names = [other_traffic.deployment, "rag", "rag"]
    result = Backfill(lake, SERVED, WEEK, deployments=names).run(lambda *seen: looked.append(seen))
    assert [(one.deployment, one.answers, one.counts.scored, one.held) for one in result.deployments] == [
        (other_traffic.deployment, 2, 2, 0), ("rag", 3, 3, 0),
    ]  # fmt: skip
    assert looked == [(2, 5), (5, 5)]
    again = Backfill(lake, SERVED, WEEK, deployments=["rag"]).run()
    assert [(one.answers, one.counts.scored, one.held) for one in again.deployments] == [(3, 0, 3)]
    assert backfill_module._ATTEMPTS == 20


def test_an_estimate_adds_up(lake: Lake, traffic: Any) -> None:
    """Metrics that cannot run take no time; two hundred answers stand for all of a metric."""
    whole = BackfillEstimate(
        "rag", 9, 0, (MetricEstimate("rag", "a", 9, 2.0), MetricEstimate("rag", "b", 9, None)), 1.0
    )
    assert whole.seconds == 3.0
    traffic.log(*(traffic.answer(str(n), n) for n in range(250)))
    seen: list[int] = []
    metric = registry.REGISTRY["context_present"]
    score = type(metric).score

    def counting(one: Any, frame: Any) -> Any:
        seen.append(len(frame))
        return score(one, frame)

    ticks = iter(range(10**6))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(metric), "score", counting)
        patch.setattr("evaluator.service.backfill_estimate._SAMPLE_SECONDS", 10**6)
        (found,) = estimate(Backfill(lake, SERVED, WEEK), timer=lambda: float(next(ticks)))
    assert (found.answers, found.metrics[0].answers) == (250, 250)
    assert seen == [1, 1, 4, 16, 64, 115]
    assert found.metrics[0].seconds == pytest.approx(250 * 6 / 200)


def test_judges_of_an_ensemble_are_added_up() -> None:
    """Each is asked about the same answers."""
    one = Judging("a", 5, 5, 10, 20, 0.5, 7.0)
    assert _together(one, replace(one, judge="b")) == Judging("a+b", 5, 10, 20, 40, 1.0, 14.0)


def test_a_deployment_is_looked_at_again_when_the_first_of_its_metrics_is_due(
    lake: Lake, judge: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing is pending it is not looked at until something is."""
    retries, dues = JudgeRetries(SimpleNamespace()), list[datetime | None]()  # type: ignore[arg-type]
    monkeypatch.setattr(retries, "_score", lambda *_: (ScoreCounts(), dues.pop()))
    with closing(JudgePool(settings(judge.url, tmp_path), lake)) as pool:
        metrics = pool.bound([registry.REGISTRY[JUDGED]] * 3)  # type: ignore[index]
        tables = DeploymentTables.of(lake, "rag")
        for given, expected in [([NOW + HOUR, None, NOW + TEN], NOW + TEN), ([None] * 3, None)]:
            retries._due.clear()
            dues[:] = given
            retries.score(tables, metrics, NOW)
            assert (retries._due["rag"], dues) == (expected, [])
        retries.score(tables, metrics, NOW + HOUR)
        assert retries._due["rag"] is None


def test_the_result_of_a_pass_has_all_that_was_counted() -> None:
    """Of all deployments together."""
    result = PassResult(deployments=2, cases=3, failures=(Failure("rag", "why"),))
    made = ScoreCounts(scored=4, not_sampled=5)
    made.unscored["no_answer"] += 6
    made.left_out["bertscore"] += 7
    made.matched[ReferenceMatch.EXACT] += 8
    result.add(made)
    assert result == PassResult(
        deployments=2,
        scored=4,
        unscored=Counter(no_answer=6),
        cases=3,
        failures=(Failure("rag", "why"),),
        left_out=Counter(bertscore=7),
        not_sampled=5,
        matched=Counter(exact=8),
    )


def test_a_backfill_counts_what_it_leaves_of_each_day(lake: Lake, traffic: Any) -> None:
    """The service has yet to read it; an estimate is of the answers of the latest day."""
    days = (0, 1440, 1441, 1442)
    traffic.log(*(traffic.answer(f"old {n}", -n) for n in days))
    Evaluator(lake, EvaluatorSettings(metrics=("refusal",)), lambda: NOW + HOUR).run_once()
    traffic.log(*(traffic.answer(f"new {n}", -n) for n in days))
    seen: list[int] = []
    metric = registry.REGISTRY["context_present"]
    score = type(metric).score

    def counting(one: Any, frame: Any) -> Any:
        seen.append(len(frame))
        return score(one, frame)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(metric), "score", counting)
        (estimated,) = estimate(Backfill(lake, SERVED, WEEK))
    assert (estimated.left, estimated.metrics[0].answers, seen) == (4, 4, [1, 1])
    (done,) = Backfill(lake, SERVED, WEEK).run().deployments
    assert (done.answers, done.counts.scored, done.left, done.held) == (8, 4, 4, 0)
    (again,) = Backfill(lake, SERVED, WEEK).run().deployments
    assert (again.counts.scored, again.left, again.held) == (0, 4, 4)


def test_an_answer_that_waited_for_its_contexts_is_scored_once(lake: Lake, traffic: Any) -> None:
    """By the first pass after its time, and not again with what comes later."""
    written = {"ingested_at": NOW, "trace_id": "t", "span_id": "s"}
    traffic.log(traffic.answer("waits", 1, chunks=[], **written))
    clock = [NOW]
    chosen = EvaluatorSettings(metrics=("context_present",), context_grace=60.0)
    evaluator = Evaluator(lake, chosen, lambda: clock[0])
    scored = []
    for seconds in (0, 59, 60, 61, 120, 200):
        clock[0] = NOW + timedelta(seconds=seconds)
        traffic.log(traffic.answer(f"at {seconds}", 2) | {"ingested_at": clock[0]})
        scored.append(evaluator.run_once().scored)
    assert scored == [1, 1, 2, 1, 1, 1]
    assert len({row["score_id"] for row in traffic.scores()}) == len(traffic.scores()) == 7
