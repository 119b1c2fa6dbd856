"""Limits of replays on both of their sides: asking, comparing, earlier runs, and what a run writes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from pydantic import ValidationError

from evaluator.metrics import metric_named
from evaluator.replays import Outcome, ReplaySettings, Reply
from evaluator.replays.asking import DialDeployment, ask_all
from evaluator.replays.comparison import CaseChange, Comparison, MetricComparison, compare
from evaluator.replays.earlier_runs import (
    EarlierRuns,
    RegressedRun,
    answers_compared_with,
    earlier_runs,
    rows_of_run,
    rows_of_unchanged,
)
from evaluator.replays.kept_answers import values_of
from evaluator.replays.run import last_run_at
from evaluator.replays.scores import better_if_higher, replay_metrics
from lake.spec.case_tables import REPLAYS
from lake.spec.case_vocabulary import ReplayVerdict
from lake.spec.vocabulary import Origin, origin_headers
from lake.tables.lake import Lake
from lake.tables.table import Table
from tests.evaluator.replays.test_run import NAME, NOW, Scripted, context, fails, fill, right, run, written

HOUR = timedelta(hours=1)


class Received:
    """A server of DIAL's interface that keeps what it is asked, and answers each time with the next status."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.statuses: list[int] = [200]
        received = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                received.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                status = received.statuses.pop(0) if len(received.statuses) > 1 else received.statuses[0]
                content = b'{"error": {"message": "' + b"x" * 500 + b'"}}' if status != 200 else b"answer"
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(content)))
                self.send_header("retry-after-ms", "1")
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def dial() -> Iterator[Received]:
    received = Received()
    yield received
    received.server.shutdown()
    received.server.server_close()


def settings(url: str, **changes: Any) -> ReplaySettings:
    given = {"base_url": f"{url}/", "deployments": {NAME: {"api_key": "key"}}}
    return ReplaySettings.model_validate(given | changes)


def asked(url: str, documents: Sequence[str] = ()) -> Reply:
    async def ask() -> Reply:
        deployment = DialDeployment(NAME, settings(url), lambda body: Reply(body.decode(), "r", None))
        try:
            return await deployment.ask("Where?", documents, "0" * 31 + "1")
        finally:
            await deployment.close()

    return asyncio.run(ask())


def test_a_case_is_asked_with_its_documents_in_its_trace(dial: Received) -> None:
    """By the deployment's own key, and marked as a replay, which is no question of a person."""
    assert asked(dial.url, ["files/a/tea.pdf", "files/odd"]).answer == "answer"
    assert asked(dial.url).answer == "answer"
    (path, headers, body), (_, _, without) = dial.requests
    assert path == f"/openai/deployments/{NAME}/chat/completions?api-version=2024-10-21"
    assert headers["api-key"] == "key"
    assert headers["traceparent"].startswith(f"00-{'0' * 31}1-")
    assert headers["traceparent"].endswith("-01")
    assert {name: headers[name.lower()] for name in origin_headers(Origin.REPLAY)} == origin_headers(Origin.REPLAY)
    assert body == {
        "messages": [
            {
                "role": "user",
                "content": "Where?",
                "custom_content": {
                    "attachments": [
                        {"type": "application/pdf", "title": "tea.pdf", "url": "files/a/tea.pdf"},
                        {"type": "application/octet-stream", "title": "odd", "url": "files/odd"},
                    ]
                },
            }
        ],
        "stream": False,
    }
    assert without["messages"] == [{"role": "user", "content": "Where?"}]


def test_what_goes_wrong_stands_in_the_reply(dial: Received) -> None:
    """After three tries; with at most 300 characters of what was said."""
    dial.statuses = [500]
    reply = asked(dial.url)
    assert len(dial.requests) == 3
    assert reply.answer is None
    assert str(reply.error).startswith("status 500: ")
    assert len(str(reply.error)) == len("status 500: ") + 300
    dial.statuses = [503, 503, 200]
    assert asked(dial.url).answer == "answer"
    assert str(asked("http://127.0.0.1:9").error).startswith("no connection: ")


def test_a_deployment_needs_an_address_and_a_key() -> None:
    """The message names the setting."""
    with pytest.raises(ValueError, match=r"evaluator\.replay\.base_url is not set"):
        DialDeployment(NAME, ReplaySettings(), lambda _: Reply(None, None, None))
    with pytest.raises(KeyError):
        DialDeployment("other", settings("http://a"), lambda _: Reply(None, None, None))


@pytest.mark.parametrize(("most", "number"), [(1, 1), (15, 1), (16, 2), (30, 2), (31, 3)])
def test_no_case_is_asked_once_so_many_tokens_are_taken(most: int, number: int) -> None:
    """Those of prompt and answer, where they are counted; the others count as none."""
    cases = [{"case_id": str(n), "question": f"Has store {n}?", "documents": None} for n in range(5)]
    deployment = Scripted(right)
    found = ask_all(deployment, cases, ReplaySettings(most_tokens=most, concurrency=1))
    assert [one.case["case_id"] for one in found] == [str(n) for n in range(number)]
    assert [documents for _, documents, _ in deployment.asked] == [()] * number
    assert len({trace for _, _, trace in deployment.asked}) == number
    assert deployment.is_closed
    assert len(ask_all(Scripted(fails), cases, ReplaySettings(most_tokens=1))) == 5


def compared(*values: tuple[float, float], alpha: float = 0.05, number: int = 1) -> Comparison:
    before = {f"{n:02}": {"case_passed": old} for n, (old, _) in enumerate(values)}
    after = {f"{n:02}": {"case_passed": new} for n, (_, new) in enumerate(values)}
    return compare(before, after, alpha, number)


def test_a_comparison_counts_each_case() -> None:
    """The worst first, then by id; a case without an answer is worse, also where it failed before."""
    before = {"a": {"case_passed": 1.0, "m": 0.5}, "b": {"case_passed": 0.0}, "c": {"case_passed": 1.0, "m": 0.2}}
    before |= {"d": {"case_passed": 0.0, "m": 0.1}, "e": {"m": 0.1}}
    after = {"a": {"case_passed": 1.0, "m": 0.5 + 1e-12}, "c": {"case_passed": 0.0, "m": 0.9}, "b": {"m": 1.0}}
    after |= {"d": {"case_passed": 1.0}, "e": {"m": 0.3}}
    found = compare(before, after, 0.05, 1, {"b"})
    assert [(one.case_id, one.outcome, one.stopped_passing) for one in found.cases] == [
        ("c", Outcome.WORSE, True),
        ("b", Outcome.WORSE, False),
        ("a", Outcome.SAME, False),
        ("e", Outcome.BETTER, False),
        ("d", Outcome.BETTER, False),
    ]
    assert [one.is_answered for one in found.cases] == [True, False, True, True, True]
    assert [found.count(outcome) for outcome in Outcome] == [2, 2, 1]
    assert [(one.metric, one.pairs) for one in found.metrics] == [("case_passed", 4), ("m", 3)]
    passed = found.metrics[0]
    assert (passed.before, passed.after, passed.mean_difference) == (0.5, 0.5, 0.0)
    assert CaseChange("x", 1e-10).outcome == Outcome.SAME
    assert CaseChange("x", 1e-8).outcome == Outcome.BETTER


@pytest.mark.parametrize(("worse", "expected"), [(6, False), (7, True)])
def test_so_many_cases_must_be_worse_for_a_regression(worse: int, expected: bool) -> None:
    """Each halves the probability in the first run: 0.05 * (1/6 + 1/75) takes seven."""
    found = compared(*[(1.0, 0.0)] * worse)
    assert found.is_regression is found.can_show_regression is expected
    [metric] = found.metrics
    assert (metric.needed_pairs, metric.level) == (7, pytest.approx(0.009))
    assert metric.by_cases == pytest.approx(0.5**worse)
    assert not compared(*[(0.0, 1.0)] * worse).is_regression


@pytest.mark.parametrize(("worse", "expected"), [(3, False), (4, True)])
def test_fewer_cases_are_enough_after_more_runs(worse: int, expected: bool) -> None:
    """The last of ten runs is the worst one of a case by a probability of a tenth."""
    well = {f"{n}": {"case_passed": 1.0} for n in range(worse)}
    bad = {case: {"case_passed": 0.0} for case in well}
    found = compare(well, bad, 0.05, 9, between=[well] * 8)
    assert found.is_regression is found.can_show_regression is expected
    [metric] = found.metrics
    assert (metric.needed_pairs, metric.runs) == (4, 10)
    assert metric.by_cases == pytest.approx(6 * 0.1**worse)


def test_an_interval_is_of_two_standard_errors() -> None:
    """Of one pair nothing is known."""
    (metric,) = compared((1.0, 0.0), (1.0, 1.0), (0.0, 0.0), (1.0, 1.0)).metrics
    error = (0.75 * 0.25 * 4 / 3) ** 0.5 / 2
    assert (metric.lower, metric.upper) == pytest.approx((-0.25 - 1.96 * error, -0.25 + 1.96 * error))
    (alone,) = compared((1.0, 0.0)).metrics
    assert (alone.lower, alone.upper) == (float("-inf"), float("inf"))


def metric(name: str, mean: float, lower: float, by_runs: float = 0.0) -> MetricComparison:
    return MetricComparison(name, 9, 1.0, 0.0, mean, lower, 1.0, 0.0, by_runs, 0.01)


@pytest.mark.parametrize(("lower", "expected"), [(-0.2, False), (-0.19, True), (0.1, True)])
def test_a_fall_is_over_above_the_middle_of_it(lower: float, expected: bool) -> None:
    """By each metric that had fallen; of one that is not there nothing is known."""
    fallen = Comparison((metric("m", -0.4, -0.5), metric("well", -0.1, -0.2, 0.5)), ())
    assert Comparison((metric("m", 0.0, lower),), ()).is_as_good_again(fallen) is expected
    assert not Comparison((metric("other", 0.0, 0.5),), ()).is_as_good_again(fallen)


def runs(lake: Lake, *given: tuple[str, dict[str, Any]]) -> Table:
    """Runs an hour apart, each of the cases a and b."""
    table = lake.table(REPLAYS, NAME)
    rows = [
        {"replay_id": f"{run_id}-{case}", "run_id": run_id, "run_started_at": NOW + number * HOUR, "case_id": case,
         "date": NOW.date(), "is_baseline": False, "compared_with": "base", "verdict": "no_regression",
         "answer": f"{run_id} {case}"}
        | {name: value for name, value in columns.items() if name != "error"}
        | {"error": "why" if columns.get("error") == case else None}
        for number, (run_id, columns) in enumerate(given)
        for case in "ab"
    ]  # fmt: skip
    table.append(REPLAYS.rows(rows[::-1]))
    return table


BASE = ("base", {"is_baseline": True, "compared_with": None, "verdict": "baseline", "error": "b"})


def test_earlier_runs_are_those_after_the_last_baseline(lake: Lake) -> None:
    """In the order of their beginnings; a row without a run is none."""
    assert earlier_runs(lake.table(REPLAYS, NAME)) == EarlierRuns()
    assert last_run_at(lake, NAME) is None
    table = runs(
        lake, ("old", BASE[1]), ("older", {"compared_with": "old"}), BASE, ("small", {"verdict": "too_few"}),
        ("odd", {"verdict": "suspected"}), ("fall", {"verdict": "regression"}), ("again", {"verdict": "regression"}),
        ("cut", {"verdict": "incomplete"}),
    )  # fmt: skip
    table.append(REPLAYS.rows([{"replay_id": "x", "case_id": "a", "date": NOW.date()}]))
    found = earlier_runs(table)
    assert found.baseline == "base"
    assert found.number == 4
    assert found.regressed == RegressedRun("fall", 2, NOW + 5 * HOUR)
    assert found.compared == {"a": "base", "b": "small"}
    assert found.unchanged == ["small", "odd"]
    others = [[row["answer"] for row in rows] for rows in rows_of_unchanged(table, found)]
    assert [sorted(one) for one in others] == [["small a"], ["odd a", "odd b"]]
    assert sorted(row["answer"] for row in answers_compared_with(table, found.compared)) == ["base a", "small b"]
    assert sorted(row["answer"] for row in rows_of_run(table, "fall")) == ["fall a", "fall b"]
    assert answers_compared_with(table, {}) == []
    assert last_run_at(lake, NAME) == NOW + 7 * HOUR


def test_a_regression_is_open_until_a_run_finds_none(lake: Lake) -> None:
    """The next one begins with its own run."""
    table = runs(
        lake, BASE, ("first", {"verdict": "regression"}), ("well", {}), ("few", {"verdict": "too_few"}),
        ("second", {"verdict": "regression"}), ("third", {"verdict": "regression"}),
    )  # fmt: skip
    found = earlier_runs(table)
    assert (found.number, found.regressed) == (5, RegressedRun("second", 3, NOW + 4 * HOUR))
    assert found.compared == {"a": "base", "b": "well"}


def test_a_replay_is_scored_by_what_can_get_worse_and_asks_no_judge() -> None:
    """`case_passed` is one of them, once; what an answer took is none."""
    names = ["facts_recall", "answer_latency", "context_present", "case_passed"]
    chosen = [metric_named(name) for name in names if name in _known(names)]
    found = [one.name for one in replay_metrics(chosen)]
    assert found.count("case_passed") == 1
    assert "facts_recall" in found
    assert [one.name for one in replay_metrics([metric_named("facts_recall")])] == ["facts_recall", "case_passed"]


def _known(names: Sequence[str]) -> set[str]:
    from evaluator.metrics.registry import REGISTRY

    return {name for name in names if name in REGISTRY}


def test_values_are_those_of_the_metrics_in_use() -> None:
    """Of their present versions; those without a value are left out."""
    metrics = [metric_named("facts_recall"), metric_named("case_passed")]
    one, version = metrics[0].name, metrics[0].version
    rows = [
        {"metric": one, "metric_version": version, "value": 0.5},
        {"metric": one, "metric_version": "old", "value": 0.6},
        {"metric": "case_passed", "metric_version": metrics[1].version, "value": None},
        {"metric": "other", "metric_version": "1", "value": 0.7},
    ]
    assert values_of(rows, metrics) == {one: 0.5}
    assert better_if_higher(metrics, one, 0.5) == 0.5


@pytest.mark.parametrize(("unanswered", "verdict"), [(1, ReplayVerdict.BASELINE), (2, ReplayVerdict.INCOMPLETE)])
def test_with_more_than_a_tenth_unanswered_a_run_is_incomplete(
    lake: Lake, unanswered: int, verdict: ReplayVerdict
) -> None:
    """A tenth is not more; rows say why there is no answer."""
    fill(lake, 10)
    silent = {f"How many kinds has store {n}?" for n in range(unanswered)}
    empty = Reply(None, "r", None)
    found = run(lake, lambda question: empty if question in silent else right(question))
    assert (found.verdict, found.errors, found.tokens) == (verdict, unanswered, 15 * (10 - unanswered))
    errors = {row["case_id"]: row["error"] for row in written(lake) if row["error"]}
    assert errors == {f"case-{n:02d}": "the response has no answer" for n in range(unanswered)}
    assert {row["is_baseline"] for row in written(lake)} == {verdict == ReplayVerdict.BASELINE}


def test_a_row_of_a_replay_has_what_was_asked_and_what_came(lake: Lake) -> None:
    """With the version of its case, its day and trace, and what it took; an id of run and case."""
    fill(lake, 1, version=3)
    before = datetime.now(UTC)
    made = run(lake, right)
    (row,) = written(lake)
    expected = {
        "run_id": made.run_id, "deployment": NAME, "case_id": "case-00", "case_version": 3, "is_baseline": True,
        "compared_with": None, "verdict": "baseline", "response_id": "r-0", "answer": "Store 0 sells 0 kinds of tea.",
        "contexts": [context("Store 0 sells 0 kinds of tea")], "cited_only": False, "error": None, "prompt_tokens": 10,
        "completion_tokens": 5, "price": None,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    assert row["run_started_at"] >= before
    assert row["date"] == row["replayed_at"].date()
    assert (len(row["replay_id"]), len(row["trace_id"])) == (32, 32)
    again = run(lake, right)
    assert len({one["replay_id"] for one in written(lake)}) == 2
    assert (again.comparison is not None, made.comparison) == (True, None)


def test_cases_beyond_the_most_are_counted_by_why_they_were_not_asked(lake: Lake) -> None:
    """The first by id, those of the baseline before others; without a question there is nothing to ask."""
    fill(lake, 5)
    fill(lake, 1, case_id="no question", question=None)
    fill(lake, 1, case_id="follow-up", conversation_hash="h")
    made = run(lake, right, most_cases=3)
    assert (made.not_asked, made.in_conversation) == (2, 2)
    assert sorted(row["case_id"] for row in made.rows) == ["case-00", "case-01", "case-02"]


def test_settings_have_the_documented_defaults() -> None:
    """And ranges."""
    found = ReplaySettings().model_dump()
    assert found == {
        "base_url": None, "api_version": "2024-10-21", "deployments": {}, "every": None, "concurrency": 2,
        "most_cases": 200, "most_tokens": 1_000_000, "timeout": 120.0, "alpha": 0.05, "preference": None,
    }  # fmt: skip
    assert ReplaySettings.model_validate({"every": "60"}).every == 60.0
    for name, wrong in [("every", "59"), ("concurrency", 65), ("alpha", 1.0), ("alpha", 0.0), ("base_url", "ftp://a")]:
        with pytest.raises(ValidationError):
            ReplaySettings.model_validate({name: wrong})
