"""Who is affected by an incident: what is counted, and from when to when."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta

from fastapi.testclient import TestClient

from lake.spec.alert_vocabulary import AlertEvent
from lake.spec.schemas import ALERTS
from lake.tables.lake import Lake
from monitor.notify.texts.alert import description
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from runtime.durations import duration
from tests.monitor.conftest import NOW, Clock, ScoreColumns
from tests.monitor.pages.incidents.conftest import PER_HOUR, incident_id


def test_it_counts_who_asked_since_the_onset(rows: ScoreColumns, client: TestClient, monitor: Monitor) -> None:
    """Requests, people, conversations and projects; nobody is named, and what was before the onset does not count."""
    number = f"{PER_HOUR * 10} requests"
    page = client.get(f"/incident?id={incident_id(monitor)}").text
    assert f"{number}</strong> since" in page
    assert f"the log names no user of {PER_HOUR * 10}" in page
    for user, project in (("ann", "hr"), ("bob", "hr"), ("ann", "legal")):
        row = {"event_id": f"{user}-{project}", "requested_at": NOW - timedelta(hours=1), "chat_id": user}
        rows.logs("rag-search", row | {"user_id": user, "project_id": project})
    rows.logs("rag-search", {"event_id": "old", "requested_at": NOW - timedelta(hours=20), "user_id": "cyd"})
    found = client.get(f"/incident.json?id={incident_id(monitor)}").json()["affected"]
    assert (found["requests"], found["people"], found["conversations"]) == (PER_HOUR * 10 + 3, 2, 2)
    assert found["projects"] == [{"project": "hr", "requests": 2}, {"project": "legal", "requests": 1}]
    page = client.get(f"/incident?id={incident_id(monitor)}").text
    assert "103 requests of 2 people</strong> in 2 conversations since" in page
    assert "By project: <bdi>hr</bdi> 2, <bdi>legal</bdi> 1." in page
    assert "bob" not in page


def test_where_no_request_comes_it_says_until_when_it_knows(client: TestClient, monitor: Monitor, clock: Clock) -> None:
    """On the page of the incident, in the list, on the overview and on the page of the deployment."""
    address = f"/incident?id={incident_id(monitor)}"
    assert ", until the last request" not in client.get(address).text
    clock.advance(hours=3)
    monitor.refresh()
    page, last = client.get(address).text, "20 Nov 2026, 11:55 UTC"
    assert ", until the last request at 20 Nov, 11:55 UTC" in page
    assert f"No request since {last}:</strong> how it is now is not known." in page
    assert "no request since 20 Nov, 11:55 UTC" in client.get("/incidents").text
    assert "; no request since 20 Nov, 11:55 UTC" in client.get("/").text
    assert f"<strong>No request since {last}.</strong>" in client.get("/deployment?name=rag-search").text
    row = client.get("/overview.json").json()["rows"][0]
    assert (row["state"], row["silent_since"]) == ("page", "2026-11-20T11:55:00Z")


def test_of_a_long_incident_the_last_week_counts(client: TestClient, monitor: Monitor, clock: Clock) -> None:
    clock.advance(days=7, hours=-5)
    monitor.refresh()
    found = client.get(f"/incident.json?id={incident_id(monitor)}").json()["affected"]
    assert found["requests"] == PER_HOUR * 5
    page = client.get(f"/incident?id={incident_id(monitor)}").text
    assert f"{PER_HOUR * 5} requests</strong>" in page


def test_one_that_is_over_counts_until_quality_was_back_as_its_message_does(
    rows: ScoreColumns, client: TestClient, monitor: Monitor, clock: Clock
) -> None:
    """Its alert was closed hours later: those who asked meanwhile got good answers. It has one length."""
    number = incident_id(monitor)
    at = [NOW + timedelta(minutes=3 * place) for place in range(20 * 60)]
    places = [{"event_id": str(one), "requested_at": one, "date": one.date()} for one in at]
    rows.scores("rag-search", *(one | {"value": 0.9 + 0.01 * (n % 10)} for n, one in enumerate(places)))
    rows.logs("rag-search", *places)
    clock.advance(hours=60)
    monitor.refresh()
    assert monitor.snapshot is not None
    end = monitor.snapshot.deployments["rag-search"].changes[0]
    assert end.change == AlertEvent.RESOLVED
    assert end.details.affected is not None
    found = client.get(f"/incident.json?id={number}").json()
    since, back, closed = (datetime.fromisoformat(found[name]) for name in ("since", "back_at", "ended_at"))
    assert NOW - timedelta(hours=11) < since < NOW - timedelta(hours=8)
    assert NOW <= back < NOW + timedelta(hours=2) < closed
    assert found["affected"]["requests"] == end.details.affected.requests < PER_HOUR * 10 + 40
    assert datetime.fromisoformat(found["evidence"]["after"]["until"]) < back
    (told,) = [line for line in description(end, "").splitlines() if line.startswith("In all")]
    assert f"{end.details.affected.requests} requests" in told
    page = " ".join(re.sub("<[^>]*>", "", client.get(f"/incident?id={number}").text).split())
    times = f"from {since:%-d %b %Y, %H:%M} UTC to about {back:%-d %b %Y, %H:%M} UTC"
    assert f"Over. It was bad {times}, {duration(back - since)}." in page
    assert f"{end.details.affected.requests} requests {times}, while it was bad" in page
    assert f", {duration(back - since)}: " in told
    (row,) = re.findall('<td data-label="Bad for">(.*?)</td>', client.get("/incidents").text)
    assert row == duration(back - since)


def test_a_limit_that_does_not_say_since_when_is_counted_from_a_time_before_it(
    rows: ScoreColumns, lake: Lake, make_monitor: Callable[[], Monitor]
) -> None:
    """As a row of an earlier version; the page says that time."""
    rows.logs("rag", *({"event_id": f"b{n}", "requested_at": NOW - timedelta(seconds=n + 1)} for n in range(9)))
    at = NOW - timedelta(minutes=5)
    alert = {"alert_id": "a", "change_id": "a", "incident_id": "i", "deployment": "rag", "metric": "judge_drift"}
    alert |= {"metric_version": "floor", "change": "firing", "changed_at": at}
    alert["details"] = json.dumps({"fired_at": at.isoformat(), "recorded_at": at.isoformat(), "tier": "warn"})
    lake.table(ALERTS, "rag").append(ALERTS.rows([alert]))
    monitor = make_monitor()
    monitor.refresh()
    with TestClient(create_app(monitor)) as client:
        page = client.get(f"/incident?id={incident_id(monitor, 'rag')}").text
    assert "9 requests" in page
    assert "since an unknown time" not in page
