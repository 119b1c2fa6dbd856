"""Who is affected by open incidents is counted again while requests come, and once a minute at most."""

from __future__ import annotations

from datetime import timedelta

import pytest
from fastapi.testclient import TestClient

from lake.tables.lake import Lake
from monitor.detect.causes import AffectedCounts
from monitor.pages.app import create_app
from monitor.pages.news import open_incident
from monitor.service import affected_now
from monitor.service.monitor import Monitor
from tests.monitor.conftest import NOW, Clock, ScoreColumns
from tests.monitor.pages.incidents.conftest import incident_id


@pytest.fixture
def failing(rows: ScoreColumns, monitor: Monitor) -> Monitor:
    """A deployment of which the last 60 requests failed, each of another person."""
    bad = (
        {"event_id": f"b{n}", "requested_at": NOW - timedelta(seconds=n + 1), "status": 503, "user_id": f"u{n}"}
        for n in range(60)
    )
    good = ({"event_id": f"a{n}", "requested_at": NOW - timedelta(hours=3, seconds=n)} for n in range(60))
    rows.logs("rag", *good)
    rows.logs("rag", *bad)
    monitor.refresh()
    return monitor


def more(rows: ScoreColumns, clock: Clock, name: str) -> None:
    rows.logs("rag", {"event_id": name, "requested_at": clock.now, "status": 503, "user_id": name})


def people(monitor: Monitor) -> int | None:
    assert monitor.snapshot is not None
    incident = open_incident(monitor.snapshot.deployments["rag"])
    assert incident is not None
    return incident.affected_now.people if incident.affected_now else None


def test_people_are_counted_again_and_the_sentence_says_when(
    failing: Monitor, rows: ScoreColumns, clock: Clock
) -> None:
    """Not before a minute is over; then the page says the new count with its time."""
    assert people(failing) == 60
    clock.advance(seconds=20)
    more(rows, clock, "v1")
    failing.refresh()
    assert people(failing) == 60
    clock.advance(seconds=50)
    more(rows, clock, "v2")
    failing.refresh()
    # What was asked at the instant of the count is not before it.
    assert people(failing) == 61
    page = TestClient(create_app(failing)).get(f"/incident?id={incident_id(failing, 'rag')}").text
    assert f"By {clock.now:%-d %b, %H:%M} UTC: 61 requests of 61 people<" in page


def test_nothing_is_counted_where_nothing_is_new(
    failing: Monitor, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[str | None] = []
    monkeypatch.setattr(affected_now, "count_affected", lambda _, name, *__: reads.append(name))
    for _ in range(5):
        clock.advance(minutes=2)
        failing.refresh()
    assert reads == []
    assert people(failing) == 60


def test_a_count_that_fails_stops_nothing_and_is_told(
    failing: Monitor, rows: ScoreColumns, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence has the counts of the message; the next refresh counts again."""

    def fail(*_: object) -> AffectedCounts:
        raise OSError("the store is away")

    with monkeypatch.context() as patched:
        patched.setattr(affected_now, "count_affected", fail)
        clock.advance(minutes=2)
        more(rows, clock, "v1")
        failing.refresh()
        assert failing.failures[affected_now.COUNTED] == 1
        assert people(failing) is None
        assert "count_affected failed for rag" in failing.health().problems[0]
    clock.advance(minutes=2)
    more(rows, clock, "v2")
    failing.refresh()
    assert people(failing) == 61


def test_five_incidents_are_counted_at_once(rows: ScoreColumns, monitor: Monitor, clock: Clock, lake: Lake) -> None:
    """The others come next, those without counts first."""
    for number in range(7):
        moments = [NOW - timedelta(seconds=second + 1) for second in range(60)]
        rows.logs(f"d{number}", *({"event_id": f"{at}", "requested_at": at, "status": 503} for at in moments))
    monitor.refresh()

    def counted() -> int:
        assert monitor.snapshot is not None
        states = monitor.snapshot.deployments.values()
        return sum(incident.affected_now is not None for one in states if (incident := open_incident(one)))

    assert counted() == 5
    clock.advance(seconds=1)
    monitor.refresh()
    assert counted() == 7
