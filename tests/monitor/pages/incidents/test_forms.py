"""Forms of an incident: acknowledge, silence, accept the new level; for whom, once, and what the page says then."""

from __future__ import annotations

import html
import re
import shlex
from datetime import UTC, timedelta

import pytest
from fastapi.testclient import TestClient

from lake.spec.root_tables import AUDIT
from lake.spec.schemas import INCIDENTS
from lake.tables.lake import Lake
from monitor.access.reader import Reader
from monitor.alerting.controls.releases import mark_release, read_releases
from monitor.alerting.controls.silences import read_silences
from monitor.alerting.incidents.log import read_incidents
from monitor.detect.regression import Release
from monitor.pages.incidents.actions import Actions
from monitor.pages.incidents.commands import commands_of, metric_option
from monitor.pages.incidents.finding import incident_of
from monitor.service.monitor import Monitor
from tests.monitor.conftest import NOW, STRANGE_NAME, Clock, ScoreColumns
from tests.monitor.pages.answers.payloads import PAYLOADS
from tests.monitor.pages.incidents.conftest import (
    BAD,
    GOOD,
    METRIC,
    dislike,
    incident_id,
    noted,
    of,
    sent,
)

ACTS = ("acknowledge", "acknowledge/withdraw", "silence", "silence/end", "release", "release/withdraw")


def test_an_acknowledgement_says_who(proxied: TestClient, monitor: Monitor, lake: Lake) -> None:
    """And a second one with the same comment is none."""
    for _ in range(2):
        answer = sent(proxied, monitor, "acknowledge", comment="  I look\nat it ")
        assert answer.status_code == 303
        page = proxied.get(answer.headers["location"], headers=of("watchers")).text
        assert "Acknowledged by <bdi>ann</bdi>" in page
        assert "I look at it" in page
        assert 'role="status"' in page
    assert lake.table(INCIDENTS, "rag-search").read()["change"].to_pylist().count("acknowledged") == 1
    assert noted(monitor, lake) == [("ann", "acknowledge", "rag-search")]


@pytest.mark.slow
def test_an_acknowledgement_can_be_taken_back(proxied: TestClient, monitor: Monitor, lake: Lake, clock: Clock) -> None:
    """Once, if that is asked for twice; a monitor that starts says the same, and it can be acknowledged again."""
    sent(proxied, monitor, "acknowledge", comment="mine")
    for _ in range(2):
        clock.advance(seconds=1)
        answer = sent(proxied, monitor, "acknowledge/withdraw")
        page = proxied.get(answer.headers["location"], headers=of("on-call")).text
        assert "The acknowledgement is taken back" in page
        assert "Nobody has acknowledged it" in page
        assert "acknowledgement withdrawn" in page
        assert "/incident/acknowledge/withdraw" not in page
    assert noted(monitor, lake) == [("ann", "acknowledge", "rag-search")] * 2
    (found,) = (one for one in read_incidents(lake) if one.deployment == "rag-search")
    assert found.acknowledged is None
    assert not found.is_quiet
    clock.advance(seconds=1)
    sent(proxied, monitor, "acknowledge", comment="mine again")
    page = proxied.get(f"/incident?id={incident_id(monitor)}", headers=of("on-call")).text
    assert "mine again" in page
    assert "/incident/acknowledge/withdraw" in page
    assert (
        "/incident/acknowledge/withdraw"
        not in proxied.get(f"/incident?id={incident_id(monitor)}", headers=of("readers")).text
    )


def test_forms_that_are_sent_at_once_acknowledge_once(
    proxied: TestClient, monitor: Monitor, lake: Lake, clock: Clock
) -> None:
    """Each of them has read the incident before any of them has stored anything."""
    actions, found = Actions(monitor, UTC), incident_of(monitor.snapshot, incident_id(monitor))
    assert found is not None
    for _ in range(2):
        actions.acknowledge(Reader(who="ann"), found, {"comment": "I look"})
        clock.advance(seconds=1)
    assert lake.table(INCIDENTS, "rag-search").read()["change"].to_pylist().count("acknowledged") == 1


def test_the_metric_of_an_accepted_level_keeps_its_capitals(proxied: TestClient, monitor: Monitor, lake: Lake) -> None:
    """In quotation marks, as in every sentence."""
    for metric, said in (("MyCustom_Metric", "“MyCustom_Metric”"), (METRIC, "“answer words")):
        mark_release(lake, Release("rag-search", metric, NOW - timedelta(hours=1), ""), NOW)
        number = max(read_releases(lake).valid)
        path = f"/incident?id={incident_id(monitor)}&released={number}"
        page = proxied.get(path, headers=of("on-call")).text
        assert f"The new level is accepted (mark {number})</h2><p>{said}" in page


@pytest.mark.slow
def test_a_release_is_marked_once(proxied: TestClient, monitor: Monitor, lake: Lake) -> None:
    for _ in range(2):
        answer = sent(proxied, monitor, "release", metric=METRIC, comment="shorter")
        assert (
            "The new level is accepted (mark 1)" in proxied.get(answer.headers["location"], headers=of("readers")).text
        )
    ((number, release),) = read_releases(lake).valid.items()
    assert (number, release.metric, release.at.isoformat()) == (1, METRIC, "2026-11-20T02:00:00+00:00")
    assert noted(monitor, lake) == [("ann", "release", "rag-search")]
    monitor.refresh()
    assert monitor.snapshot is not None
    assert monitor.snapshot.deployments["rag-search"].incidents[0].ended_at is not None


def test_an_acknowledgement_says_which_messages_it_stops(proxied: TestClient, monitor: Monitor) -> None:
    page = proxied.get(f"/incident?id={incident_id(monitor)}", headers=of("on-call")).text
    assert "The daily reminder of this incident stops. <strong>No other message stops:</strong>" in page
    sent(proxied, monitor, "acknowledge")
    page = proxied.get(f"/incident?id={incident_id(monitor)}", headers=of("on-call")).text
    assert "The daily reminder goes on." in page


@pytest.mark.slow
def test_an_accepted_level_is_shown_and_taken_back(
    proxied: TestClient, monitor: Monitor, lake: Lake, clock: Clock
) -> None:
    """By who may act, once; others read how."""
    address = f"/incident?id={incident_id(monitor)}"
    sent(proxied, monitor, "release", comment="shorter")
    clock.advance(seconds=3)
    page = proxied.get(address, headers=of("readers")).text
    assert "New level accepted since" in page
    assert "dialwatch release withdraw 1" in page
    assert "Take it back" not in page
    assert "Take it back" in proxied.get(address, headers=of("on-call")).text
    for _ in range(2):
        answer = sent(proxied, monitor, "release/withdraw", release="1")
        assert "no longer accepted" in proxied.get(answer.headers["location"], headers=of("readers")).text
    assert not read_releases(lake).valid
    assert "New level accepted since" not in proxied.get(address, headers=of("readers")).text
    assert noted(monitor, lake) == [("ann", "release", "rag-search")] * 2


@pytest.mark.slow
@pytest.mark.parametrize("number", ["", "2", "x", "9" * 20])
def test_what_was_not_accepted_here_is_not_taken_back(
    proxied: TestClient, monitor: Monitor, lake: Lake, clock: Clock, number: str
) -> None:
    """Nor a level of another deployment."""
    mark_release(lake, Release("rag-search", None, NOW), NOW)
    mark_release(lake, Release("other-app", None, NOW), NOW)
    assert sent(proxied, monitor, "release/withdraw", release=number).status_code == 422
    assert len(read_releases(lake).valid) == 2
    assert noted(monitor, lake) == []
    page = proxied.get(f"/incident?id={incident_id(monitor)}", headers=of("readers")).text
    assert page.count("New level accepted since") == 1


@pytest.mark.slow
@pytest.mark.parametrize("act", ACTS)
def test_only_who_may_act_does(proxied: TestClient, monitor: Monitor, lake: Lake, act: str) -> None:
    """Who may see has the commands; for who may not see there is no such incident, as for an id of nothing."""
    path = f"/incident?id={incident_id(monitor)}"
    for groups in ("readers", "watchers"):
        page = proxied.get(path, headers=of(groups)).text
        assert "/incident/" not in page
        assert "dialwatch silence add" in page
        assert sent(proxied, monitor, act, groups).status_code == 403
    hidden = sent(proxied, monitor, act, "others")
    unknown = sent(proxied, monitor, act, "others", id="nothing")
    assert (hidden.status_code, hidden.text) == (404, unknown.text)
    for each in (path, path.replace("/incident?", "/incident.json?")):
        seen = proxied.get(each, headers=of("others"))
        other = proxied.get("/".join(each.split("/")).replace(incident_id(monitor), "nothing"), headers=of("others"))
        assert (seen.status_code, seen.text) == (404, other.text)
    assert incident_id(monitor) not in proxied.get("/incidents", headers=of("others")).text
    assert noted(monitor, lake) == []
    assert not read_silences(lake)
    assert not read_releases(lake).valid


@pytest.mark.parametrize("act", ACTS)
def test_a_form_of_another_page_is_refused(proxied: TestClient, monitor: Monitor, lake: Lake, act: str) -> None:
    assert sent(proxied, monitor, act, form_token="x").status_code == 403
    assert noted(monitor, lake) == []


@pytest.mark.parametrize(
    ("act", "field", "value"),
    [
        ("silence", "length", "5"),
        ("silence", "length", "-1"),
        ("silence", "metric", "another"),
        ("silence", "comment", "x" * 1001),
        ("release", "at", "yesterday"),
        ("release", "at", "0001-01-01T00:00"),
        ("release", "at", "9999-12-31T23:59-12:00"),
        ("release", "metric", "another"),
    ],
)
def test_a_field_that_cannot_be_used_is_refused(
    proxied: TestClient, monitor: Monitor, lake: Lake, act: str, field: str, value: str
) -> None:
    assert sent(proxied, monitor, act, **{field: value}).status_code == 422
    assert not read_silences(lake)
    assert not read_releases(lake).valid


@pytest.mark.slow
def test_without_texts_one_sees_scores_and_ids(proxied: TestClient, monitor: Monitor, lake: Lake) -> None:
    dislike(monitor, 1, "my complaint")
    path = f"/incident?id={incident_id(monitor)}"
    for each in (path, path.replace("/incident?", "/incident.json?")):
        hidden, shown = (proxied.get(each, headers=of(groups)) for groups in ("watchers", "readers"))
        for text in (GOOD, BAD, "days of leave", "my complaint"):
            assert text not in hidden.text
            assert text in shown.text
        assert ("answer-1-" if each != path else "Answer of") in hidden.text
        assert shown.headers["cache-control"] == "no-store"
    monitor.audit.write()
    read = lake.table(AUDIT).read().to_pylist()
    assert [(row["who"], row["action"], row["deployment"]) for row in read] == [("ann", "read_texts", "rag-search")] * 2


def test_a_read_of_comments_alone_is_noted(proxied: TestClient, monitor: Monitor, lake: Lake) -> None:
    """Of a limit there are no scores, and so no worst answers."""
    bad = ({"event_id": f"b{n}", "requested_at": NOW - timedelta(seconds=n), "status": 503} for n in range(60))
    ScoreColumns(lake).logs("rag-errors", *bad)
    dislike(monitor, 0, "it is down", hours=0, deployment="rag-errors")
    monitor.refresh()
    path = f"/incident?id={incident_id(monitor, 'rag-errors')}"
    assert "it is down" in proxied.get(path, headers=of("readers")).text
    assert "it is down" not in proxied.get(path, headers=of("watchers")).text
    monitor.audit.write()
    (row,) = lake.table(AUDIT).read().to_pylist()
    assert (row["who"], row["action"], row["deployment"]) == ("ann", "read_texts", "rag-errors")
    assert "comments: 1" in row["detail"]


def test_without_access_everybody_on_loopback_acts(client: TestClient, monitor: Monitor, lake: Lake) -> None:
    page = client.get(f"/incident?id={incident_id(monitor)}").text
    (token, *_) = re.findall(r'name="form_token" value="([^"]*)"', page)
    fields = {"id": incident_id(monitor), "form_token": token, "length": "1"}
    assert client.post("/incident/silence", data=fields).status_code == 303
    assert client.post("/incident/silence", data=fields | {"form_token": ""}).status_code == 403
    assert len(read_silences(lake)) == 1


def test_an_incident_that_is_over_has_nothing_to_acknowledge_or_to_accept(
    proxied: TestClient, monitor: Monitor
) -> None:
    sent(proxied, monitor, "release")
    monitor.refresh()
    assert sent(proxied, monitor, "acknowledge").status_code == 409
    page = proxied.get(f"/incident?id={incident_id(monitor)}", headers=of("on-call")).text
    assert "it is not known whether quality is back" in page
    assert "/incident/acknowledge" not in page
    assert "Accept the new level" not in page
    assert "release mark" not in page


@pytest.mark.parametrize("name", ["a b; rm -rf ~", "--all", "it's $(id)", "app/`id`", STRANGE_NAME, *PAYLOADS])
def test_a_command_names_what_it_says_or_is_not_there(name: str) -> None:
    """A shell reads the same words, whatever the name; one with characters that nobody sees has no command."""
    found = commands_of("1f", name, name, NOW)
    is_plain = name.isprintable()
    for command in (found.silence, found.release):
        if not is_plain:
            assert command is None or "\n" not in command
        if command is not None:
            words = shlex.split(command)
            assert name in words or f"--deployment={name}" in words
            assert words[-2:] == ["-c", "dialwatch.yaml"]
    option = metric_option(name)
    assert (option is None) is (found.silence is None)
    if option is not None:
        assert shlex.split(option) in (["--metric", name], [f"--metric={name}"])
    if is_plain:
        assert found.silence is not None


def test_what_was_filled_in_wrongly_leads_back_to_its_form(proxied: TestClient, monitor: Monitor) -> None:
    """To pages of ours alone."""
    path = f"/incident?id={incident_id(monitor)}"
    cases = {f"http://testserver{path}": True, f"http://elsewhere{path}": False, "http://[": False}
    for referer, is_linked in cases.items():
        page = proxied.get("/incident", headers=of("on-call") | {"Referer": referer})
        assert page.status_code == 422
        assert (f'<a href="{html.escape(path)}">Back to the page before</a>' in page.text) is is_linked
