"""Clients that send many times their usual, from the log to the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from lake.erasure.erasure import erase
from lake.erasure.erasure_scope import Subject
from lake.spec.schemas import PARSED_LOGS
from lake.spec.state_tables import MONITOR_STATE
from lake.tables.lake import Lake
from monitor.detect.stats.client_traffic import CLIENT_COLUMNS, ClientTraffic
from monitor.pages.app import create_app
from monitor.pages.deployment.view import DeploymentQuery, view_of
from monitor.service.monitor import Monitor
from tests.monitor.conftest import NOW, Clock

DAY = timedelta(days=1)


def requests(client: str | None, number: int, at: datetime, **columns: Any) -> list[dict[str, Any]]:
    return [
        {"requested_at": at, "is_entry": True, "origin": None, "user_id": client, "project_id": None, **columns}
    ] * (number)


def traffic(*rows: list[dict[str, Any]]) -> ClientTraffic:
    """A day after the other, as they come."""
    found = ClientTraffic()
    for some in rows:
        found = found.with_logs(PARSED_LOGS.rows(some).select(CLIENT_COLUMNS))
    return found


def month(number: int = 6, days: int = 28) -> list[dict[str, Any]]:
    """Twenty people and a client `portal`, with so many requests a day each."""
    clients = ["portal", *(f"user-{n}" for n in range(20))]
    return [row for ago in range(days, 0, -1) for name in clients for row in requests(name, number, NOW - ago * DAY)]


@pytest.mark.parametrize(
    ("history", "today", "expected"),
    [
        (month(), requests("portal", 130, NOW), [("portal", 130, 6.0)]),
        (month(), requests("portal", 110, NOW), []),
        (month(1), requests("portal", 99, NOW), []),
        (month(days=6), requests("portal", 500, NOW), []),
        (month(), requests("newcomer", 200, NOW), [("newcomer", 200, 0.0)]),
        (month(), requests(None, 500, NOW), []),
        (month(), requests("portal", 130, NOW) + requests("user-1", 600, NOW), [("user-1", 600, 6.0)]),
        (month(), requests("u", 200, NOW, project_id="key"), [("key", 200, 0.0)]),
        (month(), requests("portal", 300, NOW, origin="evaluation"), []),
        (month(), requests("portal", 300, NOW, is_entry=False), []),
        (month(), requests("portal", 150, NOW - DAY), [("portal", 156, 6.0)]),
    ],
)
def test_a_client_bursts_with_twenty_times_its_usual(
    history: list[dict[str, Any]], today: list[dict[str, Any]], expected: list[tuple[str, int, float]]
) -> None:
    """And with a hundred requests and a fifth of all in a day, once what is usual is known from a week."""
    found = traffic(history, today).bursts(NOW)
    assert [(one.client, one.requests, one.usual) for one in found] == expected


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=12),
    st.integers(400, 900),
)
def test_who_has_much_is_never_left_out(heavy: list[int], others: int) -> None:
    """Whatever the order, a client with a 300th of all is kept, and counted too high by so many at the most."""
    at = datetime(2026, 11, 20, tzinfo=UTC)
    names = [f"small-{n}" for n in range(others)]
    for place, number in enumerate(heavy):
        names[place * 7 % len(names) : place * 7 % len(names)] = [f"heavy-{place}"] * number
    found = ClientTraffic()
    for begin in range(0, len(names), 50):
        rows = [row for name in names[begin : begin + 50] for row in requests(name, 1, at)]
        found = found.with_logs(PARSED_LOGS.rows(rows).select(CLIENT_COLUMNS))
    counts, (kept,) = Counter(names), found.clients.values()
    assert len(kept) <= 300
    for name, number in counts.items():
        if number > len(names) / 300:
            assert number <= kept[name] <= number + len(names) / 300
    assert sum(kept.values()) == len(names)


def log(rows: Any, at: datetime, number: int) -> None:
    """Twenty people, and so many requests of mallory."""
    names = [f"user-{n}" for n in range(20)] + ["mallory"] * number
    rows.logs("rag", *({"requested_at": at, "date": at.date(), "user_id": name} for name in names))


def after_a_burst(rows: Any, clock: Clock, make_monitor: Callable[[], Monitor]) -> Monitor:
    """A monitor that was started anew each day, as is the one that is given."""
    clock.advance(days=-10)
    for ago in range(10, -1, -1):
        log(rows, clock() - timedelta(hours=1), 2 if ago else 300)
        monitor = make_monitor()
        monitor.refresh()
        monitor.refresh()
        clock.advance(days=1 if ago else 0)
    return monitor


def test_it_is_told_on_the_page_with_its_name_to_who_may_read_texts(
    rows: Any, clock: Clock, make_monitor: Callable[[], Monitor]
) -> None:
    """Day by day and over restarts, whatever the first look has read."""
    monitor = after_a_burst(rows, clock, make_monitor)
    with TestClient(create_app(monitor)) as client:
        page = client.get("/deployment?name=rag").text
        (burst,) = client.get("/deployment.json?name=rag").json()["bursts"]
    assert "the client <bdi>mallory</bdi> sent 300 of 320 requests; usually it sends 2.0 a day" in page
    assert (burst["client"], burst["requests"], burst["of_all"]) == ("mallory", 300, 320)


def test_who_may_not_read_texts_is_told_no_name(rows: Any, clock: Clock, make_monitor: Callable[[], Monitor]) -> None:
    """The same, without it."""
    snapshot = after_a_burst(rows, clock, make_monitor).snapshot
    assert snapshot is not None
    view = view_of(DeploymentQuery("rag"), snapshot)
    assert view is not None
    assert [(one.client, one.requests) for one in view.bursts] == [("", 300)]


def test_an_erased_user_is_in_no_state(
    rows: Any, lake: Lake, clock: Clock, make_monitor: Callable[[], Monitor]
) -> None:
    """Nor in what a monitor that runs saves after it."""
    log(rows, NOW - timedelta(hours=1), 300)
    monitor = make_monitor()
    monitor.refresh()
    state = lake.table(MONITOR_STATE, "rag")
    assert "mallory" in str(state.read().to_pylist())
    erase(lake, Subject(user="mallory"), NOW)
    assert "mallory" not in str(state.read().to_pylist())
    clock.advance(hours=2)
    log(rows, NOW + timedelta(hours=1), 0)
    for each in (monitor, make_monitor()):
        each.refresh()
        each.refresh()
        assert "user-1" in str(state.read().to_pylist())
        assert "mallory" not in str(state.read().to_pylist())
