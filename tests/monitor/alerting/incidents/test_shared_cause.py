"""One message of a failing deployment and of those that call it, from the log to the receiver."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from lake.spec.alert_vocabulary import AlertEvent
from lake.spec.schemas import ALERTS
from lake.tables.lake import Lake
from monitor.alerting.alerts.change import AlertChange, AlertDetails
from monitor.alerting.incidents.shared_cause import shared_causes
from monitor.detect.limits import LimitDetails, LimitSettings
from monitor.detect.regression import StreamKey
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.monitor.conftest import NOW

MINUTE = timedelta(minutes=1)
APPS = tuple(f"app-{number:02}" for number in range(6))
MODEL = "gpt-4o"


@pytest.fixture
def settings(receiver: Any) -> MonitorSettings:
    webhook = {"name": "team", "url": receiver.address, "secret": "whsec_" + base64.b64encode(b"k" * 32).decode()}
    limits = LimitSettings(page_after=timedelta(0))
    return MonitorSettings(webhooks=[webhook], internal_hosts=["127.0.0.1"], group_seconds=0, limits=limits)


class Traffic:
    """Requests of people to applications, each of which leads to a call of what the application calls."""

    def __init__(self, rows: Any, clock: Any) -> None:
        self.rows = rows
        self.clock = clock

    def ask(self, name: str, status: int = 200, minutes: int = 10, until: int = 0, parent: str | None = None) -> None:
        """Four requests a minute."""
        times = [self.clock() - ago * MINUTE for ago in range(until + minutes, until, -1) for _ in range(4)]
        columns = {"status": status, "parent_deployment": parent, "is_entry": parent is None}
        self.rows.logs(name, *({"requested_at": at, "date": at.date(), **columns} for at in times))

    def calls(self, caller: str, called: str, status: int = 200, **when: int) -> None:
        self.ask(caller, status, **when)
        self.ask(called, status, parent=caller, **when)

    def fails(self, apps: Sequence[str]) -> None:
        """Applications that were well, and the model that they call: for 20 minutes nothing is."""
        for app in apps:
            self.calls(app, MODEL, until=20)
            self.calls(app, MODEL, 503, minutes=20)


@pytest.fixture
def traffic(rows: Any, clock: Any) -> Traffic:
    return Traffic(rows, clock)


def looked(monitor: Monitor, clock: Any) -> None:
    monitor.refresh()
    assert monitor.health().problems == ()
    monitor._notifier.run_due(clock())


def messages(receiver: Any) -> list[tuple[str, str, str]]:
    """Status, deployment and summary of the first alert of each."""
    alerts = [json.loads(body)["alerts"][0] for body in receiver.bodies]
    return [(one["status"], one["labels"]["deployment"], one["annotations"]["summary"]) for one in alerts]


@pytest.mark.slow
def test_an_outage_of_a_shared_model_is_one_message_and_one_end(
    lake: Lake, traffic: Traffic, clock: Any, receiver: Any, settings: MonitorSettings
) -> None:
    """It names the model and how many fail with it; a restart meanwhile repeats nothing, and each has its alert."""
    for app in APPS:
        traffic.calls(app, MODEL, until=20)
    traffic.calls("well", MODEL, until=20)
    monitor = Monitor(lake, settings, clock)
    looked(monitor, clock)
    for app in APPS:
        traffic.calls(app, MODEL, 503, minutes=20)
    for each in (monitor, Monitor(lake, settings, clock)):
        looked(each, clock)
        ((status, deployment, summary),) = messages(receiver)
        assert (status, deployment) == ("firing", MODEL)
        assert summary.endswith("; 6 of 7 deployments that call it fail too")
    assert "app-00, app-01" in json.loads(receiver.bodies[0])["alerts"][0]["annotations"]["description"]
    for app in APPS:
        told = {row["change"]: row["reason"] for row in lake.table(ALERTS, app).read().to_pylist()}
        assert told["silenced"] == "told by the incident of gpt-4o, which it calls and which fails"
        assert "firing" in told
    clock.advance(minutes=30)
    for app in APPS:
        traffic.calls(app, MODEL, minutes=25)
    for each in (monitor, Monitor(lake, settings, clock)):
        looked(each, clock)
        looked(each, clock)
    assert [(status, name) for status, name, _ in messages(receiver)] == [("firing", MODEL), ("resolved", MODEL)]


def test_what_still_fails_when_its_cause_is_over_is_told_then(
    lake: Lake, traffic: Traffic, clock: Any, receiver: Any, settings: MonitorSettings
) -> None:
    """Half an hour later, as a caller may take some time to be well."""
    monitor = Monitor(lake, settings, clock)
    traffic.fails(APPS[:2])
    looked(monitor, clock)
    clock.advance(minutes=30)
    traffic.calls(APPS[0], MODEL, minutes=25)
    traffic.ask(APPS[1], 500, minutes=25)
    looked(monitor, clock)
    assert [name for _, name, _ in messages(receiver)] == [MODEL, MODEL]
    clock.advance(minutes=31)
    traffic.ask(APPS[1], 500, minutes=30)
    looked(monitor, clock)
    assert messages(receiver)[2][:2] == ("firing", APPS[1])
    assert len(receiver.bodies) == 3


def test_an_application_that_fails_alone_is_told_itself(
    lake: Lake, traffic: Traffic, clock: Any, receiver: Any, settings: MonitorSettings
) -> None:
    """What it calls is well; and who fails without calling the failing model has a message of its own."""
    monitor = Monitor(lake, settings, clock)
    for app in APPS[:3]:
        traffic.calls(app, MODEL, until=20)
    traffic.ask(APPS[0], 500, minutes=20)
    looked(monitor, clock)
    assert [name for _, name, _ in messages(receiver)] == [APPS[0]]
    traffic.calls("other-app", "other-model", until=20)
    traffic.calls("other-app", "other-model", 503, minutes=20)
    traffic.ask(APPS[1], 500, minutes=20)
    looked(monitor, clock)
    assert sorted(name for _, name, _ in messages(receiver)) == [APPS[0], APPS[1], "other-model"]


def test_a_chain_of_calls_is_told_by_its_last_link(
    lake: Lake, traffic: Traffic, clock: Any, receiver: Any, settings: MonitorSettings
) -> None:
    """An assistant calls an application, which calls the model; two that call each other do not hide each other."""
    monitor = Monitor(lake, settings, clock)
    for status, until in ((200, 20), (503, 0)):
        traffic.calls("assistant", "rag", status, minutes=20, until=until)
        traffic.ask(MODEL, status, minutes=20, until=until, parent="rag")
        traffic.calls("ping", "pong", status, minutes=20, until=until)
        traffic.calls("pong", "ping", status, minutes=20, until=until)
    looked(monitor, clock)
    told = {name: summary for _, name, summary in messages(receiver)}
    assert told.keys() - {"ping", "pong"} == {MODEL}
    assert told.keys() & {"ping", "pong"}
    assert told[MODEL].endswith("; 2 of 2 deployments that call it fail too")


def test_an_alertmanager_has_an_alert_of_the_cause_alone(
    lake: Lake, traffic: Traffic, clock: Any, receiver: Any, settings: MonitorSettings
) -> None:
    """With what fails too; of a caller that still fails when it is over it hears then."""
    webhook = settings.webhooks[0].model_copy(update={"format": "alertmanager"})
    monitor = Monitor(lake, settings.model_copy(update={"webhooks": (webhook,)}), clock)
    traffic.fails(APPS[:2])
    looked(monitor, clock)
    (posted,) = json.loads(receiver.bodies[-1])
    assert posted["labels"]["deployment"] == MODEL
    assert posted["annotations"]["summary"].endswith("; 2 of 2 deployments that call it fail too")
    clock.advance(minutes=30)
    traffic.calls(APPS[0], MODEL, minutes=25)
    traffic.ask(APPS[1], 500, minutes=25)
    looked(monitor, clock)
    clock.advance(minutes=31)
    traffic.ask(APPS[1], 500, minutes=30)
    looked(monitor, clock)
    assert APPS[1] in {one["labels"]["deployment"] for one in json.loads(receiver.bodies[-1])}


@pytest.mark.slow
def test_each_team_is_told_its_own_part_of_a_shared_cause(
    lake: Lake, traffic: Traffic, clock: Any, receiver: Any, settings: MonitorSettings
) -> None:
    """Who calls the model that fails hears of it, with how many fail and the names of its own; so to the end."""
    teams = {"one": ["app-00", "app-01"], "models": ["gpt-*"], "away": ["other-*"]}
    address, given = receiver.address, settings.webhooks[0]
    webhooks = tuple(
        given.model_copy(update={"name": name, "url": f"{address}/{name}", "deployments": tuple(globs)})
        for name, globs in teams.items()
    )
    monitor = Monitor(lake, settings.model_copy(update={"webhooks": webhooks}), clock)
    traffic.fails(APPS)
    looked(monitor, clock)
    bodies = {body["receiver"]: body for body in map(json.loads, receiver.bodies)}
    assert bodies.keys() == {"one", "models"}
    for name, body in bodies.items():
        (alert,) = body["alerts"]
        assert alert["labels"]["deployment"] == MODEL
        assert alert["annotations"]["summary"].endswith("; 6 of 6 deployments that call it fail too")
        words = json.dumps(body)
        assert {app for app in APPS if app in words} == set(teams[name]) & set(APPS)
    assert "app-00, app-01 and 4 more" in bodies["one"]["alerts"][0]["annotations"]["description"]
    clock.advance(minutes=30)
    for app in APPS:
        traffic.calls(app, MODEL, minutes=25)
    looked(monitor, clock)
    looked(monitor, clock)
    ends = [json.loads(body) for body in receiver.bodies[2:]]
    assert {(body["receiver"], body["status"]) for body in ends} == {("one", "resolved"), ("models", "resolved")}


def test_a_team_whose_own_deployments_are_well_hears_of_no_other_ones(
    lake: Lake, traffic: Traffic, clock: Any, receiver: Any, settings: MonitorSettings
) -> None:
    """It calls the model that fails, and does not fail by it."""
    webhook = settings.webhooks[0].model_copy(update={"deployments": ("well",)})
    monitor = Monitor(lake, settings.model_copy(update={"webhooks": (webhook,)}), clock)
    traffic.calls("well", MODEL, until=20)
    traffic.fails(APPS[:2])
    looked(monitor, clock)
    assert receiver.bodies == []
    assert monitor.snapshot is not None
    assert (monitor.snapshot.without_receiver, monitor.snapshot.unsent) == ({*APPS[:2], MODEL}, 5)


def asked_seldom(traffic: Traffic, clock: Any, app: str, status: int, minutes: int, ago: int) -> None:
    """A request every six minutes, from `ago` minutes ago on, each with a call of the model."""
    times = [clock() - (ago - place) * MINUTE for place in range(0, minutes, 6)]
    rows = [{"requested_at": at, "date": at.date(), "status": status} for at in times]
    traffic.rows.logs(app, *(row | {"is_entry": True, "parent_deployment": None} for row in rows))
    traffic.rows.logs(MODEL, *(row | {"is_entry": False, "parent_deployment": app} for row in rows))


@pytest.mark.slow
@pytest.mark.parametrize("fails_on", [False, True])
def test_at_low_traffic_only_what_fails_since_its_cause_is_over_is_told(
    lake: Lake, traffic: Traffic, clock: Any, receiver: Any, settings: MonitorSettings, fails_on: bool
) -> None:
    """Ten requests an hour: the last 50 still hold those of the outage of two hours when it is long over.

    Callers that are well since then get no message; one that fails on gets its own. Restarts change nothing.
    """
    apps = APPS[:4]
    for app in apps:
        asked_seldom(traffic, clock, app, 200, 24 * 60, 24 * 60)
    looked(Monitor(lake, settings, clock), clock)
    monitor = Monitor(lake, settings, clock)
    for step in range(12):
        clock.advance(minutes=30)
        for number, app in enumerate(apps):
            is_out = step < 4
            asked_seldom(traffic, clock, app, 503 if is_out else 200, 30, 30)
            if fails_on and number == 0 and not is_out:
                at = clock() - MINUTE
                traffic.rows.logs(app, *[{"requested_at": at, "date": at.date(), "status": 500}] * 5)
        monitor = Monitor(lake, settings, clock) if step == 8 else monitor
        looked(monitor, clock)
    told = [(status, name) for status, name, _ in messages(receiver)]
    expected = [("firing", MODEL), ("resolved", MODEL)]
    assert [one for one in told if one[1] == MODEL] == expected
    assert {name for _, name in told} == ({MODEL, APPS[0]} if fails_on else {MODEL})


def failure(name: str, fired: int, ended: int | None = None) -> AlertChange:
    """The newest change of an alert that fired so many minutes ago, and ended then."""
    event = AlertEvent.FIRING if ended is None else AlertEvent.RESOLVED
    at = NOW - (fired if ended is None else ended) * MINUTE
    details = AlertDetails(fired_at=NOW - fired * MINUTE, recorded_at=at)
    return AlertChange(f"{name}-{at}", name, StreamKey(name, "errors", "floor"), event, at, details)


@pytest.mark.parametrize(
    ("app", "is_well", "explained"),
    [
        (failure("app", 295), True, True),
        (failure("app", 295), False, False),
        (failure("app", 180), True, True),
        (failure("app", 160), True, False),
        (failure("app", 335), True, False),
        (failure("app", 295, 100), True, False),
    ],
)
def test_what_is_over_explains_what_began_in_its_time_and_is_well_since(
    app: AlertChange, is_well: bool, explained: bool
) -> None:
    """The model failed from 300 to 200 minutes ago; half an hour before and after belong to it. What ended is none."""
    asked = []

    def fails_since(name: str, at: datetime) -> bool:
        asked.append((name, at))
        return not is_well

    causes = shared_causes([failure(MODEL, 300, 200), app], {MODEL: {"app"}}, NOW, fails_since)
    assert {name: set(cause.failing) for name, cause in causes.items()} == ({MODEL: {"app"}} if explained else {})
    assert set(asked) <= {("app", NOW - 200 * MINUTE)}


def test_one_broken_tool_of_many_explains_no_failing_caller() -> None:
    """The agent that has it works else; it is told as a caller of the toolset that fails."""
    agent = failure("agent", 300)
    broken = LimitDetails(of_tool_alone=True)
    tool = replace(
        agent,
        key=replace(agent.key, metric="tool_errors"),
        details=msgspec.structs.replace(agent.details, exceeded=broken),
    )
    portal, toolset = failure("portal", 60), failure("orders", 310)
    callers = {"agent": {"portal"}, "orders": {"agent"}}
    assert set(shared_causes([agent, portal], callers, NOW)) == {"agent"}
    assert set(shared_causes([tool, portal], callers, NOW)) == set()
    assert shared_causes([toolset, tool], callers, NOW)["orders"].failing == {"agent"}


def test_a_new_outage_does_not_count_those_of_the_last_one() -> None:
    """The model fails anew; a caller that is well since the last time is none of those that fail too."""
    changes = [failure(MODEL, 300, 200), failure("well", 290, 150), failure(MODEL, 20), failure("ill", 15)]
    changes[2] = replace(changes[2], alert_id="anew")
    causes = shared_causes(changes, {MODEL: {"well", "ill"}}, NOW, lambda *_: False)
    assert {name: set(cause.failing) for name, cause in causes.items()} == {MODEL: {"ill"}}


def test_a_tool_that_fails_is_told_by_its_toolset_and_not_by_each_agent_that_calls_it(
    lake: Lake, traffic: Traffic, rows: Any, clock: Any, receiver: Any, settings: MonitorSettings
) -> None:
    """Its calls fail with status 200; the agents' answers are whole, and their calls of tools fail."""
    toolset, failed = "toolsets/public/orders", {"error": "tool error: timed out", "kind": "mcp"}
    for minutes, until, is_error in ((10, 20, False), (20, 0, True)):
        times = [clock() - ago * MINUTE for ago in range(until + minutes, until, -1) for _ in range(4)]
        call = {"id": "1", "name": "orders_get", "arguments": "{}", "result": "", "is_error": is_error}
        for agent in ("agent-1", "agent-2"):
            turn = {"status": 200, "is_entry": True, "answer_kind": "text", "tool_calls": [call]}
            rows.logs(agent, *({"requested_at": at, "date": at.date(), **turn} for at in times))
            called = {"status": 200, "is_entry": False, "parent_deployment": agent, **(failed if is_error else {})}
            rows.logs(toolset, *({"requested_at": at, "date": at.date(), **called} for at in times))
    looked(Monitor(lake, settings, clock), clock)
    ((status, deployment, summary),) = messages(receiver)
    assert (status, deployment) == ("firing", toolset)
    assert summary.endswith("mostly error of the tool; limit 30 %; 2 of 2 deployments that call it fail too")
    also = json.loads(receiver.bodies[0])["incident"]["also"]
    assert [(one["deployment"], one["relation"]) for one in also] == [("agent-1", "caller"), ("agent-2", "caller")]
    for agent in ("agent-1", "agent-2"):
        (found,) = {row["metric"] for row in lake.table(ALERTS, agent).read().to_pylist()}
        assert found == "tool_errors"
