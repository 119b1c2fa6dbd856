"""The pages about dialwatch itself: parts, receivers, lag, and what judges cost, for who may see what."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from starlette.testclient import TestClient

from lake.spec.heartbeat import Heartbeat
from lake.spec.root_tables import JUDGE_BUDGETS
from lake.spec.schemas import ANCHORS
from lake.spec.service_vocabulary import ServicePart, ServiceState
from lake.tables.lake import Lake
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.service.monitor import Monitor as RunningMonitor
from monitor.settings import MonitorSettings
from tests.monitor.conftest import NOW, Clock, ScoreColumns
from tests.servers import free_port

DAY = timedelta(days=1)
PROXY = {
    "proxy": {
        "addresses": ["127.0.0.1"],
        "groups": {"platform": {"deployments": ["*"]}, "hr": {"deployments": ["hr-*"]}},
    }
}
HOOKS = [
    {"name": "team", "format": "slack"},
    {"name": "hr", "format": "teams", "deployments": ["hr-*"]},
]

Client = Callable[..., TestClient]


@pytest.fixture
def client(lake: Lake, clock: Clock) -> Client:
    """Gives pages of a monitor that has looked at the lake, and the monitor."""

    def build(budgets: dict[str, float] | None = None, own: Any = (), **settings: Any) -> TestClient:
        chosen = MonitorSettings.model_validate(settings)
        monitor = Monitor(lake, chosen, clock, budgets, own_parts=lambda: own)
        monitor.refresh()
        found = TestClient(create_app(monitor), client=("127.0.0.1", 50000))
        found.app.state.monitor = monitor  # type: ignore[attr-defined]
        return found

    return build


def user(group: str) -> dict[str, str]:
    return {"X-Forwarded-User": "ann", "X-Forwarded-Groups": group}


def cost(at: Any, amount: float, judge: str = "strict") -> dict[str, Any]:
    return {"requested_at": at, "date": at.date(), "scored_at": at, "value": 0.5, "judge": judge, "cost": amount}


@pytest.fixture
def paid(rows: ScoreColumns, lake: Lake) -> None:
    """Costs of today (20 November), of this month and of the last one; 0.3 reserved, of which 0.1 was given back."""
    month = NOW.replace(day=1, hour=0)
    rows.scores("hr-leave", cost(NOW, 0.25), cost(month, 1.0), cost(month - timedelta(seconds=1), 64.0))
    rows.scores("bot", cost(NOW - DAY, 4.0), cost(NOW, 0.5, "lexical+strict+mild"), cost(NOW, 0.0, "lexical"))
    lake.table(ANCHORS, "bot").append(
        ANCHORS.rows([{"deployment": "bot", "judge": "mild", "cost": 2.0, "scored_at": NOW, "date": NOW.date()}])
    )
    slices = [(NOW, "strict", 0.9), (NOW, "strict", -0.1), (NOW - DAY, "strict", 50.0), (NOW, "mild", 9.0)]
    lake.table(JUDGE_BUDGETS).append(
        JUDGE_BUDGETS.rows([{"date": at.date(), "hour": at, "judge": name, "amount": n} for at, name, n in slices])
    )


@pytest.mark.usefixtures("paid")
def test_costs_are_of_today_and_of_this_month(client: Client) -> None:
    """What several judges were asked together cost each the same; what is left is less what was reserved."""
    found = client({"strict": 1.0, "poor": 0.1, "mild": 5.0}, currency="EUR").get("/judge-costs.json").json()
    assert (found["day"], found["currency"]) == ("2026-11-20", "EUR")
    judges = {one.pop("judge"): one for one in found["judges"]}
    assert judges == {
        "strict": {"today": 0.5, "month": 5.5, "limit": 1.0, "reserved": 0.8, "left": pytest.approx(0.2)},
        "mild": {"today": 2.25, "month": 2.25, "limit": 5.0, "reserved": 9.0, "left": 0.0},
        "poor": {"today": 0.0, "month": 0.0, "limit": 0.1, "reserved": None, "left": 0.1},
    }  # fmt: skip
    assert [(one["deployment"], one["judge"], one["today"], one["month"]) for one in found["deployments"]] == [
        ("bot", "strict", 0.25, 4.25), ("bot", "mild", 2.25, 2.25), ("hr-leave", "strict", 0.25, 1.25),
    ]  # fmt: skip


@pytest.mark.usefixtures("paid")
def test_what_was_spent_counts_where_more_than_was_reserved(client: Client) -> None:
    """A judge without a limit has nothing left or not left."""
    found = client({"strict": 0.6}).get("/judge-costs.json").json()
    judges = {one["judge"]: one["left"] for one in found["judges"]}
    assert judges == {"strict": 0.0, "mild": None}


@pytest.mark.usefixtures("paid")
def test_the_page_has_what_the_json_has(client: Client) -> None:
    page = client({"strict": 1.0, "mild": 5.0}, currency="€<b>").get("/judge-costs").text
    assert "5.50\u00a0€&lt;b&gt;" in page
    assert "0.00\u00a0€&lt;b&gt;</span>, spent" in page
    assert 'href="/deployment?name=hr-leave"' in page
    assert "<b>" not in page


@pytest.mark.usefixtures("paid")
def test_who_may_see_some_deployments_sees_their_costs_alone(client: Client) -> None:
    """No judge's sum, limit or reserved amount."""
    asked = client({"strict": 1.0}, access=PROXY)
    found = asked.get("/judge-costs.json", headers=user("hr")).json()
    assert found["judges"] is None
    assert [one["deployment"] for one in found["deployments"]] == ["hr-leave"]
    page = asked.get("/judge-costs", headers=user("hr")).text
    assert "name=bot" not in page
    assert "Limit a day" not in page
    assert asked.get("/judge-costs.json", headers=user("platform")).json()["judges"] is not None


def test_nothing_was_paid(client: Client, rows: ScoreColumns) -> None:
    rows.scores("bot", {"value": 0.5})
    page = client().get("/judge-costs").text
    assert "No judge has a limit, and none cost anything this month." in page
    assert "No judge cost anything for a deployment this month." in page


def test_receivers_say_what_they_were_sent_and_what_failed(
    client: Client, clock: Clock, rows: ScoreColumns, receiver: Any
) -> None:
    """The one that takes messages, and the one that does not, and how many wait for it."""
    hooks = [HOOKS[0] | {"url": receiver.address}, HOOKS[1] | {"url": f"http://127.0.0.1:{free_port()}/secret-path"}]
    rows.logs("hr-leave", *({"status": 503} for _ in range(60)))
    asked = client(webhooks=hooks, internal_hosts=["127.0.0.1"], group_seconds=0)
    monitor: RunningMonitor = asked.app.state.monitor  # type: ignore[attr-defined]
    before = {one["name"]: one for one in asked.get("/health.json").json()["receivers"]}
    assert [before[name]["waiting"] for name in ("team", "hr")] == [1, 1]
    assert before["team"]["last_sent"] is None
    clock.advance(seconds=10)
    monitor._notifier.run_due(clock())
    found = {one["name"]: one for one in asked.get("/health.json").json()["receivers"]}
    assert found["team"]["last_sent"] == "2026-11-20T12:00:10Z"
    assert (found["team"]["waiting"], found["team"]["is_failing"], found["team"]["error"]) == (0, False, None)
    assert (found["hr"]["waiting"], found["hr"]["is_failing"], found["hr"]["last_sent"]) == (1, True, None)
    assert found["hr"]["last_error"] == "2026-11-20T12:00:10Z"
    assert "Connection refused" in found["hr"]["error"]
    page = asked.get("/health").text
    assert "Connection refused" in page
    assert "teams" not in page
    assert "secret-path" not in page


def test_parts_are_shown_by_run(client: Client) -> None:
    own = [
        Heartbeat(ServicePart.EVALUATOR, "host-<a>", NOW, NOW, ServiceState.FAILING, NOW, NOW, "hr-leave: away"),
        Heartbeat(ServicePart.MONITOR, "host-<a>", NOW, NOW, ServiceState.RUNNING, NOW),
    ]
    asked = client(own=own, access=PROXY)
    found = asked.get("/health.json", headers=user("platform")).json()
    assert [(one["part"], one["state"]) for one in found["parts"]] == [("evaluator", "failing"), ("monitor", "running")]
    page = asked.get("/health", headers=user("platform")).text
    assert "hr-leave: away" in page
    assert "host-&lt;a&gt;" in page
    for path in ("/health", "/health.json"):
        text = asked.get(path, headers=user("hr")).text
        assert "away" not in text
        assert "failing" in text
    assert asked.get("/health.json", headers=user("hr")).json()["receivers"] is None


def test_lag_is_that_of_the_newest_request(client: Client, rows: ScoreColumns) -> None:
    rows.scores("bot", {"value": 0.5, "scored_at": NOW - timedelta(hours=3)})
    rows.batch(stored=1, lines=1, newest_requested_at=NOW - timedelta(minutes=30))
    asked = client()
    found = asked.get("/health.json").json()
    assert (found["collector_lag_seconds"], found["evaluator_lag_seconds"]) == (1800.0, 9000.0)
    page = asked.get("/health").text
    assert "the newest request was 30 minutes old when it was stored" in page
    assert "the newest request came 2.5 hours after the last score" in page


def test_nothing_is_known_before_the_first_look(lake: Lake, clock: Clock) -> None:
    asked = TestClient(create_app(Monitor(lake, MonitorSettings(), clock)))
    assert asked.get("/judge-costs.json").json() == {
        "day": "2026-11-20", "currency": "", "judges": None, "deployments": [],
    }  # fmt: skip
    assert "Reading the lake" in asked.get("/judge-costs").text
    assert asked.get("/health.json").json()["looked_at"] is None
    assert asked.get("/health").status_code == 200


def test_the_overview_leads_to_both(client: Client) -> None:
    page = client({"strict": 1.0}).get("/").text
    assert 'Parts and receivers</a> · <a href="/judge-costs">' in page
    assert '<a href="/health">Health</a></nav>' in page


@pytest.mark.parametrize("judge", [None, "lexical", "strict"])
def test_where_no_judge_is_known_only_the_page_of_health_leads_to_costs(
    client: Client, rows: ScoreColumns, judge: str | None
) -> None:
    """A judge that has scored is known without a limit; the page of costs itself says how to set one up."""
    rows.scores("bot", {"value": 0.5, "judge": judge})
    asked = client()
    assert ('href="/judge-costs"' in asked.get("/").text) is (judge == "strict")
    assert 'href="/judge-costs"' in asked.get("/health").text
    assert "<code>evaluator.judges</code>" in asked.get("/judge-costs").text
