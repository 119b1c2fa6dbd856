"""Answers whose contexts stand in a model call that is logged later."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evaluator.service.passes import Evaluator, PassResult
from evaluator.settings import EvaluatorSettings
from lake.tables.lake import Lake
from lake.tables.table import Table

START = datetime(2026, 11, 20, 12, tzinfo=UTC)
KPRECISION = "faithfulness_kprecision"
CHUNK = "Delhi is the seat of government."


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def evaluator(lake: Lake, clock: Clock) -> Evaluator:
    return Evaluator(lake, EvaluatorSettings(), clock)


@pytest.fixture
def model(traffic: Any) -> Any:
    return type(traffic)(traffic.lake, "gpt-4o")


def parent(traffic: Any, clock: Clock, name: str, origin: str = "none", **columns: Any) -> dict[str, Any]:
    span = {"trace_id": "t" * 32, "span_id": f"span-{name}", "ingested_at": clock.now, "contexts_origin": origin}
    contexts = [{"text": "cited"}] if origin in ("cited", "prompt") else None
    row: dict[str, Any] = traffic.answer(name) | span | {"contexts": contexts} | columns
    return row


def child(model: Any, clock: Clock, name: str, text: str = CHUNK, number: int = 0, **columns: Any) -> dict[str, Any]:
    """The model call that the answer `name` was made with."""
    span = {"trace_id": "t" * 32, "span_id": f"model-{name}-{number}", "parent_span_id": f"span-{name}"}
    seen = {"is_entry": False, "ingested_at": clock.now, "contexts_origin": "prompt", "parent_deployment": "rag"}
    row: dict[str, Any] = model.answer(f"model-{name}-{number}", number, chunks=[text]) | span | seen | columns
    return row


@pytest.mark.parametrize("origin", ["none", "cited", "prompt"])
def test_an_answer_without_contexts_waits_for_its_model_call(
    origin: str, evaluator: Evaluator, traffic: Any, model: Any, clock: Clock
) -> None:
    """Others are scored at once; it is scored when the grace has ended, with the contexts that came meanwhile."""
    traffic.log(parent(traffic, clock, "late", origin), traffic.answer("other"))
    assert evaluator.run_once() == PassResult(deployments=1, scored=2)
    clock.wait(60)
    model.log(child(model, clock, "late"))
    assert evaluator.run_once().scored == 0
    clock.wait(60)
    assert evaluator.run_once().scored == 2
    assert traffic.values(KPRECISION) == {"other": 1.0, "late": 1.0}
    clock.wait(1000)
    assert evaluator.run_once() == PassResult(deployments=2)


def test_one_whose_model_call_never_comes_is_scored_without(evaluator: Evaluator, traffic: Any, clock: Clock) -> None:
    """After the grace it is what it would have been: no contexts."""
    traffic.log(parent(traffic, clock, "alone"))
    evaluator.run_once()
    assert traffic.values(KPRECISION) == {}
    clock.wait(121)
    evaluator.run_once()
    assert traffic.values(KPRECISION) == {"alone": "no_contexts"}


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param({"trace_id": None}, id="no-trace"),
        pytest.param({"span_id": None}, id="no-span"),
        pytest.param({"contexts_origin": None}, id="no-body"),
        pytest.param({"contexts_origin": "retrieval_stage", "contexts": [{"text": CHUNK}]}, id="contexts"),
        pytest.param({"contexts_origin": "child_call", "contexts": [{"text": CHUNK}]}, id="child-came-first"),
        pytest.param({"ingested_at": None}, id="no-arrival"),
        pytest.param({"ingested_at": START - timedelta(seconds=120)}, id="old"),
    ],
)
def test_what_cannot_get_contexts_or_has_some_does_not_wait(
    columns: dict[str, Any], evaluator: Evaluator, traffic: Any, clock: Clock
) -> None:
    """Without ids there is nothing to join by, and an answer that came long ago has waited."""
    traffic.log(parent(traffic, clock, "a", **columns))
    evaluator.run_once()
    assert set(traffic.values(KPRECISION)) == {"a"}


def test_the_last_model_call_with_usable_chunks_counts(
    evaluator: Evaluator, traffic: Any, model: Any, clock: Clock
) -> None:
    """Calls of other traces, calls without chunks, and chunks that are images say nothing."""
    traffic.log(parent(traffic, clock, "a"), parent(traffic, clock, "images", "cited"))
    model.log(
        child(model, clock, "a", "Mumbai is a port.", 0),
        child(model, clock, "a", CHUNK, 2),
        child(model, clock, "a", "no prompt", 3, contexts_origin="none"),
        child(model, clock, "a", "another trace", 4, trace_id="u" * 32),
        child(model, clock, "images", " "),
    )
    clock.wait(121)
    evaluator.run_once()
    assert traffic.values(KPRECISION) == {"a": 1.0, "images": 0.0}


def test_a_model_call_of_the_next_day_and_of_any_deployment_is_found(
    evaluator: Evaluator, traffic: Any, other_traffic: Any, clock: Clock
) -> None:
    """Midnight may lie between an answer's beginning and its model call."""
    before = datetime(2026, 11, 20, 23, 59, 59, tzinfo=UTC)
    after = before + timedelta(seconds=2)
    traffic.log(parent(traffic, clock, "a", requested_at=before, date=before.date()))
    other_traffic.log(child(other_traffic, clock, "a", requested_at=after, date=after.date()))
    clock.wait(121)
    evaluator.run_once()
    assert traffic.values(KPRECISION) == {"a": 1.0}


@pytest.mark.parametrize("calls", [["a"], ["a", "b"]], ids=["one-call", "two-in-one-trace"])
def test_a_model_behind_an_interceptor_is_joined_where_one_call_alone_can_have_made_it(
    calls: list[str], evaluator: Evaluator, traffic: Any, model: Any, clock: Clock
) -> None:
    """The span of the hop is not logged: the trace and the application's name identify it, unless there are two."""
    model.log(child(model, clock, "a", parent_span_id="span of a hop"))
    traffic.log(*(parent(traffic, clock, name) for name in calls))
    clock.wait(121)
    evaluator.run_once()
    expected = {"a": 1.0} if calls == ["a"] else dict.fromkeys(calls, "no_contexts")
    assert traffic.values(KPRECISION) == expected


def test_a_second_call_that_comes_within_the_grace_keeps_the_first_from_its_chunk(
    evaluator: Evaluator, traffic: Any, model: Any, clock: Clock
) -> None:
    """What the collector could not know when the first line came is known when the answer is scored."""
    model.log(child(model, clock, "b", parent_span_id="span of a hop"))
    traffic.log(parent(traffic, clock, "a"))
    evaluator.run_once()
    clock.wait(60)
    traffic.log(parent(traffic, clock, "b"))
    evaluator.run_once()
    clock.wait(121)
    evaluator.run_once()
    assert traffic.values(KPRECISION) == {"a": "no_contexts", "b": "no_contexts"}


@pytest.mark.slow
@pytest.mark.parametrize("first", ["child", "answer"])
@pytest.mark.parametrize("later", [0, 40, 59])
def test_a_chunk_behind_an_interceptor_waits_for_the_line_of_another_call(
    first: str, later: int, evaluator: Evaluator, traffic: Any, model: Any, clock: Clock
) -> None:
    """Parallel calls of one trace, the model call's line before the other's, which comes as late as half the grace."""
    if first == "answer":
        traffic.log(parent(traffic, clock, "a"))
        evaluator.run_once()
        # Its grace ends after the model call's line, and before that of the other call where this is late.
        clock.wait(90)
    model.log(child(model, clock, "b", parent_span_id="span of a hop"))
    if first == "child":
        traffic.log(parent(traffic, clock, "a"))
    evaluator.run_once()
    clock.wait(later)
    evaluator.run_once()
    traffic.log(parent(traffic, clock, "b"))
    for _ in range(5):
        clock.wait(31)
        evaluator.run_once()
    assert traffic.values(KPRECISION) == {"a": "no_contexts", "b": "no_contexts"}


def test_a_liked_answer_gets_no_facts_of_another_call_whose_line_comes_soon(
    evaluator: Evaluator, traffic: Any, model: Any, clock: Clock
) -> None:
    """A case is made at once and stays, so a model call behind an interceptor that has just come gives it no facts."""
    model.log(child(model, clock, "b", parent_span_id="span of a hop"))
    traffic.log(parent(traffic, clock, "a"))
    traffic.rate(traffic.signal("like", "a"))
    evaluator.run_once()
    traffic.log(parent(traffic, clock, "b"))
    evaluator.run_once()
    assert [case["facts"] for case in traffic.cases()] == [[]]


@pytest.mark.parametrize("comes", ["before", "after"])
def test_calls_that_follow_each_other_are_scored_with_their_own(
    comes: str, evaluator: Evaluator, traffic: Any, model: Any, clock: Clock
) -> None:
    """Their durations decide, whether the second call's line comes before the first answer is scored or after it."""
    begun = START - timedelta(minutes=5)
    for number, (name, text) in enumerate({"a": CHUNK, "b": "Harbours."}.items()):
        at = begun + timedelta(seconds=5 * number)
        hop = {"parent_span_id": f"hop of {name}", "requested_at": at + timedelta(milliseconds=100)}
        model.log(child(model, clock, name, text, **hop, duration_ms=50))
        if number and comes == "after":
            clock.wait(121)
            evaluator.run_once()
        traffic.log(parent(traffic, clock, name, requested_at=at, duration_ms=200))
    for _ in range(2):
        clock.wait(121)
        evaluator.run_once()
    assert traffic.values(KPRECISION) == {"a": 1.0, "b": 0.0}


def test_a_liked_answer_gets_its_facts_from_its_model_call(
    evaluator: Evaluator, traffic: Any, model: Any, clock: Clock
) -> None:
    """A case is made with the contexts that are there by then."""
    traffic.log(parent(traffic, clock, "a"))
    model.log(child(model, clock, "a"))
    traffic.rate(traffic.signal("like", "a"))
    evaluator.run_once()
    assert [case["facts"] for case in traffic.cases()] == [["Delhi is the seat of government"]]


def test_without_grace_nothing_waits(lake: Lake, traffic: Any, clock: Clock) -> None:
    """Grace 0 scores at once what is there."""
    traffic.log(parent(traffic, clock, "a"))
    Evaluator(lake, EvaluatorSettings(context_grace=0), clock).run_once()
    assert set(traffic.values(KPRECISION)) == {"a"}
    assert EvaluatorSettings(context_grace="2m").context_grace == 120


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_pass_that_breaks_off_at_its_commit_neither_loses_nor_repeats(
    moment: str, evaluator: Evaluator, traffic: Any, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The moment up to which answers have waited is part of the commit of their scores."""
    traffic.log(parent(traffic, clock, "a"))
    evaluator.run_once()
    clock.wait(121)
    with monkeypatch.context() as broken:
        broken.setattr(Table, "append", _breaking(Table.append, moment))
        assert len(evaluator.run_once().failures) == 1
    evaluator.run_once()
    clock.wait(121)
    evaluator.run_once()
    assert [row["event_id"] for row in traffic.scores()] == ["event-a"] * 2


def test_an_evaluator_that_was_away_takes_up_what_waited(lake: Lake, traffic: Any, clock: Clock) -> None:
    """The rows say what waits, so a new process finds it, hours later too."""
    traffic.log(parent(traffic, clock, "a"))
    Evaluator(lake, EvaluatorSettings(), clock).run_once()
    clock.wait(36_000)
    traffic.log(traffic.answer("b"))
    Evaluator(lake, EvaluatorSettings(), clock).run_once()
    assert set(traffic.values(KPRECISION)) == {"a", "b"}


def test_a_row_that_is_committed_while_a_pass_reads_is_scored_once(
    evaluator: Evaluator, traffic: Any, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow collector: its row says two minutes ago and comes after the pass has looked for what is new."""
    traffic.log(parent(traffic, clock, "a"))
    evaluator.run_once()
    written = clock.now + timedelta(seconds=1)
    clock.wait(121)
    read_since = Table.read_since

    def read_and_commit(table: Table, *args: Any, **kwargs: Any) -> Any:
        change = read_since(table, *args, **kwargs)
        monkeypatch.undo()
        traffic.log(parent(traffic, clock, "slow", ingested_at=written))
        return change

    monkeypatch.setattr(Table, "read_since", read_and_commit)
    for _ in range(3):
        evaluator.run_once()
        clock.wait(121)
    assert sorted(row["event_id"] for row in traffic.scores()) == ["event-a"] * 2 + ["event-slow"] * 2


steps = st.lists(
    st.one_of(
        st.tuples(st.just("answer"), st.integers(-90, 90)),
        st.tuples(st.just("wait"), st.sampled_from([-30, 1, 50, 119, 130])),
        st.tuples(st.just("pass"), st.sampled_from([0, 1])),
    ),
    min_size=3,
    max_size=9,
)


@pytest.mark.slow
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
def test_every_answer_is_scored_once_whatever_the_clocks_do(
    tmp_path_factory: pytest.TempPathFactory, traffic: Any, some: list[tuple[str, int]]
) -> None:
    """Collectors whose clocks are wrong, an evaluator's that is set back, two evaluators in turn: each answer once."""
    lake, clock = Lake(str(tmp_path_factory.mktemp("lake"))), Clock()
    mine = type(traffic)(lake, "rag")
    evaluators = [Evaluator(lake, EvaluatorSettings(), clock) for _ in range(2)]
    names = []
    for number, (step, amount) in enumerate(some):
        if step == "answer":
            names.append(f"{number}")
            written = clock.now + timedelta(seconds=amount)
            mine.log(parent(mine, clock, f"{number}", ingested_at=written))
        elif step == "wait":
            clock.wait(amount)
        else:
            assert evaluators[amount].run_once().failures == ()
    clock.wait(1000)
    for evaluator in evaluators:
        assert evaluator.run_once().failures == ()
    scored = [row["event_id"] for row in mine.scores() if row["metric"] == KPRECISION]
    assert sorted(scored) == sorted(f"event-{name}" for name in names)


def _breaking(append: Callable[..., None], moment: str) -> Callable[..., None]:
    def broken(table: Table, *args: Any, **kwargs: Any) -> None:
        if moment == "after":
            append(table, *args, **kwargs)
        raise OSError("the store went away")

    return broken


def test_a_log_without_news_is_not_read_again(
    evaluator: Evaluator, traffic: Any, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once no answer waits; one that comes then is scored as any other, at once or after its grace."""
    traffic.log(parent(traffic, clock, "first"), traffic.answer("other"))
    evaluator.run_once()
    for _ in range(3):
        clock.wait(200)
        evaluator.run_once()
    read = []
    rows_of = Table.read
    monkeypatch.setattr(Table, "read", lambda table, *given: read.append(table.spec.name) or rows_of(table, *given))
    for _ in range(3):
        clock.wait(200)
        assert evaluator.run_once() == PassResult(deployments=1)
    assert "parsed_logs" not in read
    traffic.log(parent(traffic, clock, "second"), traffic.answer("third", 1))
    assert evaluator.run_once().scored == 2
    clock.wait(200)
    assert evaluator.run_once().unscored == {"no_contexts": 1}
    assert set(traffic.values(KPRECISION)) == {"first", "other", "second", "third"}


def test_an_answer_that_calls_tools_waits_for_the_lines_of_the_tools(
    evaluator: Evaluator, traffic: Any, clock: Clock
) -> None:
    """Also one whose contexts are known: whether a call failed stands in another line."""
    traffic.log(
        parent(traffic, clock, "a", "retrieval_response", contexts=[{"text": CHUNK}], tool_calls_origin="state")
    )
    assert evaluator.run_once().scored == 0
    clock.wait(121)
    assert evaluator.run_once().scored > 0
