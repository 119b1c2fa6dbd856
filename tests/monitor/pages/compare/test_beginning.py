"""What the page compares where its address says nothing, as it is opened from the header."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient

from lake.spec.alert_vocabulary import LimitKind, Tier
from lake.tables.lake import Lake
from monitor.access.reader import Reader
from monitor.alerting.controls.releases import mark_release
from monitor.detect.regression import Release
from monitor.pages.answers.addresses import Visible
from monitor.pages.app import create_app
from monitor.pages.compare.beginning import beginning_of
from monitor.pages.compare.query import CompareQuery
from monitor.service.monitor import Monitor
from tests.monitor.conftest import NOW, Clock, ScoreColumns
from tests.monitor.pages.incidents.conftest import METRIC, incident_id, regression

__all__ = ["regression"]

WITH_ONSET = {"deployment": "rag-search", "onset": "2026-11-20T02:00Z"}


def words_of(page: str) -> str:
    return " ".join(html.unescape(re.sub("<[^>]*>", "", page)).split())


@pytest.fixture
def client(monitor: Monitor) -> Iterator[TestClient]:
    with TestClient(create_app(monitor)) as client:
        yield client


def test_an_open_incident_divides_the_answers_at_its_onset(
    client: TestClient, monitor: Monitor, regression: None
) -> None:
    """The same day has answers of both sides; the line says what is compared and why, and links to the incident."""
    monitor.refresh()
    page = client.get("/compare").text
    words = words_of(page)
    assert "Compared are the answers before the incident of rag-search with those since: it is open." in words
    assert "It began at 20 Nov 2026, 02:00 UTC; the metric is" in words
    assert f'href="/incident?id={incident_id(monitor)}"' in page
    assert "Of 10 questions: 10 worse, 0 better" in words
    assert "Before is 2026-11-13 to 2026-11-20 02:00, after is 2026-11-20 02:00 to 2026-11-20 (UTC)" in words
    assert f'<option value="{METRIC}" selected>' in page


def test_the_form_keeps_the_onset_and_other_days_end_it(client: TestClient, monitor: Monitor, regression: None) -> None:
    """The hidden field says when; where a reader chooses other days these hold."""
    monitor.refresh()
    sent = dict(re.findall(r'<input (?:type="\w+" )?name="(\w+)" value="([^"]*)"', client.get("/compare").text))
    assert sent["onset"] == "2026-11-20T02:00:00+00:00"
    same = client.get("/compare.json", params=sent | {"deployment": "rag-search", "metric": METRIC}).json()
    assert (same["before"], same["found"]["worse"]) == ("2026-11-13 to 2026-11-20 02:00", 10)
    chosen = sent | {"deployment": "rag-search", "before_until": "2026-11-19"}
    assert client.get("/compare.json", params=chosen).json()["after"] == "2026-11-20 to 2026-11-20"
    assert 'name="onset"' not in client.get("/compare", params=chosen).text


def test_the_address_of_the_json_keeps_the_onset(client: TestClient, monitor: Monitor, regression: None) -> None:
    monitor.refresh()
    (address,) = re.findall(r'href="(/compare\.json\?[^"]*)"', client.get("/compare").text)
    assert "onset=2026-11-20T02%3A00%3A00" in address
    assert client.get(html.unescape(address)).json()["after"] == "2026-11-20 02:00 to 2026-11-20"


def test_the_incident_that_ended_last_comes_where_none_is_open(
    client: TestClient, monitor: Monitor, lake: Lake, clock: Clock, regression: None
) -> None:
    """For a week: then the last week is compared."""
    monitor.refresh()
    clock.advance(seconds=1)
    mark_release(lake, Release("rag-search", None, NOW - timedelta(hours=11)), clock())
    monitor.refresh()
    words = words_of(client.get("/compare").text)
    assert "incident of rag-search with those since: no incident is open, and this one ended last, at 20 Nov" in words
    clock.advance(days=7)
    monitor.refresh()
    assert "Compared is the last week of rag-search with the week before" in words_of(client.get("/compare").text)


def test_without_an_incident_it_is_the_last_week_of_the_deployment_with_most_answers(
    client: TestClient, monitor: Monitor, rows: ScoreColumns
) -> None:
    """Of those that are scored, and not before the first look at the lake."""
    assert "Choose a deployment" in client.get("/compare").text
    for name, hours in (("rarely", 2), ("most", 3)):
        rows.hours(name, hours, lambda left: 0.7, METRIC)
    rows.logs("unscored", *({"event_id": f"e{n}"} for n in range(100)))
    monitor.refresh()
    words = words_of(client.get("/compare").text)
    assert "Compared is the last week of most with the week before: no incident is open or ended within 7 days" in words
    words = words_of(client.get("/compare", params={"deployment": "rarely"}).text)
    assert "Compared is the last week of rarely with the week before: none of its incidents is open or ended" in words
    assert "Compared" not in words_of(client.get("/compare", params={"deployment": "rarely", "metric": METRIC}).text)
    assert client.get("/compare", params={"deployment": "unknown"}).status_code == 422


def test_an_urgent_incident_comes_first_and_a_limit_has_another_metric(monitor: Monitor, regression: None) -> None:
    """Answers have no score of a limit: the next alert's metric is compared, and one that is over ends its period."""
    monitor.refresh()
    snapshot = monitor.snapshot
    assert snapshot is not None
    state = snapshot.deployments["rag-search"]
    (now,) = state.incidents
    limit = replace(now.foremost, key=replace(now.foremost.key, metric=LimitKind.ERRORS))
    newer = replace(now, incident_id="newer", deployment="other", opened_at=now.opened_at + timedelta(hours=1))

    def begun(*incidents: object) -> object:
        of_each = {one.deployment: replace(state, incidents=(one,)) for one in incidents}
        found = beginning_of(Visible(Reader(), replace(snapshot, deployments=of_each)))
        assert found is not None
        return found.incident and found.incident.incident_id, found.fields

    assert begun(now, newer)[0] == "newer"
    both = {one.deployment: replace(state, incidents=(one,)) for one in (now, newer)}
    chosen = beginning_of(Visible(Reader(), replace(snapshot, deployments=both)), "rag-search")
    assert chosen is not None
    assert chosen.incident == now
    assert begun(now, replace(newer, tier=Tier.WARN))[0] == now.incident_id
    assert begun(now, replace(newer, ended_at=NOW))[0] == now.incident_id
    early, late = NOW - timedelta(days=2), NOW - timedelta(days=1)
    assert begun(replace(now, ended_at=late), replace(newer, ended_at=early))[0] == now.incident_id
    assert begun(replace(now, alerts=(limit, *now.alerts)))[1]["metric"] == METRIC
    assert begun(replace(now, alerts=(limit,)))[1]["metric"] == ""
    replay = replace(limit, key=replace(limit.key, metric=LimitKind.REPLAY))
    assert begun(replace(now, alerts=(replay,)))[1] == {"deployment": "rag-search", "between": "replays"}
    assert "after_until" not in begun(now)[1]
    assert begun(replace(now, ended_at=NOW + timedelta(days=1)))[1]["after_until"] == "2026-11-20"


@pytest.mark.parametrize(("today", "last"), [("2026-11-25", "2026-11-25"), ("2027-06-01", "2027-02-19")])
def test_a_period_since_an_onset_ends_today_and_has_92_days_at_most(today: str, last: str) -> None:
    query = CompareQuery.read(WITH_ONSET, NOW.fromisoformat(today).date())
    assert (str(query.before_since), str(query.before_until)) == ("2026-11-13", "2026-11-20")
    assert (str(query.after_since), str(query.after_until)) == ("2026-11-20", last)
