"""What changed around an onset, from the log to the row of the alert, the message and the page."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient

from lake.spec.alert_vocabulary import OnsetKind
from lake.spec.schemas import ALERTS
from lake.tables.lake import Lake
from monitor.alerting.alerts.change import from_row
from monitor.detect.causes import DailyChanges
from monitor.notify.texts.alert import description
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from tests.monitor.conftest import NOW, Clock, ScoreColumns

OLD, NEW = "Answer from the contexts.\nSay where it stands.", "Answer from the contexts.\nBe <b>brief</b>."


def _log(
    rows: ScoreColumns,
    prompt: str,
    changed: str,
    chunks: tuple[int, int] = (8, 8),
    worse: float = 0.6,
    more: int = 0,
    names: tuple[str, str] = ("rag-search", "rag-search"),
) -> None:
    """A week of rag-search, which calls gpt, and its scores; it changes 10 hours ago, and goes on for `more` hours.

    `names` are those of the deployment before and after the change.
    """
    scored, logs = ({name: list[dict[str, Any]]() for name in names} for _ in range(2))
    calls = []
    for left in range(8 * 24, -more, -1):
        for number in range(6):
            at = NOW - timedelta(hours=left) + timedelta(minutes=10 * number)
            is_after = left <= 10
            name = f"{left}-{number}"
            place: dict[str, Any] = {"requested_at": at, "date": at.date(), "trace_id": f"trace-{name}"}
            value = (0.9 - worse if is_after else 0.9) + 0.01 * number
            of = names[is_after]
            score = {k: v for k, v in place.items() if k != "trace_id"} | {"event_id": name, "value": value}
            scored[of].append(score | {"score_id": name, "response_id": name})
            count = chunks[int(is_after)] - (left + number) % 2
            place |= {"response_id": name} | dict.fromkeys(("question", "answer"), "How many days of leave are there?")
            texts = [{"text": "x" * 100, "url": f"files/{n}.pdf"} for n in range(count)]
            logs[of].append(place | {"event_id": name, "contexts": texts, "contexts_origin": "retrieval_response"})
            body = {"messages": [{"role": "system", "content": changed if is_after else prompt}], "temperature": 0}
            call = {"event_id": f"call-{name}", "is_entry": False, "parent_deployment": of, "model": "gpt-4o"}
            calls.append(place | call | {"request_body": json.dumps(body)})
    for of in scored:
        rows.scores(of, *scored[of])
        rows.logs(of, *logs[of])
    rows.logs("gpt", *calls)


def _fired(lake: Lake) -> Any:
    return from_row(lake.table(ALERTS, "rag-search").read().to_pylist()[0])


@pytest.mark.slow
def test_a_changed_system_prompt_is_named_in_row_message_page_and_json(
    rows: ScoreColumns, lake: Lake, monitor: Monitor
) -> None:
    _log(rows, OLD, NEW)
    monitor.refresh()
    change = _fired(lake)
    assert change.details.around_onset.answers > 800
    (found,) = change.details.around_onset.changes
    assert (found.feature, found.subject) == ("system_prompt", "gpt")
    assert abs(found.at - (NOW - timedelta(hours=10))) <= timedelta(minutes=10)
    stored = lake.table(ALERTS, "rag-search").read().to_pylist()[0]["details"]
    assert "contexts" not in stored
    assert "brief" not in stored
    assert "Also changed, by the log: at 2026-11-20 02:00 UTC (" in description(change, "")
    assert "system prompt of gpt changed" in description(change, "")
    with TestClient(create_app(monitor)) as client:
        page = client.get(f"/incident?id={change.incident_id}").text
        data = client.get(f"/incident.json?id={change.incident_id}").json()
    assert "system prompt of gpt changed" in page
    assert "-Say where it stands." in page
    assert "+Be &lt;b&gt;brief&lt;/b&gt;." in page
    assert [line["feature"] for line in data["changes"]["lines"]] == ["system_prompt"]


@pytest.mark.slow
def test_what_changed_with_a_new_version_is_named_by_the_answers_of_the_version_before(
    rows: ScoreColumns, lake: Lake, monitor: Monitor
) -> None:
    """Good earlier answers are those of the older version, too."""
    older, newer = "applications/public/help__1.0.0", "applications/public/help__1.1.0"
    _log(rows, OLD, NEW, names=(older, newer))
    monitor.refresh()
    change = from_row(lake.table(ALERTS, newer).read().to_pylist()[0])
    assert (change.details.onset, change.details.older_version) == (OnsetKind.RELEASE, older)
    (found,) = change.details.around_onset.changes
    assert (found.feature, found.subject) == ("system_prompt", "gpt")
    assert change.details.around_onset.answers > 800
    with TestClient(create_app(monitor)) as client:
        data = client.get(f"/incident.json?id={change.incident_id}").json()
    assert data["evidence"]["before"]["scores"] > 500
    assert {pair["earlier"]["deployment"] for pair in data["evidence"]["worst"]} == {older}


def test_fewer_chunks_are_named_with_their_numbers(rows: ScoreColumns, lake: Lake, monitor: Monitor) -> None:
    _log(rows, OLD, OLD, chunks=(8, 3))
    monitor.refresh()
    (first, *_) = _fired(lake).details.around_onset.changes
    assert (first.feature, first.before, first.after) == (
        "chunks",
        pytest.approx(7.5, abs=0.5),
        pytest.approx(2.5, abs=0.5),
    )


@pytest.mark.slow
def test_where_nothing_changed_it_says_so(rows: ScoreColumns, lake: Lake, monitor: Monitor) -> None:
    _log(rows, OLD, OLD)
    monitor.refresh()
    change = _fired(lake)
    assert change.details.around_onset.changes == ()
    said = f"{change.details.around_onset.answers} requests from before and after were compared."
    assert f"Also changed: nothing that the log shows. {said}" in description(change, "")
    with TestClient(create_app(monitor)) as client:
        assert (
            "What changed does not show in the log: no change of models, parameters, prompts"
            in client.get(f"/incident?id={change.incident_id}").text
        )


def test_a_monitor_that_starts_anew_says_the_same(rows: ScoreColumns, lake: Lake, monitor: Monitor, clock: Any) -> None:
    _log(rows, OLD, NEW)
    monitor.refresh()
    before = lake.table(ALERTS, "rag-search").read().to_pylist()
    Monitor(lake, monitor.settings, clock).refresh()
    assert lake.table(ALERTS, "rag-search").read().to_pylist() == before
    found = {from_row(row).details.around_onset for row in before}
    assert len(before) == 2, "the warning, and the page that it became"
    assert len(found) == 1


def test_who_asked_is_counted_where_what_stands_out_cannot_be_read(
    rows: ScoreColumns, lake: Lake, monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The alert has the counts, and the monitor says what failed."""

    def fail(*_: Any) -> None:
        raise OSError("the store is away")

    monkeypatch.setattr("monitor.alerting.alerts.explainer.read_compared", fail)
    _log(rows, OLD, NEW)
    monitor.refresh()
    affected = _fired(lake).details.affected
    assert affected is not None
    assert affected.requests > 0
    assert "worst answers of 'rag-search'" in str(monitor.health().problems)


@pytest.mark.slow
def test_a_changed_setting_without_a_regression_is_a_mark_of_the_chart(
    rows: ScoreColumns, lake: Lake, clock: Clock, make_monitor: Callable[[], Monitor]
) -> None:
    """Two days later, once, over restarts; nobody is alarmed, and the texts are nowhere in the state."""
    _log(rows, OLD, NEW, worse=0.0, more=36)
    clock.advance(hours=48)
    for _ in range(2):
        monitor = make_monitor()
        for _ in range(3):
            monitor.refresh()
        assert monitor.health().problems == ()
        assert monitor.snapshot is not None
        (found,) = monitor.snapshot.deployments["rag-search"].setting_changes.found
        assert (found.feature, found.subject) == ("system_prompt", "gpt")
        assert abs(found.at - (NOW - timedelta(hours=10))) <= timedelta(minutes=10)
        with TestClient(create_app(monitor)) as client:
            page = client.get("/deployment?name=rag-search").text
            metrics = client.get("/deployment.json?name=rag-search").json()["metrics"]
        assert "system prompt of gpt changed" in page
        kinds = [mark["kind"] for mark in metrics[0]["marks"]]
        assert kinds == ["changed setting"]
        clock.advance(hours=24)
    assert lake.table(ALERTS, "rag-search").read().num_rows == 0


@pytest.mark.slow
def test_a_model_is_found_behind_many_deployments_and_callers_are_read_once_a_day(
    rows: ScoreColumns, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model comes last by its name; who called whom is not read again for the next deployment."""
    _log(rows, OLD, NEW, worse=0.0, more=36)
    names: list[str | None] = [f"app-{number:03}" for number in range(120)]
    for name in names:
        rows.logs(str(name), {"event_id": f"of {name}"})
    every = [*names, "gpt", "rag-search"]
    changes, day = DailyChanges(lake), (NOW - timedelta(hours=10)).date()
    (found,) = changes.read("rag-search", day, every)
    assert (found.feature, found.subject) == ("system_prompt", "gpt")
    monkeypatch.setattr("monitor.detect.causes.reading.callers", lambda *_: pytest.fail("it was read again"))
    assert changes.read("app-000", day, every) == []
