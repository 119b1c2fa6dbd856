"""Which incidents may have one cause: a tool that fails, or deployments that call each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from lake.spec.alert_vocabulary import AlertEvent, AlertVerdict, LimitKind
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.incidents.incident import Incident, incidents_of
from monitor.alerting.incidents.related import RelatedIncidents
from monitor.alerting.incidents.state import state_of
from monitor.detect.limits import FailedTool
from monitor.notify.texts.incident import also_lines, also_of, note_of
from tests.monitor.alerting.incidents.test_states import MINUTE, NOW, change, failing

FIRES, ENDS = AlertEvent.FIRING, AlertEvent.RESOLVED
CALLERS = {"tools": {"agent"}, "agent": {"front"}}


def incident(*changes: AlertChange, number: int = 0) -> Incident:
    """One of a deployment."""
    (found,) = incidents_of([replace(one, incident_id=f"{one.key.deployment} {number}") for one in changes])
    return found


def fall(deployment: str, minute: int, **more: Any) -> AlertChange:
    return change(f"{deployment} case_passed", FIRES, minute, deployment=deployment, **more)


def failed_tool(deployment: str, minute: int, tool: str) -> AlertChange:
    found = failing(deployment, minute, kind=LimitKind.TOOL_ERRORS)
    exceeded = msgspec.structs.replace(found.details.exceeded, tool=FailedTool(tool, 9, 10))
    return replace(found, details=msgspec.structs.replace(found.details, exceeded=exceeded))


def related(mine: Incident, *others: Incident) -> list[tuple[str, str]]:
    return [(one.incident.deployment, one.words) for one in RelatedIncidents([mine, *others], CALLERS).of(mine)]


def test_a_broken_tool_links_its_toolset_its_agent_and_who_calls_that() -> None:
    """In both directions, also through others, what is called first; a score that fell too."""
    tools = incident(failing("tools", 0), failing("tools", 50, ENDS))
    agent = incident(failed_tool("agent", 5, "get"), failing("agent", 40, ENDS, LimitKind.TOOL_ERRORS))
    fell, front = incident(fall("agent", 45), number=1), incident(fall("front", 60))
    every = tools, agent, fell, front
    assert related(agent, *every) == [
        ("tools", "which it calls (over)"),
        ("front", "which calls it"),
        ("agent", "at the same time"),
    ]
    assert related(tools, *every) == [
        ("agent", "which calls it (over)"),
        ("agent", "which calls it"),
        ("front", "which calls it through others"),
    ]
    assert related(front, *every) == [
        ("agent", "which it calls (over)"),
        ("tools", "which it calls through others (over)"),
    ]
    assert related(fell, *every) == [("tools", "which it calls (over)"), ("agent", "at the same time (over)")]


@pytest.mark.parametrize(("minute", "is_linked"), [(-31, False), (-30, True), (80, True), (81, False)])
def test_an_effect_begins_while_its_cause_lasts_or_within_half_an_hour(minute: int, is_linked: bool) -> None:
    """The interval of its onset counts as a whole."""
    tools = incident(failing("tools", 0), failing("tools", 50, ENDS))
    assert bool(related(incident(fall("agent", minute)), tools)) is is_linked
    told = fall("agent", 500)
    since = {"since_earliest": NOW + minute * MINUTE, "since_latest": NOW + (minute + 1) * MINUTE}
    told = replace(told, since=NOW + 300 * MINUTE, details=msgspec.structs.replace(told.details, **since))
    assert bool(related(incident(told), tools)) is (is_linked or minute == -31)


@pytest.mark.parametrize(
    "other",
    [
        fall("tools", 0),
        failing("tools", 0, kind=LimitKind.NO_DATA),
        failing("stranger", 0),
    ],
)
def test_what_does_not_fail_or_is_not_called_is_no_cause(other: AlertChange) -> None:
    assert related(incident(fall("agent", 5)), incident(other)) == []


@pytest.mark.parametrize(
    "mine",
    [fall("agent", 5, verdict=AlertVerdict.JUDGE), failing("agent", 5, kind=LimitKind.UNSCORED)],
)
def test_what_the_judge_did_comes_from_no_failure(mine: AlertChange) -> None:
    assert related(incident(mine), incident(failing("tools", 0))) == []


def test_agents_whose_tool_of_one_name_fails_at_one_time_are_linked() -> None:
    mine = incident(failed_tool("agent", 100, "get"))
    assert related(mine, incident(failed_tool("b", 80, "get"))) == [("b", "by the same tool")]
    assert related(mine, incident(failed_tool("b", 120, "get"))) == [("b", "by the same tool")]
    assert related(mine, incident(failed_tool("b", 100, "other"))) == []
    over = failing("b", 20, ENDS, LimitKind.TOOL_ERRORS)
    assert related(mine, incident(failed_tool("b", 0, "get"), over)) == []


def test_a_message_names_what_its_receiver_is_for_and_what_that_calls() -> None:
    """Five at most, in plain words."""
    agent = incident(failed_tool("agent", 5, "get"))
    others = [incident(failing("tools", 0)), incident(fall("front", 9)), *_agents(5)]
    found = RelatedIncidents([agent, *others], CALLERS).of(agent)
    note = note_of(agent.incident_id, state_of(agent.alerts), "")
    assert also_lines(note) == []
    mine = msgspec.structs.replace(note, also=also_of(found, lambda name: name == "agent"))
    assert also_lines(mine) == ["Also: “failed requests” of tools, which it calls"]
    every = msgspec.structs.replace(note, also=also_of(found, lambda _: True))
    (line,) = also_lines(every)
    assert line.startswith(
        "Also: “failed requests” of tools, which it calls; “front case_passed” of front, which calls it"
    )
    assert line.endswith("“failing tools” of a2, by the same tool; 2 more")


def _agents(number: int) -> Sequence[Incident]:
    return [incident(failed_tool(f"a{one}", 5 + one, "get")) for one in range(number)]
