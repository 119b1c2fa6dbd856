"""Limits and judges that an error has stopped: like streams, they are told, learn anew, and hold up no other."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from lake.spec.alert_vocabulary import LimitKind
from lake.spec.metric_names import quoted_name
from lake.spec.schemas import ALERTS
from lake.tables.lake import Lake
from monitor.detect.limits import no_data
from monitor.detect.limits.callers import Callers
from monitor.detect.limits.minute_counts import MinuteCounts
from monitor.detect.limits.shares import ShareLimit
from monitor.detect.regression.judge_drift.detector import JudgeDriftDetector
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from tests.exposition import without_installation

METRIC, OTHER = "faithfulness_kprecision", "other"
SHARES = [LimitKind.ERRORS, LimitKind.EMPTY_ANSWERS, LimitKind.TOOL_ERRORS, LimitKind.REFUSALS, LimitKind.UNSCORED]


def broken(*_: Any, **__: Any) -> Any:
    raise ValueError("a number that cannot be")


def state_of(monitor: Monitor) -> Any:
    monitor.refresh()
    assert monitor.snapshot is not None
    return monitor.snapshot.deployments["rag"]


def all_limits_exceeded(rows: Any, clock: Any) -> None:
    """Requests and tools that fail, answers that are empty, refusals, and answers that a judge could not score."""
    at = [clock() - timedelta(minutes=1 + n % 50) for n in range(200)]
    rows.logs("rag", *({"requested_at": one, "date": one.date(), "status": 500} for one in at))
    call = {"id": "1", "name": "get", "arguments": "{}", "result": "", "is_error": True}
    empty = {"answer": "", "answer_kind": "empty", "finish_reason": "stop", "is_entry": True, "tool_calls": [call]}
    rows.logs("rag", *({"requested_at": one, "date": one.date()} | empty for one in at))
    rows.scores("rag", *({"requested_at": one, "metric": "refusal", "value": 1.0} for one in at))
    rows.scores("rag", *({"requested_at": one, "judge": "llm", "reason": "judge_failed"} for one in at))


def open_limits(lake: Lake) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in sorted(lake.table(ALERTS, "rag").read().to_pylist(), key=lambda row: row["changed_at"]):
        found.setdefault(row["metric"], []).append(row["change"])
    return found


@pytest.mark.parametrize("kind", SHARES)
@pytest.mark.parametrize("step", ["look", "add"])
def test_a_limit_in_which_an_error_arises_stops_alone_and_learns_anew(
    make_monitor: Callable[[], Monitor],
    lake: Lake,
    rows: Any,
    clock: Any,
    get: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    kind: LimitKind,
    step: str,
) -> None:
    """The others fire; it is told; at the next refresh it fires by the same rows, and the message is gone."""
    all_limits_exceeded(rows, clock)
    monitor, look, add = make_monitor(), ShareLimit.look, MinuteCounts.add
    with monkeypatch.context() as failing:
        if step == "look":
            failing.setattr(
                ShareLimit, "look", lambda one, *given: broken() if one._kind == kind else look(one, *given)
            )
        else:

            def fails(one: MinuteCounts, *given: Any) -> None:
                mine = monitor._ingest.limits.counts_of("rag").minutes
                return broken() if mine.get(kind) is one else add(one, *given)

            failing.setattr(MinuteCounts, "add", fails)
        for _ in range(3):
            state = state_of(monitor)
            clock.advance(seconds=1)
    assert state.stopped_limits == {kind: "ValueError('a number that cannot be')"}
    assert set(open_limits(lake)) == set(SHARES) - {kind}
    (problem,) = monitor.health().problems
    assert problem.startswith(f"{kind} of 'rag' is a limit that is not checked: ValueError")
    page, overview, metrics = (
        without_installation(get(create_app(monitor), path).text) for path in ("/deployment?name=rag", "/", "/metrics")
    )
    assert "by an error: ValueError(&#39;a number that cannot be&#39;). It learns again from its rows" in page
    assert f"limit {quoted_name(kind)} stopped by an error" in overview.replace("<wbr>", "")
    assert f'dialwatch_stream_stopped{{deployment="rag",kind="floor",metric="{kind}"}} 1.0' in metrics
    clock.advance(minutes=1)
    state = state_of(monitor)
    assert (state.stopped_limits, monitor.health().problems) == ({}, ())
    assert open_limits(lake) == {one: ["firing"] for one in SHARES}
    assert {one: reading.share for one, reading in state.limits.items() if one in SHARES} == {
        one: reading.share for one, reading in state_of(make_monitor()).limits.items() if one in SHARES
    }


def test_an_open_alert_of_a_limit_that_stopped_stays_open_also_after_a_restart(
    make_monitor: Callable[[], Monitor], lake: Lake, rows: Any, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state is saved without its counts, which are learned from all rows then."""
    all_limits_exceeded(rows, clock)
    monitor = make_monitor()
    state_of(monitor)
    with monkeypatch.context() as failing:
        failing.setattr(ShareLimit, "look", broken)
        for _ in range(3):
            clock.advance(hours=2)
            rows.logs("rag", {"requested_at": clock(), "date": clock().date()})
            state = state_of(monitor)
    assert set(state.stopped_limits) == set(SHARES)
    assert all(state.limits[kind].active for kind in SHARES)
    restarted = make_monitor()
    state = state_of(restarted)
    assert restarted.failures == {}
    assert state.stopped_limits == {}
    assert open_limits(lake) == {one: ["firing"] for one in SHARES}
    assert state.limits[LimitKind.ERRORS].share is not None


@pytest.mark.parametrize(("place", "at"), [("count", "model"), ("look", "rag")])
def test_failed_calls_in_which_an_error_arises_are_counted_anew(
    make_monitor: Callable[[], Monitor],
    lake: Lake,
    rows: Any,
    clock: Any,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    at: str,
) -> None:
    """It is told of the deployment where it arises; the open alert of the caller stays, and its share is the same."""
    times = [clock() - timedelta(minutes=1 + n % 50) for n in range(200)]
    rows.logs("rag", *({"requested_at": one, "date": one.date()} for one in times))
    calls = [{"requested_at": one, "date": one.date(), "parent_deployment": "rag"} for one in times]
    rows.logs("model", *(call | {"status": 400, "is_entry": False} for call in calls))
    rows.logs("model", *({"requested_at": one, "date": one.date()} for one in times for _ in range(3)))
    monitor, look = make_monitor(), ShareLimit.look
    assert state_of(monitor).limits[LimitKind.CHILD_ERRORS].share == 1.0
    with monkeypatch.context() as failing:
        if place == "look":
            failing.setattr(
                ShareLimit,
                "look",
                lambda one, *given: broken() if one._kind == LimitKind.CHILD_ERRORS else look(one, *given),
            )
        else:
            failing.setattr(Callers, "count", broken)
        for _ in range(3):
            clock.advance(minutes=1)
            rows.logs("model", calls[0] | {"requested_at": clock(), "date": clock().date(), "is_entry": False})
            state = state_of(monitor)
    assert state.limits[LimitKind.CHILD_ERRORS].active
    assert monitor.snapshot is not None
    assert list(monitor.snapshot.deployments[at].stopped_limits) == [LimitKind.CHILD_ERRORS]
    clock.advance(minutes=2)
    state = state_of(monitor)
    assert monitor.health().problems == ()
    clock.advance(minutes=2)
    assert state_of(monitor).limits == state_of(make_monitor()).limits
    assert state.limits[LimitKind.CHILD_ERRORS].share == pytest.approx(48 / 51)
    assert open_limits(lake)[LimitKind.CHILD_ERRORS] == ["firing"]


def test_silence_that_cannot_be_judged_of_one_deployment_is_judged_of_the_others(
    make_monitor: Callable[[], Monitor], lake: Lake, rows: Any, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two fall silent while a third does not; one of them is stopped by an error, and fires when it works again."""
    for name, until in (("rag", 40), ("gone", 40), ("busy", 0)):
        at = [clock() - timedelta(hours=hour) for hour in range(24 * 20, until, -1)]
        rows.logs(name, *({"requested_at": one, "date": one.date()} for one in at))
    monitor, usual_pause = make_monitor(), no_data.RequestTimes.usual_pause

    def fails(one: Any) -> Any:
        return broken() if one is monitor._ingest.limits.counts_of("rag").request_times else usual_pause(one)

    def fired(name: str) -> list[str]:
        return [row["metric"] for row in lake.table(ALERTS, name).read().to_pylist()]

    with monkeypatch.context() as failing:
        failing.setattr(no_data.RequestTimes, "usual_pause", fails)
        for _ in range(3):
            state = state_of(monitor)
            clock.advance(minutes=6)
        assert list(state.stopped_limits) == [LimitKind.NO_DATA]
        assert (fired("gone"), fired("rag")) == (["no_data"], [])
    for _ in range(3):
        clock.advance(minutes=30)
        state = state_of(monitor)
    assert state.stopped_limits == {}
    assert fired("rag") == ["no_data"]


def test_a_judge_in_which_an_error_arises_stops_alone_and_learns_anew(
    make_monitor: Callable[[], Monitor], lake: Lake, rows: Any, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The alert that a judge has changed stays open, although the other judge, which has not, is scored meanwhile."""

    def round_of(metric: str, at: Any, mean: float) -> None:
        about = {"metric": metric, "metric_version": "1", "deployment": "rag", "draw": 0, "scored_at": at}
        about |= {"date": at.date(), "direction": "up", "low": 0.0, "high": 1.0, "value": mean}
        rows.anchors("rag", *(about | {"event_id": f"a{n}"} for n in range(80)))

    for metric in (METRIC, OTHER):
        rows.hours("rag", 24 * 3, lambda _: 0.8, metric)
        for day in range(12):
            round_of(metric, clock() - timedelta(days=12 - day), 0.8 if day < 5 or metric == OTHER else 0.5)
    monitor = make_monitor()
    before = state_of(monitor).judges
    assert before[METRIC].active
    shift = JudgeDriftDetector.shift

    def fails(one: JudgeDriftDetector, *given: Any) -> Any:
        mine = [judge for key, judge in monitor._ingest.judges._judges.items() if key.metric == METRIC]
        return broken() if any(judge.detector is one for judge in mine) else shift(one, *given)

    round_of(OTHER, clock(), 0.8)
    with monkeypatch.context() as failing:
        failing.setattr(JudgeDriftDetector, "shift", fails)
        state = state_of(monitor)
        assert list(state.stopped_judges) == [METRIC]
        assert state.judges.keys() == {OTHER}
        assert any("is not watched for a judge that changes" in problem for problem in monitor.health().problems)
    state = state_of(monitor)
    assert (state.stopped_judges, state.judges[METRIC]) == ({}, before[METRIC])
    assert set(open_limits(lake)[LimitKind.JUDGE_DRIFT]) == {"firing"}
