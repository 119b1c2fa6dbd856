"""Whole passes over a real lake."""

import json
import logging
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evaluator.service.passes import Evaluator, PassResult
from evaluator.settings import EvaluatorSettings
from lake.delta_log.change import Change
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.schemas import SCORES, USER_SIGNALS
from lake.spec.table_spec import TableSpec
from lake.tables.lake import Lake
from lake.tables.table import Table

NOW = datetime(2026, 11, 21, tzinfo=UTC)
SEGMENT = '{"language":"en","model":null,"contexts":true,"question_length":"short","project":null,"client":null}'
KPRECISION, PRESENT = "faithfulness_kprecision", "context_present"
FACTS, RECALL = "facts_recall", "answer_correctness_token_recall"


@pytest.fixture
def evaluator(lake: Lake) -> Evaluator:
    return Evaluator(lake, EvaluatorSettings(), clock=lambda: NOW)


def test_an_empty_lake_is_an_empty_pass(evaluator: Evaluator) -> None:
    """Before the collector has written anything there is nothing to do and nothing wrong."""
    assert evaluator.run_once() == PassResult()


def test_an_answer_gets_one_row_a_metric_with_all_that_the_monitor_needs(evaluator: Evaluator, traffic: Any) -> None:
    """A new answer is scored by every metric that needs no ground truth."""
    traffic.log(traffic.answer("a", chat_id="chat-1"))
    assert evaluator.run_once() == PassResult(deployments=1, scored=2)
    row = next(row for row in traffic.scores() if row["metric"] == KPRECISION)
    assert len(row["score_id"]) == 32
    asked = traffic.answer("a")
    expected = {name: asked.get(name) for name in ("response_id", "event_id", "deployment", "date", "requested_at")}
    expected |= {"chat_id": "chat-1", "metric": KPRECISION, "metric_version": "4", "value": 1.0, "judge": "lexical"}
    expected |= {"prompt_tokens": 0, "completion_tokens": 0, "cost": 0.0, "sampling_probability": 1.0}
    expected |= {"reason": None, "details": None, "segment": SEGMENT, "scored_at": NOW, "score_id": row["score_id"]}
    expected |= {"is_backfill": False, "direction": "up", "low": 0.0, "high": 1.0}
    expected |= dict.fromkeys(("reference_match", "reference_similarity", "reference_status", "failed_part"))
    expected["case_version"] = None
    assert row == expected
    assert traffic.values(PRESENT) == {"a": 1.0}


def test_a_second_pass_adds_nothing_and_a_later_one_only_what_is_new(evaluator: Evaluator, traffic: Any) -> None:
    """A pass remembers how far it read, even where nothing could be scored."""
    traffic.log(traffic.answer("a"), traffic.answer("tokens", kind="tokenize"))
    evaluator.run_once()
    before, version = traffic.scores(), traffic.lake.table(SCORES, "rag").version()
    assert evaluator.run_once() == PassResult(deployments=1)
    assert (traffic.scores(), traffic.lake.table(SCORES, "rag").version()) == (before, version)
    traffic.log(traffic.answer("embedding", kind="embedding"))
    assert evaluator.run_once() == PassResult(deployments=1)
    assert (traffic.scores(), traffic.lake.table(SCORES, "rag").version()) == (before, version)
    traffic.log(traffic.answer("b"))
    assert evaluator.run_once().scored == 2
    assert set(traffic.values(KPRECISION)) == {"a", "b"}


def test_only_answers_that_a_person_saw_are_scored(evaluator: Evaluator, traffic: Any) -> None:
    """Failed calls, calls between applications and kinds that answer nobody have no rows."""
    traffic.log(
        traffic.answer("a"),
        traffic.answer("message", kind="message"),
        traffic.answer("failed", status=502),
        traffic.answer("no-status", status=None),
        traffic.answer("inner", is_entry=False),
        traffic.answer("retrieval", kind="retrieval"),
    )
    evaluator.run_once()
    assert set(traffic.values(PRESENT)) == {"a", "message"}


def test_what_cannot_be_scored_is_null_with_a_reason(evaluator: Evaluator, traffic: Any) -> None:
    """Not known is null; known to be empty is 0; and the pass counts the nulls by reason."""
    unknown = {"answer": None, "question": None, "contexts": None, "contexts_origin": None, "finish_reason": None}
    traffic.log(
        traffic.answer("secured", **unknown),
        traffic.answer("tool-call", answer=None, finish_reason="tool_calls"),
        traffic.answer("cut", answer=None, error="choice 0 has no finish_reason"),
        traffic.answer("silent", answer=None),
        traffic.answer("plain-chat", chunks=[]),
        traffic.answer("images", chunks=["", " "]),
        traffic.answer("nothing-found", contexts=[], contexts_origin="retrieval_response"),
    )
    result = evaluator.run_once()
    assert traffic.values(KPRECISION) == {
        "secured": "no_answer", "tool-call": "no_answer", "cut": "no_answer", "silent": 0.0,
        "plain-chat": "no_contexts", "images": "no_contexts", "nothing-found": 0.0,
    }  # fmt: skip
    assert traffic.values(PRESENT) == {
        "secured": "no_answer", "tool-call": "no_answer", "cut": "no_answer", "silent": 1.0,
        "plain-chat": 0.0, "images": 0.0, "nothing-found": 0.0,
    }  # fmt: skip
    assert result.unscored == {"no_answer": 6, "no_contexts": 2}
    assert all((row["value"] is None) == (row["reason"] is not None) for row in traffic.scores())


def test_later_answers_to_a_liked_answers_question_are_compared_with_it(evaluator: Evaluator, traffic: Any) -> None:
    """Same question and documents, asked later, another answer: the liked one's facts and words are looked for."""
    traffic.rate(traffic.signal("like", "liked"))
    traffic.log(
        traffic.answer("earlier", -5),
        traffic.answer("liked"),
        traffic.answer("same", 5),
        traffic.answer("wrong", 6, answer="It is in Mumbai.", chunks=["Mumbai is a port."]),
        traffic.answer("other-question", 7, question="Where is the port?"),
        traffic.answer("other-document", 8, documents=["files/france.pdf"]),
        traffic.answer("cited", 9, contexts_origin="cited"),
    )
    assert evaluator.run_once().cases == 1
    assert traffic.values(FACTS) == {"same": 1.0, "wrong": 0.0, "cited": "no_contexts"}
    assert traffic.values(RECALL) == {"same": 1.0, "wrong": pytest.approx(1 / 5), "cited": 1.0}
    details = [json.loads(row["details"]) for row in traffic.scores() if row["metric"] in (FACTS, RECALL)]
    assert {detail["case_id"] for detail in details} == {traffic.cases()[0]["case_id"]}


def test_an_answer_is_never_compared_with_itself(evaluator: Evaluator, traffic: Any) -> None:
    """Not even where its log line holds only the id of its first chunk, so that the case names that."""
    traffic.log(traffic.answer("liked", response_id=None), traffic.answer("same", 5))
    traffic.rate(traffic.signal("like", "liked"))
    evaluator.run_once()
    assert [case["source_response_id"] for case in traffic.cases()] == ["first-liked"]
    assert traffic.values(RECALL) == {"same": 1.0}


def test_of_several_cases_an_accepted_one_is_taken_and_a_rejected_one_never(evaluator: Evaluator, traffic: Any) -> None:
    """What a person has accepted is surer than any like; a case without a source is always earlier."""
    case = {"question": "Where is the government?", "documents": ["files/india.pdf"], "facts": ["Delhi"]}
    cases = [
        case | {"case_id": "proposed", "status": "proposed", "answer": "x", "confidence": 1.0},
        case | {"case_id": "accepted", "status": "accepted", "answer": "Delhi", "confidence": 0.5},
        case | {"case_id": "rejected", "status": "rejected", "answer": "y", "confidence": 1.0},
    ]
    traffic.lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows(cases))
    traffic.log(traffic.answer("a"))
    evaluator.run_once()
    assert traffic.values(RECALL) == {"a": 1.0}
    assert {json.loads(row["details"])["case_id"] for row in traffic.scores() if row["details"]} == {"accepted"}


@pytest.mark.parametrize(("label", "value"), [(None, 1.0), (True, 1.0), (False, 0.0)])
def test_a_case_may_say_whether_its_question_has_an_answer(
    lake: Lake, traffic: Any, label: bool | None, value: float
) -> None:
    """Its word counts, whatever its reference answer says."""
    case = {"question": "Where is the government?", "documents": ["files/india.pdf"], "facts": ["Delhi"]}
    case |= {"case_id": "c", "status": "accepted", "answer": "Delhi", "confidence": 1.0, "is_answerable_label": label}
    traffic.lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows([case]))
    traffic.log(traffic.answer("a"))
    Evaluator(lake, EvaluatorSettings(metrics=("is_answerable",)), clock=lambda: NOW).run_once()
    assert traffic.values("is_answerable") == {"a": value}


def test_one_deployments_broken_table_does_not_stop_the_others(
    evaluator: Evaluator, traffic: Any, other_traffic: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The failure is in the result and in the log with the deployment's name; mended, the next pass does the rest."""
    traffic.log(traffic.answer("a"))
    other_traffic.log(other_traffic.answer("b"))
    folder = Path(traffic.lake.table(SCORES, other_traffic.deployment).uri)
    broken = folder / "_delta_log" / "00000000000000000000.json"
    broken.parent.mkdir(parents=True)
    broken.write_text("no JSON")
    with caplog.at_level(logging.ERROR):
        result = evaluator.run_once()
    assert (result.deployments, result.scored) == (1, 2)
    assert [failure.deployment for failure in result.failures] == [other_traffic.deployment]
    assert [record.deployment for record in caplog.records] == [other_traffic.deployment]
    assert traffic.values(PRESENT) == {"a": 1.0}
    broken.unlink()
    assert evaluator.run_once() == PassResult(deployments=2, scored=2)


@pytest.mark.parametrize("contested", [GROUND_TRUTH, SCORES], ids=lambda spec: spec.name)
def test_of_two_evaluators_at_once_one_does_the_work(
    contested: TableSpec, lake: Lake, traffic: Any, other_traffic: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second evaluator that commits while the first is about to: no row twice, no failure, nothing left undone."""
    for each in (traffic, other_traffic):
        each.log(each.answer("liked"), each.answer("same", 5))
        each.rate(each.signal("like", "liked"))
    first, second = (Evaluator(lake, EvaluatorSettings(), clock=lambda: NOW) for _ in range(2))
    append, results = Table.append, []

    def append_after_the_other(table: Table, rows: Any, *args: Any, **kwargs: Any) -> None:
        if rows.num_rows and table.spec is contested:
            monkeypatch.undo()
            results.append(second.run_once())
        append(table, rows, *args, **kwargs)

    monkeypatch.setattr(Table, "append", append_after_the_other)
    results.append(first.run_once())
    assert [result.failures for result in results] == [(), ()]
    assert (sum(result.scored for result in results), sum(result.cases for result in results)) == (14, 2)
    for each in (traffic, other_traffic):
        assert len(each.cases()) == 1
        assert len({row["score_id"] for row in each.scores()}) == len(each.scores()) == 7


def test_a_large_backlog_is_scored_in_slices(
    evaluator: Evaluator, traffic: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More answers than are held as objects at once are all scored, in one commit."""
    monkeypatch.setattr("evaluator.service.new_scores.answers_at_once", lambda _: 3)
    traffic.log(*(traffic.answer(str(number), number) for number in range(10)))
    assert evaluator.run_once().scored == 20
    assert len(traffic.values(PRESENT)) == 10


def test_calls_without_a_deployment_are_left_alone(evaluator: Evaluator, lake: Lake, traffic: Any) -> None:
    """Global routes answer nobody."""
    unassigned = type(traffic)(lake, None)
    unassigned.log(unassigned.answer("route", kind="route"))
    assert evaluator.run_once() == PassResult()


def test_a_pass_that_is_stopped_leaves_the_rest_to_the_next(
    evaluator: Evaluator, traffic: Any, other_traffic: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between deployments and between slices of one's answers, whose scores are kept; each answer is scored once."""
    monkeypatch.setattr("evaluator.service.new_scores.answers_at_once", lambda _: 1)
    for each in (traffic, other_traffic):
        each.log(each.answer("early", -5))
    assert evaluator.run_once().scored == 4
    for each in (traffic, other_traffic):
        each.log(*(each.answer(str(number), number) for number in range(3)))
    asked = iter([False, True])
    assert evaluator.run_once(lambda: next(asked, True)).scored == 0
    assert len(traffic.scores()) + len(other_traffic.scores()) == 4
    asked = iter([False, False, False, True])
    assert evaluator.run_once(lambda: next(asked, True)).scored == 4
    assert len(traffic.scores()) + len(other_traffic.scores()) == 8
    asked = iter([*[False] * 4, True])
    assert evaluator.run_once(lambda: next(asked, True)) == PassResult(deployments=1, scored=2)
    assert evaluator.run_once() == PassResult(deployments=2, scored=6)
    assert len(traffic.scores()) == len(other_traffic.scores()) == 8
    assert evaluator.run_once().scored == 0


def test_only_the_metrics_that_are_set_are_scored(lake: Lake, traffic: Any) -> None:
    """The settings name the metrics."""
    traffic.log(traffic.answer("a"))
    Evaluator(lake, EvaluatorSettings(metrics=[PRESENT]), clock=lambda: NOW).run_once()
    assert {row["metric"] for row in traffic.scores()} == {PRESENT}
    assert lake.table(USER_SIGNALS, "rag").version() is None
    assert lake.table(GROUND_TRUTH, "rag").version() is None


def test_what_an_answer_took_is_scored_even_where_its_words_are_not_known(lake: Lake, traffic: Any) -> None:
    """A secured key hides the text and not the time; what was not measured is null."""
    secured = {"answer": None, "question": None, "contexts": None, "contexts_origin": None, "finish_reason": None}
    traffic.log(
        traffic.answer("a", duration_ms=1500, price=0.25),
        traffic.answer("secured", duration_ms=500, **secured),
        traffic.answer("old"),
    )
    settings = EvaluatorSettings(metrics=["latency", "cost", "answer_length", "citation_validity"])
    Evaluator(lake, settings, clock=lambda: NOW).run_once()
    assert traffic.values("latency") == {"a": 1.5, "secured": 0.5, "old": "no_duration"}
    assert traffic.values("cost") == {"a": 0.25, "secured": "no_price", "old": "no_price"}
    assert traffic.values("answer_length") == {"a": 6.0, "secured": "no_answer", "old": 6.0}
    assert traffic.values("citation_validity") == {"a": "no_citations", "secured": "no_answer", "old": "no_citations"}


def test_calls_of_tools_are_scored_alone_and_against_a_case(lake: Lake, traffic: Any) -> None:
    """The calls of the turn stand in the row; a case says which ones its question needs."""
    calls = [
        {"id": str(n), "name": "search", "arguments": '{"city": "Delhi"}', "result": None, "is_error": n == 1}
        for n in range(2)
    ]
    case = {"case_id": "c", "question": "Where is the government?", "documents": ["files/india.pdf"], "facts": ["x"]}
    case |= {"status": "accepted", "answer": "Delhi", "confidence": 1.0}
    case |= {"tool_calls": [{"name": "search", "arguments": '{"city": "Delhi"}'}]}
    traffic.lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows([case]))
    traffic.log(traffic.answer("a", tool_calls=calls), traffic.answer("b", tool_calls=[]), traffic.answer("c"))
    names = ("tool_error_share", "repeated_tool_calls", "tool_call_count", "tool_names_f1", "tool_call_f1")
    Evaluator(lake, EvaluatorSettings(metrics=names), clock=lambda: NOW).run_once()
    assert {name: traffic.values(name) for name in names} == {
        "tool_error_share": {"a": 0.5, "b": "no_tool_calls", "c": "no_tool_calls"},
        "repeated_tool_calls": {"a": 0.5, "b": "no_tool_calls", "c": "no_tool_calls"},
        "tool_call_count": {"a": 2.0, "b": 0.0, "c": "no_tool_calls"},
        "tool_names_f1": {"a": 1.0, "b": 0.0, "c": "no_tool_calls"},
        "tool_call_f1": {"a": 1.0, "b": 0.0, "c": "no_tool_calls"},
    }


def test_a_combination_is_scored_and_stored_under_its_name(lake: Lake, traffic: Any) -> None:
    """Half of it is there: nothing was retrieved, and one of its parts is 0."""
    traffic.log(traffic.answer("a"), traffic.answer("b", chunks=[], contexts_origin="retrieval_stage"))
    quality = {"quality": {"faithfulness": 1, "empty_answer": 1}}
    Evaluator(lake, EvaluatorSettings(combinations=quality, metrics=["quality"]), clock=lambda: NOW).run_once()
    assert traffic.values("quality") == {"a": 1.0, "b": 0.5}


def test_cases_of_the_first_version_are_renewed_until_that_went_well(
    evaluator: Evaluator, traffic: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What failed once is done in the next pass, although the table has not changed; then not again."""
    traffic.log(traffic.answer("a"))
    traffic.rate(traffic.signal("like", "a"))
    evaluator.run_once()
    tries: list[int] = []

    def renew(*_: object) -> int:
        tries.append(len(tries))
        if len(tries) < 3:
            raise OSError("the store is away")
        return 0

    monkeypatch.setattr("evaluator.service.passes.renew_old_cases", renew)
    assert [len(evaluator.run_once().failures) for _ in range(5)] == [1, 1, 0, 0, 0]
    assert len(tries) == 3


def test_rows_that_come_again_are_not_scored_again(
    evaluator: Evaluator, traffic: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As to a pass that comes after a compaction and a vacuum: new answers are scored, each once."""
    traffic.log(traffic.answer("a"), traffic.answer("b", 1))
    evaluator.run_once()
    read = Table.read_since

    def again(table: Table, version: int | None, *given: Any, **named: Any) -> Change:
        return replace(read(table, None, *given, **named), repeats=version is not None)

    monkeypatch.setattr(Table, "read_since", again)
    traffic.log(traffic.answer("c", 2))
    assert evaluator.run_once().scored == 2
    ids = [row["score_id"] for row in traffic.scores()]
    assert len(set(ids)) == len(ids) == 6
