"""Silences of an incident: what each holds back and until when, for whom, and its end."""

from __future__ import annotations

import html
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient

from lake.spec.alert_vocabulary import AlertEvent, AlertVerdict
from lake.spec.schemas import ALERTS
from lake.tables.lake import Lake
from monitor.alerting.alerts.change import to_row
from monitor.alerting.controls.silences import Silence, add_silence, read_silences
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from tests.monitor.alerting.incidents.test_states import change
from tests.monitor.conftest import NOW, Clock, ScoreColumns
from tests.monitor.pages.incidents.conftest import (
    METRIC,
    incident_id,
    noted,
    of,
    sent,
)


def test_a_silence_is_added_once(proxied: TestClient, monitor: Monitor, lake: Lake, clock: Clock) -> None:
    """Sent twice it is the same; of another metric, or with another end, it is another one."""
    for _ in range(2):
        answer = sent(proxied, monitor, "silence", metric=METRIC, comment="known")
        clock.advance(seconds=3)
        page = proxied.get(answer.headers["location"], headers=of("readers")).text
        held = "<strong>Held back:</strong> messages about “answer words found in the documents” of rag-search."
        assert f"Silenced until 20 Nov, 16:00 UTC</h2><p>{held}" in page
    (silence,) = read_silences(lake).values()
    assert (silence.deployment, silence.metric, silence.comment) == ("rag-search", METRIC, "known")
    assert 3.9 < (silence.until - NOW).total_seconds() / 3600 < 4.1
    of_all = proxied.get(sent(proxied, monitor, "silence").headers["location"], headers=of("readers")).text
    assert "messages about rag-search, also of an outage. Undo sends what was held back." in of_all
    assert read_silences(lake)[2].metric is None
    assert sent(proxied, monitor, "silence", metric=METRIC, comment="known", length="24").status_code == 303
    assert len(read_silences(lake)) == 3
    assert noted(monitor, lake) == [("ann", "silence", "rag-search")] * 3
    monitor.refresh()
    assert monitor.snapshot is not None
    assert len(monitor.snapshot.silences) == 3


@pytest.mark.slow
def test_the_page_says_that_it_is_silenced_and_ends_that(
    proxied: TestClient, monitor: Monitor, lake: Lake, clock: Clock
) -> None:
    """Also when it is opened anew; with a form for who may act, and the command for others."""
    address = f"/incident?id={incident_id(monitor)}"
    assert "Silenced until" not in proxied.get(address, headers=of("readers")).text
    sent(proxied, monitor, "silence", comment="known")
    clock.advance(seconds=3)
    page = proxied.get(address, headers=of("readers")).text
    assert "Silenced until" in page
    assert "“<bdi>known</bdi>”, by <bdi>ann</bdi>." in page
    assert "dialwatch silence end 1 -c dialwatch.yaml" in page
    assert "End the silence" not in page
    monitor.refresh()
    for path in ("/", "/incidents", "/deployment?name=rag-search"):
        assert '<span class="state">silenced until ' in proxied.get(path, headers=of("readers")).text
    assert "End the silence" in proxied.get(address, headers=of("on-call")).text
    for _ in range(2):
        ended = sent(proxied, monitor, "silence/end", silence="1")
        assert "The silence is over" in proxied.get(ended.headers["location"], headers=of("readers")).text
    assert "Silenced until" not in proxied.get(address, headers=of("readers")).text
    monitor.refresh()
    assert '<span class="state">silenced until ' not in proxied.get("/", headers=of("readers")).text
    assert noted(monitor, lake) == [("ann", "silence", "rag-search")] * 2


def test_a_silence_of_everything_is_not_ended_by_who_may_act_on_one_deployment(
    proxied: TestClient, monitor: Monitor, lake: Lake, clock: Clock
) -> None:
    add_silence(lake, Silence(until=clock.now + timedelta(hours=1)), clock.now)
    page = proxied.get(f"/incident?id={incident_id(monitor)}", headers=of("on-call")).text
    assert "of every deployment" in page
    assert "End the silence" not in page
    assert sent(proxied, monitor, "silence/end", silence="1").status_code == 403
    assert sent(proxied, monitor, "silence/end", silence="2").status_code == 422
    assert read_silences(lake)[1].until > clock.now


def choices(page: str, name: str) -> dict[str, str]:
    """What the form of a silence says of each choice of a field."""
    found = re.findall(f'<li><label><input type="radio" name="{name}" value="([^"]*)".*?</li>', page, re.DOTALL)
    texts = re.findall(f'<li>(<label><input type="radio" name="{name}".*?)</li>', page, re.DOTALL)
    return dict(zip(found, (html.unescape(" ".join(re.sub("<[^>]*>", "", one).split())) for one in texts), strict=True))


@pytest.mark.slow
def test_each_choice_of_a_silence_says_what_it_holds_back_and_until_when(
    proxied: TestClient, monitor: Monitor, clock: Clock, rows: ScoreColumns
) -> None:
    """The whole deployment comes first, and of an open incident one hour; each length has its own command."""
    bad = ({"event_id": f"b{n}", "requested_at": NOW - timedelta(seconds=n), "status": 503} for n in range(60))
    rows.logs("rag-search", *bad)
    monitor.refresh()
    address = f"/incident?id={incident_id(monitor)}"
    page = proxied.get(address, headers=of("on-call")).text
    assert re.findall(r'value="([^"]*)" checked', page) == ["", "1"]
    (looks,) = re.findall('<dd class="look">.*?</dd>', page, re.DOTALL)
    assert looks.index("The logs of the deployment") < looks.index("Whether retrieval still finds the right documents")
    assert page.count("Whether retrieval still finds") == page.count("ogs of the deployment and of the models") == 1
    what, how_long = choices(page, "metric"), choices(page, "length")
    assert list(what) == ["", METRIC, "errors"]
    assert (
        "Held back: messages about “answer words found in the documents”, “failed requests”, and whatever else begins"
        in what[""]
    )
    assert what[""].endswith("Still sent: messages about other deployments.")
    assert (
        "Held back: messages about “failed requests” of this deployment. Still sent: “answer words found in "
        "the documents”;" in what["errors"]
    )
    ends = {"1": "20 Nov, 13:00", "2": "20 Nov, 14:00", "4": "20 Nov, 16:00", "morning": "21 Nov, 08:00"}
    assert list(how_long) == [*ends, "24", "168"]
    for length, until in ends.items():
        option = "--until 2026-11-21T08:00Z" if length == "morning" else f"--for {length}h"
        assert f"itself at {until} UTC. Alerts that still fire then are sent then." in how_long[length]
        assert f"dialwatch silence add --deployment rag-search {option} --comment" in how_long[length]
    assert "Alerts that still fire then" in how_long["168"]
    sent(proxied, monitor, "silence", metric=METRIC)
    clock.advance(seconds=3)
    assert "Still sent: whatever else" in choices(proxied.get(address, headers=of("on-call")).text, "metric")["errors"]
    sent(proxied, monitor, "silence")
    text = choices(proxied.get(address, headers=of("on-call")).text, "metric")["errors"]
    assert text.endswith(
        "Still sent: messages about other deployments. A silence of all alerts of this deployment holds already."
    )


@pytest.mark.slow
def test_after_a_silence_the_page_says_what_is_still_sent(
    proxied: TestClient, monitor: Monitor, clock: Clock, rows: ScoreColumns
) -> None:
    """Of one metric the other alert does, and what may begin; of the whole incident nothing of this deployment."""
    bad = ({"event_id": f"b{n}", "requested_at": NOW - timedelta(seconds=n), "status": 503} for n in range(60))
    rows.logs("rag-search", *bad)
    monitor.refresh()
    address = f"/incident?id={incident_id(monitor)}"

    def said() -> tuple[str, list[str]]:
        page = proxied.get(address, headers=of("readers")).text
        data = proxied.get(address.replace("/incident?", "/incident.json?"), headers=of("readers")).json()
        lines = re.findall('<p class="sent-still">(.*?)</p>', page, re.DOTALL)
        return re.sub("<[^>]*>", "", lines[0]) if lines else "", data["still_rings"]

    assert said() == ("", [METRIC, "errors"])
    sent(proxied, monitor, "silence", metric="errors")
    clock.advance(seconds=3)
    text, rings = said()
    assert text.startswith("Still sent: “")
    assert text.endswith("”; whatever else begins in this deployment; messages about other deployments.")
    assert rings == [METRIC]
    sent(proxied, monitor, "silence")
    but_the_end = "the end of this incident; messages about other deployments."
    assert said() == (f"Still sent: {but_the_end}", [])
    sent(proxied, monitor, "silence/end", silence="2")
    sent(proxied, monitor, "silence", metric=METRIC)
    assert said()[0].startswith("Still sent: whatever else begins in this deployment; ")


@pytest.mark.slow
def test_a_silence_of_two_hours_and_its_end_stand_in_the_log(
    proxied: TestClient, monitor: Monitor, lake: Lake, clock: Clock
) -> None:
    """By whom; one that runs out says so; and the one of another deployment is no part of it."""
    add_silence(lake, Silence(deployment="other", until=NOW + timedelta(days=1)), NOW)
    first = sent(proxied, monitor, "silence", length="2", comment="deploy")
    assert read_silences(lake)[2].until - NOW == timedelta(hours=2, seconds=1)
    page = proxied.get(first.headers["location"], headers=of("on-call")).text
    (log,) = re.findall(r'<table class="log">.*?</table>', page, re.DOTALL)
    assert "silence 2</span> by <bdi>ann</bdi> of all alerts, until" in log
    assert "deploy" in log
    assert "silence 1<" not in log
    clock.advance(minutes=5)
    ended = sent(proxied, monitor, "silence/end", silence="2")
    assert (
        "silence 2 ended</span> by <bdi>ann</bdi> of all alerts, before its time"
        in proxied.get(ended.headers["location"], headers=of("on-call")).text
    )
    sent(proxied, monitor, "silence", length="1")
    clock.advance(hours=2)
    page = proxied.get(first.headers["location"], headers=of("on-call")).text
    assert "silence 3 ended</span> of all alerts, as it was set" in page


def test_the_option_for_one_metric_can_be_copied_into_a_shell(
    rows: ScoreColumns, make_monitor: Callable[[], Monitor], lake: Lake
) -> None:
    """Whatever somebody calls a metric that he brings."""
    rows.logs("rag", {})
    fired = change("a", AlertEvent.FIRING, 0, verdict=AlertVerdict.SYSTEM)
    fired = replace(fired, key=replace(fired.key, metric="tone; it's mine"), incident_id="1f")
    lake.table(ALERTS, "rag").append(ALERTS.rows([to_row(fired)]))
    monitor = make_monitor()
    monitor.refresh()
    page = html.unescape(TestClient(create_app(monitor)).get(f"/incident?id={incident_id(monitor, 'rag')}").text)
    (option,) = set(re.findall("add --metric and its name, such as (.*?)[.]</p>", page))
    assert shlex.split(option) == ["--metric", "tone; it's mine"]
