"""A real Alertmanager: groups, silences, inhibits and resolves our alerts, and passes them on."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from lake.tables.lake import Lake
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.alerts.store import AlertStore
from monitor.alerting.incidents.log import IncidentLog
from monitor.alerting.incidents.recovery import with_recovery
from monitor.detect.regression import Reading, Transition
from monitor.notify.alertmanager import EXPIRES_AFTER, RESEND_EVERY, RESOLVED_FOR
from monitor.notify.notifier import Notifier
from monitor.notify.posted_alert import posted_alerts
from monitor.notify.settings import WebhookSettings
from monitor.notify.view import NotificationView
from tests.monitor.notify.test_notifier import transition
from tests.servers import free_port, needed, wait_for, wait_for_url

START = datetime(2026, 11, 1, tzinfo=UTC)
LOCAL = ["127.0.0.1"]


@pytest.fixture
def alerts(lake: Lake) -> AlertStore:
    return AlertStore(lake)


def notifier(url: str, alerts: AlertStore) -> Notifier:
    settings = WebhookSettings.model_validate({"name": "am", "url": url, "format": "alertmanager"})
    return Notifier([settings], alerts, "https://watch.example/", internal_hosts=LOCAL, timeout=60)


def delivered(alerts: AlertStore) -> list[AlertChange]:
    return [change for change in alerts.changes() if change.change == "delivered"]


@dataclass(frozen=True)
class Running:
    url: str

    def alerts(self) -> list[dict[str, Any]]:
        with urllib.request.urlopen(f"{self.url}/api/v2/alerts", timeout=60) as answer:
            found: list[dict[str, Any]] = json.load(answer)
        return found

    def states(self) -> dict[tuple[str, str], dict[str, Any]]:
        """What it makes of each alert, by deployment and metric."""
        return {(a["labels"]["deployment"], a["labels"]["metric"]): a["status"] for a in self.alerts()}

    def silences(self) -> list[dict[str, Any]]:
        """Those that hold."""
        with urllib.request.urlopen(f"{self.url}/api/v2/silences", timeout=60) as answer:
            found: list[dict[str, Any]] = json.load(answer)
        return [one for one in found if one["status"]["state"] == "active"]

    def silence(self, deployment: str) -> None:
        now = datetime.now(UTC)
        matcher = {"name": "deployment", "value": deployment, "isRegex": False}
        silence = {
            "matchers": [matcher], "startsAt": now.isoformat(), "endsAt": (now + timedelta(hours=1)).isoformat(),
            "createdBy": "test", "comment": "known",
        }  # fmt: skip
        request = urllib.request.Request(
            f"{self.url}/api/v2/silences", json.dumps(silence).encode(), {"content-type": "application/json"}
        )
        urllib.request.urlopen(request, timeout=60).close()


@pytest.fixture
def alertmanager(tmp_path: Path, start_receiver: Callable[..., Any]) -> Iterator[tuple[Running, Any]]:
    """A running one with the webhook receiver behind it. An alert of metric `cause` inhibits those of `effect`."""
    program, receiver = needed("prometheus-alertmanager"), start_receiver()
    config = {
        "route": {
            "receiver": "team", "group_by": ["incident"],
            "group_wait": "1s", "group_interval": "1s", "repeat_interval": "1h",
        },
        "inhibit_rules": [
            {"source_matchers": ['metric="cause"'], "target_matchers": ['metric="effect"']}
        ],
        "receivers": [{"name": "team", "webhook_configs": [{"url": receiver.url, "send_resolved": True}]}],
    }  # fmt: skip
    (tmp_path / "alertmanager.yml").write_text(json.dumps(config))
    port = free_port()
    command = [
        program, f"--config.file={tmp_path / 'alertmanager.yml'}", f"--storage.path={tmp_path / 'alertmanager'}",
        f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address=",
    ]  # fmt: skip
    with (
        (tmp_path / "alertmanager.log").open("wb") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as running,
    ):
        try:
            wait_for_url(f"http://127.0.0.1:{port}/-/ready", running)
            yield Running(f"http://127.0.0.1:{port}"), receiver
        finally:
            running.terminate()


def severities(receiver: Any, status: str) -> set[str]:
    """The severities of the alerts of `rag` that any message has with this status."""
    alerts = [alert for body in messages(receiver) for alert in body["alerts"] if alert["status"] == status]
    return {alert["labels"]["severity"] for alert in alerts if alert["labels"]["deployment"] == "rag"}


def messages(receiver: Any) -> list[dict[str, Any]]:
    return [json.loads(request.body) for request in receiver.requests]


def alerts_received(receiver: Any, status: str) -> set[tuple[str, str]]:
    """Deployment and metric of the alerts that any message has with this status.

    How many messages that takes is up to how fast the alerts of one request come to their group: on a slow machine
    the first goes out without the others.
    """
    alerts = (alert for body in messages(receiver) for alert in body["alerts"] if alert["status"] == status)
    return {(alert["labels"]["deployment"], alert["labels"]["metric"]) for alert in alerts}


@pytest.mark.integration
def test_a_real_alertmanager_notifies_when_an_incident_opens_is_raised_or_ends(
    alertmanager: tuple[Running, Any], alerts: AlertStore
) -> None:
    """It has one alert of each incident. A metric that joins stands in its text, and is no notification."""
    running, receiver = alertmanager
    now = datetime.now(UTC)
    alerts.record([transition(), transition(deployment="other")], now)
    sender = notifier(running.url, alerts)
    assert sender.run_due(now) == now + RESEND_EVERY
    wait_for(lambda: alerts_received(receiver, "firing") == {("rag", "m"), ("other", "m")})
    told = len(receiver.requests)
    alerts.record([transition(hour=2, metric="n")], datetime.now(UTC))
    sender.run_due(datetime.now(UTC))
    joined = next(a for a in running.alerts() if a["labels"]["deployment"] == "rag")
    assert "Incident: “m”, “n”; https://watch.example/incident?id=" in joined["annotations"]["description"]
    assert "/incident?id=" in joined["generatorURL"]
    assert len(delivered(alerts)) == 3

    raised = transition(hour=3, metric="o")
    alerts.record([replace(raised, reading=replace(raised.reading, tier="page"))], datetime.now(UTC))
    sender.run_due(datetime.now(UTC))
    wait_for(lambda: "page" in severities(receiver, "firing"))
    wait_for(lambda: "warning" in severities(receiver, "resolved"))
    alerts.record([transition("resolved", 4, metric=metric) for metric in ("m", "n", "o")], datetime.now(UTC))
    sender.run_due(datetime.now(UTC))
    wait_for(lambda: "page" in severities(receiver, "resolved"))
    assert {metric for _, metric in alerts_received(receiver, "firing")} == {"m"}
    assert {tuple(body["groupLabels"]) for body in messages(receiver)} == {("incident",)}
    # The raise and the end of the warning may come in two, on a slow machine.
    assert told + 2 <= len(receiver.requests) <= told + 3
    assert len(delivered(alerts)) == 7


@pytest.mark.integration
def test_an_acknowledged_incident_is_silenced_until_it_is_raised_or_over(
    alertmanager: tuple[Running, Any], alerts: AlertStore, lake: Lake
) -> None:
    """A restart keeps the silence, a raise passes and ends it, and the end of an acknowledged incident arrives."""
    running, receiver = alertmanager
    log = IncidentLog(lake)

    def send(*transitions: Transition) -> None:
        now = datetime.now(UTC)
        alerts.record(transitions, now)
        settings = WebhookSettings.model_validate({"name": "am", "url": running.url, "format": "alertmanager"})
        view = NotificationView(once_quiet_incidents=log.acknowledged(alerts.changes()))
        Notifier([settings], alerts, view=view, internal_hosts=LOCAL).run_due(now)

    def acknowledge() -> None:
        ((incident,),) = log.incidents(alerts.changes()).values()
        log.acknowledge(incident, "ada", "I look", datetime.now(UTC))

    def held() -> list[str]:
        return [alert["labels"]["severity"] for alert in running.alerts() if alert["status"]["silencedBy"]]

    send(transition())
    wait_for(lambda: "warning" in severities(receiver, "firing"))
    acknowledge()
    for _ in range(2):
        send()
        wait_for(lambda: held() == ["warning"])
    (silence,) = running.silences()
    assert silence["comment"] == "acknowledged by ada: I look"
    raised = transition(hour=3, metric="n")
    send(replace(raised, reading=replace(raised.reading, tier="page")))
    wait_for(lambda: "page" in severities(receiver, "firing"))
    assert running.silences() == []
    acknowledge()
    send()
    wait_for(lambda: held() == ["page"])
    send(transition("resolved", 4), transition("resolved", 4, metric="n"))
    wait_for(lambda: "page" in severities(receiver, "resolved"))
    assert running.silences() == []


@pytest.mark.integration
def test_an_incident_that_recovers_is_silenced_until_it_does_not(
    alertmanager: tuple[Running, Any], alerts: AlertStore, lake: Lake
) -> None:
    running, receiver = alertmanager
    log, now = IncidentLog(lake), datetime.now(UTC)
    alerts.record([transition()], now)
    settings = WebhookSettings.model_validate({"name": "am", "url": running.url, "format": "alertmanager"})

    def send(reading: Reading) -> None:
        found = with_recovery(log.acknowledged(alerts.changes(), ids), {transition().key: reading})
        view = NotificationView(once_quiet_incidents=found)
        Notifier([settings], alerts, view=view, internal_hosts=LOCAL).run_due(now)

    ids = {one.incident_id for mine in log.incidents(alerts.changes()).values() for one in mine}
    falling = transition().reading
    send(falling)
    wait_for(lambda: "warning" in severities(receiver, "firing"))
    assert running.silences() == []
    send(replace(falling, recovering_since=START))
    (silence,) = running.silences()
    assert silence["comment"] == "recovering since 2026-11-01 00:00 UTC"
    wait_for(lambda: [bool(one["status"]["silencedBy"]) for one in running.alerts()] == [True])
    send(falling)
    assert running.silences() == []


@pytest.mark.integration
def test_silences_and_inhibitions_of_a_real_alertmanager_work_on_our_labels(
    alertmanager: tuple[Running, Any], alerts: AlertStore
) -> None:
    """A silence by deployment and a rule by metric each keep an alert back, and the others get through."""
    running, receiver = alertmanager
    running.silence("quiet")
    sender = notifier(running.url, alerts)
    # The cause first: an Alertmanager that hears of both at once may send the effect before it knows the cause.
    for fired, awaited in (
        ((("rag", "cause"), ("quiet", "m")), ("rag", "cause")),
        ((("search", "effect"), ("loud", "m")), ("loud", "m")),
    ):
        now = datetime.now(UTC)
        alerts.record([transition(deployment=deployment, metric=metric) for deployment, metric in fired], now)
        sender.run_due(now)
        wait_for(lambda awaited=awaited: awaited in alerts_received(receiver, "firing"))
    wait_for(lambda: running.states()["quiet", "m"]["silencedBy"])
    wait_for(lambda: running.states()["search", "effect"]["inhibitedBy"])
    assert alerts_received(receiver, "firing") == {("rag", "cause"), ("loud", "m")}


def test_what_fires_is_sent_each_minute_until_it_is_over_and_for_a_quarter_of_an_hour_that_it_is(
    alerts: AlertStore, start_receiver: Callable[..., Any]
) -> None:
    """An Alertmanager that lost its memory has it back within a minute; each change has one row."""
    receiver = start_receiver()
    alerts.record([transition()], START)
    sender = notifier(receiver.url, alerts)
    now = START
    for _ in range(3):
        due = sender.run_due(now)
        assert due == now + RESEND_EVERY
        assert sender.run_due(now + RESEND_EVERY / 2) == due
        now = due
    sent = [json.loads(request.body) for request in receiver.requests]
    assert [request.path for request in receiver.requests] == ["/hook/api/v2/alerts"] * 3
    assert [datetime.fromisoformat(alert["endsAt"]) for (alert,) in sent] == [
        START + n * RESEND_EVERY + EXPIRES_AFTER for n in range(3)
    ]
    over = now
    alerts.record([transition("resolved", 2)], over)
    due = sender.run_due(now)
    while due is not None:
        now, due = due, sender.run_due(due)
    ends = [json.loads(request.body)[0]["endsAt"] for request in receiver.requests[3:]]
    assert len(ends) == RESOLVED_FOR / RESEND_EVERY
    assert len(set(ends)) == 1
    assert now - over == RESOLVED_FOR
    assert len(delivered(alerts)) == 2


def test_an_incident_is_sent_until_its_last_alert_is_over(
    alerts: AlertStore, start_receiver: Callable[..., Any]
) -> None:
    """The end of one of its alerts leaves it open; for a quarter of an hour after the last one its end is sent."""
    receiver = start_receiver()
    alerts.record([transition(metric="a"), transition(metric="b")], START)
    alerts.record([transition("resolved", 2, metric="a")], START)
    sender = notifier(receiver.url, alerts)
    assert len({one.incident_id for one in alerts.changes()}) == 1
    assert sender.run_due(START) is not None
    later = START + 2 * RESOLVED_FOR
    assert sender.run_due(later) == later + RESEND_EVERY
    alerts.record([transition("resolved", 3, metric="b")], later)
    assert sender.run_due(later + RESEND_EVERY) is not None
    assert sender.run_due(later + RESOLVED_FOR) is None


def test_an_alertmanager_that_is_away_is_sent_alerts_when_it_is_back(
    alerts: AlertStore, start_receiver: Callable[..., Any]
) -> None:
    """Every ten seconds it is tried, nothing is recorded before it was accepted, and no alert is given up."""
    receiver = start_receiver(*[503] * 20, 200)
    alerts.record([transition()], START)
    sender, now = notifier(receiver.url, alerts), START
    for failures in range(1, 21):
        due = sender.run_due(now)
        assert due is not None
        assert sender.failed_attempts == failures
        assert delivered(alerts) == []
        now = due
    sender.run_due(now)
    assert now == START + timedelta(seconds=200)
    assert len(delivered(alerts)) == 1


def test_an_alertmanager_is_sent_alerts_each_minute_also_where_the_clock_was_set_back(
    alerts: AlertStore, start_receiver: Callable[..., Any]
) -> None:
    """After an hour of silence it would take what fires for over."""
    receiver = start_receiver()
    alerts.record([transition()], START)
    now, passed = [START], [0.0]
    settings = WebhookSettings.model_validate({"name": "am", "url": receiver.url, "format": "alertmanager"})
    sender = Notifier([settings], alerts, internal_hosts=LOCAL, clock=lambda: now[0], monotonic=lambda: passed[0])
    with sender.running():
        wait_for(lambda: len(receiver.requests) == 1)
        now[0] -= timedelta(hours=1)
        passed[0] += 60
        now[0] += timedelta(minutes=1)
        sender.wake()
        wait_for(lambda: len(receiver.requests) == 2)


def test_an_alert_that_began_and_ended_unseen_is_sent_as_over(
    alerts: AlertStore, start_receiver: Callable[..., Any]
) -> None:
    """What counts is the state of now; both changes are recorded, and the same labels never come twice in a list."""
    receiver = start_receiver()
    alerts.record([transition(), transition("resolved", 2), transition("firing", 3)], START)
    alerts.record([transition(deployment="other"), transition("resolved", 2, "other")], START)
    notifier(receiver.url, alerts).run_due(START + timedelta(hours=1))
    (request,) = receiver.requests
    posted = json.loads(request.body)
    assert len({json.dumps(alert["labels"]) for alert in posted}) == len(posted) == 3
    ends = {"rag": [], "other": []}
    for alert in posted:
        ends[alert["labels"]["deployment"]].append(datetime.fromisoformat(alert["endsAt"]))
    assert [end > START + timedelta(hours=1) for end in sorted(ends["rag"])] == [False, True]
    assert max(ends["other"]) <= START + timedelta(hours=2)
    assert len(delivered(alerts)) == 5


def test_a_page_that_turns_out_to_be_the_judge_is_over_and_a_warning(firing: AlertChange) -> None:
    """By its labels it is another alert from then on: the page is over, and the warning fires."""
    page = replace(firing, details=structs.replace(firing.details, tier="page"))
    judged = replace(page, change_id="later", verdict="judge")
    ends = START + timedelta(days=60)
    for changes, fires, over in (([firing, page], "page", "warning"), ([page, judged], "warning", "page")):
        ends_by_severity = {alert.labels["severity"]: alert.ends_at for alert in posted_alerts(changes, "", ends)}
        assert ends_by_severity[fires] == ends
        assert ends_by_severity[over] < ends
