"""What is sent to whom and when: routing, silences of an Alertmanager, the order of a summary, and test messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from lake.spec.alert_vocabulary import LIMIT_VERSION, AlertEvent, LimitKind, Tier
from lake.tables.lake import Lake
from monitor.alerting.alerts.change import AlertChange, AlertDetails
from monitor.alerting.alerts.store import AlertStore
from monitor.alerting.controls.silences import Silence
from monitor.alerting.incidents.incident import incidents_of
from monitor.alerting.incidents.shared_cause import SharedCause
from monitor.detect.limits import LimitDetails
from monitor.detect.regression import StreamKey
from monitor.notify.alertmanager import EXPIRES_AFTER, RESEND_EVERY, RESOLVED_FOR
from monitor.notify.channels import WebhookChannel
from monitor.notify.delivery import deliver, request_headers
from monitor.notify.holding import held_by_cause
from monitor.notify.message_sender import LONGEST_PAUSE, MessageSender
from monitor.notify.messages import MessageIncident, messages
from monitor.notify.network import connections
from monitor.notify.notifier import Notifier
from monitor.notify.posted_alert import posted_alerts
from monitor.notify.receiver_check import send_test
from monitor.notify.retries import DELAYS
from monitor.notify.routing import RoutedAlerts, Routing
from monitor.notify.settings import WebhookSettings
from monitor.notify.view import NotificationView
from tests.monitor.notify.test_notifier import transition

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
VIEW = NotificationView()
Start = Callable[..., Any]


def change(alert: str = "a", event: Any = "firing", at: datetime = NOW, **columns: Any) -> AlertChange:
    tier, deployment = columns.pop("tier", Tier.WARN), columns.pop("deployment", "rag")
    details = AlertDetails(fired_at=columns.pop("fired_at", NOW), tier=tier, recorded_at=at)
    made = AlertChange(
        f"{alert} {event}", alert, StreamKey(deployment, alert, "1"), event, at, details, since=NOW,
        reference_mean=0.8, current_mean=0.4, incident_id=f"incident of {deployment}",
    )  # fmt: skip
    return replace(made, **columns)


def told(of: AlertChange, at: datetime = NOW, event: Any = "delivered", receiver: str = "team") -> AlertChange:
    details = AlertDetails(receiver=receiver)
    return replace(
        of, change_id=f"{of.change_id} {event} {at}", change=event, changed_at=at, details=details,
        delivery_of=of.change_id,
    )  # fmt: skip


def failure(
    deployment: str = "model", kind: LimitKind = LimitKind.ERRORS, event: Any = "firing", **more: Any
) -> AlertChange:
    one = change(deployment, event, deployment=deployment)
    details = structs.replace(one.details, exceeded=LimitDetails(**more))
    return replace(one, key=StreamKey(deployment, kind, LIMIT_VERSION), details=details)


CAUSES = {"model": SharedCause("model", frozenset({"app", "x"}), frozenset({"app"}))}


def routing(*globs: str) -> Routing:
    given = {"name": "team", "url": "https://a.example", "format": "slack", "deployments": globs}
    return Routing(WebhookSettings.model_validate(given))


def test_a_receiver_gets_its_own_and_the_failures_that_cause_them() -> None:
    """No other alert of what they call, no failure of what only others call, and the one that stands for all."""
    other = replace(change("latency", deployment="model"), change_id="l")
    silent, all_silent = failure("hr", LimitKind.NO_DATA), failure("pay", LimitKind.NO_DATA, all_silent=True)
    refused = replace(failure(kind=LimitKind.REFUSALS), alert_id="refused")
    every = [change("mine", deployment="app"), failure(), other, refused, silent, all_silent]
    assert routing("app").alerts(every, CAUSES).own == {"mine", "model", "pay"}
    assert routing("x").alerts(every, CAUSES).own == {"pay"}
    assert routing("app").alerts(every, {}).own == {"mine", "pay"}
    assert routing("*").alerts(every, {}).own == {one.alert_id for one in every}
    assert routing("APP").alerts([change("mine", deployment="app")], {}).own == frozenset()


@pytest.mark.parametrize(
    ("event", "is_told"),
    [("delivered", True), ("grouped", True), ("undeliverable", True), ("silenced", False), ("summarized", False)],
)
def test_who_was_told_of_an_alert_is_told_its_end_alone(event: str, is_told: bool) -> None:
    """Also by a message that could not be delivered; what another receiver was told counts for that one."""
    alert = change()
    routed = routing("other").alerts([alert, told(alert, event=event), told(alert, receiver="pager")], {})
    assert routed == RoutedAlerts(frozenset(), frozenset({"a"} if is_told else ()))
    end = change(event="resolved")
    assert (routed.takes(alert), routed.takes(end)) == (False, is_told)
    assert routed.known([alert, change("b")]) == ([alert] if is_told else [])
    (incident,) = incidents_of([alert, change("b")])
    assert routed.incidents([incident]) == []
    (mine,) = RoutedAlerts(frozenset({"b"}), frozenset({"a"})).incidents([incident])
    assert [one.alert_id for one in mine.alerts] == ["b"]


def test_what_its_cause_tells_is_held_back_for_thirty_days_of_its_beginning() -> None:
    """Only the beginning of a failure of a deployment that fails by another one."""
    app = replace(failure("app"), changed_at=NOW + HOUR)
    assert held_by_cause(app, CAUSES) == Silence(
        deployment="app", metric="errors", until=NOW + 30 * DAY,
        comment="told by the incident of model, which it calls and which fails",
    )  # fmt: skip
    for other in (failure("model"), failure("x"), failure("app", event="resolved"), failure("app", LimitKind.REFUSALS)):
        assert held_by_cause(other, CAUSES) is None
    assert held_by_cause(change("errors", deployment="app"), CAUSES) is None


def test_a_message_ends_after_the_instant_of_its_first_change() -> None:
    """Where the window is not 0, its end is not in it; changes of two incidents are two messages."""
    at = [change(str(number), at=NOW + number * SECOND) for number in (0, 5, 10)]
    found = messages([at[2], at[0], at[1]], 10 * SECOND)
    assert [[one.alert_id for one in message.changes] for message in found] == [["0", "5"], ["10"]]
    assert [message.ready_at for message in found] == [NOW + 10 * SECOND, NOW + 20 * SECOND]
    other = replace(at[1], incident_id="another")
    assert len(messages([at[0], other], 10 * SECOND)) == 2
    late = replace(at[0], details=structs.replace(at[0].details, recorded_at=NOW + 9 * SECOND), changed_at=NOW - DAY)
    assert [one.alert_id for one in messages([late, at[1]], 10 * SECOND)[0].changes] == ["5", "0"]


def test_a_message_tells_what_its_receiver_does_not_know() -> None:
    """An opening that another one got, or that could not be delivered, is news; so is the end of the latter."""
    first, second, end = change(), change("b", at=NOW + MINUTE), change(event="resolved", at=NOW + 2 * MINUTE)

    def incident(of: AlertChange, *known: AlertChange) -> MessageIncident:
        (message,) = messages([of], MINUTE)
        return MessageIncident(message, [first, second, end, *known], "team")

    assert incident(second).has_news
    assert not incident(second, told(first)).has_news
    assert not incident(second, told(first, event="grouped")).has_news
    assert incident(second, told(first, receiver="pager")).has_news
    assert incident(second, told(first, event="undeliverable")).has_news
    assert incident(end, told(first)).has_news
    assert incident(end, told(first, event="undeliverable")).has_news
    assert not incident(end, told(first), told(second)).has_news
    ended = incident(end, told(first), told(second))
    assert [one.change_id for one in ended.contents] == ["a resolved"]


@pytest.fixture
def receiver(start_receiver: Start) -> Any:
    return start_receiver()


def test_a_test_message_is_signed_and_says_that_it_is_one(receiver: Any) -> None:
    """To Alertmanager it is over after five minutes."""
    with connections(["127.0.0.1"]) as pool:
        send_test(receiver.settings(), pool, "", NOW)
        by_format = {"url": f"{receiver.url}/", "format": "alertmanager"}
        send_test(WebhookSettings.model_validate(by_format), pool, "", NOW, "staging")
    signed, posted = receiver.requests
    body = json.loads(signed.body)
    assert signed.headers["webhook-id"] == body["data"][0]["change_id"]
    assert signed.headers["webhook-id"].startswith("test-")
    assert "webhook-signature" in signed.headers
    assert body["commonLabels"] == {
        "alertname": "DialwatchRegression", "deployment": "dialwatch-webhook-test", "metric": "this_is_a_test",
        "metric_version": "1", "severity": "warning",
    }  # fmt: skip
    (alert,) = json.loads(posted.body)
    assert alert["endsAt"] == "2026-11-20T12:05:00Z"
    assert alert["labels"] == body["commonLabels"] | {"installation": "staging"}
    assert posted.path == "/hook/api/v2/alerts"
    assert (EXPIRES_AFTER, RESOLVED_FOR, RESEND_EVERY, LONGEST_PAUSE) == (HOUR, 15 * MINUTE, MINUTE, MINUTE)


@pytest.mark.parametrize(
    ("login", "header"),
    [("", None), ("ann:p%40ss@", "Basic YW5uOnBAc3M="), ("a%3Ab:@", "Basic YTpiOg=="), ("a@b:c@", "Basic YUBiOmM=")],
)
def test_a_log_in_of_an_address_is_a_header(login: str, header: str | None) -> None:
    """Decoded, and no part of the host."""
    found = dict(request_headers(f"https://{login}a.example:8443/x", {"x": "y"}))
    assert found.pop("authorization", None) == header
    assert found == {
        "host": "a.example:8443", "content-type": "application/json", "user-agent": "dialwatch",
        "accept-encoding": "identity", "x": "y",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("status", "content", "reason"),
    [
        (404, b"no such\nplace", "answered 404 (no such place): nobody is at this address: check the url"),
        (500, b"", "answered 500"),
        (500, b" \n ", "answered 500"),
        (502, b"x" * 300, f"answered 502 ({'x' * 200})"),
        (
            429,
            b"\xff",
            "answered 429 (\ufffd): too many messages for the receiver",
        ),
        (302, b"x", "answered 302: redirects are not followed, set the final address as url"),
        (299, b"x", "answered 299"),
    ],
)
def test_the_reason_has_what_the_receiver_said(status: int, content: bytes, reason: str) -> None:
    """In one line of at most 200 characters, with what to do."""
    assert deliver(Pool([(status, content)]), "https://a.example", b"{}", {}, NOW).reason == reason  # type: ignore[arg-type]


class Pool:
    """Connections that give these answers, the last one for ever, and keep what was asked."""

    def __init__(self, answers: Sequence[tuple[int, bytes]]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, str, Any]] = []

    @contextmanager
    def stream(self, method: str, url: str, headers: Any = None, content: bytes = b"") -> Iterator[Any]:
        self.asked.append((method, url.partition("/api/v2")[2], json.loads(content) if content else None))
        status, body = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        yield SimpleNamespace(status=status, headers=[], iter_stream=lambda: iter([body] if body else []))


@pytest.fixture
def alerts(lake: Lake) -> AlertStore:
    return AlertStore(lake)


def test_an_incident_that_was_always_a_page_is_one_alert() -> None:
    """None is over that never was."""
    assert [one.labels["severity"] for one in posted_alerts([change(tier=Tier.PAGE)], "", NOW)] == ["page"]


def webhook(alerts: AlertStore, pool: Pool, **settings: Any) -> MessageSender:
    given = {"name": "team", "url": "https://a.example/api/v2/x", "format": "slack"} | settings
    return MessageSender(WebhookChannel(WebhookSettings.model_validate(given), pool), alerts)  # type: ignore[arg-type]


def test_a_failed_message_is_tried_later_and_later(alerts: AlertStore) -> None:
    """By the planned delays and up to a fifth more; a look for others comes within a minute."""
    alerts.record([transition()], NOW)
    pool = Pool([(500, b"")])
    sender, now, tried = webhook(alerts, pool), NOW, [NOW]
    while len(tried) < 6:
        due = sender.run_due(VIEW, now)
        if len(pool.asked) > len(tried):
            tried.append(now)
            assert due is not None
            assert due <= now + LONGEST_PAUSE
        assert due is not None
        now = due
    for delay, before, after in zip(DELAYS, tried, tried[1:], strict=False):
        assert delay <= after - before <= 1.2 * delay
    assert sender.failed_attempts == len(pool.asked) == 6


def test_a_summary_that_is_gone_ends_the_receiver(alerts: AlertStore) -> None:
    """410 is 410; a failure is tried again an hour later, by time that has passed."""
    (fired,) = alerts.record([transition()], NOW)
    alerts.record_deliveries([fired], "team", AlertEvent.DELIVERED, "answered 200", NOW)
    for status, is_gone in ((410, True), (500, False)):
        pool = Pool([(status, b""), (200, b"")])
        sender = webhook(alerts, pool)
        view = NotificationView(open_incidents=incidents_of(alerts.changes()))
        sender.run_due(view, NOW + DAY)
        assert (sender.gone, len(pool.asked), sender.failed_attempts) == (is_gone, 1, 1)
        assert str(sender.problem).startswith(f"webhook team: the summary of the day: answered {status}")
        if is_gone:
            continue
        sender.clock_was_set(DAY)
        sender.run_due(view, NOW + 2 * DAY + HOUR - SECOND)
        assert str(sender.problem).startswith("webhook team: the summary of the day")
        assert len(pool.asked) == 1
        sender.run_due(view, NOW + 2 * DAY + HOUR)
        assert (len(pool.asked), sender.problem) == (2, None)
        sender.run_due(view, NOW + 2 * DAY + 2 * HOUR)
        assert (len(pool.asked), sender.problem) == (2, None)
    rows = [one for one in AlertStore(alerts._lake).changes() if one.change == AlertEvent.SUMMARIZED]
    assert len(rows) == 1


def test_a_notifier_speaks_for_all_its_receivers(alerts: AlertStore, secret: str, caplog: Any) -> None:
    """The next due of any, all failures together, and alerts that nobody gets, each logged once while it fires."""
    given = {"url": "https://a.example", "secret": secret}
    named = [WebhookSettings.model_validate(given | {"name": name, "deployments": ["ours"]}) for name in ("a", "b")]
    one = Notifier(named, alerts)
    assert one.disabled == {"a": False, "b": False}
    assert (one.problem, one.failed_attempts, one.run_due(NOW)) == (None, 0, None)
    first, second = one._receivers
    first.problem, second.problem, first.failed_attempts, second.failed_attempts, second.gone = "x", "y", 1, 2, True
    assert (one.problem, one.failed_attempts, one.disabled) == ("x; y", 3, {"a": False, "b": True})
    first.run_due = lambda *_: NOW + HOUR  # type: ignore[method-assign]
    second.run_due = lambda *_: NOW + MINUTE  # type: ignore[method-assign]
    assert one.run_due(NOW) == NOW + MINUTE
    assert one.without_receiver(["ours", "theirs"]) == {"theirs"}
    assert Notifier([], alerts).without_receiver(["theirs"]) == frozenset()
    theirs, ours = change("m", deployment="theirs"), change("m", deployment="ours")
    of_all = failure("theirs", LimitKind.NO_DATA, all_silent=True)
    for firing in ([theirs, ours, of_all], [theirs, ours], [ours], [theirs]):
        assert one.unsent(firing) == [alert for alert in firing if alert is theirs]
    said = "No receiver gets the alert on m of 'theirs': add it to the deployments of one in monitor.webhooks"
    assert caplog.messages == [said, said]
    with pytest.raises(ValueError, match="webhook name 'a' is used twice; give every webhook a name of its own"):
        Notifier([named[0], named[1], named[0]], alerts)


def test_silences_that_are_not_certain_replace_none(alerts: AlertStore, secret: str) -> None:
    """But where none were known."""
    settings = WebhookSettings.model_validate({"url": "https://a.example", "secret": secret})
    one, other = Silence(deployment="a", until=NOW), Silence(deployment="b", until=NOW)
    notifier = Notifier([settings], alerts, view=NotificationView(silences=None))
    for given, is_certain, held in [((one,), False, (one,)), ((other,), False, (one,)), ((other,), True, (other,))]:
        notifier.view = notifier.view.with_silences(given, is_certain=is_certain)
        assert notifier.view.silences == held


def test_a_message_that_failed_waits_by_time_that_passes(alerts: AlertStore) -> None:
    """Whatever the clock is set to."""
    alerts.record([transition()], NOW)
    pool = Pool([(500, b""), (200, b"")])
    sender = webhook(alerts, pool)
    due = sender.run_due(VIEW, NOW)
    assert due is not None
    sender.clock_was_set(HOUR)
    assert sender.run_due(VIEW, due + HOUR - SECOND / 10) is not None
    assert len(pool.asked) == 1
    assert sender.run_due(VIEW, due + HOUR) is None
    assert (len(pool.asked), sender.problem) == (2, None)


def test_a_silence_that_was_over_before_the_alert_ends_no_other_one(alerts: AlertStore) -> None:
    """One that holds an alert back until later is not ended by one of yesterday."""
    (fired,) = alerts.record([transition()], NOW)
    yesterday = Silence(deployment=fired.key.deployment, until=NOW - DAY)
    holds = Silence(deployment=fired.key.deployment, until=NOW + DAY)
    pool = Pool([(200, b"")])
    sender = webhook(alerts, pool)
    assert sender.run_due(NotificationView(silences=(holds,)), NOW) == NOW + DAY
    for silences in ((yesterday, holds), (holds, yesterday)):
        assert sender.run_due(NotificationView(silences=silences), NOW + HOUR) == NOW + DAY
    assert pool.asked == []
    assert sender.run_due(NotificationView(silences=(yesterday,)), NOW + HOUR) is None
    assert len(pool.asked) == 1
    rows = [one for one in alerts.changes() if one.change == AlertEvent.SILENCED]
    assert [one.details.until for one in rows] == [NOW + DAY, NOW + HOUR]


def test_a_silence_that_is_made_shorter_says_so_by_itself(alerts: AlertStore) -> None:
    """Only one that is over before its time is said to have been ended."""
    (fired,) = alerts.record([transition()], NOW)
    sender = webhook(alerts, Pool([(200, b"")]))
    for hours, now in ((9, NOW), (5, NOW + HOUR), (5, NOW + 2 * HOUR)):
        until = NOW + hours * HOUR
        silence = Silence(deployment=fired.key.deployment, until=until, comment=f"until {hours}")
        assert sender.run_due(NotificationView(silences=(silence,)), now) == until
    rows = [one for one in alerts.changes() if one.change == AlertEvent.SILENCED]
    assert [one.details.until for one in rows] == [NOW + 9 * HOUR, NOW + 5 * HOUR]
    assert all("ended" not in str(one.reason) for one in rows)
