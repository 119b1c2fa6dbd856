"""Limit on calls of tools that fail, where one tool of many is broken: the share of all calls hardly shows it."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from lake.spec.alert_vocabulary import LimitKind, Tier
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.alerts.limit_alerts import changes_of_limits, last_changes
from monitor.detect.limits import FailedTool, LimitChange, Limits, LimitSettings
from monitor.detect.limits.evidence import has_risen
from monitor.detect.limits.minute_counts import Usual
from monitor.detect.limits.named_minutes import NamedMinutes
from monitor.detect.limits.tool_minutes import counted_calls
from monitor.detect.stats.tools import called_tools
from monitor.notify.texts.limit import limit_lines, limit_summary
from tests.monitor.detect.limits.test_tool_errors import FAILED, FINE, MINUTE, NOW, call, read, turn

TOOLS = ("search", "order", "refund", "mail", "calendar")


def turns(agos: Iterable[int], *broken: str) -> list[dict[str, Any]]:
    """Turns that call five tools each, of which some are broken."""
    return [turn(ago, *(call(name, FAILED if name in broken else FINE) for name in TOOLS)) for ago in agos]


def limits_of(rows: Sequence[dict[str, Any]], parts: int = 1, **settings: Any) -> Limits:
    limits = Limits(LimitSettings(**settings))
    for part in range(parts):
        limits.add_logs("agent", read(rows[part::parts]), NOW)
    return limits


def tools_of(limits: Limits) -> NamedMinutes:
    counts = limits.counts_of("agent")
    assert counts is not None
    return counts.tools


def outage() -> list[dict[str, Any]]:
    """A day with a turn a minute; one tool of five is broken for two hours: a fifth of all calls."""
    return [*turns(range(1440, 300, -1)), *turns(range(300, 180, -1), "refund"), *turns(range(180, 0, -1))]


@pytest.mark.parametrize("parts", [1, 7])
def test_one_broken_tool_of_five_is_told(parts: int) -> None:
    """It is a warning in a quarter of an hour, a page once it lasts for an hour, and over once its calls are well."""
    begin, page, end = limits_of(outage(), parts).look({}, NOW)[0]
    assert (begin.change, begin.tier, page.tier, end.change) == ("firing", Tier.WARN, Tier.PAGE, "resolved")
    assert begin.since == NOW - 300 * MINUTE
    assert begin.at - begin.since < 15 * MINUTE
    assert page.at - begin.since == 60 * MINUTE
    assert end.at <= NOW - 120 * MINUTE
    for change in (begin, page, end):
        assert change.details is not None
        assert change.details.of_tool_alone
        bad, calls = change.details.bad or 0, change.details.requests or 0
        # That of the end is of the time in which it was bad.
        assert change.details.tool == (
            FailedTool("refund", 120, 120) if change is end else FailedTool("refund", bad, calls)
        )
        assert change.details.share == (change.details.bad or 0) / (change.details.requests or 1)
    assert page.details is not None
    assert page.details.share == 1.0


def test_an_alert_of_one_tool_goes_on_from_what_is_recorded() -> None:
    """Whenever it is looked at: looks in between give the same changes as one look afterwards."""
    rows, limits = outage(), Limits(LimitSettings())
    known: list[AlertChange] = []
    for first in (0, *range(1130, 1340, 7)):
        last = first + 7 if first else 1130
        now = rows[last - 1]["requested_at"]
        limits.add_logs("agent", read(rows[first:last]), now)
        changes, readings = limits.look(last_changes(known), now)
        known += changes_of_limits(known, changes, now)
        is_open = bool(known) and known[-1].change == "firing"
        assert readings["agent"][LimitKind.TOOL_ERRORS].active == is_open
    at_once = changes_of_limits([], limits_of(rows).look({}, NOW)[0], NOW)
    assert [(one.changed_at, one.change, one.tier) for one in known] == [
        (one.changed_at, one.change, one.tier) for one in at_once
    ]


def test_the_text_names_the_tool_with_its_own_calls() -> None:
    begin, page, end = changes_of_limits([], limits_of(outage()).look({}, NOW)[0], NOW)
    assert "refund failed in " in limit_summary(begin)
    assert "calls of tools" not in limit_summary(begin)
    assert limit_summary(page).startswith(
        "the tool refund failed in 50 of 50 calls by agent in the last 50 minutes (at most 3"
    )
    assert limit_summary(end).startswith(
        "agent is back: the tool refund failed for 2 hours, in 120 of 120 calls (at most 3"
    )
    assert "of all" not in limit_summary(end)
    assert any("is a warning" in line for line in limit_lines(begin))


def test_a_second_broken_tool_is_told_when_the_first_is_well_again() -> None:
    rows = [*turns(range(600, 400, -1)), *turns(range(400, 300, -1), "mail"), *turns(range(300, 0, -1), "refund")]
    changes = limits_of(rows).look({}, NOW)[0]
    told = [(one.change, one.details and one.details.tool and one.details.tool.name) for one in changes]
    assert told == [
        ("firing", "mail"), ("firing", "mail"), ("resolved", "mail"), ("firing", "refund"), ("firing", "refund")
    ]  # fmt: skip


def test_a_broken_tool_hides_no_outage_of_all() -> None:
    """Its alert is over when the calls of all fail, which are told by an alert of their own, and as a page."""
    rows = [*turns(range(900, 700, -1)), *turns(range(700, 300, -1), "mail"), *turns(range(300, 0, -1), *TOOLS)]
    told = [("firing", True), ("firing", True), ("resolved", None), ("firing", False), ("firing", False)]
    found = limits_of(rows).look({}, NOW)[0]
    assert [(one.change, one.details and one.details.of_tool_alone) for one in found] == told
    assert [one.tier for one in found] == [Tier.WARN, Tier.PAGE, Tier.PAGE, Tier.WARN, Tier.PAGE]
    assert found[3].at - (NOW - 300 * MINUTE) < 15 * MINUTE
    (end,) = [one for one in changes_of_limits([], found, NOW) if one.change == "resolved"]
    assert limit_summary(end).endswith("alert is over, an alert on all calls together took its place")
    known: list[AlertChange] = []
    limits = Limits(LimitSettings())
    for first in range(0, len(rows), 50):
        now = rows[first : first + 50][-1]["requested_at"]
        limits.add_logs("agent", read(rows[first : first + 50]), now)
        known += changes_of_limits(known, limits.look(last_changes(known), now)[0], now)
    assert [(one.changed_at, one.change) for one in known] == [(one.at, one.change) for one in found]


def test_where_several_break_the_share_of_all_calls_is_told() -> None:
    """As one alert, with the one that failed most often."""
    begin, _ = limits_of([*turns(range(600, 300, -1)), *turns(range(300, 0, -1), *TOOLS[:3])]).look({}, NOW)[0]
    assert begin.details is not None
    assert not begin.details.of_tool_alone


def test_a_tool_that_usually_fails_is_no_news() -> None:
    """Once that is known."""
    rng = np.random.default_rng(1)
    limits = Limits(LimitSettings())
    for day in range(10, -1, -1):
        now = NOW - day * timedelta(days=1)
        rows = [
            turn(ago, *(call(name, bool(rng.random() < (0.4 if name == "mail" else 0.05))) for name in TOOLS))
            | {"requested_at": now - ago * MINUTE}
            for ago in range(1440, 0, -5)
        ]
        limits.add_logs("agent", read(rows), now)
        found: list[LimitChange] = limits.look({}, now)[0]
        # Nothing was usual on its first days.
        assert day > 6 or not found


def test_a_few_failures_are_no_outage() -> None:
    rows = [*turns(range(600, 5, -1)), *turns(range(5, 0, -1), "refund")]
    assert limits_of(rows).look({}, NOW)[0] == []


def test_what_is_usual_of_a_tool_does_not_depend_on_portions() -> None:
    """Though it was not called for days in between."""
    old = [turn(0, call("mail", FAILED), requested_at=NOW - timedelta(days=9)) for _ in range(7)]
    new = [turn(5, call("mail", FINE)), turn(5, call("order", FINE))]
    whole, parts = limits_of([*old, *new]), limits_of(old)
    assert tools_of(parts).by_name == {}
    parts.add_logs("agent", read(new[1:]), NOW)
    parts.add_logs("agent", read(new[:1]), NOW)
    for limits in (whole, parts):
        assert tools_of(limits).by_name["mail"].usual == Usual(7, 7)
        assert tools_of(limits).usual == {}


def test_minutes_that_grow_old_become_usual_with_the_calls_of_others() -> None:
    limits = limits_of([turn(5, call("mail", FAILED))])
    later = NOW + timedelta(days=3)
    limits.add_logs("agent", read([turn(0, call("order", FINE), requested_at=later)]), later)
    tools = tools_of(limits)
    assert (list(tools.by_name), tools.usual) == (["order"], {"mail": Usual(1, 1)})


def test_a_tool_that_fails_since_its_cause_is_over_is_not_explained_by_it() -> None:
    """Though the share of all calls is below the limit."""
    failures = limits_of([*turns(range(600, 60, -1)), *turns(range(60, 0, -1), "refund")]).recent_failures()
    assert failures.fails_since("agent", NOW - 30 * MINUTE)
    well = limits_of([*turns(range(600, 60, -1)), *turns(range(60, 30, -1), "refund"), *turns(range(30, 0, -1))])
    assert not well.recent_failures().fails_since("agent", NOW - 30 * MINUTE)


def test_of_made_up_names_those_that_fail_most_are_looked_at() -> None:
    rows = [turn(ago, *(call(f"t{n:02}", FAILED) for n in range(30 if ago > 10 else 2))) for ago in range(20, 0, -1)]
    many = Limits(LimitSettings())
    many.add_logs("agent", read([one | {"tool_calls": [c]} for one in rows for c in one["tool_calls"]]), NOW)
    looked_at = tools_of(many).looked_at(0.3)
    assert len(looked_at) == 20
    assert [name for name, _ in looked_at[:2]] == ["t00", "t01"]


def test_a_tool_that_broke_just_now_is_told_though_many_were_broken_before() -> None:
    """For longer, and are well again."""
    before = [
        turn(ago, *(call(name, ago > 300 and name != "mail") for name in (f"t{n}" for n in range(first, first + 10))))
        for ago in range(600, 0, -1)
        for first in (0, 10, 20)
    ]
    begin = limits_of([*before, *turns(range(300, 20, -1)), *turns(range(20, 0, -1), "mail")]).look({}, NOW)[0][-1]
    assert begin.change == "firing"
    assert begin.details is not None
    assert begin.details.tool is not None
    assert begin.details.tool.name == "mail"


@pytest.mark.parametrize(("failing", "of"), [(1, 2), (2, 5), (1, 3)])
def test_a_tool_with_half_of_all_calls_is_told_where_the_share_of_all_stays_below_the_limit(
    failing: int, of: int
) -> None:
    """In 50 %, 40 % and 33 % of its calls, each minute alike: a quarter of all calls and less."""
    well, broken = (
        [
            turn(ago, call("search", number < failing and is_broken), call("order", FINE))
            for ago in agos
            for number in range(of)
        ]
        for agos, is_broken in ((range(1000, 400, -1), False), (range(400, 0, -1), True))
    )
    begin, page = limits_of([*well, *broken]).look({}, NOW)[0]
    assert (begin.change, begin.tier, page.tier) == ("firing", Tier.WARN, Tier.PAGE)
    assert begin.details is not None
    assert begin.details.of_tool_alone
    assert begin.details.tool is not None
    assert begin.details.tool.name == "search"


def test_a_tool_with_most_calls_that_fails_is_one_alert_of_all() -> None:
    """Not one of its own before it, or beside it."""
    rows = [
        turn(ago, call("search", ago <= 200), call("search", ago <= 200), call("order", FINE))
        for ago in range(1000, 0, -1)
    ]
    assert [one.details and one.details.of_tool_alone for one in limits_of(rows).look({}, NOW)[0]] == [False, False]


def test_what_is_usual_is_kept_of_tools_with_many_calls() -> None:
    """Where a model made up names without end, they do not take the place of what is called often."""
    tools = NamedMinutes(usual={f"made-up-{n:03}": Usual(1, 1) for n in range(200)})
    old = read([turn(ago, call("mail", ago % 2 == 0)) for ago in range(10)])
    tools.add(counted_calls(called_tools(old)), NOW)
    later = NOW + timedelta(days=3)
    tools.add(counted_calls(called_tools(read([turn(0, call("order", FINE), requested_at=later)]))), later)
    assert tools.usual["mail"] == Usual(10, 5)
    assert len(tools.usual) == 200


def test_one_of_many_tools_is_told_only_above_the_limit() -> None:
    """A quarter of bad minutes is more than usual, as far as is known, and less than the limit."""
    minutes, shares = np.arange(240, dtype=np.int64), np.array([1.0, 1.0, *[0.0] * 6] * 30)
    assert has_risen(minutes, shares, Usual(), 0.3).any()
    assert not has_risen(minutes, shares, Usual(), 0.3, above_limit=True).any()
    assert has_risen(minutes, np.ones(240), Usual(), 0.3, above_limit=True).any()
    assert not has_risen(minutes, np.ones(240), Usual(999, 999), 0.3, above_limit=True).any()


def test_seven_failures_in_a_row_of_one_of_many_tools_are_not_told() -> None:
    rows = [*turns(range(600, 7, -1)), *turns(range(7, 0, -1), "mail")]
    assert limits_of(rows, minimum_requests=15).look({}, NOW)[0] == []
