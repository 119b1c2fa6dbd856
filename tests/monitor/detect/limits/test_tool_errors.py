"""Limit on calls of tools that fail: which calls count, when it fires, and which tool it names."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from lake.spec.alert_vocabulary import AlertEvent, LimitKind
from lake.spec.schemas import PARSED_LOGS
from monitor.detect.limits import FailedTool, LastChange, Limits, LimitSettings
from monitor.detect.limits.named_minutes import NamedMinutes
from monitor.detect.limits.tool_minutes import counted_calls
from monitor.detect.stats.requests import LOG_COLUMNS, LOG_EXPRESSIONS, RequestStats
from monitor.detect.stats.tools import called_tools

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
FAILED, FINE, UNKNOWN = True, False, None


def call(name: str | None, is_error: bool | None) -> dict[str, Any]:
    return {"id": "1", "name": name, "arguments": "{}", "result": "x" * 9, "is_error": is_error}


def turn(ago: int, *calls: dict[str, Any], **columns: Any) -> dict[str, Any]:
    usual = {"status": 200, "is_entry": True, "answer_kind": "text", "answer": "Yes."}
    return usual | {"requested_at": NOW - ago * MINUTE, "tool_calls": list(calls)} | columns


def read(rows: Sequence[dict[str, Any]]) -> pa.Table:
    return pa.dataset.dataset(PARSED_LOGS.rows(rows)).to_table(columns=LOG_EXPRESSIONS)


def stats_rows(*rows: dict[str, Any]) -> pa.Table:
    return PARSED_LOGS.rows(rows).select(LOG_COLUMNS)


def limits_of(rows: Sequence[dict[str, Any]], parts: int = 1, **settings: Any) -> Limits:
    limits = Limits(LimitSettings(minimum_requests=20, **settings))
    for part in range(parts):
        limits.add_logs("agent", read(rows[part::parts]), NOW)
    return limits


def outage() -> list[dict[str, Any]]:
    """An hour in which `search` failed for 20 minutes, twice in three of its calls, and `order` never."""
    rows = []
    for ago in range(60, 0, -1):
        is_out = 20 < ago <= 40
        some = [call("search", FAILED if is_out else FINE)] * 2 + [call("search", FINE), call("order", FINE)]
        rows.append(turn(ago, *some))
    return rows


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_a_tool_that_fails_fires_and_is_named(parts: int) -> None:
    """With how often it failed in the window, in whatever portions rows come; it is over at half the limit."""
    begin, end = limits_of(outage(), parts).look({}, NOW)[0]
    assert (begin.kind, begin.change, end.change) == (LimitKind.TOOL_ERRORS, "firing", "resolved")
    assert begin.since == NOW - 40 * MINUTE
    assert begin.details is not None
    assert (begin.details.bad, begin.details.requests, begin.details.mostly) == (18, 60, "search")
    assert begin.details.tool == FailedTool("search", failed=18, calls=45)
    assert end.details is not None
    assert end.details.tool == FailedTool("search", failed=40, calls=60)
    assert (end.details.bad_meanwhile, end.details.requests_meanwhile) == (40, 80)
    assert end.details.lasted_seconds == 20 * 60


def test_of_several_the_tool_that_failed_most_often_is_named() -> None:
    """Also where another one fails in a greater share of its few calls."""
    rows = [turn(ago, *[call("search", FAILED)] * 2, *[call("search", FINE)] * 2) for ago in range(20, 0, -1)]
    rows += [turn(ago, call("order", FAILED)) for ago in range(20, 0, -1)]
    (begin,) = limits_of(rows).look({}, NOW)[0]
    assert begin.details is not None
    assert begin.details.tool is not None
    assert begin.details.tool.name == "search"


def test_calls_of_a_turn_count_once_and_those_of_nobody_do_not() -> None:
    """Not what a model asks for, nor an answer that is a call, nor another origin, nor what is not known."""
    others = [
        turn(9, call("a", FAILED), is_entry=False),
        turn(9, call("a", FAILED), answer_kind="tool_call"),
        turn(9, call("a", UNKNOWN)),
        turn(9, call("a", FAILED), origin="replay"),
        turn(9, tool_calls=None),
        turn(9, call("a", FAILED), requested_at=None),
        turn(9),
    ]
    limits = limits_of([one for one in others for _ in range(50)])
    assert limits.look({}, NOW) == ([], {"agent": {**limits.look({}, NOW)[1]["agent"]}})
    assert LimitKind.TOOL_ERRORS not in limits.look({}, NOW)[1]["agent"]
    counted = limits_of([*others, turn(9, call("a", FAILED), call("a", FINE), answer_kind="failed", status=500)])
    minutes = counted._counts["agent"].minutes[LimitKind.TOOL_ERRORS].events()
    assert (minutes.totals.tolist(), minutes.bad.tolist()) == ([2], [1])


def test_rows_of_earlier_versions_say_nothing_of_tools() -> None:
    """They have neither calls nor a kind."""
    rows = PARSED_LOGS.rows([turn(5, tool_calls=None, answer_kind=None)])
    assert called_tools(rows).num_rows == 0


def test_a_call_without_a_name_has_one_and_a_long_name_is_cut() -> None:
    """A model may make up a name of any length."""
    calls = called_tools(read([turn(5, call(None, FAILED), call("n" * 500, FINE)), turn(4, call("b", UNKNOWN))]))
    assert calls["name"].to_pylist() == ["unnamed", "n" * 100, "b"]
    assert calls["is_error"].to_pylist() == [True, False, None]
    assert calls["requested_at"].to_pylist() == [NOW - 5 * MINUTE, NOW - 5 * MINUTE, NOW - 4 * MINUTE]


def test_a_limit_of_an_agent_that_stops_calling_tools_is_still_read() -> None:
    """An alert that is open is over a day after the last call, and switching it off ends it."""
    last = {("agent", LimitKind.TOOL_ERRORS): LastChange(True, NOW - timedelta(hours=30))}
    (end,) = limits_of([turn(29 * 60, call("a", FAILED)), turn(1)]).look(last, NOW)[0]
    assert (end.change, end.reason) == (AlertEvent.RESOLVED, "no request for a day")
    (end,) = limits_of([turn(5, call("a", FAILED))], tool_errors=None).look(last, NOW)[0]
    assert end.reason == "this limit is switched off"


def test_tools_of_days_ago_are_forgotten() -> None:
    """So that names that a model made up do not stay."""
    minutes = NamedMinutes()
    minutes.add(called_tools(read([turn(5, call("old", FAILED))])), NOW)
    later = read([turn(5, call("new", FAILED), requested_at=NOW + timedelta(days=3))])
    minutes.add(called_tools(later), NOW + timedelta(days=3))
    assert list(minutes.by_name) == ["new"]
    many = read([turn(5, *(call(f"t{n:03}", FAILED) for n in range(300)))])
    minutes.add(called_tools(many), NOW)
    assert len(minutes.by_name) == 200


def test_a_limit_that_an_error_stopped_counts_anew() -> None:
    """What was counted by tool is forgotten with it: its rows come again."""
    limits = limits_of([turn(5, call("get", FAILED))])
    limits.forget_limits("agent", {LimitKind.TOOL_ERRORS})
    limits.add_logs("agent", read([turn(5, call("get", FAILED))]), NOW, only={LimitKind.TOOL_ERRORS})
    counts = limits.counts_of("agent")
    assert counts is not None
    assert counts.tools.failed("get", 0, 1 << 40) == FailedTool("get", 1, 1)


def test_an_open_alert_is_read_where_no_call_is_known() -> None:
    """As where the table cannot be read: nothing says that it is over."""
    changes, readings = limits_of([turn(5)]).look(
        {("agent", LimitKind.TOOL_ERRORS): LastChange(True, NOW - 9 * MINUTE)}, NOW
    )
    assert changes == []
    assert readings["agent"][LimitKind.TOOL_ERRORS].active


def test_names_without_end_are_counted_together() -> None:
    """A model may make up names: 200 tools of a deployment are counted by themselves, the first ones."""
    stats = RequestStats().with_logs(stats_rows(turn(5, call("a", FAILED))))
    stats = stats.with_logs(stats_rows(turn(5, *(call(f"t{n:03}", FINE) for n in range(300)))))
    assert len(stats.tools) == 201
    assert (stats.tools["a"].errors, stats.tools["t198"].ok, stats.tools["other"].ok) == (1, 1, 101)


def test_tools_that_fail_since_their_cause_is_over_are_no_longer_explained_by_it() -> None:
    """As requests that fail; a limit that is switched off explains nothing."""
    rows = [turn(ago, call("get", FAILED), call("get", FINE)) for ago in range(20, 0, -1)]
    assert limits_of(rows).recent_failures().fails_since("agent", NOW - 10 * MINUTE)
    assert not limits_of(rows).recent_failures().fails_since("agent", NOW - 2 * MINUTE)
    assert not limits_of(rows, tool_errors=None).recent_failures().fails_since("agent", NOW - 10 * MINUTE)


@pytest.mark.parametrize(("runaways", "fires"), [(1, False), (2, False), (30, True)])
def test_one_runaway_turn_is_no_outage(runaways: int, fires: bool) -> None:
    """However often it calls what fails; a tool that fails in turn after turn is one."""
    rows = [turn(ago, call("get", FINE), call("get", FINE)) for ago in range(60, 30, -1)]
    rows += [turn(ago, *[call("get", FAILED)] * 60) for ago in range(runaways, 0, -1)]
    limits = Limits(LimitSettings())
    limits.add_logs("agent", read(rows), NOW)
    assert [one.change for one in limits.look({}, NOW)[0]] == ["firing"] * fires


def test_a_turn_of_many_tools_is_no_outage() -> None:
    limits = Limits(LimitSettings())
    limits.add_logs("agent", read([turn(5, *(call(f"t{n % 30}", FAILED) for n in range(90)))]), NOW)
    assert limits.look({}, NOW)[0] == []


def test_of_a_turn_the_last_calls_of_each_tool_count() -> None:
    """Three of each, and ten in all, of which every tool has its last one; what is not known takes no place."""
    few = turn(5, *[call("a", FAILED)] * 3, call("b", FINE), *[call("a", FINE)] * 2, *[call("a", UNKNOWN)] * 3)
    many = turn(4, *(call(f"t{n % 6}", FAILED if n < 24 else FINE) for n in range(30)))
    found = counted_calls(called_tools(read([few, many])))
    kept = list(zip(found["turn"].to_pylist(), found["name"].to_pylist(), found["is_error"].to_pylist(), strict=True))
    assert kept[:4] == [(0, "a", FAILED), (0, "b", FINE), (0, "a", FINE), (0, "a", FINE)]
    assert [(name, error) for _, name, error in kept[4:]] == [
        *((f"t{n}", FAILED) for n in (2, 3, 4, 5)),
        *((f"t{n}", FINE) for n in range(6)),
    ]
    assert counted_calls(called_tools(read([turn(5, call("a", UNKNOWN))]))).num_rows == 0
