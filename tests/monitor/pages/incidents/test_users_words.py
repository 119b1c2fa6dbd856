"""Users' words on the page of an incident: for whom, and that nothing is shown where there is nothing."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient

from lake.spec.root_tables import AUDIT
from lake.tables.lake import Lake
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import ExporterSettings, MetricsDetail, MonitorSettings
from tests.monitor.conftest import NOW, ScoreColumns
from tests.monitor.pages.incidents.conftest import ACCESS, incident_id, of


@pytest.fixture
def client(monitor: Monitor, regression: None) -> TestClient:
    monitor.refresh()
    app = create_app(monitor, MonitorSettings.model_validate({"access": ACCESS}))
    return TestClient(app, client=("10.0.0.7", 5000))


def plant(rows: ScoreColumns, value: float, count: int, text: str, title: str, **columns: str) -> None:
    """Answers of the last hour, each to a question of its own."""
    at = NOW - timedelta(hours=1)
    places = [
        {"event_id": f"{value} {n}", "response_id": f"{value} {n}", "requested_at": at, "date": at.date()}
        for n in range(count)
    ]
    chunks = {"contexts": [{"text": "x", "title": title, "url": None, "page": None, "id": None}]}
    logged = (place | chunks | columns | {"question": f"{text} {n}?"} for n, place in enumerate(places))
    rows.logs("rag-search", *logged)
    rows.scores("rag-search", *(place | {"value": value, "score_id": place["event_id"]} for place in places))


def test_words_that_tell_the_worst_answers_from_good_ones_are_shown(
    rows: ScoreColumns, client: TestClient, monitor: Monitor, lake: Lake
) -> None:
    """To who may read texts alone; and who read them is noted."""
    plant(rows, 0.05, 40, "Is <b>Elternzeit</b> paid", "leave_policy.pdf")
    plant(rows, 0.99, 90, "Is the canteen open", "handbook.pdf")
    path = f"/incident?id={incident_id(monitor)}"
    page = client.get(path, headers=of("readers")).text
    assert "In the users' words" in page
    assert "<bdi>elternzeit</bdi>" in page
    assert "<bdi>policy</bdi>" in page
    assert "(40 bad, 0 good)" in page
    data = client.get(path.replace("?", ".json?"), headers=of("readers")).json()["evidence"]["words"]
    assert {"word": "elternzeit", "texts": 40, "others": 0} in data["questions"]
    assert "handbook" not in [one["word"] for one in data["documents"]]
    monitor.audit.write()
    found = lake.table(AUDIT).read().to_pylist()
    assert [(one["who"], one["action"]) for one in found] == [("ann", "read_texts")] * 2
    assert all(f"words of {data['worst'] + data['good']} answers" in one["detail"] for one in found)
    assert not any("elternzeit" in one["detail"] for one in found)


def test_who_may_not_read_texts_sees_no_word(rows: ScoreColumns, client: TestClient, monitor: Monitor) -> None:
    plant(rows, 0.05, 40, "Is Elternzeit paid", "leave.pdf")
    plant(rows, 0.99, 90, "Is the canteen open", "handbook.pdf")
    path = f"/incident?id={incident_id(monitor)}"
    page = client.get(path, headers=of("watchers")).text
    assert "lternzeit" not in page
    assert "Find a complaint" not in page
    data = client.get(path.replace("?", ".json?"), headers=of("watchers"))
    assert data.json()["evidence"]["words"] is None
    assert "lternzeit" not in data.text


def test_a_project_a_language_and_a_document_that_stand_out_are_said(
    rows: ScoreColumns, client: TestClient, monitor: Monitor
) -> None:
    """Who may not read texts is told that it is one document, and not which."""
    plant(rows, 0.05, 40, "Is Elternzeit paid", "leave<b>.pdf", project_id="hr")
    plant(rows, 0.99, 90, "Is the canteen open", "handbook.pdf", project_id="legal")
    path = f"/incident?id={incident_id(monitor)}"
    for groups, document in (("readers", "document leave&lt;b&gt;.pdf"), ("watchers", "one document")):
        page = client.get(path, headers=of(groups)).text
        assert "<strong>Most affected:</strong> <bdi>project hr (40 of " in page
        assert f"<bdi>{document} (40 of " in page
        (project, found) = client.get(path.replace("?", ".json?"), headers=of(groups)).json()["evidence"]["stands_out"]
        assert (project["kind"], project["name"], project["worst"], project["good"]) == ("project", "hr", 40, 0)
        assert found["name"] == ("leave<b>.pdf" if groups == "readers" else "")


def test_prometheus_has_what_stood_out_when_the_alert_was_found(
    rows: ScoreColumns, monitor: Monitor, regression: None
) -> None:
    plant(rows, 0.05, 40, "Is Elternzeit paid", "leave.pdf", project_id="hr", client="bot")
    plant(rows, 0.99, 90, "Is the canteen open", "handbook.pdf", project_id="legal")
    monitor.refresh()
    found = TestClient(create_app(monitor)).get("/metrics").text
    (project,) = re.findall(r'dialwatch_incident_worst_share\{.*kind="project",name=""\} (.*)', found)
    assert float(project) == pytest.approx(40 / 140)
    assert 'kind="document",name=""}' in found
    assert 'kind="client",name=""}' in found
    assert "leave.pdf" not in found
    with_details = MonitorSettings(exporter=ExporterSettings(detail=MetricsDetail.ALL))
    found = TestClient(create_app(monitor, with_details)).get("/metrics").text
    assert 'kind="project",name="hr"}' in found
    assert 'kind="client",name="bot"}' in found
    assert "leave.pdf" not in found


def test_where_the_same_is_asked_as_before_there_is_no_word(client: TestClient, monitor: Monitor) -> None:
    path = f"/incident?id={incident_id(monitor)}"
    page = client.get(path, headers=of("readers")).text
    assert "In the users' words" in page
    assert "What the bad answers are about" not in page
    data = client.get(path.replace("?", ".json?"), headers=of("readers")).json()["evidence"]["words"]
    assert (data["questions"], data["documents"]) == ([], [])
