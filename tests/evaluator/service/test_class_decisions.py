"""Which metrics score an application, by what its answers show."""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from evaluator.answers import Period
from evaluator.service.backfill import Backfill
from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.queries.application_classes import ApplicationClasses, DecidedClass, seen_answers
from lake.queries.child_contexts import ChildContexts
from lake.spec.alert_vocabulary import AlertEvent
from lake.spec.application_classes import CLASS_METRICS, DEFAULT_METRICS, ApplicationClass, SeenAnswers
from lake.spec.case_vocabulary import CASE_PASSED
from lake.spec.root_tables import APPLICATION_CLASSES
from lake.spec.schemas import ALERTS, PARSED_LOGS
from lake.tables.lake import Lake
from lake.tables.table import Table
from tests.evaluator.conftest import NOON

DAY = 24 * 60
NOW = NOON + timedelta(hours=2)
CALL = {"id": "1", "name": "orders", "arguments": "{}", "result": "late", "is_error": False}
PLAIN: dict[str, Any] = {"chunks": []}
CALLS: dict[str, Any] = {"chunks": [], "tool_calls": [CALL], "tool_calls_origin": "state"}
MEDIA: dict[str, Any] = {
    "chunks": [],
    "answer": None,
    "answer_kind": "attachment",
    "attachments": [{"type": "image/png"}],
}
AGENT_METRICS = set(CLASS_METRICS[ApplicationClass.CALLS_TOOLS]) - {CASE_PASSED}
"""Of answers without a case."""
PLAIN_METRICS = set(CLASS_METRICS[ApplicationClass.PLAIN])


def log(traffic: Any, name: str, number: int, minute: int = 0, **columns: Any) -> None:
    traffic.log(*(traffic.answer(f"{name}-{i}", minute, **columns) for i in range(number)))


def run(lake: Lake, now: datetime = NOW, **settings: Any) -> None:
    assert Evaluator(lake, EvaluatorSettings(**settings), clock=lambda: now).run_once().failures == ()


def class_of(lake: Lake, deployment: str = "rag") -> DecidedClass | None:
    classes = ApplicationClasses(lake)
    classes.look()
    return classes.known.get(deployment)


def known(lake: Lake) -> Sequence[str]:
    found = class_of(lake)
    assert found is not None
    return found.classes


def scored(traffic: Any, name: str) -> set[str]:
    """The metrics of which answers with this name have rows."""
    return {row["metric"] for row in traffic.scores() if row["event_id"].startswith(f"event-{name}-")}


@pytest.mark.parametrize(
    ("seen", "classes"),
    [
        ((100, 10, 0, 0), ["retrieves"]),
        ((100, 9, 9, 0), ["plain"]),
        ((100, 0, 10, 0), ["calls_tools"]),
        ((100, 10, 10, 90), ["retrieves", "calls_tools"]),
        ((100, 9, 0, 50), ["media"]),
        ((100, 9, 0, 49), ["plain"]),
        ((1, 0, 1, 0), ["calls_tools"]),
        ((10, 0, 0, 0), ["plain"]),
        ((9, 0, 0, 0), []),
        ((0, 0, 0, 0), []),
    ],
)
def test_shares_of_answers_decide_the_class(seen: tuple[int, int, int, int], classes: list[str]) -> None:
    """A tenth retrieves or calls tools, half is media; few answers that show nothing say nothing."""
    assert list(SeenAnswers(*seen).classes) == classes


@pytest.mark.parametrize(
    ("columns", "expected"),
    [({}, set(DEFAULT_METRICS[:2])), (PLAIN, PLAIN_METRICS), (CALLS, AGENT_METRICS), (MEDIA, set())],
    ids=["retrieves", "plain", "calls_tools", "media"],
)
def test_a_class_has_its_own_metrics_and_no_rows_of_others(
    lake: Lake, traffic: Any, columns: dict[str, Any], expected: set[str]
) -> None:
    """From the first of 50 answers on; a plain model has no `context_present` of 0."""
    log(traffic, "a", 50, **columns)
    run(lake)
    assert scored(traffic, "a") == expected


def test_an_application_may_retrieve_and_call_tools(lake: Lake, traffic: Any) -> None:
    """It then has the metrics of both."""
    log(traffic, "a", 45)
    log(traffic, "b", 5, **CALLS)
    run(lake)
    assert scored(traffic, "a") == {*DEFAULT_METRICS[:2], *AGENT_METRICS}


def test_few_answers_have_the_metrics_of_what_they_show_so_far(lake: Lake, traffic: Any, other_traffic: Any) -> None:
    """Nothing is kept of it. Few answers that show nothing have those of an application that retrieves."""
    log(traffic, "a", 1, **CALLS)
    log(other_traffic, "a", 9, **PLAIN)
    run(lake)
    assert (scored(traffic, "a"), scored(other_traffic, "a")) == (AGENT_METRICS, set(DEFAULT_METRICS[:2]))
    assert class_of(lake) is class_of(lake, other_traffic.deployment) is None


def test_what_few_answers_show_is_followed_until_there_are_fifty(lake: Lake, traffic: Any) -> None:
    """By the same evaluator, which reads no answers again where none came."""
    clock = NOW
    evaluator = Evaluator(lake, EvaluatorSettings(), clock=lambda: clock)
    log(traffic, "a", 9, **PLAIN)
    evaluator.run_once()
    log(traffic, "b", 1, **PLAIN)
    evaluator.run_once()
    log(traffic, "c", 1, **PLAIN)
    evaluator.run_once()
    assert (scored(traffic, "a"), scored(traffic, "c")) == (set(DEFAULT_METRICS[:2]), PLAIN_METRICS)
    log(traffic, "d", 39, **PLAIN)
    evaluator.run_once()
    evaluator.run_once()
    assert list(known(lake)) == ["plain"]


def test_a_class_stays_for_seven_days_whoever_looks(lake: Lake, traffic: Any) -> None:
    """Also after a restart and in another evaluator; then the answers of the last 7 days decide anew."""
    log(traffic, "a", 50, **PLAIN)
    run(lake)
    log(traffic, "b", 500, DAY, **CALLS)
    run(lake, NOW + timedelta(days=6, hours=23))
    assert scored(traffic, "b") == PLAIN_METRICS
    log(traffic, "c", 50, 7 * DAY, **CALLS)
    run(lake, NOW + timedelta(days=7))
    assert scored(traffic, "c") == AGENT_METRICS
    found = class_of(lake)
    assert found is not None
    assert (found.look, found.since, found.decided_at) == (2, *[NOW + timedelta(days=7)] * 2)


def test_a_class_that_is_found_again_holds_since_the_first_time(lake: Lake, traffic: Any) -> None:
    """Its numbers are those of the last look."""
    log(traffic, "a", 50, **PLAIN)
    run(lake)
    log(traffic, "b", 60, 7 * DAY, **PLAIN)
    run(lake, NOW + timedelta(days=7))
    found = class_of(lake)
    assert found is not None
    assert (found.since, found.decided_at, found.seen.answers) == (NOW, NOW + timedelta(days=7), 60)


def test_a_week_of_few_answers_changes_no_class(lake: Lake, traffic: Any) -> None:
    """It is looked at again once there are enough."""
    log(traffic, "a", 50, **PLAIN)
    run(lake)
    log(traffic, "b", 49, 8 * DAY, **CALLS)
    run(lake, NOW + timedelta(days=8))
    assert (list(known(lake)), scored(traffic, "b")) == (["plain"], PLAIN_METRICS)
    log(traffic, "c", 1, 8 * DAY, **CALLS)
    run(lake, NOW + timedelta(days=8))
    assert list(known(lake)) == ["calls_tools"]


@pytest.mark.parametrize("named", [None, ("context_present", "faithfulness_kprecision")])
def test_an_open_alert_keeps_the_class_of_its_metric(lake: Lake, traffic: Any, named: Sequence[str] | None) -> None:
    """Whoever broke retrieval must not end the scores that say so, nor make them null where the configuration names
    the metric; once the alert is over the class changes."""
    log(traffic, "a", 50)
    run(lake, metrics=named)
    log(traffic, "b", 50, 8 * DAY, **PLAIN)
    alert = {"alert_id": "1", "deployment": "rag", "metric": "context_present", "metric_version": "1"}

    def record(change: AlertEvent, day: int) -> None:
        at = NOON + timedelta(days=day)
        row = alert | {"change_id": str(change), "change": change, "changed_at": at}
        lake.table(ALERTS, "rag").append(ALERTS.rows([row]))

    record(AlertEvent.FIRING, 1)
    run(lake, NOW + timedelta(days=8), metrics=named)
    assert (list(known(lake)), scored(traffic, "b")) == (["retrieves"], set(DEFAULT_METRICS[:2]))
    assert set(traffic.values("context_present").values()) == {1.0, 0.0}
    record(AlertEvent.RESOLVED, 15)
    log(traffic, "c", 50, 15 * DAY, **PLAIN)
    run(lake, NOW + timedelta(days=15), metrics=named)
    assert list(known(lake)) == ["plain"]


def test_the_configuration_has_the_last_word(lake: Lake, traffic: Any, other_traffic: Any) -> None:
    """For all deployments or for one; the class is known all the same, and says so."""
    log(traffic, "a", 50, **PLAIN)
    log(other_traffic, "a", 50, **PLAIN)
    chosen = {other_traffic.deployment: {"metrics": ["answer_length"]}}
    run(lake, metrics=["refusal"], deployments=chosen)
    assert (scored(traffic, "a"), scored(other_traffic, "a")) == ({"refusal"}, {"answer_length"})
    found = class_of(lake)
    assert found is not None
    assert found.why == (
        "plain: of 50 answers that were looked at 0 show what was retrieved and 0 called a tool. The configuration "
        "names what is scored: “refusals”"
    )
    run(lake, NOW + timedelta(days=1))
    renewed = class_of(lake)
    assert renewed is not None
    assert (renewed.is_chosen, set(renewed.metrics), renewed.decided_at) == (False, PLAIN_METRICS, found.decided_at)
    assert renewed.since == NOW + timedelta(days=1)


def test_a_metric_without_meaning_that_was_asked_for_is_null_with_its_reason(lake: Lake, traffic: Any) -> None:
    """An answer that has contexts all the same is scored."""
    log(traffic, "a", 49, **PLAIN)
    log(traffic, "b", 1)
    run(lake, metrics=["context_present", "faithfulness_kprecision", "tool_error_share", "refusal"])
    found = {metric: set(traffic.values(metric).values()) for metric in ("context_present", "tool_error_share")}
    assert found == {"context_present": {"no_retrieval", 1.0}, "tool_error_share": {"no_tool_calls"}}
    assert set(traffic.values("faithfulness_kprecision").values()) == {"no_retrieval", 1.0}
    assert set(traffic.values("refusal").values()) == {0.0}


def test_an_application_that_retrieves_and_found_nothing_is_scored(lake: Lake, traffic: Any) -> None:
    """Its `context_present` is 0."""
    log(traffic, "a", 45)
    log(traffic, "b", 5, **PLAIN)
    run(lake)
    assert set(traffic.values("context_present").values()) == {0.0, 1.0}


def test_a_backfill_scores_by_the_class_that_was_decided(lake: Lake, traffic: Any) -> None:
    """Without `--metrics`; reasons are those of the service."""
    log(traffic, "a", 50, **PLAIN)
    run(lake)
    log(traffic, "old", 1, -DAY, **PLAIN)
    run(lake, metrics=[])
    run(lake)
    period = Period(NOON - timedelta(days=7), NOW)
    backfill = Backfill(lake, EvaluatorSettings(), period, clock=lambda: NOW)
    assert set(backfill.why) == {"rag"}
    assert backfill.run().failures == ()
    assert scored(traffic, "old") == PLAIN_METRICS
    named = Backfill(lake, EvaluatorSettings(), period, ["context_present"], clock=lambda: NOW)
    assert (named.why, named.run().failures) == ({}, ())
    assert set(traffic.values("context_present").values()) == {"no_retrieval"}


@pytest.mark.parametrize(
    ("price", "settings", "is_judged"),
    [
        (0, {"judge": "j"}, True),
        (0, {"deployments": {"rag": {"judge": "j"}}}, True),
        (0, {"deployments": {"other": {"judge": "j"}}}, False),
        (0, {}, False),
        (0, {"ground_truth": {"judge": "j"}, "replay": {"preference": "j"}}, False),
        (None, {"judge": "j"}, False),
    ],
)
def test_answers_are_judged_where_a_judge_is_named_and_may_be_asked(
    price: float | None, settings: dict[str, Any], is_judged: bool
) -> None:
    """A judge that is there for something else is not named; one of which nobody knows what it costs may not be asked.

    Whether an answer is faithful is one call, as is which share of it. A class without metrics of a judge asks none.
    """
    judge = {"base_url": "http://127.0.0.1:1", "model": "m", "prompt_price": price, "completion_price": price}
    evaluator = EvaluatorSettings(judges={"j": judge}, **settings)
    retriever, agent, plain = (
        [one.name for one in evaluator.chosen_metrics("rag", [kind])]
        for kind in (ApplicationClass.RETRIEVES, ApplicationClass.CALLS_TOOLS, ApplicationClass.PLAIN)
    )
    assert retriever == [*CLASS_METRICS[ApplicationClass.RETRIEVES], *(["faithful"] if is_judged else [])]
    judged = ["goal_accuracy", "faithful", "faithfulness_claims"] if is_judged else []
    assert agent == [*CLASS_METRICS[ApplicationClass.CALLS_TOOLS], *judged]
    assert plain == list(CLASS_METRICS[ApplicationClass.PLAIN])


def test_history_is_seen_by_its_last_days(lake: Lake, traffic: Any) -> None:
    """A lake that was filled with old logs has classes too; what is older than their last 7 days does not count."""
    log(traffic, "new", 50, -90 * DAY, **CALLS)
    log(traffic, "old", 500, -99 * DAY, **PLAIN)
    run(lake)
    assert list(known(lake)) == ["calls_tools"]


def test_only_answers_that_people_saw_count(lake: Lake, traffic: Any) -> None:
    """Calls of applications, evaluations and failed answers show nothing of an application."""
    log(traffic, "seen", 50, **PLAIN)
    log(traffic, "called", 50, is_entry=False)
    log(traffic, "tested", 50, origin="evaluation")
    log(traffic, "failed", 50, answer_kind="failed")
    log(traffic, "refused", 50, status=500)
    log(traffic, "future", 50, DAY)
    assert seen_answers(lake.table(PARSED_LOGS, "rag"), NOW, ChildContexts(lake), "rag") == SeenAnswers(50, 0, 0, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"chunks": ["Delhi is the seat of government."], "contexts_origin": "prompt"}, ["retrieves"]),
        ({**PLAIN, "tool_calls": [CALL], "tool_calls_origin": "answer"}, ["calls_tools"]),
        (PLAIN, ["plain"]),
    ],
)
@pytest.mark.parametrize("number", [50, 12])
def test_what_model_calls_say_that_were_logged_later_counts(
    lake: Lake, traffic: Any, number: int, columns: dict[str, Any], expected: Sequence[str]
) -> None:
    """As for scores: the collector joins no call that comes after its parent, or stands behind an interceptor."""
    model = type(traffic)(lake, "gpt-4o")
    for i in range(number):
        trace = {"trace_id": f"trace-{i}"}
        of_model = {"span_id": f"model-{i}", "parent_span_id": f"span-{i}", "parent_deployment": "rag"}
        of_answer = {"span_id": f"span-{i}", "tool_calls_origin": "none"}
        traffic.log(traffic.answer(f"a-{i}", 0, **PLAIN) | trace | of_answer)
        model.log(model.answer(f"m-{i}", 0, is_entry=False, **columns) | trace | of_model)
    run(lake)
    metrics = {one for kind in expected for one in CLASS_METRICS[ApplicationClass(kind)]}
    assert scored(traffic, "a") == metrics - {CASE_PASSED, *DEFAULT_METRICS[2:]}
    assert (class_of(lake) is None) == (number < 50)


@pytest.mark.slow
def test_late_calls_are_looked_for_some_at_a_time(lake: Lake, traffic: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same counts; an answer whose row is there twice counts once."""
    model = type(traffic)(lake, "gpt-4o")
    of_model = {"tool_calls": [CALL], "tool_calls_origin": "answer", "parent_deployment": "rag"}
    for i in range(53):
        answer = traffic.answer(f"a-{i}", 0, **PLAIN) | {"trace_id": f"{i}", "span_id": f"s-{i}"}
        for _ in range(1 + (i == 9)):
            traffic.log(answer | {"tool_calls_origin": "none"})
        called = model.answer(f"m-{i}", 0, is_entry=False, **PLAIN | of_model)
        model.log(called | {"trace_id": f"{i}", "span_id": f"m-{i}", "parent_span_id": f"s-{i}"})
    sizes: list[int] = []

    class Children(ChildContexts):
        def with_turns(self, calls: Any, deployment: str | None) -> set[Any]:
            sizes.append(len(calls))
            return super().with_turns(calls, deployment)

    monkeypatch.setattr("lake.queries.application_classes._AT_A_TIME", 20)
    seen = seen_answers(lake.table(PARSED_LOGS, "rag"), NOW, Children(lake), "rag")
    assert (seen.answers, seen.with_tool_calls, sizes) == (54, 53, [20, 20, 13])


def test_a_table_that_cannot_be_written_stops_no_score(
    lake: Lake, traffic: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The class holds in this evaluator, and the log says what failed."""

    def refuse(self: Table, rows: Any, progress: Any = None) -> None:
        if self.spec is APPLICATION_CLASSES:
            raise PermissionError("no")
        append(self, rows, progress)

    append = Table.append
    monkeypatch.setattr(Table, "append", refuse)
    log(traffic, "a", 50, **PLAIN)
    with caplog.at_level(logging.INFO):
        run(lake)
    assert scored(traffic, "a") == PLAIN_METRICS
    assert "the class of deployment 'rag' is not kept" in caplog.text
    assert "deployment 'rag' plain: of 50 answers" in caplog.text
