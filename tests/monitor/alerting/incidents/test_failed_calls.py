"""Calls of applications that fail: one message for one cause, at who makes them or at what they call."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from fastapi.testclient import TestClient

from lake.spec.schemas import ALERTS
from lake.tables.lake import Lake
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.incidents.shared_cause import shared_causes
from monitor.detect.limits import FailedCallee, LimitDetails
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.monitor.alerting.incidents import test_shared_cause
from tests.monitor.alerting.incidents.test_shared_cause import APPS, MODEL, NOW, Traffic, failure, looked, messages
from tests.monitor.pages.incidents.conftest import incident_id

settings, traffic = test_shared_cause.settings, test_shared_cause.traffic
BUSY = "busy"


def answers_though(traffic: Traffic, app: str, called: str, status: int, **when: int) -> None:
    """An application that answers, whatever its calls give."""
    traffic.ask(app, **when)
    traffic.ask(called, status, parent=app, **when)


@pytest.fixture
def refused(traffic: Traffic) -> None:
    """One application of three is refused by the model for 20 minutes, and answers all the same."""
    for app in (*APPS[:2], BUSY):
        traffic.calls(app, MODEL, until=20)
    for _ in range(3):
        traffic.calls(BUSY, MODEL, minutes=20)
        traffic.calls(APPS[1], MODEL, minutes=20)
    answers_though(traffic, APPS[0], MODEL, 401, minutes=20)


@pytest.mark.usefixtures("refused")
def test_calls_that_fail_for_one_application_are_an_incident_of_it(
    lake: Lake, clock: Any, receiver: Any, settings: MonitorSettings
) -> None:
    """With the model's name and the status, on its page, that of the deployment and `/metrics`; others have none."""
    monitor = Monitor(lake, settings, clock)
    looked(monitor, clock)
    ((status, deployment, summary),) = messages(receiver)
    assert (status, deployment) == ("firing", APPS[0])
    assert re.fullmatch(
        r"calls of app-00 to gpt-4o failed: \d+ of \d+ in the last \d+ minutes, mostly HTTP 401 \(no valid key\); "
        r"limit 30 %",
        summary,
    )
    client = TestClient(create_app(monitor))
    page = client.get(f"/incident?id={incident_id(monitor, APPS[0])}").text
    assert "calls of app-00 to gpt-4o failed" in page
    assert "API key" in page
    (link,) = re.findall(r'<a href="(/answers\?[^"]*deployment=gpt-4o[^"]*)"', page)
    assert "status=failed" in link
    found = client.get(link.replace("&amp;", "&").replace("/answers?", "/answers.json?"))
    assert found.status_code == 200
    rows = re.findall(r'<tr>\s*<th scope="row">.*?</tr>', client.get(f"/deployment?name={APPS[0]}").text, re.DOTALL)
    (row,) = [" ".join(re.sub("<.*?>", " ", one).split()) for one in rows if "ailed calls to other deployments" in one]
    assert "100" in row
    assert "30" in row
    assert "ailed calls to other deployments" not in client.get(f"/deployment?name={MODEL}").text
    active = f'dialwatch_floor_active{{deployment="{APPS[0]}",floor="child_errors"'
    (sample,) = [line for line in client.get("/metrics").text.splitlines() if line.startswith(active)]
    assert float(sample.split()[-1]) == 1
    assert "ailed calls to other deployments" in client.get("/metrics-guide").text


@pytest.mark.usefixtures("refused")
def test_a_restart_tells_nothing_again_and_the_end_comes_once(
    lake: Lake, traffic: Traffic, clock: Any, receiver: Any, settings: MonitorSettings
) -> None:
    """With how many calls failed in all."""
    looked(Monitor(lake, settings, clock), clock)
    monitor = Monitor(lake, settings, clock)
    looked(monitor, clock)
    clock.advance(minutes=30)
    traffic.calls(APPS[0], MODEL, minutes=30)
    looked(monitor, clock)
    looked(Monitor(lake, settings, clock), clock)
    assert [(status, name) for status, name, _ in messages(receiver)] == [("firing", APPS[0]), ("resolved", APPS[0])]
    assert messages(receiver)[1][2] == (
        "app-00 is back: calls to gpt-4o failed for 20 minutes, 80 of 80, mostly HTTP 401 (no valid key)"
    )


@pytest.mark.usefixtures("refused")
def test_a_silence_of_the_limit_holds_its_message_back(
    lake: Lake, clock: Any, receiver: Any, settings: MonitorSettings
) -> None:
    """As of all limits."""
    silence = {"deployment": APPS[0], "metric": "child_errors", "until": "2030-01-01T00:00:00Z", "comment": "known"}
    monitor = Monitor(lake, MonitorSettings.model_validate({**settings.model_dump(), "silences": [silence]}), clock)
    looked(monitor, clock)
    assert receiver.bodies == []


def test_where_the_model_fails_itself_there_is_one_message_about_it(
    lake: Lake, traffic: Traffic, clock: Any, receiver: Any, settings: MonitorSettings
) -> None:
    """It says who fails too, and of whom only the calls fail; the held alerts say by what they are told."""
    monitor = Monitor(lake, settings, clock)
    for app in APPS[:4]:
        traffic.calls(app, MODEL, until=20)
    traffic.calls(APPS[0], MODEL, 503, minutes=20)
    for app in APPS[1:3]:
        answers_though(traffic, app, MODEL, 503, minutes=20)
    looked(monitor, clock)
    ((status, deployment, summary),) = messages(receiver)
    assert (status, deployment) == ("firing", MODEL)
    assert summary.endswith("; 1 of 4 deployments that call it fails too, and calls of 2 more fail")
    description = json.loads(receiver.bodies[0])["alerts"][0]["annotations"]["description"]
    assert "Calls of these fail, with no message of their own while this lasts: app-01, app-02." in description
    for app in APPS[1:3]:
        told = {row["change"]: row["reason"] for row in lake.table(ALERTS, app).read().to_pylist()}
        assert told["silenced"] == "told by the incident of gpt-4o, which it calls and which fails"
    clock.advance(minutes=30)
    for app in APPS[:3]:
        traffic.calls(app, MODEL, minutes=25)
    looked(monitor, clock)
    looked(monitor, clock)
    assert [(status, name) for status, name, _ in messages(receiver)] == [("firing", MODEL), ("resolved", MODEL)]


def test_the_team_of_an_application_whose_calls_fail_hears_of_the_model(
    lake: Lake, traffic: Traffic, clock: Any, receiver: Any, settings: MonitorSettings
) -> None:
    """In place of its own message, with the names of its own deployments alone."""
    webhook = settings.webhooks[0].model_copy(update={"deployments": (APPS[0],)})
    monitor = Monitor(lake, settings.model_copy(update={"webhooks": (webhook,)}), clock)
    for app in APPS[:2]:
        traffic.calls(app, MODEL, until=20)
        answers_though(traffic, app, MODEL, 503, minutes=20)
    looked(monitor, clock)
    ((_, deployment, summary),) = messages(receiver)
    assert deployment == MODEL
    assert summary.endswith("; calls of 2 of 2 deployments that call it fail")
    description = json.loads(receiver.bodies[0])["alerts"][0]["annotations"]["description"]
    assert "while this lasts: app-00 and 1 more." in description


def test_calls_that_still_fail_when_the_model_is_well_are_told_then(
    lake: Lake, traffic: Traffic, clock: Any, receiver: Any, settings: MonitorSettings
) -> None:
    """Half an hour later."""
    monitor = Monitor(lake, settings, clock)
    for app in APPS[:3]:
        traffic.calls(app, MODEL, until=20)
        answers_though(traffic, app, MODEL, 503, minutes=20)
    looked(monitor, clock)
    assert [name for _, name, _ in messages(receiver)] == [MODEL]
    for minutes in (30, 31):
        clock.advance(minutes=minutes)
        for app in APPS[:2]:
            for _ in range(4):
                traffic.calls(app, MODEL, minutes=minutes)
        answers_though(traffic, APPS[2], MODEL, 401, minutes=minutes)
        looked(monitor, clock)
    told = [(status, name) for status, name, _ in messages(receiver)]
    assert told == [("firing", MODEL), ("resolved", MODEL), ("firing", APPS[2])]


def test_calls_to_another_deployment_than_the_failing_one_are_told(
    lake: Lake, traffic: Traffic, clock: Any, receiver: Any, settings: MonitorSettings
) -> None:
    """The application calls both; that the one fails for all does not explain that the other one refuses it."""
    monitor, embedder = Monitor(lake, settings, clock), "embedder"
    for app in (*APPS[:2], BUSY):
        traffic.calls(app, MODEL, until=20)
        traffic.calls(app, embedder, until=20)
    for _ in range(4):
        answers_though(traffic, BUSY, embedder, 200, minutes=20)
    answers_though(traffic, APPS[1], MODEL, 503, minutes=20)
    answers_though(traffic, APPS[0], embedder, 401, minutes=20)
    looked(monitor, clock)
    assert {(status, name) for status, name, _ in messages(receiver)} == {("firing", MODEL), ("firing", APPS[0])}


def failed_calls(name: str, callee: str | None, fired: int, ended: int | None = None) -> AlertChange:
    change = failure(name, fired, ended)
    details = LimitDetails(callee=FailedCallee(callee, 9, 9) if callee else None)
    return replace(
        change,
        alert_id=f"{name}-calls",
        key=replace(change.key, metric="child_errors"),
        details=msgspec.structs.replace(change.details, exceeded=details),
    )


def test_who_answers_though_its_calls_fail_is_no_cause_of_others() -> None:
    """The portal that calls it fails by itself; only where it fails too is that why."""
    model, portal = failure(MODEL, 310), failure("portal", 290)
    calls = failed_calls("app", MODEL, 300)
    callers = {MODEL: {"app"}, "app": {"portal"}}
    found = shared_causes([model, calls, portal], callers, NOW)[MODEL]
    assert (found.failing, found.calls_fail, found.held) == (set(), {"app"}, {"app"})
    found = shared_causes([model, calls, failure("app", 300), portal], callers, NOW)[MODEL]
    assert (found.failing, found.calls_fail) == ({"app", "portal"}, set())
    # What it failed by yesterday does not count.
    found = shared_causes([failure("app", 2000, 1900), model, calls, portal], callers, NOW)[MODEL]
    assert (found.failing, found.calls_fail) == (set(), {"app"})


@pytest.mark.parametrize(("callee", "is_held"), [(MODEL, True), ("embedder", False), (None, True)])
def test_only_what_the_alert_names_explains_it(callee: str | None, is_held: bool) -> None:
    """All that is called, where it names nothing."""
    causes = shared_causes(
        [failure(MODEL, 310), failed_calls("app", callee, 300)], {MODEL: {"app"}, "embedder": {"app"}}, NOW
    )
    assert {name: set(one.held) for name, one in causes.items()} == ({MODEL: {"app"}} if is_held else {})
