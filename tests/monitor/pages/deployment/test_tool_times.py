"""How long tools take, on the page of the deployment whose turns call them."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient

from lake.queries import tool_times
from lake.tables.lake import Lake
from monitor.pages.app import create_app
from monitor.pages.deployment import handlers
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.monitor.conftest import NOW, ScoreColumns

MINUTE = timedelta(minutes=1)
PAGE = "/deployment?name=agent"


@pytest.fixture
def calls(rows: ScoreColumns, monitor: Monitor) -> None:
    """An agent that calls a tool of a server three times, each time slower, and one that nobody logged.

    Its newest answer called none, and one has two rows.
    """
    turns, servers = [], []
    for number in range(1, 4):
        at, span = NOW - number * MINUTE, f"{number:016x}"
        trace = {"trace_id": f"{number:032x}", "requested_at": at, "date": at.date()}
        called = [{"id": "1", "name": name, "arguments": f'{{"id": {number}}}', "result": "secret", "is_error": False}
                  for name in ("orders_get", "rest")]  # fmt: skip
        turns.append(trace | {"event_id": f"a{number}", "span_id": span, "tool_calls": called})
        body = json.dumps({"params": {"name": "get", "arguments": {"id": number}}})
        child = {"event_id": f"c{number}", "span_id": f"{number + 9:016x}", "parent_span_id": span, "kind": "mcp"}
        child |= {"is_entry": False, "parent_deployment": "agent", "request_body": body}
        servers.append(trace | child | {"duration_ms": 1000 * number**2})
    no_tool = {"event_id": "a0", "trace_id": "9" * 32, "span_id": "9" * 16, "tool_calls": []}
    rows.logs("agent", *turns, turns[0], no_tool | {"requested_at": NOW - MINUTE / 2, "date": NOW.date()})
    rows.logs("toolsets/orders", *servers)
    monitor.refresh()


def times(client: TestClient) -> dict[str, tuple[float | None, int]]:
    tools = client.get(PAGE.replace("?", ".json?")).json()["tools"]
    return {one["tool"]: (one["median_ms"], one["timed"]) for one in tools}


@pytest.mark.usefixtures("calls")
def test_a_tool_has_the_median_time_of_its_lines(monitor: Monitor) -> None:
    """A tool that DIAL Core did not log has none."""
    client = TestClient(create_app(monitor))
    assert times(client) == {"orders_get": (4000, 3), "rest": (None, 0)}
    page = re.sub(r"<[^>]+>|\s+", " ", client.get(PAGE).text)
    assert re.search(r"4,000 ms +of 3 calls", page)


@pytest.mark.usefixtures("calls")
@pytest.mark.parametrize(("most", "found"), [(1, (1000, 1)), (2, (2500, 2))])
def test_only_the_newest_answers_are_read(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch, most: int, found: tuple[float, int]
) -> None:
    monkeypatch.setattr(tool_times, "MOST_ANSWERS", most)
    assert times(TestClient(create_app(monitor)))["orders_get"] == found


@pytest.mark.usefixtures("calls")
def test_answers_outside_of_the_period_are_not_read(lake: Lake) -> None:
    found = tool_times.tool_times(lake, "agent", NOW - 3 * MINUTE, NOW - 2 * MINUTE, ["toolsets/orders"])
    assert {tool: (one.median_ms, one.calls) for tool, one in found.items()} == {"orders_get": (9000, 1)}
    assert tool_times.tool_times(lake, "agent", NOW, NOW + MINUTE, ["toolsets/orders"]) == {}


@pytest.mark.usefixtures("calls")
def test_times_are_read_anew_every_few_minutes(monitor: Monitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """For each period; what could not be read is read again at once."""
    reads: list[str | None] = []

    def counted(lake: Lake, name: str | None, *others: Any) -> Any:
        reads.append(name)
        if len(reads) == 1:
            raise OSError("the store is away")
        return tool_times.tool_times(lake, name, *others)

    monkeypatch.setattr(handlers, "tool_times", counted)
    client = TestClient(create_app(monitor))
    assert times(client)["orders_get"] == (None, 0)
    for _ in range(3):
        assert times(client)["orders_get"] == (4000, 3)
    assert len(reads) == 2
    client.get(f"{PAGE}&days=30")
    assert len(reads) == 3
    monkeypatch.setattr(handlers, "KEPT", timedelta(0))
    times(client)
    assert len(reads) == 4


@pytest.mark.usefixtures("calls")
def test_where_the_lake_cannot_be_read_the_page_is_shown_without(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise OSError("the store is away")

    monkeypatch.setattr(handlers, "tool_times", fail)
    client = TestClient(create_app(monitor))
    assert times(client)["orders_get"] == (None, 0)
    assert client.get(PAGE).status_code == 200


@pytest.mark.usefixtures("calls")
@pytest.mark.parametrize(("globs", "found"), [(["*"], (4000, 3)), (["agent"], (None, 0))])
def test_lines_of_a_server_that_the_reader_may_not_see_count_for_nothing(
    monitor: Monitor, globs: list[str], found: tuple[float | None, int]
) -> None:
    """Who may read no texts is told the times: they are none."""
    access = {"proxy": {"addresses": ["10.0.0.7"], "groups": {"watchers": {"deployments": globs}}}}
    app = create_app(monitor, MonitorSettings.model_validate({"access": access}))
    headers = {"X-Forwarded-User": "ann", "X-Forwarded-Groups": "watchers"}
    client = TestClient(app, client=("10.0.0.7", 5000), headers=headers)
    assert times(client)["orders_get"] == found
    assert "secret" not in client.get(PAGE).text
