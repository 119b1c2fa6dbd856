"""Hostile texts in every column that the pages of incidents show: they show them, and no more."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from fastapi.testclient import TestClient

from lake.spec.alert_vocabulary import AlertEvent, IncidentEvent
from lake.spec.schemas import ALERTS, INCIDENTS, USER_SIGNALS
from lake.tables.lake import Lake
from monitor.alerting.controls.releases import mark_release
from monitor.alerting.controls.silences import Silence, add_silence
from monitor.detect.regression import Release
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from tests.browser import DESKTOP, PHONE, dump, excess_on_phone
from tests.monitor.conftest import NOW, STRANGE_NAME, ScoreColumns
from tests.monitor.pages.answers.payloads import LONG, PAYLOADS
from tests.monitor.pages.answers.test_hostile_texts import ATTRIBUTES, TAGS
from tests.monitor.pages.answers.test_hostile_texts import assert_is_plain as assert_is_plain_page
from tests.monitor.pages.test_narrow_page import framed

pytestmark = pytest.mark.slow

ALL = "\n".join(PAYLOADS)
CHART_TAGS = frozenset({"figure", "figcaption", "svg", "path", "line", "text", "desc", "time"})
CHART_ATTRIBUTES = frozenset(
    {"d", "viewbox", "preserveaspectratio", "x", "y", "x1", "x2", "y1", "y2", "role", "open", "datetime", "data-label"}
)


def assert_is_plain(page: str) -> None:
    """Only our own elements and attributes, those of charts too, and links to our own pages."""
    assert_is_plain_page(page, TAGS | CHART_TAGS, ATTRIBUTES | CHART_ATTRIBUTES)


def add_rows(rows: ScoreColumns, lake: Lake, deployment: str, texts: list[str]) -> None:
    """A drop of a metric; texts in questions, answers, ids, segments, alerts, comments, names of people and of ids."""
    metric = f"m {texts[0][:200]}"
    scored, logs = [], []
    for left in range(60, 0, -1):
        for number in range(20):
            at, text = NOW - timedelta(hours=left) + timedelta(minutes=3 * number), texts[number % len(texts)]
            place = {"event_id": f"{left} {number} {text[:300]}", "response_id": text}
            place |= {"requested_at": at, "date": at.date()}
            value = (0.9 if left > 10 else 0.1) + 0.001 * number
            scored.append(place | {"value": value, "score_id": f"{left} {number}", "metric": metric})
            asked = {"user_id": text[:300], "chat_id": text[:300], "project_id": text}
            logs.append(place | asked | {"question": text, "answer": text})
    rows.scores(deployment, *scored)
    rows.logs(deployment, *logs)
    for number, text in enumerate(texts):
        row = {"signal_id": f"{number}", "deployment": deployment, "date": NOW.date(), "response_id": text}
        row |= {"signaled_at": NOW - timedelta(seconds=number + 1), "signal": "dislike"}
        row |= {"details": _json_object("comment", text)}
        lake.table(USER_SIGNALS, deployment).append(USER_SIGNALS.rows([row]))
        add_silence(lake, Silence(deployment=deployment, until=NOW + timedelta(hours=1), comment=text), NOW)
    mark_release(lake, Release(deployment, metric, NOW - timedelta(hours=60), texts[0]), NOW - timedelta(hours=61))


def add_what_became_of_it(lake: Lake, monitor: Monitor, deployment: str, texts: list[str]) -> None:
    """Acknowledgements, and messages to receivers, with the texts."""
    assert monitor.snapshot is not None
    incident = monitor.snapshot.deployments[deployment].incidents[0]
    (alert,) = incident.alerts
    for number, text in enumerate(texts):
        row = {"change_id": f"{number}", "incident_id": incident.incident_id, "deployment": deployment}
        row |= {"change": IncidentEvent.ACKNOWLEDGED, "changed_at": NOW + timedelta(seconds=number)}
        lake.table(INCIDENTS, deployment).append(INCIDENTS.rows([row | {"who": text, "comment": text}]))
        sent = {"change_id": f"d{number}", "alert_id": alert.alert_id, "deployment": deployment, "metric": text}
        sent |= {"change": AlertEvent.UNDELIVERABLE, "changed_at": NOW, "reason": text}
        details = _json_object("receiver", text)
        lake.table(ALERTS, deployment).append(ALERTS.rows([sent | {"metric_version": "1", "details": details}]))


def _json_object(key: str, text: str) -> str:
    return json.dumps({key: text})


def page_of(monitor: Monitor, deployment: str) -> str:
    assert monitor.snapshot is not None
    return f"/incident?{urlencode({'id': monitor.snapshot.deployments[deployment].incidents[0].incident_id})}"


@pytest.fixture
def hostile(rows: ScoreColumns, lake: Lake, make_monitor: Callable[[], Monitor]) -> Monitor:
    """A monitor of a deployment `rag` with all payloads, and a line of a million characters."""
    texts = [ALL[:900], *PAYLOADS, LONG]
    add_rows(rows, lake, "rag", texts)
    first = make_monitor()
    first.refresh()
    add_what_became_of_it(lake, first, "rag", texts)
    monitor = make_monitor()
    monitor.refresh()
    return monitor


def test_no_text_becomes_an_element_an_attribute_or_a_link(hostile: Monitor) -> None:
    with TestClient(create_app(hostile)) as client:
        page = client.get(page_of(hostile, "rag"))
        assert page.status_code == 200
        assert "evil.example" in page.text
        assert_is_plain(page.text)
        assert len(page.text) < 1_000_000
        assert_is_plain(client.get("/incidents").text)
        assert client.get(page_of(hostile, "rag").replace("/incident?", "/incident.json?")).status_code == 200
        for text in PAYLOADS:
            typed = dict.fromkeys(("metric", "silenced", "released", "acknowledged"), text)
            assert_is_plain(client.get(f"{page_of(hostile, 'rag')}&{urlencode(typed)}").text)
            assert_is_plain(client.get(f"/incident?{urlencode({'id': text})}").text)


def test_a_strange_name_is_shown_as_it_is(rows: ScoreColumns, lake: Lake, monitor: Monitor) -> None:
    add_rows(rows, lake, STRANGE_NAME, ["x"])
    monitor.refresh()
    with TestClient(create_app(monitor)) as client:
        for path in ("/incidents", page_of(monitor, STRANGE_NAME), "/"):
            page = client.get(path)
            assert page.status_code == 200
            assert "<b>x</b>" not in page.text


def test_a_comment_of_a_form_is_a_plain_line(rows: ScoreColumns, lake: Lake, monitor: Monitor) -> None:
    """Also for who reads it in a terminal."""
    from monitor.alerting.controls.silences import read_silences
    from tests.monitor.pages.incidents.conftest import METRIC

    rows.hours("rag", 48, lambda left: 0.9 if left > 10 else 0.3, METRIC)
    monitor.refresh()
    with TestClient(create_app(monitor)) as client:
        page = client.get(page_of(monitor, "rag")).text
        token = page.partition('name="form_token" value="')[2].partition('"')[0]
        incident = page_of(monitor, "rag").partition("=")[2]
        for text in PAYLOADS:
            sent = {"id": incident, "form_token": token, "length": "1", "comment": text}
            answer = client.post("/incident/silence", data=sent)
            assert answer.status_code == 200
            assert_is_plain(answer.text)
            acknowledged = client.post("/incident/acknowledge", data=sent)
            assert_is_plain(acknowledged.text)
    comments = [one.comment for one in read_silences(lake).values()]
    assert len(comments) == len(PAYLOADS)
    assert not any("\x1b" in comment or "\u202e" in comment or "\n" in comment for comment in comments)


@pytest.mark.integration
@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_the_pages_fit(hostile: Monitor, serve: Callable[[Any], str], tmp_path: Path, width: int) -> None:
    """At 390 and at 1280 pixels nothing scrolls sideways, whatever is stored."""
    address = serve(framed(create_app(hostile)))
    for path in ("/incidents", page_of(hostile, "rag")):
        url = f"{address}/frame?path={quote(path, safe='')}&width={width}"
        assert (path, *excess_on_phone(url, tmp_path)) == (path, 0, "")


@pytest.mark.integration
def test_no_script_runs(hostile: Monitor, serve: Callable[[Any], str], tmp_path: Path) -> None:
    """In Chromium, without the policy of the header: what is escaped must do."""
    address = serve(framed(create_app(hostile)))
    for path in ("/incidents", page_of(hostile, "rag")):
        page = dump(address + path, tmp_path)
        assert "<title>dialwatch: " in page
        assert "PWNED</title>" not in page
