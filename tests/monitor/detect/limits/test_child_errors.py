"""Limit on the calls that a deployment makes to others and that fail: which count, when it fires, and what it names."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake.spec.alert_vocabulary import AlertEvent, LimitKind, Tier
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.alerts.limit_alerts import changes_of_limits, last_changes
from monitor.detect.limits import ANSWER_COLUMNS, FailedCallee, LastChange, LimitChange, Limits, LimitSettings
from monitor.detect.stats.requests import LOG_EXPRESSIONS
from monitor.notify.texts.limit import limit_lines, limit_look, limit_summary
from tests.monitor.detect.limits.test_shares import MINUTE, NOW, logs, requests

APP, MODEL, EMBEDDER = "support-rag", "gpt-4o", "embedder"
SETTINGS = LimitSettings(minimum_requests=20)


def calls(first: int, last: int, each: int = 2, caller: str | None = APP, **columns: Any) -> list[dict[str, Any]]:
    """Calls that the application made, so many a minute."""
    return requests(first, last, each, **{"parent_deployment": caller, "is_entry": False} | columns)


def add(limits: Limits, called: str, rows: Sequence[dict[str, Any]], **given: Any) -> None:
    table = pa.dataset.dataset(logs(rows)).to_table(columns=ANSWER_COLUMNS)
    limits.add_answers(called, table, given.pop("now", NOW), **given)


def limits_of(
    of_called: Mapping[str, Sequence[dict[str, Any]]], settings: LimitSettings = SETTINGS, parts: int = 1
) -> Limits:
    limits = Limits(settings)
    for part in range(parts):
        for called, rows in of_called.items():
            add(limits, called, rows[part::parts])
    add(limits, APP, requests(60, 0, 1))
    return limits


def of_calls(changes: Sequence[LimitChange]) -> list[LimitChange]:
    return [one for one in changes if one.kind == LimitKind.CHILD_ERRORS]


def outage() -> dict[str, list[dict[str, Any]]]:
    """An hour in which the model refused the application, and nobody else, for 20 minutes."""
    return {
        MODEL: [*calls(60, 40), *calls(40, 20, status=401), *calls(20, 0), *calls(60, 0, 20, caller="other")],
        EMBEDDER: calls(60, 0, 1),
    }


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_calls_that_fail_fire_at_who_makes_them_and_name_what_is_called(parts: int) -> None:
    """In whatever portions rows come; over at half the limit, with how many failed in all."""
    begin, end = of_calls(limits_of(outage(), parts=parts).look({}, NOW)[0])
    assert {begin.deployment, end.deployment} == {APP}
    assert (begin.change, begin.tier, end.change) == (AlertEvent.FIRING, Tier.WARN, AlertEvent.RESOLVED)
    assert begin.since == NOW - 40 * MINUTE
    assert begin.details is not None
    assert (begin.details.bad, begin.details.requests, begin.details.mostly) == (14, 45, "401")
    assert begin.details.callee == FailedCallee(MODEL, failed=14, calls=30)
    assert begin.details.tool is None
    assert end.details is not None
    assert end.details.callee == FailedCallee(MODEL, failed=40, calls=40)
    assert (end.details.bad_meanwhile, end.details.requests_meanwhile) == (40, 60)


def test_the_texts_say_whose_calls_failed_to_what_and_why() -> None:
    """And that it is back, with the numbers of the whole time."""
    begin, end = changes_of_limits([], of_calls(limits_of(outage()).look({}, NOW)[0]), NOW)
    assert limit_summary(begin) == (
        "calls of support-rag to gpt-4o failed: 14 of 30 in the last 15 minutes, mostly HTTP 401 (no valid key); "
        "of all 45 calls to other deployments 31 % failed; limit 30 %"
    )
    assert limit_look(begin).startswith("The API key of those that are refused")
    assert limit_summary(end) == (
        "support-rag is back: calls to gpt-4o failed for 20 minutes, 40 of 40, mostly HTTP 401 (no valid key); "
        "of all 60 calls to other deployments 67 % failed"
    )
    assert any(line.endswith("20 minutes: 40 of 60 calls to other deployments failed.") for line in limit_lines(end))
    # Who calls nothing else has one number.
    alone = {MODEL: [*calls(60, 20), *calls(20, 0, status=400)]}
    (begin,) = changes_of_limits([], of_calls(limits_of(alone).look({}, NOW)[0]), NOW)
    assert limit_summary(begin) == (
        "calls of support-rag to gpt-4o failed: 10 of 30 in the last 15 minutes, mostly HTTP 400 (bad request); "
        "limit 30 %"
    )


def test_a_lasting_failure_becomes_urgent() -> None:
    """After `page_after`, as failed requests do."""
    rows = {MODEL: [*calls(600, 200), *calls(200, 0, status=429)]}
    assert [one.tier for one in of_calls(limits_of(rows).look({}, NOW)[0])] == [Tier.WARN, Tier.PAGE]
    at_once = LimitSettings(minimum_requests=20, page_after=timedelta(0))
    assert [one.tier for one in of_calls(limits_of(rows, at_once).look({}, NOW)[0])] == [Tier.PAGE]


def one_of_many(embedders: int) -> dict[str, list[dict[str, Any]]]:
    """A model of which every call fails since three hours, beside others that answer."""
    return {MODEL: [*calls(600, 180, 1), *calls(180, 0, 1, status=400)], EMBEDDER: calls(600, 0, embedders)}


def test_one_deployment_of_many_that_fails_is_told_by_its_own_calls() -> None:
    """Though the share of all calls stays far below the limit; the alert goes on from what is recorded."""
    rows = one_of_many(10)
    begin, page = of_calls(limits_of(rows, LimitSettings()).look({}, NOW)[0])
    for change in (begin, page):
        assert change.details is not None
        assert change.details.of_tool_alone
        assert change.details.callee == FailedCallee(MODEL, change.details.bad or 0, change.details.requests or 0)
        assert change.details.mostly == "400"
    known = changes_of_limits([], [begin], NOW)
    last = last_changes(known)
    assert last[APP, LimitKind.CHILD_ERRORS].tool == MODEL
    assert of_calls(limits_of(rows, LimitSettings()).look(last, NOW)[0]) == [page]
    assert limit_summary(known[0]).startswith("calls of support-rag to gpt-4o failed: ")
    assert "of all" not in limit_summary(known[0])


def test_its_alert_is_over_when_the_calls_to_it_are_well() -> None:
    """Not by the calls to others, which were well all the time."""
    rows = one_of_many(10)
    rows[MODEL] = [*rows[MODEL][:-60], *calls(60, 0, 1)]
    begin, *_, end = of_calls(limits_of(rows, LimitSettings()).look({}, NOW)[0])
    assert end.change == AlertEvent.RESOLVED
    assert end.at > NOW - 60 * MINUTE
    told = changes_of_limits([], [begin, end], NOW)[-1]
    assert limit_summary(told) == (
        "support-rag is back: calls to gpt-4o failed for 2 hours, 120 of 120, mostly HTTP 400 (bad request)"
    )
    assert limit_lines(told)[-1].endswith(": 120 of 120 calls to gpt-4o failed.")


@pytest.mark.parametrize(
    "columns",
    [
        {"caller": None, "is_entry": True},
        {"caller": MODEL},
        {"origin": "replay"},
        {"origin": "evaluation"},
        {"requested_at": None},
        {"status": 200, "error": "tool error: no such order"},
    ],
    ids=str,
)
def test_what_is_no_failed_call_to_another_deployment(columns: dict[str, Any]) -> None:
    """What people asked, calls of itself, other origins, and what a tool answers: `tool_errors` counts that."""
    rows = calls(30, 0, 4, **{"status": 500} | columns)
    assert of_calls(limits_of({MODEL: rows}).look({}, NOW)[0]) == []


def test_who_calls_nothing_has_no_such_limit() -> None:
    """Nor has who is called; one that calls has, with its share, also while nothing fails."""
    _, readings = limits_of({MODEL: calls(60, 0)}).look({}, NOW)
    assert LimitKind.CHILD_ERRORS not in readings[MODEL]
    assert readings[APP][LimitKind.CHILD_ERRORS].share == 0.0
    # Of a caller without any row of its own there is no page.
    assert "unheard" not in limits_of({MODEL: calls(60, 0, caller="unheard", status=500)}).look({}, NOW)[1]


def test_each_deployment_has_its_own_limit_or_none() -> None:
    """As all limits."""
    rows = {MODEL: [*calls(60, 30), *calls(30, 0, 1), *calls(30, 0, 1, status=500)]}
    of_its_own = LimitSettings.model_validate({"minimum_requests": 20, "deployments": {APP: {"child_errors": 0.6}}})
    assert len(of_calls(limits_of(rows).look({}, NOW)[0])) == 1
    assert of_calls(limits_of(rows, of_its_own).look({}, NOW)[0]) == []
    off = LimitSettings(minimum_requests=20, child_errors=None)
    assert of_calls(limits_of(rows, off).look({}, NOW)[0]) == []
    last = {(APP, LimitKind.CHILD_ERRORS): LastChange(True, NOW - 9 * MINUTE)}
    (end,) = of_calls(limits_of(rows, off).look(last, NOW)[0])
    assert end.reason == "this limit is switched off"


@pytest.mark.parametrize("tool", [None, MODEL])
def test_an_open_alert_stays_where_calls_are_not_known(tool: str | None) -> None:
    """As where the table of what is called cannot be read; after two days it is over, as no call came for one."""
    for ago, events in ((timedelta(hours=5), []), (timedelta(days=3), ["no request for a day"])):
        last = {(APP, LimitKind.CHILD_ERRORS): LastChange(True, NOW - ago, Tier.PAGE, tool=tool)}
        changes, readings = limits_of({}).look(last, NOW)
        assert [one.reason for one in of_calls(changes)] == events
        assert readings[APP][LimitKind.CHILD_ERRORS].active is not bool(events)


def test_where_the_counts_of_what_is_called_were_stopped_nothing_changes() -> None:
    """An error has dropped them: until its rows have come again the alerts of its callers stay as they are."""
    limits = limits_of({MODEL: calls(60, 0, status=500), EMBEDDER: calls(60, 0)})
    last = {(APP, LimitKind.CHILD_ERRORS): LastChange(True, NOW - 50 * MINUTE, Tier.PAGE)}
    limits.forget_limits(MODEL, {LimitKind.CHILD_ERRORS})
    limits.stopped.stop((MODEL, LimitKind.CHILD_ERRORS), ValueError("a number that cannot be"))
    changes, readings = limits.look(last, NOW)
    assert of_calls(changes) == []
    assert readings[APP][LimitKind.CHILD_ERRORS].active
    limits.stopped.learn_anew(MODEL, [LimitKind.CHILD_ERRORS])
    add(limits, MODEL, calls(60, 0, status=500), only={LimitKind.CHILD_ERRORS})
    limits.stopped.note_working(MODEL, [LimitKind.CHILD_ERRORS])
    assert limits.look(last, NOW)[1][APP][LimitKind.CHILD_ERRORS].share == 0.5


def test_calls_that_fail_since_their_cause_is_over_are_not_explained_by_it() -> None:
    """As requests that fail."""
    failures = limits_of({MODEL: calls(60, 0, status=500)}).recent_failures()
    assert failures.fails_since(APP, NOW - 30 * MINUTE)
    well = limits_of({MODEL: [*calls(60, 31, status=500), *calls(31, 0)]}).recent_failures()
    assert not well.fails_since(APP, NOW - 30 * MINUTE)


def test_callers_of_days_ago_are_forgotten() -> None:
    """What is usual of them is kept."""
    limits = limits_of({MODEL: calls(10, 0, caller="old", status=500)})
    later = NOW + timedelta(days=3)
    add(limits, MODEL, [{"requested_at": later, "parent_deployment": APP}], now=later)
    counts = limits.counts_of(MODEL)
    assert counts is not None
    assert list(counts.callers.calls.by_name) == [APP]
    assert counts.callers.calls.usual["old"].bad == 20


KINDS = st.sampled_from(
    [
        {"status": 200},
        {"status": 200, "error": "stream ended early: no [DONE]"},
        {"status": 200, "error": "body is cut"},
        {"status": 200, "error": "request.body was cut by DIAL Core: the question is unknown"},
        {"status": None},
        {"status": None, "error": "no response"},
        {"status": 499},
        {"status": 502, "error": "tool error: refused"},
    ]
)


@given(st.lists(KINDS, min_size=40, max_size=60))
def test_a_call_fails_exactly_as_a_request_does(kinds: list[dict[str, Any]]) -> None:
    """Also one that its client broke off, and one without a status: the same numbers as the limit `errors` there."""
    rows = [
        {"requested_at": NOW - (ago + 1) * MINUTE, "parent_deployment": APP, "is_entry": False} | kind
        for ago, kind in enumerate(kinds)
    ]
    limits = limits_of({MODEL: rows})
    limits.add_logs(MODEL, pa.dataset.dataset(logs(rows)).to_table(columns=LOG_EXPRESSIONS), NOW)
    changes, readings = limits.look({}, NOW)
    assert readings[APP][LimitKind.CHILD_ERRORS].share == readings[MODEL][LimitKind.ERRORS].share
    told = [
        [(one.change, one.at, one.since, one.details and one.details.bad) for one in changes if one.kind == kind]
        for kind in (LimitKind.CHILD_ERRORS, LimitKind.ERRORS)
    ]
    assert told[0] == told[1]


def test_looks_in_between_find_what_one_look_afterwards_finds() -> None:
    """Whenever the monitor looks, and on from what is recorded."""
    rows = [*calls(300, 200, 1), *calls(200, 120, 1, status=500), *calls(120, 0, 1)]
    limits, known = Limits(SETTINGS), list[AlertChange]()
    add(limits, APP, requests(300, 299, 1))
    for first in range(0, len(rows), 7):
        now = rows[first : first + 7][-1]["requested_at"]
        add(limits, MODEL, rows[first : first + 7], now=now)
        known += changes_of_limits(known, of_calls(limits.look(last_changes(known), now)[0]), now)
    at_once = changes_of_limits([], of_calls(limits_of({MODEL: rows}).look({}, NOW)[0]), NOW)
    assert [(one.changed_at, one.change, one.tier) for one in known] == [
        (one.changed_at, one.change, one.tier) for one in at_once
    ]
    assert len(at_once) == 3
