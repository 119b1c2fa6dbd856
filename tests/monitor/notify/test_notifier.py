import base64
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

import monitor.notify.channels as channels_module
import monitor.notify.delivery as delivery_module
import monitor.notify.notifier as notifier_module
from lake.tables.lake import Lake
from lake.tables.table import Table
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.alerts.store import AlertStore
from monitor.detect.regression import Observation, Reading, RegressionSettings, StreamKey, Transition
from monitor.detect.regression.detector import Detector
from monitor.notify.formats import FORMATS
from monitor.notify.network import connections
from monitor.notify.notifier import Notifier
from monitor.notify.retries import DELAYS
from monitor.notify.settings import WebhookSettings
from tests.killing import KILLED, die, run

START = datetime(2026, 11, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def reading() -> Reading:
    detector = Detector(RegressionSettings(reference_observations=20))
    detector.update([Observation(START, 0.8)] * 20)
    return detector.reading


def transition(change: Any = "firing", hour: int = 1, deployment: str = "rag", metric: str = "m") -> Transition:
    return Transition(StreamKey(deployment, metric, "1"), change, START + hour * HOUR, reading(), (("answer-1", 0.1),))


@pytest.fixture
def alerts(lake: Lake) -> AlertStore:
    return AlertStore(lake)


@pytest.fixture
def notifier(alerts: AlertStore) -> Callable[..., Notifier]:
    def build(*webhooks: WebhookSettings) -> Notifier:
        return Notifier(
            webhooks, alerts, "https://watch.example/",
            internal_hosts=["127.0.0.1"], timeout=60,
        )  # fmt: skip

    return build


def recorded(alerts: AlertStore, kind: str) -> list[AlertChange]:
    return [change for change in alerts.changes() if change.change == kind]


def test_a_change_is_delivered_once_and_verifies(
    alerts: AlertStore, notifier: Callable[..., Notifier], start_receiver: Callable[..., Any], secret: str
) -> None:
    """One signed message with the change's id; after it nothing is due and the table says that it was delivered."""
    receiver = start_receiver()
    (change,) = alerts.record([transition()], START)
    sender = notifier(receiver.settings())
    now = datetime.now(UTC)
    assert sender.run_due(now) is None
    assert sender.run_due(now) is None
    (request,) = receiver.requests
    assert request.headers["webhook-id"] == change.change_id
    body = Webhook(secret).verify(request.body, request.headers)
    assert body["alerts"][0]["labels"]["deployment"] == "rag"
    assert body["data"][0]["worst"] == [{"response_id": "answer-1", "value": 0.1}]
    with pytest.raises(WebhookVerificationError):
        Webhook("whsec_" + base64.b64encode(b"x" * 32).decode()).verify(request.body, request.headers)
    (delivered,) = recorded(alerts, "delivered")
    assert (delivered.delivery_of, delivered.details.receiver) == (change.change_id, "pager")


def test_a_failing_receiver_is_tried_again_with_the_same_id(
    alerts: AlertStore, notifier: Callable[..., Notifier], start_receiver: Callable[..., Any], secret: str
) -> None:
    """Two errors and a success: three attempts, each when it is due and signed anew, all with one id."""
    receiver = start_receiver(500, 503, 200)
    alerts.record([transition()], START)
    sender = notifier(receiver.settings())
    now = datetime.now(UTC)
    due = sender.run_due(now)
    assert due is not None
    assert DELAYS[0] <= due - now <= 1.2 * DELAYS[0]
    assert sender.failing == {"pager": True}
    assert sender.run_due(due - timedelta(seconds=1)) == due
    assert len(receiver.requests) == 1
    later = sender.run_due(due)
    assert later is not None
    assert later - due >= DELAYS[1]
    assert sender.run_due(later) is None
    assert len({request.headers["webhook-id"] for request in receiver.requests}) == 1
    assert len({request.headers["webhook-timestamp"] for request in receiver.requests}) == 3
    assert len({request.body for request in receiver.requests}) == 1
    for request in receiver.requests:
        Webhook(secret).verify(request.body, request.headers)
    assert (sender.failed_attempts, sender.failing) == (2, {"pager": False})
    assert len(recorded(alerts, "delivered")) == 1


def test_retry_after_is_respected(
    alerts: AlertStore, notifier: Callable[..., Notifier], start_receiver: Callable[..., Any]
) -> None:
    """A receiver that asks for ten minutes has them, also from changes that are found meanwhile."""
    receiver = start_receiver((429, {"retry-after": "600"}), 200)
    alerts.record([transition()], START)
    sender = notifier(receiver.settings())
    due = sender.run_due(START)
    assert due == START + timedelta(minutes=10)
    alerts.record([transition(deployment="other")], START)
    assert sender.run_due(START + timedelta(minutes=9)) == due
    assert len(receiver.requests) == 1
    assert sender.run_due(due) is None
    assert len(receiver.requests) == 3


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_clock_that_is_set_delays_no_message(
    alerts: AlertStore, start_receiver: Callable[..., Any], wait_until: Callable[..., Any], hours: int
) -> None:
    """A retry comes after the time that it was planned for, and what fails meanwhile is the notifier's problem."""
    receiver, now, passed = start_receiver(500, 200), [datetime.now(UTC)], [0.0]
    alerts.record([transition()], START)
    sender = Notifier(
        [receiver.settings()], alerts, internal_hosts=["127.0.0.1"], clock=lambda: now[0], monotonic=lambda: passed[0]
    )
    with sender.running():
        wait_until(lambda: len(receiver.requests) == 1)
        wait_until(lambda: sender.problem)
        assert "pager" in str(sender.problem)
        now[0] += timedelta(hours=hours)
        sender.wake()
        passed[0] += 60
        now[0] += timedelta(minutes=1)
        sender.wake()
        wait_until(lambda: len(recorded(alerts, "delivered")) == 1)
        wait_until(lambda: sender.problem is None)
    assert len(receiver.requests) == 2


def test_a_receiver_that_is_gone_is_not_asked_again(
    alerts: AlertStore, notifier: Callable[..., Notifier], start_receiver: Callable[..., Any]
) -> None:
    """After 410 this and later changes are undeliverable, with the reason in the table."""
    receiver = start_receiver(410)
    sender = notifier(receiver.settings())
    alerts.record([transition()], START)
    assert sender.run_due(START) is None
    alerts.record([transition("resolved", 2)], START)
    assert sender.run_due(START) is None
    assert len(receiver.requests) == 1
    assert all("410" in (change.reason or "") for change in recorded(alerts, "undeliverable"))
    assert len(recorded(alerts, "undeliverable")) == 2
    assert sender.disabled == {"pager": True}


def test_a_receiver_that_never_answers_well_is_given_up_after_three_days(
    alerts: AlertStore, notifier: Callable[..., Notifier], start_receiver: Callable[..., Any]
) -> None:
    """The whole schedule is used up, then the table says how often it was tried and what came last."""
    receiver = start_receiver(500)
    alerts.record([transition()], START)
    sender = notifier(receiver.settings())
    due: datetime | None = START
    last = START
    while due is not None:
        last, due = due, sender.run_due(due)
    assert last - START >= timedelta(days=3)
    assert len(receiver.requests) == len(DELAYS) + 1
    (given_up,) = recorded(alerts, "undeliverable")
    assert given_up.reason == "12 attempts failed, the last one: answered 500"


def test_a_dead_receiver_does_not_hold_up_another(
    alerts: AlertStore,
    notifier: Callable[..., Notifier],
    start_receiver: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With five changes pending a silent receiver costs one time-out a run, and the other gets all five at once."""
    dead, alive = start_receiver(None), start_receiver()
    alerts.record([transition(deployment=str(n)) for n in range(5)], START)
    seconds = iter([0.3, 60])  # the one that is alive may be slow
    monkeypatch.setattr(notifier_module, "connections", lambda hosts, _: connections(hosts, next(seconds)))
    sender = notifier(dead.settings("dead"), alive.settings("alive"))
    due = sender.run_due(START)
    assert due is not None
    assert due > START
    assert (sender.failed_attempts, len(alive.requests)) == (1, 5)
    assert sender.failing == {"dead": True, "alive": False}
    assert len(dead.requests) <= 1


def test_receivers_are_served_at_the_same_time(
    alerts: AlertStore, start_receiver: Callable[..., Any], wait_until: Callable[..., Any]
) -> None:
    """While one receiver keeps an attempt waiting, another gets alerts old and new, and waking them takes no time."""
    dead, alive = start_receiver(None), start_receiver()
    alerts.record([transition()], START)
    hosts = ["127.0.0.1"]
    sender = Notifier([dead.settings("dead"), alive.settings("alive")], alerts, internal_hosts=hosts, timeout=60)
    with sender.running():
        wait_until(lambda: len(dead.requests) == 1 and len(alive.requests) == 1)
        alerts.record([transition(deployment="other")], START)
        sender.wake()
        wait_until(lambda: len(alive.requests) == 2)
        assert len(dead.requests) == 1
        assert sender.failed_attempts == 0
        dead.close()


def test_what_is_due_later_is_sent_without_being_woken(
    alerts: AlertStore, start_receiver: Callable[..., Any], wait_until: Callable[..., Any]
) -> None:
    """The thread sleeps until the next attempt is due."""
    receiver = start_receiver(500, 200)
    alerts.record([transition()], START)
    with Notifier([receiver.settings()], alerts, internal_hosts=["127.0.0.1"]).running():
        wait_until(lambda: recorded(alerts, "delivered"))
    assert len(receiver.requests) == 2


def test_a_receiver_that_cannot_be_served_does_not_hold_up_another(
    alerts: AlertStore,
    notifier: Callable[..., Notifier],
    start_receiver: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An error that nobody thought of is a failed attempt of one receiver, which then rests for up to a minute."""
    receiver = start_receiver()
    alerts.record([transition()], START)
    pending = alerts.pending

    def broken(name: str, now: datetime) -> list[AlertChange]:
        if name == "broken":
            raise RuntimeError("no such thing")
        return pending(name, now)

    monkeypatch.setattr(alerts, "pending", broken)
    sender = notifier(receiver.settings("broken"), receiver.settings("well"))
    assert sender.run_due(START) == START + timedelta(minutes=1)
    assert len(receiver.requests) == 1
    assert sender.failed_attempts == 1


def test_a_change_that_cannot_be_written_down_as_a_message_does_not_hold_up_another(
    alerts: AlertStore,
    notifier: Callable[..., Notifier],
    start_receiver: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is tried like a message that nobody accepts, and the other alert gets through."""
    receiver = start_receiver()
    alerts.record([transition("firing", 1, "odd"), transition("firing", 2, "even")], START)
    body = FORMATS["standard"]

    def picky(changes: Sequence[AlertChange], *others: Any) -> bytes:
        if changes[0].key.deployment == "odd":
            raise ValueError("cannot be written")
        return body(changes, *others)

    monkeypatch.setattr(channels_module, "FORMATS", {"standard": picky})
    sender = notifier(receiver.settings())
    due: datetime | None = START
    for _ in range(len(DELAYS)):
        due = sender.run_due(due or START)
    assert [json.loads(request.body)["data"][0]["deployment"] for request in receiver.requests] == ["even"]


@pytest.mark.parametrize(("status", "outcome"), [(200, "delivered"), (410, "undeliverable")])
def test_what_was_settled_but_not_recorded_is_not_sent_again(
    alerts: AlertStore,
    notifier: Callable[..., Notifier],
    start_receiver: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    outcome: str,
) -> None:
    """While one deployment's table takes no row, only the row is tried again, once a minute; others go on."""
    receiver = start_receiver(status)
    full = str(
        alerts.record([transition("firing", 1, "full"), transition("firing", 2, "free")], START)[0].key.deployment
    )
    append = Table.append

    def fail(table: Table, *arguments: Any, **options: Any) -> None:
        if f"/{full}/" in table.uri:
            raise OSError("no space left")
        append(table, *arguments, **options)

    sender = notifier(receiver.settings())
    with monkeypatch.context() as broken:
        broken.setattr(Table, "append", fail)
        assert sender.run_due(START) == START + timedelta(minutes=1)
        sent, failed = len(receiver.requests), sender.failed_attempts
        assert sender.run_due(START + timedelta(seconds=5)) == START + timedelta(minutes=1)
        assert sender.failed_attempts == failed
        assert sender.run_due(START + timedelta(minutes=1)) == START + timedelta(minutes=2)
        assert sender.failed_attempts == failed + 1
    assert [change.key.deployment for change in recorded(alerts, outcome)] == ["free"]
    assert sender.run_due(START + timedelta(minutes=2)) is None
    assert len(receiver.requests) == sent
    late = next(change for change in recorded(alerts, outcome) if change.key.deployment == "full")
    assert late.changed_at == START


def test_the_changes_of_an_alert_arrive_in_order(
    alerts: AlertStore, notifier: Callable[..., Notifier], start_receiver: Callable[..., Any]
) -> None:
    """`resolved` waits until `firing` has got through; another alert does not wait for either."""
    receiver = start_receiver(500, 500, 500, 500, 200)
    alerts.record([transition("firing", 1), transition("resolved", 2), transition("firing", 3, "other")], START)
    sender = notifier(receiver.settings())
    due: datetime | None = START
    while due is not None:
        due = sender.run_due(due)
    sent = [json.loads(request.body) for request in receiver.requests]
    rag = [body["status"] for body in sent if body["data"][0]["deployment"] == "rag"]
    assert rag == [*["firing"] * (len(rag) - 1), "resolved"]
    assert 0 < len(rag) < len(sent)
    assert len(recorded(alerts, "delivered")) == 3


def test_two_receivers_of_one_name_are_refused(notifier: Callable[..., Notifier], secret: str) -> None:
    """The table distinguishes receivers by name, so the name must be one's own."""
    webhook = WebhookSettings.model_validate({"name": "twin", "url": "http://localhost/", "secret": secret})
    with pytest.raises(ValueError, match="'twin' is used twice"):
        notifier(webhook, webhook)


STEPS = {
    "the row": (AlertStore, "record"),
    "the delivery": (delivery_module, "deliver"),
    "the record of the delivery": (AlertStore, "record_deliveries"),
}


def live(root: str, url: str, secret: str, last_step: str) -> None:
    """A monitor that finds an alert, delivers it, and dies after one of its steps."""
    if last_step in STEPS:
        die("after", *STEPS[last_step])
    book = AlertStore(Lake(root))
    book.record([transition()], datetime.now(UTC))
    webhook = WebhookSettings.model_validate({"name": "pager", "url": url, "secret": secret})
    Notifier([webhook], book, internal_hosts=["127.0.0.1"]).run_due(datetime.now(UTC))


@pytest.mark.integration
def test_a_monitor_killed_between_any_two_steps_delivers_late_but_delivers(
    lake: Lake, start_receiver: Callable[..., Any], secret: str
) -> None:
    """SIGKILL after the row, the message and its record: one alert, one webhook-id, at least one message."""
    receiver = start_receiver()
    assert run(live, lake.root, receiver.url, secret, "the row") == KILLED
    assert (len(AlertStore(lake).pending("pager", START)), len(receiver.requests)) == (1, 0)
    assert run(live, lake.root, receiver.url, secret, "the delivery") == KILLED
    assert (len(AlertStore(lake).pending("pager", START)), len(receiver.requests)) == (1, 1)
    assert run(live, lake.root, receiver.url, secret, "the record of the delivery") == KILLED
    assert (len(AlertStore(lake).pending("pager", START)), len(receiver.requests)) == (0, 2)
    assert run(live, lake.root, receiver.url, secret, "none") == 0
    assert len(receiver.requests) == 2
    assert len({request.headers["webhook-id"] for request in receiver.requests}) == 1
    assert sorted(change.change for change in AlertStore(lake).changes()) == ["delivered", "firing"]
