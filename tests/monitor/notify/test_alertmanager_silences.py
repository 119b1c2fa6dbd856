"""What an Alertmanager is asked: silences of quiet incidents, and alerts again after a failure."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from lake.spec.alert_vocabulary import AlertEvent, Tier
from lake.tables.lake import Lake
from monitor.alerting.alerts.store import AlertStore
from monitor.alerting.incidents.incident import Acknowledgement, Incident, incidents_of
from monitor.detect.regression import Transition
from monitor.notify.alertmanager import RESEND_EVERY, RESOLVED_FOR, AlertmanagerSender
from monitor.notify.alertmanager_silences import AlertmanagerSilences, SilenceError
from monitor.notify.settings import WebhookSettings
from monitor.notify.view import NotificationView
from tests.monitor.notify.test_notifier import transition
from tests.monitor.notify.test_senders import DAY, HOUR, MINUTE, NOW, SECOND, VIEW, Pool, change


def known(number: str, severity: str, minutes: float, by: str = "dialwatch", state: str = "active") -> dict[str, Any]:
    matchers = [{"name": "incident", "value": "i"}, {"name": "severity", "value": severity}]
    ends = (NOW + minutes * MINUTE).isoformat()
    return {"id": number, "status": {"state": state}, "createdBy": by, "endsAt": ends, "matchers": matchers}


def silences(incident: Incident, *there: dict[str, Any]) -> list[tuple[str, str, Any]]:
    pool = Pool([(200, json.dumps(there).encode()), (200, b"")])
    AlertmanagerSilences(pool, "https://a.example/").update([incident], NOW)  # type: ignore[arg-type]
    return pool.asked[1:]


def quiet(tier: Tier = Tier.WARN, **columns: Any) -> Incident:
    (incident,) = incidents_of([change(tier=tier)])
    return replace(incident, **({"acknowledged": Acknowledgement("ann", NOW, "on\nit")} | columns))


def test_a_quiet_incident_has_one_silence_of_its_severity() -> None:
    """Made for an hour, renewed in its last half hour; what is of another severity, or one too many, goes."""
    ((method, path, made),) = silences(quiet())
    assert (method, path) == ("POST", "/silences")
    assert made == {
        "matchers": [
            {"name": "incident", "value": "incident of rag", "isRegex": False, "isEqual": True},
            {"name": "severity", "value": "warning", "isRegex": False, "isEqual": True},
        ],
        "startsAt": "2026-11-20T12:00:00+00:00",
        "endsAt": "2026-11-20T13:00:00+00:00",
        "createdBy": "dialwatch",
        "comment": "acknowledged by ann: on it",
    }
    assert silences(quiet(), known("1", "warning", 30)) == []
    ((_, _, renewed),) = silences(quiet(), known("1", "warning", 29.9))
    assert renewed == made | {"id": "1"}
    assert silences(quiet(), known("1", "warning", 60), known("2", "warning", 60)) == [("DELETE", "/silence/2", None)]
    assert [one[:2] for one in silences(quiet(Tier.PAGE), known("1", "warning", 60))] == [
        ("DELETE", "/silence/1"), ("POST", "/silences"),
    ]  # fmt: skip
    by_others = known("1", "warning", 60, by="ann"), known("2", "warning", 60, state="expired")
    assert [one[:2] for one in silences(quiet(), *by_others)] == [("POST", "/silences")]
    assert silences(quiet(acknowledged=None), known("1", "warning", 60)) == [("DELETE", "/silence/1", None)]
    assert silences(quiet(acknowledged=None), *by_others) == []
    assert silences(quiet(ended_at=NOW), known("1", "warning", 60)) == [("DELETE", "/silence/1", None)]


def test_a_silence_says_why() -> None:
    """Who took note of it, or since when it recovers."""
    recovering = quiet(acknowledged=None, recovering_since=NOW)
    somebody = quiet(acknowledged=Acknowledgement(None, NOW, "ok"))
    assert [silences(one)[0][2]["comment"] for one in (recovering, somebody)] == [
        "recovering since 2026-11-20 12:00 UTC", "acknowledged by somebody: ok",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "said"), [((500, b""), "answered 500"), ((200, b" " * ((1 << 20) + 1)), "more than 1048576 bytes")]
)
def test_an_alertmanager_that_does_not_do_what_it_is_asked_is_an_error(answer: tuple[int, bytes], said: str) -> None:
    with pytest.raises(SilenceError, match=f"GET /silences.*{said}"):
        AlertmanagerSilences(Pool([answer]), "https://a.example").update([quiet()], NOW)  # type: ignore[arg-type]


@pytest.fixture
def alerts(lake: Lake) -> AlertStore:
    return AlertStore(lake)


def alertmanager(alerts: AlertStore, pool: Pool) -> AlertmanagerSender:
    settings = WebhookSettings.model_validate({"name": "am", "url": "https://a.example", "format": "alertmanager"})
    return AlertmanagerSender(settings, alerts, pool)  # type: ignore[arg-type]


def test_a_failed_post_waits_ten_seconds_of_time_that_passes(alerts: AlertStore) -> None:
    """Whatever the clock is set to; the problem is gone with the first success, or once nothing is left."""
    alerts.record([transition()], NOW)
    pool = Pool([(503, b"busy"), (200, b"")])
    sender = alertmanager(alerts, pool)
    assert sender.run_due(VIEW, NOW) == NOW + 10 * SECOND
    assert (sender.failed_attempts, sender.problem) == (1, "Alertmanager am: answered 503 (busy)")
    assert sender.is_failing
    assert sender.run_due(VIEW, NOW + 9 * SECOND) == NOW + 10 * SECOND
    sender.clock_was_set(-HOUR)
    assert sender.run_due(VIEW, NOW - HOUR + 9 * SECOND) == NOW - HOUR + 10 * SECOND
    assert len(pool.asked) == 1
    assert sender.run_due(VIEW, NOW - HOUR + 10 * SECOND) == NOW - HOUR + 10 * SECOND + RESEND_EVERY
    assert (sender.failed_attempts, sender.problem, sender.is_failing) == (1, None, False)
    sender.clock_was_set(HOUR)
    assert sender.run_due(VIEW, NOW + 69 * SECOND) == NOW + 70 * SECOND
    assert len(pool.asked) == 2
    sender.problem = "old"
    alerts.record([transition("resolved", 2)], NOW + 2 * MINUTE)
    assert sender.run_due(VIEW, NOW + 2 * MINUTE) is not None
    sender.problem = "old"
    assert sender.run_due(VIEW, NOW + 2 * MINUTE + RESOLVED_FOR) is None
    assert sender.problem is None


def test_silences_of_incidents_that_ended_lately_are_looked_at(alerts: AlertStore) -> None:
    """For a quarter of an hour after the last of their alerts was over, by the clock; of its own deployments."""
    (fired,) = alerts.record([transition()], NOW)
    ended = replace(fired, change=AlertEvent.RESOLVED, details=structs.replace(fired.details, recorded_at=NOW))
    early = replace(ended, alert_id="b", details=structs.replace(fired.details, recorded_at=NOW - DAY))
    over = Incident("i", "rag", NOW, NOW, Tier.WARN, None, (early, ended), ())
    for ago, is_asked in ((RESOLVED_FOR - SECOND, True), (RESOLVED_FOR, False)):
        pool = Pool([(200, b"[]")])
        mine = replace(over, alerts=(replace(early, alert_id=fired.alert_id), ended))
        alertmanager(alerts, pool).run_due(NotificationView(once_quiet_incidents=(mine,)), NOW + ago)
        assert any(path.startswith("/silences?") for _, path, _ in pool.asked) is is_asked
    theirs = replace(over, alerts=(replace(ended, alert_id="theirs"),))
    pool = Pool([(200, b"[]")])
    alertmanager(alerts, pool).run_due(NotificationView(once_quiet_incidents=(theirs,)), NOW)
    assert [path for _, path, _ in pool.asked] == ["/alerts"]


def test_what_is_new_is_posted_at_once(alerts: AlertStore) -> None:
    """Although the rest was sent less than a minute ago."""
    alerts.record([transition()], NOW)
    pool = Pool([(200, b"[]")])
    sender = alertmanager(alerts, pool)
    assert sender.run_due(VIEW, NOW) == NOW + RESEND_EVERY
    assert sender.run_due(VIEW, NOW + SECOND) == NOW + RESEND_EVERY
    assert len(pool.asked) == 1
    alerts.record([transition(deployment="other")], NOW + 10 * SECOND)
    assert sender.run_due(VIEW, NOW + 10 * SECOND) == NOW + 10 * SECOND + RESEND_EVERY
    assert len(pool.asked) == 2
    assert {one["labels"]["deployment"] for one in pool.asked[1][2]} == {"rag", "other"}


@pytest.mark.parametrize(
    ("news", "asked"),
    [
        (transition("resolved", 2), ["GET", "DELETE", "POST"]),
        (replace(transition(hour=2), reading=replace(transition().reading, tier="page")), ["GET", "DELETE", "POST"]),
        (transition(hour=2, metric="n"), ["GET", "POST"]),
    ],
    ids=["over", "raised", "joined"],
)
def test_what_is_newer_than_the_view_ends_a_silence_before_it_is_posted(
    alerts: AlertStore, news: Transition, asked: list[str]
) -> None:
    """Else an Alertmanager would hold back the end for good; what joins is no news."""
    alerts.record([transition()], NOW)
    (incident,) = incidents_of(alerts.changes())
    view = NotificationView(once_quiet_incidents=[replace(incident, acknowledged=Acknowledgement("ann", NOW, ""))])
    pool = Pool([(200, b"[]"), (200, b"")])
    sender = alertmanager(alerts, pool)
    sender.run_due(view, NOW)
    assert [(method, path) for method, path, _ in pool.asked[1:]] == [("POST", "/silences"), ("POST", "/alerts")]
    alerts.record([news], NOW + SECOND)
    pool.answers = [(200, json.dumps([known("1", "warning", 60)]).encode()), (200, b"")]
    pool.asked.clear()
    sender.run_due(view, NOW + SECOND)
    assert [method for method, _, _ in pool.asked] == asked
    assert pool.asked[-1][1] == "/alerts"
