"""The stages between alerts and a receiver, each by itself, and the view that the monitor hands down to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from datetime import timedelta
from typing import Any

import pytest

from lake.spec.alert_vocabulary import AlertEvent
from lake.tables.lake import Lake
from monitor.alerting.alerts.store import AlertStore
from monitor.alerting.controls.silences import Silence, add_silence
from monitor.notify.holding import hold_back, incidents_told_by_cause, is_silenced
from monitor.notify.retries import DELAYS, MOST_ATTEMPTS, Retries, Settled
from monitor.notify.view import NotificationView
from monitor.service.monitor import Monitor
from tests.monitor.alerting.incidents.test_monitor import the_incident
from tests.monitor.conftest import Clock
from tests.monitor.notify.test_notifier import transition
from tests.monitor.notify.test_senders import HOUR, MINUTE, NOW, SECOND, VIEW, failure, routing, told

CALLERS = {"model": frozenset({"app", "x"})}
FAILING = [failure("model"), failure("app")]


@pytest.fixture
def alerts(lake: Lake) -> AlertStore:
    return AlertStore(lake)


def test_a_view_is_never_changed() -> None:
    """Whoever reads it while the monitor goes on has what belongs together."""
    with pytest.raises(FrozenInstanceError):
        VIEW.silences = ()  # type: ignore[misc]
    assert replace(VIEW, silences=None).with_silences((), is_certain=False) == VIEW


def test_the_route_takes_what_is_the_receivers_by_the_callers_of_the_view(alerts: AlertStore) -> None:
    """A failure of a model is a receiver's while one of its deployments fails by it; what is pending is by now."""
    alerts.record([transition(deployment=name) for name in ("app", "other")], NOW)
    routed = routing("app").route([*alerts.changes(), *FAILING], NotificationView(callers=CALLERS), NOW)
    assert list(routed.causes) == ["model"]
    assert "model" in routed.mine.own
    (pending,) = routed.pending(alerts)
    assert pending.key.deployment == "app"
    alerts.record_deliveries([pending], "team", AlertEvent.DELIVERED, "answered 200", NOW)
    assert routed.pending(alerts) == []
    alone = routing("app").route(FAILING, NotificationView(callers=None), NOW)
    assert (alone.causes, alone.mine.own) == ({}, {"app"})


def test_what_is_held_back_has_a_row_that_says_until_when(alerts: AlertStore) -> None:
    """By a silence that is not over, and no longer than that."""
    alerts.record([transition(deployment=name) for name in ("a", "b", "c")], NOW)
    until = {"a": NOW + HOUR, "b": NOW, "other": NOW + HOUR}
    view = NotificationView(silences=[Silence(deployment=name, until=at) for name, at in until.items()])
    routed = routing("*").route(alerts.changes(), view, NOW)
    held = hold_back(alerts, routed)
    of_name = {change.key.deployment: change for change in alerts.pending("team", NOW)}
    assert {change_id: silence.until for change_id, silence in held.items()} == {of_name["a"].change_id: NOW + HOUR}
    assert [name for name, change in of_name.items() if is_silenced(change, routed)] == ["a"]
    (row,) = (one for one in alerts.changes() if one.change == AlertEvent.SILENCED)
    assert (row.delivery_of, row.details.until) == (of_name["a"].change_id, NOW + HOUR)
    assert hold_back(alerts, replace(routed, now=NOW + HOUR)) == {}


def test_an_incident_that_its_cause_tells_is_one_of_which_nothing_was_sent() -> None:
    """Of the deployment that calls, not of the one that fails; one of which something was sent goes on."""
    view = NotificationView(callers=CALLERS)
    assert incidents_told_by_cause(routing("*").route(FAILING, view, NOW)) == {"incident of app"}
    known = [*FAILING, replace(told(FAILING[1]), incident_id="incident of app")]
    assert incidents_told_by_cause(routing("*").route(known, view, NOW)) == set()
    assert incidents_told_by_cause(routing("*").route(FAILING, VIEW, NOW)) == set()


def test_retries_wait_longer_each_time_until_a_message_is_given_up() -> None:
    """Each message by itself; one that is settled has its row tried alone, and its attempts are over."""
    retries = Retries()
    assert retries.due("one", NOW) is None
    for delay in DELAYS:
        waits = retries.failed("one", None, NOW)
        assert waits is not None
        assert delay <= waits <= 1.2 * delay
        assert (retries.due("one", NOW), retries.due("one", NOW + waits)) == (NOW + waits, None)
    assert retries.failed("one", None, NOW) is None
    assert len(DELAYS) + 1 == MOST_ATTEMPTS
    assert retries.due("other", NOW) is None
    settled = Settled(AlertEvent.UNDELIVERABLE, "gone", NOW)
    retries.keep("one", settled, NOW + MINUTE)
    retries.clock_was_set(HOUR)
    assert (retries.settled("one"), retries.settled("other")) == (settled, None)
    assert retries.due("one", NOW + HOUR + MINUTE - SECOND) == NOW + HOUR + MINUTE
    retries.forget("one")
    assert (retries.settled("one"), retries.due("one", NOW)) == (None, None)


def test_what_holds_alerts_back_is_handed_down_before_they_are_recorded(
    lake: Lake,
    make_monitor: Callable[[], Monitor],
    clock: Clock,
    three_deployments: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Receivers look at any time; and before the first reading they know neither silences nor callers."""
    monitor, seen = make_monitor(), []
    record = AlertStore.record

    def recording(store: AlertStore, *given: Any) -> Any:
        seen.append(monitor._notifier.view)
        return record(store, *given)

    monkeypatch.setattr(AlertStore, "record", recording)
    assert (monitor._notifier.view.silences, monitor._notifier.view.callers) == (None, None)
    silence = Silence(deployment="rag-search", until=clock() + timedelta(days=1))
    add_silence(lake, silence, clock())
    monitor.refresh()
    (view,) = seen
    assert view.silences == (silence,)
    assert view.callers is not None
    assert view.open_incidents == ()


def test_an_acknowledgement_is_handed_down_at_once(
    make_monitor: Callable[[], Monitor], clock: Clock, three_deployments: None
) -> None:
    """To the summary of the day, and to Alertmanagers; the rest of the view stays."""
    monitor = make_monitor()
    monitor.refresh()
    before = monitor._notifier.view
    assert (the_incident(monitor) in before.open_incidents, tuple(before.once_quiet_incidents)) == (True, ())
    clock.advance(minutes=1)
    monitor.acknowledge(the_incident(monitor), "ada", "known")
    view = monitor._notifier.view
    assert [one.is_quiet for one in view.open_incidents] == [True]
    assert [one.incident_id for one in view.once_quiet_incidents] == [the_incident(monitor).incident_id]
    assert (view.silences, view.callers) == (before.silences, before.callers)
