"""Messages of incidents: receivers hear when one opens, is raised, changes its verdict or ends, and else not."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import monitor.notify.delivery as delivery_module
from lake.spec.alert_vocabulary import ALERT_STATES, DELIVERY_EVENTS, AlertEvent, LimitKind
from lake.spec.metric_names import metric_name
from lake.tables.lake import Lake
from monitor.alerting.alerts.store import AlertStore
from monitor.alerting.controls.silences import Silence
from monitor.alerting.incidents.incident import incidents_of
from monitor.detect.limits import LimitChange
from monitor.detect.regression import Transition
from monitor.notify.delivery import Attempt, DeliveryOutcome
from monitor.notify.notifier import Notifier
from monitor.notify.settings import WebhookSettings
from monitor.notify.view import NotificationView
from tests.monitor.alerting.alerts.test_alerts import HOUR, KEY, NOW, fired, resolved
from tests.monitor.alerting.incidents.test_incidents import OTHERS, page
from tests.monitor.notify.conftest import SECRET

URL = "https://watch.example/"
ONE, TWO, THREE = OTHERS


@pytest.fixture
def alerts(lake: Lake) -> AlertStore:
    return AlertStore(lake)


def notifier(webhook: WebhookSettings, alerts: AlertStore, *silences: Silence, group: int = 0) -> Notifier:
    view, window = NotificationView(silences=silences), timedelta(seconds=group)
    return Notifier([webhook], alerts, URL, view=view, internal_hosts=["127.0.0.1"], group=window)


def bodies(receiver: Any) -> list[dict[str, Any]]:
    return [json.loads(request.body) for request in receiver.requests]


def settled(alerts: AlertStore) -> list[str]:
    rows = sorted(alerts.changes(), key=lambda change: change.changed_at)
    return [change.change for change in rows if change.change in DELIVERY_EVENTS]


def play(alerts: AlertStore, sender: Notifier, *steps: Transition) -> None:
    """One step an hour, each sent before the next."""
    for hour, step in enumerate(steps):
        alerts.record([step], NOW + hour * HOUR)
        sender.run_due(NOW + hour * HOUR)


def test_metrics_that_join_are_no_message_and_stand_in_the_next_one(
    alerts: AlertStore, start_receiver: Callable[..., Any]
) -> None:
    receiver = start_receiver()
    sender = notifier(receiver.settings(), alerts)
    play(alerts, sender, fired(1), fired(2, ONE), fired(3, TWO), page(4, ONE), resolved(5), resolved(6, TWO))
    opened, raised = bodies(receiver)
    assert [alert["labels"]["metric"] for alert in opened["alerts"]] == [KEY.metric]
    assert [metric["metric"] for metric in opened["incident"]["metrics"]] == [KEY.metric]
    assert [alert["labels"]["severity"] for alert in raised["alerts"]] == ["page"]
    assert [metric["metric"] for metric in raised["incident"]["metrics"]] == [KEY.metric, ONE.metric, TWO.metric]
    assert raised["incident"]["severity"] == "page"
    assert raised["incident"]["link"] == f"{URL}incident?id={raised['incident']['id']}"

    play(alerts, sender, resolved(7, ONE))
    end = bodies(receiver)[2]
    assert (len(receiver.requests), end["status"], end["incident"]["status"]) == (3, "resolved", "resolved")
    assert {alert["labels"]["metric"] for alert in end["alerts"]} == {KEY.metric, ONE.metric, TWO.metric}
    assert {alert["status"] for alert in end["alerts"]} == {"resolved"}
    assert sorted(settled(alerts)) == ["delivered"] * 3 + ["grouped"] * 4


def test_the_first_regression_that_joins_a_limit_and_says_what_changed_is_a_message(
    alerts: AlertStore, start_receiver: Callable[..., Any]
) -> None:
    receiver = start_receiver()
    sender = notifier(receiver.settings(), alerts)
    errors = LimitChange(KEY.deployment, LimitKind.ERRORS, AlertEvent.FIRING, NOW, "errors", NOW)
    alerts.record_limits(KEY.deployment, [errors], NOW)
    sender.run_due(NOW)
    play(alerts, sender, page(1), page(2, ONE))
    verdicts = [body["incident"]["verdict"] for body in bodies(receiver)]
    assert verdicts == [None, "system"]


@pytest.mark.parametrize("form", ["slack", "teams"])
def test_chats_are_told_the_metrics_and_the_page_of_the_incident(
    alerts: AlertStore, start_receiver: Callable[..., Any], form: str
) -> None:
    receiver = start_receiver()
    webhook = WebhookSettings.model_validate({"name": "chat", "url": receiver.url, "format": form})
    play(alerts, notifier(webhook, alerts), fired(1), fired(2, ONE), page(3, TWO))
    text = receiver.requests[-1].body.decode()
    assert len(receiver.requests) == 2
    assert metric_name(KEY.metric) in text
    assert "relevance" in text
    assert "incident?id=" in text


def test_a_silenced_metric_hides_no_other_one_and_is_no_second_opening(
    alerts: AlertStore, start_receiver: Callable[..., Any]
) -> None:
    """The first metric is silenced: the second opens the incident for the receiver. The first raises it later."""
    receiver = start_receiver()
    silence = Silence(metric=KEY.metric, until=NOW + 3 * HOUR)
    sender = notifier(receiver.settings(), alerts, silence)
    play(alerts, sender, fired(1))
    assert receiver.requests == []
    play(alerts, sender, fired(2, ONE))
    assert [body["alerts"][0]["labels"]["metric"] for body in bodies(receiver)] == [ONE.metric]
    sender.run_due(NOW + 4 * HOUR)
    assert len(receiver.requests) == 1
    assert settled(alerts).count("grouped") == 1


def test_a_page_that_was_silenced_does_not_keep_back_a_later_one(
    alerts: AlertStore, start_receiver: Callable[..., Any]
) -> None:
    receiver = start_receiver()
    play(alerts, notifier(receiver.settings(), alerts), fired(1), fired(2, ONE))
    silence = Silence(metric=ONE.metric, until=NOW + 90 * HOUR)
    over = resolved(4, ONE)
    end_of_page = replace(over, reading=replace(over.reading, tier=None))
    play(alerts, notifier(receiver.settings(), alerts, silence), page(3, ONE), end_of_page, page(5, TWO))
    assert [body["alerts"][0]["labels"]["metric"] for body in bodies(receiver)] == [KEY.metric, TWO.metric]


def test_what_could_not_be_delivered_does_not_keep_back_the_rest_of_the_incident(
    alerts: AlertStore, start_receiver: Callable[..., Any]
) -> None:
    """A receiver that was gone hears of an open incident with its next metric, and of its end."""
    receiver = start_receiver(410, 200)
    play(alerts, notifier(receiver.settings(), alerts), fired(1))
    restarted = notifier(receiver.settings(), alerts)
    play(alerts, restarted, fired(2, ONE), resolved(3), resolved(4, ONE))
    assert [body["status"] for body in bodies(receiver)] == ["firing", "firing", "resolved"]
    given_up = start_receiver(410, 200)
    play(alerts, notifier(given_up.settings("other"), alerts), fired(10))
    play(alerts, notifier(given_up.settings("other"), alerts), resolved(11))
    assert [body["status"] for body in bodies(given_up)][-1] == "resolved"


def test_a_receiver_that_is_added_later_hears_of_the_open_incident_once(
    alerts: AlertStore, start_receiver: Callable[..., Any]
) -> None:
    receiver = start_receiver()
    play(alerts, notifier(receiver.settings(), alerts), fired(1), fired(2, ONE))
    late = start_receiver()
    notifier(late.settings("late"), alerts).run_due(NOW + 9 * HOUR)
    (body,) = bodies(late)
    assert len(body["incident"]["metrics"]) == 2


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["firing", "page", "resolved", "system", "judge", "both"]),
        st.integers(0, 3),
        st.integers(1, 40),
    ),
    max_size=14,
)


def transitions(steps: Sequence[tuple[str, int, int]]) -> list[tuple[Transition, int]]:
    """Transitions an hour apart, with the seconds after which each is found."""
    found, clock = [], 0
    for hour, (kind, metric, seconds) in enumerate(steps, 1):
        key, clock = (KEY, *OTHERS)[metric], clock + seconds
        if kind == "resolved":
            step = resolved(hour, key)
        elif kind == "firing":
            step = fired(hour, key)
        else:
            step = page(hour, key, "undecided" if kind == "page" else kind)
        found.append((step, clock))
    return found


@pytest.mark.slow
@given(steps=STEPS, restarts=st.booleans())
@settings(deadline=None)
def test_messages_are_the_openings_raises_verdicts_and_ends_of_incidents(
    steps: list[tuple[str, int, int]], restarts: bool
) -> None:
    """For every sequence: no alert is without its incident, and a message has what the incident's log says, no more."""
    sent: list[dict[str, Any]] = []

    def keep(pool: Any, url: str, body: bytes, *_: Any) -> Attempt:
        sent.append(json.loads(body))
        return Attempt(DeliveryOutcome.DELIVERED, "answered 200")

    webhook = WebhookSettings.model_validate({"name": "team", "url": "http://127.0.0.1:9/", "secret": SECRET})
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(delivery_module, "deliver", keep)
        alerts = AlertStore(Lake(folder))
        sender = notifier(webhook, alerts)
        for step, seconds in transitions(steps):
            at = NOW + timedelta(seconds=seconds)
            alerts.record([step], at)
            if restarts:
                alerts = AlertStore(Lake(folder))
                sender = notifier(webhook, alerts)
            sender.run_due(at)
        changes = [change for change in alerts.changes() if change.change in ALERT_STATES]
        incidents = incidents_of(changes)
    assert all(change.incident_id for change in changes)
    told = {"opened", "raised", "verdict_changed", "limit_added", "ended"}
    news = {
        (row.incident_id, row.details.recorded_at, row.change == "ended")
        for one in incidents
        for row in one.changes
        if row.change in told
    }
    assert len(sent) == len(news)
    assert [body["status"] for body in sent].count("resolved") == sum(one.ended_at is not None for one in incidents)
