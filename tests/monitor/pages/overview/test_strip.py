"""The strip for dialwatch itself: green only where each part has begun and works."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from starlette.testclient import TestClient

from lake.spec.heartbeat import Heartbeat
from lake.spec.service_vocabulary import ServicePart, ServiceState
from lake.tables.lake import Lake
from monitor.detect.stats.collector_stats import CollectorStats
from monitor.pages.app import create_app
from monitor.pages.overview.strip import strip_of
from monitor.service.health.health import Health
from monitor.service.monitor import Monitor
from monitor.service.snapshot import Snapshot
from monitor.settings import MonitorSettings
from tests.monitor.conftest import NOW, Clock, ScoreColumns

PARTS = (ServicePart.COLLECTOR, ServicePart.EVALUATOR, ServicePart.WEBHOOKS, ServicePart.MONITOR)
HOOK = {
    "name": "chat",
    "url": "http://127.0.0.1:9/hook",
    "secret": "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
}

Strip = Callable[..., dict[str, Any]]


def beats(**changed: dict[str, Any]) -> list[Heartbeat]:
    """Heartbeats of all parts, all well but for what is changed, by part; None leaves one out."""
    well: dict[str, Any] = {"state": ServiceState.RUNNING, "last_success": NOW}
    return [
        Heartbeat(part, "host", NOW, NOW, **well | changed.get(part.value, {}))
        for part in PARTS
        if changed.get(part.value, {}) is not None
    ]


@pytest.fixture
def strip(lake: Lake, clock: Clock, rows: ScoreColumns) -> Strip:
    """Gives the strip of a monitor with these heartbeats, and whether the page shows it as well."""

    def shown(
        own: list[Heartbeat], *, budgets: dict[str, float] | None = None, hooks: bool = True, lines: bool = True
    ) -> dict[str, Any]:
        rows.logs("rag", {})
        rows.scores("rag", {"value": 0.5, "judge": "strict", "cost": 2.0})
        if lines:
            rows.batch(stored=1, lines=1)
        settings = MonitorSettings.model_validate(
            {"webhooks": [HOOK] if hooks else [], "internal_hosts": ["127.0.0.1"]}
        )
        monitor = Monitor(lake, settings, clock, budgets, own_parts=lambda: own)
        monitor.refresh()
        client = TestClient(create_app(monitor))
        found = client.get("/overview.json").json()["dialwatch"]
        page = client.get("/").text
        assert ("Not all of dialwatch works" in page) is not found["works"]
        assert ('<span aria-hidden="true">✓</span> dialwatch works' in page) is found["works"]
        lights = {item["name"]: item["light"] for item in found["items"]}
        return {"works": found["works"], "details": str(found["items"]), **lights}

    return shown


def test_where_all_parts_are_well_it_is_green(strip: Strip) -> None:
    """The collector with lag and last commit, what is left of the budget; no webhook is no fault."""
    found = strip(beats(), budgets={"strict": 5.0})
    assert found["works"] is True
    assert "last commit 20 Nov, 12:00 UTC" in found["details"]
    assert "the newest request was 0 seconds old then" in found["details"]
    assert "strict: 3.00 left today (UTC)" in found["details"]
    found = strip(beats(webhooks=None), hooks=False)
    assert (found["works"], found["Sending alerts"], found["Judge budget"]) == (True, "not set up", "not set up")


@pytest.mark.parametrize(
    ("changed", "name", "light"),
    [
        ({"collector": {"state": ServiceState.FAILING, "error": "disk full"}}, "Collector", "fails"),
        ({"collector": {"state": ServiceState.STOPPED}}, "Collector", "not running"),
        ({"collector": None}, "Collector", "not running"),
        ({"evaluator": {"state": ServiceState.FAILING, "error": "no judge"}}, "Evaluator", "fails"),
        ({"evaluator": {"last_success": None}}, "Evaluator", "not begun"),
        ({"evaluator": None}, "Evaluator", "not running"),
        ({"webhooks": {"state": ServiceState.FAILING, "error": "refused"}}, "Sending alerts", "fails"),
        ({"webhooks": None}, "Sending alerts", "not begun"),
        ({"monitor": {"state": ServiceState.FAILING, "error": "look"}}, "Monitor", "fails"),
    ],
)
def test_it_is_never_green_where_a_part_is_not_well(strip: Strip, changed: Any, name: str, light: str) -> None:
    """Failing, stopped, away or not begun: that part has the word, and the whole is not green."""
    found = strip(beats(**changed))
    assert (found["works"], found[name]) == (False, light)


def test_other_reasons_not_to_be_green(strip: Strip) -> None:
    """A budget that is spent, no line stored yet, another part of dialwatch that fails."""
    found = strip(beats(), budgets={"strict": 1.0})
    assert (found["works"], found["Judge budget"]) == (False, "spent")
    upkeep = Heartbeat(ServicePart.UPKEEP, "host", NOW, NOW, ServiceState.FAILING, error="disk full")
    assert strip([*beats(), upkeep])["works"] is False


def test_a_collector_without_a_line_has_not_begun(strip: Strip) -> None:
    """It runs, and nothing has come."""
    found = strip(beats(), lines=False)
    assert (found["works"], found["Collector"]) == (False, "not begun")


def test_before_the_first_look_and_with_old_figures_it_is_not_green(
    lake: Lake, clock: Clock, rows: ScoreColumns
) -> None:
    """However well the parts say that they are."""
    rows.batch(stored=1, lines=1)
    monitor = Monitor(lake, MonitorSettings(), clock, own_parts=beats)
    client = TestClient(create_app(monitor))
    assert client.get("/overview.json").json()["dialwatch"]["works"] is False
    monitor.refresh()
    clock.now += timedelta(hours=1)
    assert client.get("/overview.json").json()["dialwatch"]["works"] is False
    assert "Not all of dialwatch works" in client.get("/").text


def test_a_part_that_works_says_so_in_the_word_that_the_page_colours_by() -> None:
    """What is left of a budget is shown only to who may see all deployments."""
    snapshot = Snapshot(NOW, {}, CollectorStats(), 0, 0.0, judge_budgets_left={"strict": 3.0})
    for sees_all, details in ((True, ("strict: 3.00 left today (UTC)",)), (False, ())):
        strip = strip_of(snapshot, Health(True, 0.0, (), True), sees_all=sees_all)
        (budget,) = [one for one in strip.items if one.name == "Judge budget"]
        assert (budget.light.value, budget.details) == ("works", details)
