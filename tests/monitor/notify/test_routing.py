"""Routing of alerts to receivers by the globs of their `deployments`, from the table of alerts to HTTP servers."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from fnmatch import translate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from lake.spec.alert_vocabulary import LimitKind
from lake.tables.lake import Lake
from monitor.alerting.alerts.store import AlertStore
from monitor.alerting.incidents.incident import incidents_of
from monitor.detect.limits import LimitChange, LimitDetails
from monitor.notify.notifier import Notifier
from monitor.notify.routing import Routing
from monitor.notify.settings import WebhookSettings
from monitor.notify.view import NotificationView
from tests.monitor.notify.conftest import SECRET
from tests.monitor.notify.test_notifier import HOUR, START, transition

NOW = START + 2 * HOUR
Start = Callable[..., Any]


@pytest.fixture
def alerts(lake: Lake) -> AlertStore:
    return AlertStore(lake)


def settings_of(receiver: Any, name: str, *globs: str, **more: Any) -> WebhookSettings:
    given = {"name": name, "url": receiver.url, "secret": SECRET} | more
    return WebhookSettings.model_validate(given | ({"deployments": globs} if globs else {}))


class Refreshed(Notifier):
    """Receivers that are handed down the open incidents before each look, as a monitor does."""

    def __init__(self, webhooks: Sequence[WebhookSettings], alerts: AlertStore) -> None:
        super().__init__(webhooks, alerts, "https://watch.example/", internal_hosts=["127.0.0.1"])
        self.alerts = alerts

    def run_due(self, now: datetime) -> datetime | None:
        changes = self.alerts.changes()
        names = {change.key.deployment for change in changes}
        every = [one for name in names for one in incidents_of([c for c in changes if c.key.deployment == name])]
        found = [one for one in every if one.ended_at is None]
        self.view = NotificationView(open_incidents=found, once_quiet_incidents=found)
        return super().run_due(now)


def notifier(alerts: AlertStore, *webhooks: WebhookSettings) -> Notifier:
    return Refreshed(webhooks, alerts)


def told(receiver: Any) -> list[tuple[str, str]]:
    """Status and deployment of each message's first alert."""
    found = [json.loads(request.body)["alerts"][0] for request in receiver.requests]
    return [(one["status"], one["labels"]["deployment"]) for one in found]


def test_a_receiver_gets_what_its_globs_match(alerts: AlertStore, start_receiver: Start) -> None:
    """From the first message to the last; one without globs gets all, and the rows say who was told what."""
    people, platform = start_receiver(), start_receiver()
    sender = notifier(alerts, settings_of(people, "hr", "apps/hr-*", "payroll"), settings_of(platform, "platform"))
    names = ("apps/hr-leave/v2", "payroll", "payroll-2", "apps/HR-leave", "hr-x")
    alerts.record([transition(deployment=name) for name in names], NOW)
    sender.run_due(NOW)
    alerts.record([transition("resolved", 2, name) for name in names], NOW)
    sender.run_due(NOW)
    mine = ("apps/hr-leave/v2", "payroll")
    assert sorted(told(people)) == sorted((status, name) for status in ("firing", "resolved") for name in mine)
    assert sorted(told(platform)) == sorted((status, name) for status in ("firing", "resolved") for name in names)
    rows = [change for change in alerts.changes() if change.details.receiver == "hr"]
    assert {change.key.deployment for change in rows} == set(mine)


@pytest.mark.parametrize("form", ["slack", "teams", "alertmanager"])
def test_every_format_is_routed(alerts: AlertStore, start_receiver: Start, form: str) -> None:
    """An Alertmanager, too, hears nothing of the deployments of others."""
    receiver = start_receiver()
    alerts.record([transition(deployment=name) for name in ("ours", "theirs")], NOW)
    notifier(alerts, settings_of(receiver, "team", "ours", format=form)).run_due(NOW)
    words = b"".join(request.body for request in receiver.requests)
    assert b"ours" in words
    assert b"theirs" not in words


def test_a_summary_has_the_deployments_of_its_receiver(alerts: AlertStore, start_receiver: Start) -> None:
    """Each its own, and the names of no others."""
    one, two = start_receiver(), start_receiver()
    sender = notifier(alerts, settings_of(one, "one", "a-*"), settings_of(two, "two", "b-*"))
    alerts.record([transition(deployment=name) for name in ("a-1", "a-2", "b-1")], NOW)
    for days in (0, 1):
        sender.run_due(NOW + timedelta(days=days))
    summaries = [json.loads(receiver.requests[-1].body) for receiver in (one, two)]
    assert [[alert["deployment"] for alert in body["data"]] for body in summaries] == [["a-1", "a-2"], ["b-1"]]
    assert "b-1" not in json.dumps(summaries[0])


def test_silence_of_all_goes_to_every_receiver(alerts: AlertStore, start_receiver: Start) -> None:
    """One alert stands for all deployments, so that each receiver's are among them; silence of one is its alone."""
    ours, others = start_receiver(), start_receiver()
    sender = notifier(alerts, settings_of(ours, "ours", "a"), settings_of(others, "others", "b"))
    for name, of_all in (("a", False), ("a-2", False), ("a-3", True)):
        details = LimitDetails(limit_seconds=3600, usual_seconds=900, all_silent=of_all)
        found = LimitChange(name, LimitKind.NO_DATA, "firing", NOW, "silent", since=START, details=details)
        alerts.record_limits(name, [found], NOW)
    sender.run_due(NOW)
    assert told(ours) == [("firing", "a"), ("firing", "a-3")]
    assert told(others) == [("firing", "a-3")]
    alerts.record_limits(
        "a-3", [LimitChange("a-3", LimitKind.NO_DATA, "resolved", NOW + HOUR, "heard again")], NOW + HOUR
    )
    sender.run_due(NOW + HOUR)
    assert told(others)[1:] == [("resolved", "a-3")]


def test_a_receiver_with_other_globs_hears_the_end_of_what_it_knows(alerts: AlertStore, start_receiver: Start) -> None:
    """And no more of it: neither that it becomes a page nor in a summary. What fires of the new ones is sent."""
    receiver = start_receiver()
    alerts.record([transition(deployment=name) for name in ("old", "new")], NOW)
    notifier(alerts, settings_of(receiver, "team", "old")).run_due(NOW)
    sender = notifier(alerts, settings_of(receiver, "team", "new"))
    sender.run_due(NOW + HOUR)
    alerts.record([transition(deployment="old", metric="n", hour=3)], NOW + 2 * HOUR)
    sender.run_due(NOW + 30 * HOUR)
    assert told(receiver) == [("firing", "old"), ("firing", "new"), ("firing", "new")]
    assert [one["deployment"] for one in json.loads(receiver.requests[-1].body)["data"]] == ["new"]
    alerts.record([transition("resolved", 31, "old")], NOW + 31 * HOUR)
    sender.run_due(NOW + 31 * HOUR)
    assert told(receiver)[3:] == [("resolved", "old")]


def test_wider_globs_send_no_history(alerts: AlertStore, start_receiver: Start) -> None:
    """Of what ended a week ago nothing comes, though the receiver was there then; what fires, or ended lately, does."""
    receiver = start_receiver()
    alerts.record([transition(deployment="ours")], NOW)
    notifier(alerts, settings_of(receiver, "team", "ours")).run_due(NOW)
    alerts.record([transition(deployment="over"), transition(deployment="open")], NOW)
    alerts.record([transition("resolved", 3, "over")], NOW + HOUR)
    later = NOW + timedelta(days=7)
    alerts.record([transition(deployment="lately", hour=120)], later - timedelta(days=2))
    alerts.record([transition("resolved", 122, "lately")], later - timedelta(days=2))
    alerts.record([transition("resolved", 160, "ours")], later)
    notifier(alerts, settings_of(receiver, "team")).run_due(later)
    both = [(status, name) for status in ("firing", "resolved") for name in ("lately", "ours")]
    assert sorted(told(receiver)) == sorted([("firing", "open"), *both])


def test_an_alert_that_no_receiver_gets_is_logged_once(
    alerts: AlertStore, start_receiver: Start, caplog: pytest.LogCaptureFixture
) -> None:
    """With the names that are needed to give it one; and its deployment is counted before anything fires."""
    sender = notifier(alerts, settings_of(start_receiver(), "team", "ours"))
    assert sender.without_receiver(["ours", "theirs"]) == {"theirs"}
    alerts.record([transition(deployment=name) for name in ("ours", "theirs")], NOW)
    with caplog.at_level(logging.WARNING):
        assert [change.key.deployment for change in sender.unsent(alerts.active())] == ["theirs"]
        sender.unsent(alerts.active())
    (line,) = [record.getMessage() for record in caplog.records if "No receiver" in record.getMessage()]
    assert line == "No receiver gets the alert on m of 'theirs': add it to the deployments of one in monitor.webhooks"
    assert notifier(alerts).without_receiver(["ours"]) == frozenset()


@pytest.mark.parametrize(
    ("globs", "said"),
    [
        ([], "at least 1 item"),
        ([""], "'' matches no deployment"),
        ([" hr-*"], "' hr-\\*' matches no deployment"),
        (["ok", "hr-[ab"], "'hr-\\[ab' has a \\[ without its \\]"),
        ("hr-*", "valid tuple"),
    ],
)
def test_globs_that_cannot_be_meant_are_refused(globs: Any, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        WebhookSettings.model_validate({"url": "https://example.com/", "secret": SECRET, "deployments": globs})


@given(st.text("ab*?[]!/-.", min_size=1, max_size=8), st.text("abAB*[]!/-.", max_size=8))
def test_a_glob_that_is_taken_matches_as_the_docs_say(glob: str, name: str) -> None:
    """Whatever is taken as a glob is one of Python's fnmatch, and a plain name matches itself alone."""
    given = {"url": "https://example.com/", "secret": SECRET, "deployments": [glob]}
    try:
        routing = Routing(WebhookSettings.model_validate(given))
    except ValidationError:
        assert "[" in glob
        return
    if not set(glob) & set("*?["):
        assert routing.is_for(name) is (name == glob)
    assert routing.is_for(glob) or set(glob) & set("["), translate(glob)
