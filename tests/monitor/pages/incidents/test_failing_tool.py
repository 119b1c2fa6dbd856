"""The incident of a tool that fails: its chart, its last error for who may read texts, and the answers."""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient

from lake.queries.tool_errors import last_tool_error
from lake.spec.root_tables import AUDIT
from lake.tables.lake import Lake
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.monitor.conftest import NOW, Clock, ScoreColumns
from tests.monitor.pages.incidents.conftest import incident_id

MINUTE = timedelta(minutes=1)


def called(name: str, is_error: bool | None, result: str | None = None) -> dict[str, Any]:
    return {"id": "1", "name": name, "arguments": "{}", "result": result, "is_error": is_error}


@pytest.fixture
def failing(rows: ScoreColumns, monitor: Monitor) -> TestClient:
    """An agent whose tool fails for 20 minutes, each time with another error."""
    turns = []
    for ago in range(60, 0, -1):
        error = f"order service timed out <b>{ago}</b>" if ago <= 20 else None
        calls = [called("orders_get", error is not None, error or "{}"), called("search", False, "[]")]
        at = NOW - ago * MINUTE
        turn = {"event_id": f"e{ago}", "requested_at": at, "date": at.date(), "kind": "chat_completion"}
        turns += [turn | {"is_entry": True, "answer_kind": "text", "tool_calls": calls}]
    rows.logs("agent", *turns)
    monitor.refresh()
    return TestClient(create_app(monitor))


def test_the_last_error_of_the_tool_stands_on_its_incident(failing: TestClient, monitor: Monitor, lake: Lake) -> None:
    """With the address of its answer; what was read is noted."""
    address = f"/incident?id={incident_id(monitor, 'agent')}"
    page = failing.get(address).text
    assert "orders_get failed in" in page
    assert "order service timed out &lt;b&gt;1&lt;/b&gt;" in page
    (link,) = re.findall(r'<a href="(/answers\?[^"]*tool=orders_get[^"]*)"', page)
    assert "failure=tool_error" in link
    assert "start_time=" in link
    (answer,) = re.findall(r'<a href="(/answer\?[^"]*)">Answer of', page)
    assert "event_id=e1" in answer
    found = failing.get(address.replace("/incident", "/incident.json")).json()
    assert found["tool_error"]["text"] == "order service timed out <b>1</b>"
    (chart,) = found["charts"]
    assert [(point["value"], point["number"]) for point in chart["points"] if point["number"]] == [
        (pytest.approx(100 * 20 / 120), 120)
    ]
    monitor.audit.write()
    (row, *_) = lake.table(AUDIT).read().to_pylist()
    assert "the last error of a tool" in row["detail"]


def test_calls_of_tools_that_failed_are_counted_where_failures_are(failing: TestClient) -> None:
    """No request failed for them: the row of the overview and the deployment's page say them beside those."""
    assert "20 failed calls of tools" in failing.get("/").text
    page = failing.get("/deployment?name=agent").text
    assert "Nothing failed." not in page
    (row,) = re.findall('<tr><th scope="row">calls of tools</th>.*?</tr>', page)
    assert " ".join(re.sub("<.*?>", " ", row).split()) == "calls of tools orders_get 20 17 % of 120 calls of tools"


def test_an_incident_that_ended_within_a_day_is_said_where_all_is_fine(
    rows: ScoreColumns, failing: TestClient, monitor: Monitor, clock: Clock
) -> None:
    number = incident_id(monitor, "agent")
    assert "an incident is over" not in failing.get("/").text
    turns = []
    for later in range(1, 60):
        at = NOW + later * MINUTE
        turn = {"event_id": f"later{later}", "requested_at": at, "date": at.date(), "answer_kind": "text"}
        turns.append(turn | {"tool_calls": [called("orders_get", False, "{}")]})
    rows.logs("agent", *turns)
    clock.advance(hours=1)
    monitor.refresh()
    found = failing.get(f"/incident.json?id={number}").json()
    since, back, closed = (datetime.fromisoformat(found[name]) for name in ("since", "back_at", "ended_at"))
    assert NOW - 20 * MINUTE == since < back == NOW < closed
    link = f'<a href="/incident?id={number}">'
    bad = f"bad from {since:%-d %b, %H:%M} UTC to {back:%-d %b, %H:%M} UTC"
    assert f'{link}an incident is over</a><span class="quiet">: {bad}</span>' in failing.get("/").text
    bad = f"was bad from {since:%-d %b %Y, %H:%M} UTC to {back:%-d %b %Y, %H:%M} UTC, when quality was most likely back"
    closed_at = f"and its last alert was closed at {closed:%-d %b %Y, %H:%M} UTC"
    page = failing.get("/deployment?name=agent").text
    assert f"No incident is open. {link}The last one is over</a>: it {bad}, {closed_at}." in page
    page = re.sub("<[^>]*>", "", failing.get(f"/incident?id={number}").text)
    assert (
        "agent is back: the tool orders_get failed for 20 minutes, in 20 of 20 calls; of all 40 calls of tools 50 %"
        in page
    )
    times = f"from {since:%-d %b %Y, %H:%M} UTC to about {back:%-d %b %Y, %H:%M} UTC"
    assert f"Over. It was bad {times}, 20 minutes." in page
    assert f"closed at {closed:%-d %b %Y, %H:%M} UTC" in page
    # Those who asked after it was back are not hit.
    assert f"20 requests {times}, while it was bad" in " ".join(page.split())
    assert found["affected"]["requests"] == 20
    clock.advance(hours=24)
    monitor.refresh()
    assert "an incident is over" not in failing.get("/").text


@pytest.mark.slow
def test_an_incident_and_the_overview_link_others_of_the_same_tool(rows: ScoreColumns, monitor: Monitor) -> None:
    """The toolset's own one and the agent's, for who may see both."""
    for ago in range(60, 0, -1):
        at, fails = NOW - ago * MINUTE, ago <= 20
        when = {"event_id": f"e{ago}", "requested_at": at, "date": at.date()}
        turn = {"is_entry": True, "answer_kind": "text", "tool_calls": [called("orders_get", fails)]}
        rows.logs("agent", when | turn)
        failed = {"error": "tool error: timed out", "kind": "mcp"} if fails else {}
        rows.logs("toolset", when | {"is_entry": False, "parent_deployment": "agent", "status": 200} | failed)
    monitor.refresh()
    client = TestClient(create_app(monitor))
    ids = {name: incident_id(monitor, name) for name in ("agent", "toolset")}
    for mine, other, words in (("agent", "toolset", "which it calls"), ("toolset", "agent", "which calls it")):
        for address in (f"/incident?id={ids[mine]}", "/"):
            found = re.findall(
                r'Also: <a href="/incident\?id=(\w+)">[^<]* of ([^<]*)</a>, ([^.<]*)\.', client.get(address).text
            )
            assert (ids[other], other, words) in found
        (also,) = client.get(f"/incident.json?id={ids[mine]}").json()["also"]
        assert also["incident"]["incident_id"] == ids[other]
    access = {"proxy": {"addresses": ["10.0.0.7"], "groups": {"watchers": {"deployments": ["agent"]}}}}
    app = create_app(monitor, MonitorSettings.model_validate({"access": access}))
    headers = {"X-Forwarded-User": "ann", "X-Forwarded-Groups": "watchers"}
    page = TestClient(app, client=("10.0.0.7", 5000), headers=headers).get(f"/incident?id={ids['agent']}").text
    assert "Also:" not in page
    tool = client.get(f"/incident?id={ids['toolset']}").text
    (asked,) = re.findall(r"People ask it through others, since .*?: (.*?)\s*</dd>", tool)
    assert (
        asked
        == '<a href="/deployment?name=agent">agent</a> 20 requests. Some of these requests may not have called it.'
    )
    assert "No person has asked" not in tool


@pytest.mark.usefixtures("failing")
def test_who_may_not_read_texts_is_told_the_tool_alone(monitor: Monitor) -> None:
    """Its name and how often it failed, on the page, in JSON and in the text of the message."""
    access = {"proxy": {"addresses": ["10.0.0.7"], "groups": {"watchers": {"deployments": ["*"]}}}}
    app = create_app(monitor, MonitorSettings.model_validate({"access": access}))
    headers = {"X-Forwarded-User": "ann", "X-Forwarded-Groups": "watchers"}
    client = TestClient(app, client=("10.0.0.7", 5000), headers=headers)
    pages = [client.get(f"/{path}?id={incident_id(monitor, 'agent')}").text for path in ("incident", "incident.json")]
    for page in pages:
        assert "orders_get failed in" in page
        assert "timed out" not in page


@pytest.mark.parametrize(
    ("tool", "until", "error"),
    [
        ("orders_get", 0, "order service timed out <b>1</b>"),
        ("orders_get", 10, "order service timed out <b>11</b>"),
        ("orders_get", 30, None),
        ("search", 0, None),
    ],
)
@pytest.mark.usefixtures("failing")
def test_the_last_error_is_that_of_the_newest_answer_of_the_time(
    lake: Lake, tool: str, until: int, error: str | None
) -> None:
    """None where the tool did not fail in it."""
    found = last_tool_error(lake, "agent", tool, NOW - 60 * MINUTE, NOW - until * MINUTE)
    assert (found and found.text) == error


@pytest.mark.parametrize(("name", "shown"), [("n" * 150, "n" * 100), (None, "unnamed")])
def test_the_last_error_is_found_by_the_name_that_is_shown(
    rows: ScoreColumns, lake: Lake, name: str | None, shown: str
) -> None:
    """Alerts name a tool as it is counted: long names are cut, and a call without one has a name too."""
    turn = {"requested_at": NOW - MINUTE, "date": NOW.date(), "kind": "chat_completion", "is_entry": True}
    rows.logs("agent", turn | {"event_id": "e", "tool_calls": [called("get", True, "first") | {"name": name}]})
    found = last_tool_error(lake, "agent", shown, NOW - 9 * MINUTE, NOW)
    assert found is not None
    assert (found.tool, found.text) == (shown, "first")


def test_of_several_tools_that_failed_the_error_is_its_own(rows: ScoreColumns, lake: Lake) -> None:
    """In one answer, whose last failed call is of another tool."""
    calls = [called("get", True, "first"), called("get", True, "late"), called("put", True, "no"), called("get", False)]
    turn = {"requested_at": NOW - MINUTE, "date": NOW.date(), "kind": "chat_completion", "is_entry": True}
    rows.logs("agent", turn | {"event_id": "e", "tool_calls": calls})
    found = last_tool_error(lake, "agent", "get", NOW - 9 * MINUTE, NOW)
    assert found is not None
    assert (found.text, found.event_id, found.requested_at) == ("late", "e", NOW - MINUTE)
