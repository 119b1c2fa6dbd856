"""Contexts in the prompts of models behind interceptors: the parent span of such a call is a hop that is not logged."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lake.queries.child_contexts import ChildContexts
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


class Trace:
    """The calls of one trace of Core 0.25: spans are numbered, an interceptor's hop has one and no row."""

    def __init__(self, name: str = "t") -> None:
        self.name = name
        self.rows: list[dict[str, Any]] = []
        self.calls: dict[str, datetime] = {}

    def application(self, span: str, minute: float = 0, deployment: str = "rag", **columns: Any) -> None:
        self._add(span, minute, {"deployment": deployment, "contexts_origin": "none", **columns})
        if deployment == "rag":
            self.calls[span] = NOON + timedelta(minutes=minute)

    def model(self, parent_span: str, minute: float, owner: str, parent: str | None = "rag", **columns: Any) -> None:
        """A call to a model with chunks of `owner` in its prompt."""
        seen = {"deployment": "gpt-guarded", "parent_deployment": parent, "parent_span_id": parent_span}
        prompt = {"contexts_origin": "prompt", "contexts": [{"text": owner}]}
        self._add(f"model-{len(self.rows)}", minute, seen | prompt | columns)

    def write(self, lake: Lake) -> None:
        for row in self.rows:
            lake.table(PARSED_LOGS, row["deployment"]).append(PARSED_LOGS.rows([row]))

    def found(self, lake: Lake, deployment: str = "rag") -> dict[str, str]:
        asked = {(self.name, span): at for span, at in self.calls.items()}
        of_each = ChildContexts(lake).of(asked, deployment)
        return {span: contexts[0]["text"] for (_, span), contexts in of_each.items()}

    def _add(self, span: str, minute: float, columns: dict[str, Any]) -> None:
        at = NOON + timedelta(minutes=minute)
        ids = {"event_id": f"{self.name}-{span}", "trace_id": self.name, "span_id": span}
        self.rows.append(ids | {"date": at.date(), "requested_at": at} | columns)


def test_the_only_call_of_its_deployment_in_a_trace_gets_them(lake: Lake) -> None:
    """The last one's, as where the span decides; calls of other traces and of other applications have no part."""
    trace, other = Trace(), Trace("u")
    trace.application("a")
    trace.model("hop-1", 1, "first")
    trace.model("hop-2", 2, "last")
    trace.application("b", deployment="bot")
    trace.model("hop-3", 3, "bot", parent="bot")
    other.application("a")
    trace.write(lake)
    other.write(lake)
    assert trace.found(lake) == {"a": "last"}
    assert other.found(lake) == {}


def test_a_span_that_names_its_parent_counts_before_all_else(lake: Lake) -> None:
    """A model that was called directly, then one behind an interceptor: the first is this call's beyond doubt."""
    trace = Trace()
    trace.application("a")
    trace.model("a", 1, "direct")
    trace.model("hop", 2, "behind a hop")
    trace.write(lake)
    assert trace.found(lake) == {"a": "direct"}


def test_a_span_that_names_its_parent_counts_also_beside_a_call_without_children(lake: Lake) -> None:
    """Another call of the trace that is looked after changes nothing for the one whose child is known."""
    trace = Trace()
    trace.application("a", execution_path=["rag"])
    trace.application("b", execution_path=["agent", "rag"])
    trace.model("a", 1, "direct", execution_path=["rag", "gpt-guarded"])
    trace.model("hop", 2, "behind a hop", execution_path=["rag", "pii-in", "gpt-guarded"])
    trace.write(lake)
    assert trace.found(lake) == {"a": "direct"}


BOTH: Callable[[Trace], None] = lambda trace: trace.application("b", 0.5)  # noqa: E731


@pytest.mark.parametrize(
    "more",
    [
        pytest.param(BOTH, id="two-calls-in-parallel"),
        pytest.param(lambda trace: trace.application("b", 0.5, span_id=None), id="one-without-a-span"),
        pytest.param(lambda trace: trace.application("b", 4, kind="route"), id="one-of-another-kind-by-a-wrong-clock"),
    ],
)
def test_of_two_calls_that_can_have_made_it_neither_gets_it(lake: Lake, more: Callable[[Trace], None]) -> None:
    """Nothing in the log distinguishes parallel calls of one trace."""
    trace = Trace()
    trace.application("a")
    more(trace)
    trace.calls.pop("b", None)
    trace.model("hop", 1, "a or b")
    trace.write(lake)
    assert trace.found(lake) == {}


def test_paths_tell_two_calls_apart(lake: Lake) -> None:
    """A person's own call and that of an agent in one trace: the child's execution path begins with its parent's."""
    trace = Trace()
    trace.application("a", execution_path=["rag"])
    trace.application("b", execution_path=["agent", "rag"])
    trace.model("hop", 1, "b's", execution_path=["agent", "rag", "pii-in", "gpt-guarded"])
    trace.write(lake)
    assert trace.found(lake) == {"b": "b's"}


MINUTE_MS = 60_000


@pytest.mark.parametrize("logged", [("a",), ("b",), ("a", "b")], ids="-and-".join)
def test_times_tell_calls_of_one_trace_apart_that_follow_each_other(lake: Lake, logged: tuple[str, ...]) -> None:
    """Each gets its own, and none that of a call that began after it had ended, be that one logged or not."""
    trace = Trace()
    for span, minute in [("a", 0), ("b", 2)]:
        if span in logged:
            trace.application(span, minute, duration_ms=MINUTE_MS)
        trace.model(f"hop-{span}", minute + 0.5, f"{span}'s", duration_ms=MINUTE_MS // 4)
    trace.write(lake)
    assert trace.found(lake) == {span: f"{span}'s" for span in logged}


@pytest.mark.parametrize(
    ("begun", "ended"),
    [
        pytest.param(1, None, id="began-after"),
        pytest.param(59.5 / 60, 62 / 60, id="began-before-and-ended-after"),
        pytest.param(60.5 / 60, 60.6 / 60, id="began-a-little-after"),
    ],
)
def test_a_model_call_that_outlasts_a_call_is_not_its_own(lake: Lake, begun: float, ended: float | None) -> None:
    """It is that of a call of the trace that goes on and is not logged yet."""
    trace = Trace()
    trace.application("a", 0, duration_ms=MINUTE_MS - 1)
    duration = None if ended is None else round((ended - begun) * MINUTE_MS)
    trace.model("hop", begun, "another's", duration_ms=duration)
    trace.write(lake)
    assert trace.found(lake) == {}


@pytest.mark.parametrize("duration", [None, -1, 2**62])
def test_a_call_whose_end_is_not_known_can_have_made_what_began_in_an_hour(lake: Lake, duration: int | None) -> None:
    """Beside another it keeps both from a chunk, and alone it gets its own; a number that cannot be is not believed."""
    trace, alone = Trace(), Trace("u")
    trace.application("a", 0, duration_ms=MINUTE_MS)
    trace.application("b", 4, duration_ms=duration)
    trace.model("hop", 0.5, "a's")
    alone.application("a", 0, duration_ms=duration)
    alone.model("hop", 50, "a's", duration_ms=duration)
    trace.write(lake)
    alone.write(lake)
    assert trace.found(lake) == {}
    assert alone.found(lake) == {"a": "a's"}


@pytest.mark.parametrize("wait", [0, 60])
def test_a_model_call_waits_for_the_row_of_another_call(lake: Lake, wait: float) -> None:
    """Its parent is found by the application's name only after the wait; a span that names its parent needs none."""
    now = [NOON]
    children = ChildContexts(lake, timedelta(seconds=wait), lambda: now[0])
    trace, direct = Trace(), Trace("u")
    trace.application("a")
    trace.model("hop", 0.5, "a's", ingested_at=NOON)
    direct.application("a")
    direct.model("a", 0.5, "a's", ingested_at=NOON)
    trace.write(lake)
    direct.write(lake)
    asked = {("t", "a"): NOON, ("u", "a"): NOON}
    assert set(children.of(asked, "rag")) == ({("u", "a")} if wait else set(asked))
    now[0] += timedelta(seconds=59)
    children.forget()
    assert set(children.of(asked, "rag")) == ({("u", "a")} if wait else set(asked))
    now[0] += timedelta(seconds=1)
    assert set(children.of(asked, "rag")) == ({("u", "a")} if wait else set(asked))
    children.forget()
    assert set(children.of(asked, "rag")) == set(asked)


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param({"parent": None}, id="an-interceptor-s-own-call"),
        pytest.param({"execution_path": ["proj", "pii-in", "gpt-a"]}, id="an-interceptor-s-own-call-of-0.18"),
        pytest.param({"execution_path": ["proj", "rag", "gpt-guarded"]}, id="directly-by-a-call-that-is-not-logged"),
        pytest.param({"contexts_origin": "none"}, id="no-chunks"),
        pytest.param({"trace_id": None}, id="no-trace"),
        pytest.param({"minute": -1}, id="begun-before"),
        pytest.param({"minute": 61}, id="begun-an-hour-later"),
        pytest.param({"parent": "bot"}, id="another-application-s"),
        pytest.param({"parent_span": "b"}, id="another-call-s-by-its-span"),
    ],
)
def test_what_is_not_a_calls_own_is_not_given_to_it(lake: Lake, columns: dict[str, Any]) -> None:
    """Not what an interceptor asked by itself, and not what another call made, be it logged or not."""
    trace = Trace()
    trace.application("a", execution_path=["proj", "rag"])
    trace.application("b", deployment="bot", execution_path=["proj", "bot"])
    path = {"execution_path": ["proj", "rag", "pii-in", "gpt-guarded"]}
    call: dict[str, Any] = {"parent_span": "hop", "minute": 1, "owner": "another's"}
    trace.model(**(call | path | columns))
    trace.write(lake)
    assert trace.found(lake) == {}


def test_without_a_deployment_only_spans_are_looked_at(lake: Lake) -> None:
    """Who does not say whose calls they are gets what the spans say."""
    trace = Trace()
    trace.application("a")
    trace.model("hop", 1, "a's")
    trace.write(lake)
    assert ChildContexts(lake).of({("t", "a"): NOON}) == {}


CALLS = st.lists(
    st.fixed_dictionaries(
        {
            "minute": st.integers(0, 90),
            "path": st.sampled_from([None, ["rag"], ["agent", "rag"]]),
            "asked": st.booleans(),
            "children": st.lists(
                st.tuples(st.sampled_from(["direct", "hop", "two hops", "interceptor"]), st.integers(0, 55)), max_size=3
            ),
        }
    ),
    min_size=1,
    max_size=3,
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CALLS, st.randoms(use_true_random=False))
def test_no_call_gets_a_chunk_of_another(
    tmp_path_factory: pytest.TempPathFactory, calls: list[dict[str, Any]], random: Any
) -> None:
    """Any calls in one trace, any children, any order of rows; and the only call of a trace gets its own."""
    lake, trace = Lake(str(tmp_path_factory.mktemp("lake"))), Trace()
    own: dict[str, list[tuple[bool, int, str]]] = {}
    for number, call in enumerate(calls):
        span, path = f"span-{number}", call["path"]
        trace.application(span, call["minute"], execution_path=path)
        own[span] = []
        for place, (kind, later) in enumerate(call["children"]):
            hops = {"direct": [], "hop": ["i1"], "two hops": ["i1", "i2"], "interceptor": ["i1"]}[kind]
            parent = None if kind == "interceptor" else "rag"
            text = f"{span}/{place}" if parent else "an interceptor's"
            whole = path and [*path, *hops, "gpt-guarded"]
            parent_span = f"hop-{number}-{place}" if hops else span
            trace.model(parent_span, call["minute"] + later, text, parent=parent, execution_path=whole)
            if parent:
                # A row's number breaks ties of time, as its event id does.
                own[span].append((not hops, later, f"t-model-{len(trace.rows) - 1}\0{text}"))
    random.shuffle(trace.rows)
    trace.write(lake)
    trace.calls = {
        span: at
        for (span, at), call in zip(trace.calls.items(), calls, strict=True)
        if call["asked"] or len(calls) == 1
    }
    found = trace.found(lake)
    for span, text in found.items():
        assert text.partition("/")[0] == span
    for span in trace.calls:
        if any(is_direct for is_direct, *_ in own[span]) or (len(calls) == 1 and own[span]):
            best = max(own[span])
            assert found[span] == best[2].partition("\0")[2]


SEQUENCE = st.lists(
    st.tuples(st.integers(2, 120), st.integers(1, 600), st.lists(st.integers(0, 999), max_size=2, unique=True)),
    min_size=1,
    max_size=4,
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SEQUENCE, st.sets(st.integers(0, 3)))
def test_calls_that_follow_each_other_get_their_own_whoever_is_logged(
    tmp_path_factory: pytest.TempPathFactory, calls: list[tuple[int, int, list[float]]], unlogged: set[int]
) -> None:
    """A pause of two seconds or more, any durations, some calls not logged yet: each that is gets its last chunk."""
    lake, trace = Lake(str(tmp_path_factory.mktemp("lake"))), Trace()
    own: dict[str, list[tuple[int, str]]] = {}
    at = 0
    for number, (pause, seconds, children) in enumerate(calls):
        at += pause * 1000
        span = f"span-{number}"
        if number not in unlogged:
            own[span] = []
            trace.application(span, at / MINUTE_MS, duration_ms=seconds * 1000)
        for place, part in enumerate(children):
            begun = at + part * seconds
            ended = at + seconds * 1000
            trace.model(f"hop-{number}-{place}", begun / MINUTE_MS, f"{span}/{place}", duration_ms=ended - begun)
            if number not in unlogged:
                own[span].append((begun, f"{span}/{place}"))
        at += seconds * 1000
    trace.write(lake)
    assert trace.found(lake) == {span: max(some)[1] for span, some in own.items() if some}
