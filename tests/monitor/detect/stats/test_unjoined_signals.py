"""Signals that are joined with no answer: their counts in Prometheus and on the page of the deployment."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from fastapi.testclient import TestClient
from prometheus_client import CollectorRegistry

from lake.spec.schemas import USER_SIGNALS
from lake.tables.lake import Lake
from monitor.exporter.registry import registry_of
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from tests.monitor.conftest import NOW, Clock, ScoreColumns

METRIC = "dialwatch_unjoined_signals"


def like(name: str, **columns: Any) -> dict[str, Any]:
    said = {"signal_id": name, "signal": "like", "value": 1.0, "origin": "explicit", "response_id": "chat"}
    return said | {"deployment": "rag", "signaled_at": NOW, "date": NOW.date()} | columns


def rate(lake: Lake, *signals: dict[str, Any]) -> None:
    lake.table(USER_SIGNALS, "rag").append(USER_SIGNALS.rows(signals))


def gateway(rows: ScoreColumns) -> None:
    """Six people's answers with one id."""
    before = {"response_id": "chat", "response_ids": ["chat"], "requested_at": NOW - timedelta(minutes=5)}
    rows.logs("rag", *({"event_id": who, "chat_id": f"c-{who}", "user_id": who} | before for who in "abcdef"))


def counted(monitor: Monitor) -> dict[str, float | None]:
    """Refresh twice, as what is counted after a snapshot is in the next one; give the samples by reason."""
    monitor.refresh()
    monitor.refresh()
    registry: CollectorRegistry = registry_of(lambda: monitor.snapshot, "staging")
    reasons = ("unknown_id", "shared_id", "no_id")
    of_all = {"deployment": "rag", "installation": "staging"}
    return {one: registry.get_sample_value(METRIC, of_all | {"reason": one}) for one in reasons}


def test_unjoined_signals_are_counted_by_reason(monitor: Monitor, rows: ScoreColumns, lake: Lake) -> None:
    """Of likes of answers that all have the id "chat" one says whose it is, one does not; two more are of no answer."""
    gateway(rows)
    rate(lake, like("1", chat_id="c-b", user_id="b"), like("2"), like("3", response_id="r-1"))
    rate(lake, like("4", response_id=None, chat_id="c-b"), like("5", signaled_at=NOW - timedelta(days=8),
                                                                date=(NOW - timedelta(days=8)).date()))  # fmt: skip
    assert counted(monitor) == {"unknown_id": 1, "shared_id": 1, "no_id": 1}
    with TestClient(create_app(monitor)) as client:
        page = client.get("/deployment", params={"name": "rag"}).text
        data = client.get("/deployment.json", params={"name": "rag"}).json()
    assert data["unjoined_signals"] == {"by_reason": {"unknown_id": 1, "shared_id": 1, "no_id": 1}, "of_all": 4}
    assert "Of 4 signals of the last 7 days 3 belong to no answer" in page
    assert "1 as several answers have the id, and none of them is of the conversation or person" in page


def test_a_signal_is_counted_no_more_once_its_answer_has_come(
    monitor: Monitor, rows: ScoreColumns, lake: Lake, clock: Clock
) -> None:
    """Lines come in any order; it is looked at once an hour."""
    rate(lake, like("1", response_id="r-1"))
    assert counted(monitor) == {"unknown_id": 1, "shared_id": 0, "no_id": 0}
    rows.logs("rag", {"event_id": "a", "response_id": "r-1", "response_ids": ["r-1"]})
    assert counted(monitor) == {"unknown_id": 1, "shared_id": 0, "no_id": 0}
    clock.advance(hours=1)
    assert counted(monitor) == {"unknown_id": 0, "shared_id": 0, "no_id": 0}
    with TestClient(create_app(monitor)) as client:
        assert "belong to no answer" not in client.get("/deployment", params={"name": "rag"}).text


def test_no_log_is_read_for_deployments_without_signals(
    monitor: Monitor, rows: ScoreColumns, lake: Lake, monkeypatch: Any
) -> None:
    """Most models are rated by nobody."""
    gateway(rows)
    monkeypatch.setattr("monitor.detect.stats.unjoined_signals.count_unjoined", None)
    assert counted(monitor) == dict.fromkeys(("unknown_id", "shared_id", "no_id"))
    assert monitor.failures == {}


def test_a_failed_count_is_counted_said_and_tried_again(
    monitor: Monitor, lake: Lake, clock: Clock, monkeypatch: Any
) -> None:
    """The refresh goes on."""
    rate(lake, like("1"))
    with monkeypatch.context() as broken:
        broken.setattr("monitor.detect.stats.unjoined_signals.count_unjoined", None)
        monitor.refresh()
    assert monitor.failures == {"count_unjoined_signals": 1}
    assert any("signals of 'rag'" in problem for problem in monitor.health().problems)
    clock.advance(hours=1)
    assert counted(monitor)["unknown_id"] == 1
