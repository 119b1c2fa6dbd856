"""Old answers, scored on request."""

import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from evaluator.answers import BackfillPass, DeploymentTables, Period, old_answers
from evaluator.metrics import UnknownMetricError
from evaluator.service.backfill import Backfill, Backfilled, BackfillResult, UnknownDeploymentError
from evaluator.service.backfill_estimate import estimate
from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.tables.lake import Lake

NOW = datetime(2026, 11, 21, tzinfo=UTC)
WEEK = Period(NOW - timedelta(days=7), NOW)
KPRECISION, FACTS, REFUSAL = "faithfulness_kprecision", "facts_recall", "refusal"
SETTINGS = EvaluatorSettings(metrics=[KPRECISION, FACTS])
DAY = 24 * 60


def backfilled(lake: Lake, *metrics: str, period: Period = WEEK, **given: Any) -> Backfilled:
    """What became of the one deployment."""
    result = Backfill(lake, SETTINGS, period, metrics or None, clock=lambda: NOW, **given).run()
    assert result.failures == ()
    (one,) = result.deployments
    return one


def served(lake: Lake) -> None:
    assert Evaluator(lake, SETTINGS, clock=lambda: NOW).run_once().failures == ()


def test_a_metric_that_came_later_scores_what_the_service_has_done(lake: Lake, traffic: Any) -> None:
    """Answers of the period get its rows, marked; those before it do not, and the service's own stay."""
    traffic.log(traffic.answer("old", -8 * DAY), traffic.answer("a", -DAY), traffic.answer("b"))
    served(lake)
    before = traffic.scores()
    done = backfilled(lake, REFUSAL)
    assert (done.answers, done.counts.scored, done.held, done.left) == (2, 2, 0, 0)
    assert traffic.values(REFUSAL) == {"a": 0.0, "b": 0.0}
    assert [row["is_backfill"] for row in traffic.scores() if row["metric"] == REFUSAL] == [True, True]
    assert [row for row in traffic.scores() if row["metric"] != REFUSAL] == before


def test_it_makes_the_very_rows_that_the_service_would(lake: Lake, traffic: Any, tmp_path: Any) -> None:
    """But for the mark a row is the same, whoever makes it: values, reasons, cases and ids."""
    other = type(traffic)(Lake(str(tmp_path / "other")), "rag")
    for one in (traffic, other):
        one.log(
            one.answer("liked"),
            one.answer("same", 5),
            one.answer("cited", 6, contexts_origin="cited"),
            one.answer("cut", 7, answer=None, error="cut"),
            one.answer("none", 8, chunks=[]),
        )
        one.rate(one.signal("like", "liked"))
    served(lake)
    Evaluator(other.lake, EvaluatorSettings(metrics=[]), clock=lambda: NOW).run_once()
    assert other.scores() == []
    backfilled(other.lake)
    assert [row | {"is_backfill": False} for row in other.scores()] == traffic.scores()
    assert traffic.values(FACTS)["same"] == 1.0


def test_run_again_it_adds_nothing(lake: Lake, traffic: Any) -> None:
    """What has a score, from the service or a backfill, of whatever value or reason, gets no other."""
    traffic.log(traffic.answer("a"), traffic.answer("cut", 1, answer=None, error="cut"))
    served(lake)
    first = backfilled(lake, KPRECISION, REFUSAL)
    assert (first.counts.scored, first.counts.unscored, first.held) == (1, Counter(no_answer=1), 2)
    version = lake.table(SCORES, "rag").version()
    again = backfilled(lake, KPRECISION, REFUSAL)
    assert (again.counts.total, again.held) == (0, 4)
    assert lake.table(SCORES, "rag").version() == version


def test_the_configured_metrics_of_each_deployment_are_the_default(
    lake: Lake, traffic: Any, other_traffic: Any
) -> None:
    """Without --metrics a deployment gets what is configured for it, without --deployment all of them do."""
    traffic.log(traffic.answer("a"))
    other_traffic.log(other_traffic.answer("b"))
    settings = EvaluatorSettings(metrics=[KPRECISION], deployments={"rag": {"metrics": [REFUSAL]}})
    Backfill(lake, settings, WEEK, deployments=["rag"]).run()
    assert [{row["metric"] for row in one.scores()} for one in (traffic, other_traffic)] == [{REFUSAL}, set()]
    Backfill(lake, settings, WEEK).run()
    assert [{row["metric"] for row in one.scores()} for one in (traffic, other_traffic)] == [{REFUSAL}, {KPRECISION}]


def test_new_answers_are_left_to_the_service(lake: Lake, traffic: Any) -> None:
    """What the service has not read yet it scores itself, whatever a backfill of the same metric did before."""
    traffic.log(traffic.answer("a"))
    served(lake)
    traffic.log(traffic.answer("new", 1), traffic.answer("embedding", 2, kind="embedding"))
    done = backfilled(lake, KPRECISION, REFUSAL)
    assert (done.answers, done.counts.scored, done.left) == (2, 1, 1)
    served(lake)
    assert {row["event_id"]: row["is_backfill"] for row in traffic.scores() if row["metric"] == KPRECISION} == {
        "event-a": False,
        "event-new": False,
    }
    assert backfilled(lake, REFUSAL).counts.scored == 1


def test_an_answer_that_waits_for_its_contexts_is_left_to_the_service(lake: Lake, traffic: Any) -> None:
    """Else its score would say for ever that nothing was retrieved."""
    written = {"ingested_at": NOW - timedelta(seconds=30), "trace_id": "t", "span_id": "s"}
    traffic.log(traffic.answer("a"), traffic.answer("waits", 1, chunks=[], **written))
    for _ in range(2):
        assert backfilled(lake, KPRECISION).left == 1
        served(lake)
    assert set(traffic.values(KPRECISION)) == {"a"}


def test_before_the_services_first_pass_all_is_old(lake: Lake, traffic: Any) -> None:
    """A backfill of a lake that was never evaluated scores it, and the first pass then does all the rest, once."""
    traffic.log(traffic.answer("a"), traffic.answer("b", 1))
    assert backfilled(lake, KPRECISION).counts.scored == 2
    traffic.log(traffic.answer("new", 2))
    Evaluator(lake, EvaluatorSettings(metrics=[KPRECISION, REFUSAL]), clock=lambda: NOW).run_once()
    rows = traffic.scores()
    assert len({row["score_id"] for row in rows}) == len(rows) == 6
    assert {row["event_id"] for row in rows if row["is_backfill"]} == {"event-a", "event-b"}


def test_a_day_is_done_in_bounded_batches(lake: Lake, traffic: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many answers and files a day has: a commit holds at most so many, and each answer comes once."""
    monkeypatch.setattr("evaluator.answers.old.ANSWERS_AT_ONCE", 7)
    for start in range(0, 60, 20):
        traffic.log(*(traffic.answer(str(n), n - DAY * (n % 2)) for n in range(start, start + 20)))
    looked: list[tuple[int, int]] = []
    result = Backfill(lake, SETTINGS, WEEK, [KPRECISION]).run(lambda done, of: looked.append((done, of)))
    assert result.deployments[0].counts.scored == 60
    table = lake.table(SCORES, "rag")
    sizes = [table.read_since(v).rows.num_rows - table.read_since(v + 1).rows.num_rows for v in range(table.version())]
    assert max(sizes) == 7
    assert len(traffic.values(KPRECISION)) == 60
    assert looked[-1] == (60, 60)
    assert looked == sorted(looked)


def test_a_days_texts_are_not_read_ahead(lake: Lake, traffic: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one batch is scored, which may take long, the rest of the day stays on the disk."""
    monkeypatch.setattr("evaluator.answers.old.ANSWERS_AT_ONCE", 10)
    for n in range(20):
        traffic.log(*(traffic.answer(f"{n}-{k}", chunks=[f"{n} {k} " * 12_500]) for k in range(10)))
    tables = DeploymentTables.of(lake, "rag")
    before = pa.total_allocated_bytes()
    batches = old_answers(tables, WEEK, (NOW - timedelta(days=1)).date(), BackfillPass.of(tables, NOW, 0.0))
    first = next(batches)
    time.sleep(0.3)  # a reader that reads ahead has all of it by then
    assert pa.total_allocated_bytes() - before < 200 * 50_000 / 3
    assert (first.rows.num_rows, sum(batch.rows.num_rows for batch in batches)) == (10, 190)


def test_a_period_is_of_requests_to_the_microsecond(lake: Lake, traffic: Any) -> None:
    """Its beginning is in, its end is not, wherever they lie in a day and in whichever time zone they are given."""
    traffic.log(*(traffic.answer(str(n), n) for n in range(5)))
    at = traffic.answer("1", 1)["requested_at"]
    backfilled(lake, REFUSAL, period=Period(at.astimezone(), at + timedelta(minutes=2)))
    assert set(traffic.values(REFUSAL)) == {"1", "2"}


def test_a_dry_run_counts_and_times_and_writes_nothing(lake: Lake, traffic: Any) -> None:
    """By metric the answers that a backfill then scores, those without a case left out, and about how long."""
    traffic.log(
        traffic.answer("liked"),
        traffic.answer("same", 5),
        *(traffic.answer(str(n), n, question=f"{n}?") for n in range(20)),
    )
    traffic.rate(traffic.signal("like", "liked"))
    Evaluator(lake, EvaluatorSettings(metrics=[KPRECISION]), clock=lambda: NOW).run_once()
    traffic.log(traffic.answer("new", 30))
    before = {spec.name: lake.table(spec, "rag").version() for spec in (PARSED_LOGS, SCORES)}
    ticks = (tick / 1000 for tick in range(100_000))
    names = [KPRECISION, REFUSAL, FACTS]
    (estimated,) = estimate(Backfill(lake, SETTINGS, WEEK, names), timer=lambda: next(ticks))
    assert {spec.name: lake.table(spec, "rag").version() for spec in (PARSED_LOGS, SCORES)} == before
    assert (estimated.answers, estimated.left) == (23, 1)
    assert {metric.metric: metric.answers for metric in estimated.metrics} == {KPRECISION: 0, REFUSAL: 22, FACTS: 1}
    # Slices of 1, 4, 16 and 1 rows, and one of 1, with a tick for each look at the clock: there are 5 and 2.
    seconds = {metric.metric: metric.seconds for metric in estimated.metrics}
    assert seconds == pytest.approx({KPRECISION: 0.0, REFUSAL: 0.005, FACTS: 0.002})
    done = backfilled(lake, *names)
    assert (done.counts.total, done.left) == (23, 1)


def test_a_lake_without_answers_is_an_empty_backfill(lake: Lake, traffic: Any) -> None:
    """Nothing is there to do and nothing is wrong; no table is made."""
    assert Backfill(lake, SETTINGS, WEEK).run() == BackfillResult((), ())
    traffic.rate(traffic.signal("like", "gone"))
    assert backfilled(lake).answers == 0
    assert lake.table(SCORES, "rag").version() is None


def test_a_deployment_that_fails_does_not_stop_the_others(
    lake: Lake, traffic: Any, other_traffic: Any, tmp_path: Any
) -> None:
    """It is named with the error, and a later backfill does it."""
    traffic.log(traffic.answer("a"))
    other_traffic.log(other_traffic.answer("b"))
    (file,) = (tmp_path / "lake" / "rag" / "parsed_logs").rglob("*.parquet")
    whole = file.read_bytes()
    file.write_bytes(b"no parquet")
    result = Backfill(lake, SETTINGS, WEEK, [KPRECISION]).run()
    assert [failure.deployment for failure in result.failures] == ["rag"]
    assert other_traffic.values(KPRECISION) == {"b": 1.0}
    file.write_bytes(whole)
    assert Backfill(lake, SETTINGS, WEEK, [KPRECISION]).run().failures == ()
    assert traffic.values(KPRECISION) == {"a": 1.0}


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"metrics": ["faithfullness"]}, UnknownMetricError, "no metric 'faithfullness'"),
        ({"metrics": ["non_llm_context_recall"]}, ValueError, "'non_llm_context_recall' needs reference_contexts"),
        ({"deployments": ["rag", "typo"]}, UnknownDeploymentError, "no deployment 'typo'"),
    ],
)
def test_what_was_mistyped_is_an_error(
    lake: Lake, traffic: Any, given: dict[str, Any], error: type[Exception], says: str
) -> None:
    """Before anything is read or written."""
    traffic.log(traffic.answer("a"))
    with pytest.raises(error, match=says):
        Backfill(lake, SETTINGS, WEEK, **given)
