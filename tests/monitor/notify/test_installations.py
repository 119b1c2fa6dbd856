"""Two installations that have one receiver or one Alertmanager: alerts of the same name in the same hour stay apart."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lake.spec.schemas import ALERTS
from lake.tables.lake import Lake
from monitor.alerting.alerts.change import to_row
from monitor.alerting.alerts.new_changes import change_of
from monitor.alerting.alerts.store import AlertStore
from monitor.notify.notifier import Notifier
from tests.monitor.alerting.alerts.test_alerts import HOUR, KEY, NOW, fired, resolved
from tests.monitor.notify.test_alertmanager_silences import alertmanager
from tests.monitor.notify.test_senders import VIEW, Pool

INSTALLATIONS = ("production", "staging")
URL = "https://watch.example/"


def store(folder: Path, installation: str) -> AlertStore:
    return AlertStore(Lake(str(folder / "lake"), installation=installation))


def posted(alerts: AlertStore) -> list[dict[str, str]]:
    """The labels of what an Alertmanager is sent."""
    pool = Pool([(200, b"[]")])
    alertmanager(alerts, pool).run_due(VIEW, NOW)
    return [alert["labels"] for _, path, body in pool.asked if path == "/alerts" for alert in body]


def test_a_receiver_takes_no_alert_for_that_of_another_installation(
    tmp_path: Path, start_receiver: Callable[..., Any]
) -> None:
    """Neither by the webhook-id nor by anything by which alerts are grouped; an alert's end has its labels."""
    receiver = start_receiver()
    for installation in INSTALLATIONS:
        alerts = store(tmp_path / installation, installation)
        sender = Notifier([receiver.settings()], alerts, URL, internal_hosts=["127.0.0.1"])
        for step, found in enumerate((fired(), resolved())):
            alerts.record([found], NOW + step * HOUR)
            sender.run_due(NOW + step * HOUR)
    assert len({request.headers["webhook-id"] for request in receiver.requests}) == 4
    bodies = [json.loads(request.body) for request in receiver.requests]
    assert [body["commonLabels"]["installation"] for body in bodies] == ["production"] * 2 + ["staging"] * 2
    for begins, ends in (bodies[:2], bodies[2:]):
        assert begins["groupKey"] == ends["groupKey"]
        assert begins["alerts"][0]["labels"] == ends["alerts"][0]["labels"]
    first, other = bodies[0], bodies[2]
    assert first["groupKey"] != other["groupKey"]
    assert first["alerts"][0]["fingerprint"] != other["alerts"][0]["fingerprint"]
    assert first["incident"]["id"] != other["incident"]["id"]


def test_an_alertmanager_has_an_alert_of_each(tmp_path: Path) -> None:
    """With other labels and another incident, by which silences of acknowledged incidents know it."""
    found = []
    for installation in INSTALLATIONS:
        alerts = store(tmp_path / installation, installation)
        alerts.record([fired()], NOW)
        found += posted(alerts)
    assert [labels["installation"] for labels in found] == ["production", "staging"]
    assert len({labels["incident"] for labels in found}) == 2


def test_an_open_alert_keeps_the_labels_that_its_receivers_know(tmp_path: Path) -> None:
    """Of an earlier version, which had no installation, and of an installation that has another name since."""
    earlier = Lake(str(tmp_path / "lake"))
    earlier.table(ALERTS, KEY.deployment).append(ALERTS.rows([to_row(change_of(fired(), None, NOW))]))
    (labels,) = posted(store(tmp_path, "production"))
    assert "installation" not in labels
    store(tmp_path, "production").record([resolved()], NOW)
    assert posted(store(tmp_path, "production")) == [labels]
    store(tmp_path / "other", "before").record([fired()], NOW)
    (labels,) = posted(store(tmp_path / "other", "before"))
    store(tmp_path / "other", "since").record([resolved()], NOW)
    assert posted(store(tmp_path / "other", "since")) == [labels]
    assert labels["installation"] == "before"
