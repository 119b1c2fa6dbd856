"""The daily summary of incidents that go on, from alerts to receivers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from lake.spec.alert_vocabulary import AlertEvent, Tier
from lake.spec.schemas import ALERTS
from lake.tables.lake import Lake
from monitor.alerting.alerts.change import AlertChange, digest
from monitor.alerting.alerts.store import AlertStore
from monitor.alerting.controls.silences import Silence
from monitor.alerting.incidents.incident import Acknowledgement, Incident, incidents_of
from monitor.notify.daily_summary import incidents_that_go_on, summary_id
from monitor.notify.notifier import Notifier
from monitor.notify.view import NotificationView
from tests.monitor.notify.test_notifier import START, transition
from tests.monitor.notify.test_senders import NOW as NOON
from tests.monitor.notify.test_senders import change, told

DAY = timedelta(days=1)
NOW = START + timedelta(hours=2)


class Fleet:
    """Alerts in a lake, and who is told of them; each `look` is that of a monitor that was started again."""

    def __init__(self, lake: Lake, receiver: Any, secret: str) -> None:
        self.lake = lake
        self.receiver = receiver
        self.secret = secret
        self.silences: tuple[Silence, ...] = ()
        self.change: Callable[[Incident], Incident] = lambda one: one

    def fire(self, deployment: str, now: datetime = NOW, change: Any = "firing", hour: int = 1) -> None:
        AlertStore(self.lake).record([transition(change, hour, deployment)], now)

    def incidents(self) -> list[Incident]:
        changes = AlertStore(self.lake).changes()
        names = {change.key.deployment for change in changes}
        every = [one for name in names for one in incidents_of([c for c in changes if c.key.deployment == name])]
        return [self.change(one) for one in every if one.ended_at is None]

    def look(self, now: datetime, **settings: Any) -> None:
        notifier = Notifier(
            [self.receiver.settings().model_copy(update=settings)],
            AlertStore(self.lake),
            "https://watch.example/",
            view=NotificationView(silences=self.silences, open_incidents=self.incidents()),
            internal_hosts=["127.0.0.1"],
        )
        notifier.run_due(now)

    @property
    def summaries(self) -> list[dict[str, Any]]:
        bodies = [json.loads(request.body) for request in self.receiver.requests]
        return [body for body in bodies if body["summary"]]


@pytest.fixture
def fleet(lake: Lake, start_receiver: Callable[..., Any], secret: str) -> Fleet:
    return Fleet(lake, start_receiver(), secret)


@pytest.mark.slow
def test_what_goes_on_is_one_message_a_day(fleet: Fleet) -> None:
    """Of all incidents together, a day after the last message of each, whatever is restarted."""
    for name in ("rag", "bot"):
        fleet.fire(name)
    fleet.look(NOW)
    for hours in (5, 12, 23):
        fleet.look(NOW + timedelta(hours=hours))
    assert len(fleet.receiver.requests) == 2
    for hours in range(24, 96, 6):
        fleet.look(NOW + timedelta(hours=hours))
    assert len(fleet.receiver.requests) == 2 + 3
    request = fleet.receiver.requests[2]
    body = json.loads(request.body)
    assert body["status"] == "firing"
    assert [one["deployment"] for one in body["data"]] == ["bot", "rag"]
    assert body["groupLabels"] == {"alertname": "DialwatchSummary", "installation": "lake"}
    assert [one["status"] for one in body["summary"]] == ["firing", "firing"]
    assert all(one["link"].startswith("https://watch.example/incident?id=") for one in body["summary"])
    rows = fleet.lake.table(ALERTS, "rag").read().to_pylist()
    assert [row["change"] for row in rows].count("summarized") == 3


def test_an_incident_that_began_lately_waits_for_the_next(fleet: Fleet) -> None:
    """It was told itself; and one that is over is in none."""
    fleet.fire("rag")
    fleet.look(NOW)
    fleet.fire("bot", NOW + timedelta(hours=20))
    fleet.look(NOW + timedelta(hours=20))
    fleet.look(NOW + DAY)
    fleet.fire("rag", NOW + 1.5 * DAY, "resolved", 30)
    for hours in range(36, 72, 6):
        fleet.look(NOW + timedelta(hours=hours))
    told = [[one["deployment"] for one in body["data"]] for body in fleet.summaries]
    assert told == [["rag"], ["bot"]]


def test_two_summaries_are_a_day_apart(fleet: Fleet) -> None:
    """Also where another incident has gone on for a day meanwhile."""
    fleet.fire("rag")
    fleet.look(NOW)
    fleet.fire("bot", NOW + timedelta(hours=14))
    fleet.look(NOW + timedelta(hours=14))
    for hours in (24, 30, 38, 44, 47):
        fleet.look(NOW + timedelta(hours=hours))
    assert [[one["deployment"] for one in body["data"]] for body in fleet.summaries] == [["rag"]]
    fleet.look(NOW + 2 * DAY)
    assert [one["deployment"] for one in fleet.summaries[1]["data"]] == ["bot", "rag"]


@pytest.mark.parametrize("quiet", ["acknowledged", "recovering", "silenced"])
def test_what_somebody_looks_after_is_in_no_summary(fleet: Fleet, quiet: str) -> None:
    """Nor what recovers, nor what is silenced."""
    fleet.fire("rag")
    fleet.look(NOW)
    if quiet == "silenced":
        fleet.silences = (Silence(deployment="rag", until=NOW + 9 * DAY),)
    else:
        looked_after = {"acknowledged": Acknowledgement("me", NOW, ""), "recovering": None}[quiet]
        since = NOW if quiet == "recovering" else None
        fleet.change = lambda one: replace(one, acknowledged=looked_after, recovering_since=since)
    fleet.look(NOW + 2 * DAY)
    assert len(fleet.receiver.requests) == 1


@pytest.mark.parametrize("kind", ["slack", "teams"])
def test_chats_get_a_line_of_each(fleet: Fleet, kind: str) -> None:
    for name in ("rag", "bot"):
        fleet.fire(name)
    fleet.look(NOW, format=kind)
    fleet.look(NOW + DAY, format=kind)
    words = fleet.receiver.requests[-1].body.decode()
    assert "2 incidents go on, and nobody has acknowledged them" in words
    assert words.count(" since 2026-11-01 01:00 UTC: ") == 2
    assert "https://watch.example/incidents" in words


def test_a_summary_that_fails_is_tried_an_hour_later(lake: Lake, start_receiver: Callable[..., Any]) -> None:
    """By the same process; it is no reason to hold up messages."""
    receiver = start_receiver(200, 503, 200)
    fleet = Fleet(lake, receiver, "")
    fleet.fire("rag")
    view = NotificationView(open_incidents=fleet.incidents())
    notifier = Notifier([receiver.settings()], AlertStore(lake), view=view, internal_hosts=["127.0.0.1"])
    notifier.run_due(NOW)
    for minutes in range(0, 60, 10):
        notifier.run_due(NOW + DAY + timedelta(minutes=minutes))
    assert len(receiver.requests) == 2
    assert notifier.problem is not None
    notifier.run_due(NOW + DAY + timedelta(hours=1))
    assert len(receiver.requests) == 3
    assert receiver.requests[1].headers["webhook-id"] == receiver.requests[2].headers["webhook-id"]


def going_on(
    *given: tuple[Incident, AlertChange], now: datetime = NOON + DAY, silenced: Sequence[str] = ()
) -> list[str]:
    changes = [one for incident, row in given for one in (*incident.alerts, row)]
    found = incidents_that_go_on(
        [incident for incident, _ in given], changes, "team", "", lambda one: one.key.deployment in silenced, now
    )
    return [one.firing.key.deployment for one in found]


def test_a_summary_has_pages_first_then_the_oldest() -> None:
    """A day after the last message of each, and after the last summary; not what is quiet or silenced."""
    given = []
    for name, tier, hours in (("d", Tier.WARN, 0), ("c", Tier.WARN, -1), ("b", Tier.PAGE, 1), ("a", Tier.WARN, 0)):
        fired = change("x", deployment=name, tier=tier, fired_at=NOON + hours * timedelta(hours=1))
        given.append((incidents_of([fired])[0], told(fired)))
    assert going_on(*given) == ["b", "c", "a", "d"]
    assert going_on(*given, now=NOON + DAY - timedelta(seconds=1)) == []
    assert going_on(*given, silenced=("c", "b")) == ["a", "d"]
    acknowledged = replace(given[0][0], acknowledged=Acknowledgement(None, NOON, ""))
    assert going_on((acknowledged, given[0][1]), *given[1:]) == ["b", "c", "a"]
    lately = given[0][0], told(given[0][0].alerts[0], NOON + timedelta(seconds=1))
    assert going_on(lately, *given[1:]) == ["b", "c", "a"]
    summarized = [(one, replace(row, change=AlertEvent.SUMMARIZED)) for one, row in given]
    assert going_on(*summarized) == ["b", "c", "a", "d"]
    assert going_on(*summarized, now=NOON + DAY - timedelta(seconds=1)) == []
    assert going_on((given[0][0], told(given[0][0].alerts[0], receiver="pager"))) == []


def test_a_summary_has_one_id_a_day() -> None:
    """Of a receiver and its incidents, in whatever order."""
    notes = [SimpleNamespace(note=SimpleNamespace(id=name)) for name in "ab"]
    one: Any = summary_id(notes, "team", NOON)  # type: ignore[arg-type]
    assert one == digest("summary", "team", "2026-11-20", "a", "b")
    assert one == summary_id(notes[::-1], "team", NOON + 11 * timedelta(hours=1))  # type: ignore[arg-type]
    others = (notes, "team", NOON + DAY), (notes, "pager", NOON), (notes[:1], "team", NOON)
    assert all(summary_id(*other) != one for other in others)  # type: ignore[arg-type]
