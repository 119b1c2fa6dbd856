"""Digests on their way to receivers: each is sent once, with the receiver's deployments, in every format."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from lake.spec.alert_vocabulary import AlertEvent, DigestEvent
from lake.spec.root_tables import DIGESTS
from lake.tables.lake import Lake
from monitor.alerting.alerts.store import AlertStore
from monitor.alerting.incidents.incident import incidents_of
from monitor.notify.digest.log import CLAIMED_FOR, DigestLog, DigestPlan
from monitor.notify.digest.table import DigestEvery, DigestPeriod, DigestRow, Quality, table_of
from monitor.notify.formats import FORMATS
from monitor.notify.formats.daily_summary import SUMMARY_FORMATS, digest_lines
from monitor.notify.formats.digest_mail import digest_mail
from monitor.notify.notifier import Notifier
from monitor.notify.settings import MailSettings, WebhookSettings
from monitor.notify.view import NotificationView
from tests.monitor.notify.smtp_server import SmtpServer
from tests.monitor.notify.test_notifier import START, transition

URL = "https://watch.example/"
MONDAY = START + timedelta(days=1, hours=8)
"""2026-11-02, 8 o'clock."""
WEEK_BEFORE = DigestPeriod(DigestEvery.WEEKLY, MONDAY.date())
HOUR, DAY, WEEK = timedelta(hours=1), timedelta(days=1), timedelta(weeks=1)
ROWS = (
    DigestRow("hr-leave", Quality("facts_recall", 0.5, 90, 0.7, "worse"), 1, 1, 100, 2, 3, 4, 1.5),
    DigestRow("<b>gpt</b>", requests=900),
)


class Sender:
    """A monitor's senders on a lake; another one is as one that was started again, or a second monitor."""

    def __init__(
        self,
        lake: Lake,
        receivers: Any,
        every: str = "weekly",
        mail: MailSettings | None = None,
        complete_until: datetime | None = None,
    ) -> None:
        self.asked: list[DigestPeriod] = []
        alerts = AlertStore(lake)
        incidents = incidents_of(alerts.changes())
        view = NotificationView(open_incidents=incidents, digest_rows=self._rows, complete_until=complete_until)
        self.notifier = Notifier(
            receivers, alerts, URL, mail=mail, view=view, internal_hosts=["127.0.0.1"],
            digests=DigestPlan(DigestEvery(every), DigestLog(lake), currency="EUR"),
        )  # fmt: skip

    def _rows(self, period: DigestPeriod) -> tuple[DigestRow, ...]:
        self.asked.append(period)
        return ROWS

    def at(self, now: datetime) -> None:
        self.notifier.run_due(now)


def of(body: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(body)
    return found


def changes(lake: Lake) -> list[str]:
    rows = lake.table(DIGESTS).read().to_pylist()
    return [row["change"] for row in sorted(rows, key=lambda row: (row["changed_at"], row["change"]))]


def test_a_digest_is_sent_once(lake: Lake, start_receiver: Callable[..., Any]) -> None:
    """On Monday at 8, whatever is started again, and by one of two monitors."""
    receiver = start_receiver()
    first, second = (Sender(lake, [receiver.settings()]) for _ in range(2))
    for sender in (first, second):
        sender.at(MONDAY - timedelta(minutes=1))
    assert receiver.requests == []
    for minutes in range(0, 180, 7):
        first.at(MONDAY + timedelta(minutes=minutes))
        second.at(MONDAY + timedelta(minutes=minutes))
    Sender(lake, [receiver.settings()]).at(MONDAY + DAY)
    (request,) = receiver.requests
    assert changes(lake) == ["claimed", "sent"]
    body = of(request.body)
    assert [one["deployment"] for one in body["digest"]["rows"]] == ["hr-leave", "<b>gpt</b>"]
    assert (body["digest"]["begin"], body["digest"]["end"]) == ("2026-10-26", "2026-11-01")
    assert (body["status"], body["alerts"], body["digest"]["currency"]) == ("resolved", [], "EUR")
    assert body["groupLabels"] == {"alertname": "DialwatchSummary", "installation": "lake"}
    first.at(MONDAY + WEEK)
    assert len(receiver.requests) == 2
    assert receiver.requests[0].headers["webhook-id"] != receiver.requests[1].headers["webhook-id"]


def test_a_digest_waits_for_late_tables_for_three_hours(lake: Lake, start_receiver: Callable[..., Any]) -> None:
    """Then it says from when on rows may be missing; once the tables are complete it is sent, and says nothing."""
    late, well = start_receiver(), start_receiver()
    until = MONDAY - 10 * HOUR
    sender = Sender(
        lake,
        [late.settings(), well.settings().model_copy(update={"name": "well", "format": "slack"})],
        complete_until=until,
    )
    sender.at(MONDAY)
    sender.at(MONDAY + 3 * HOUR - timedelta(seconds=1))
    assert late.requests == well.requests == []
    sender.at(MONDAY + 3 * HOUR)
    assert of(late.requests[0].body)["digest"]["completeUntil"] == until.isoformat().replace("+00:00", "Z")
    words = "What came after 2026-11-01 22:00 UTC may be missing: the collector or the evaluator is late."
    assert words in well.requests[0].body.decode()
    sender = Sender(lake, [late.settings()], complete_until=MONDAY + WEEK - 8 * HOUR)
    sender.at(MONDAY + WEEK)
    assert of(late.requests[1].body)["digest"]["completeUntil"] is None


def test_a_digest_that_fails_is_tried_an_hour_later(lake: Lake, start_receiver: Callable[..., Any]) -> None:
    """Under its id; a new process goes on with it."""
    receiver = start_receiver(503, 503, 200)
    sender = Sender(lake, [receiver.settings()])
    for minutes in range(0, 60, 10):
        sender.at(MONDAY + timedelta(minutes=minutes))
    assert len(receiver.requests) == 1
    assert "webhook pager: the digest: answered 503" in str(sender.notifier.problem)
    sender.at(MONDAY + HOUR)
    Sender(lake, [receiver.settings()]).at(MONDAY + HOUR)
    sender.at(MONDAY + 3 * HOUR)
    assert len({one.headers["webhook-id"] for one in receiver.requests}) == 1
    assert len(receiver.requests) == 3
    assert changes(lake).count("failed") == 2
    assert changes(lake).count("sent") == 1


def test_a_digest_does_not_wait_for_an_alert_that_is_tried_again(
    lake: Lake, start_receiver: Callable[..., Any]
) -> None:
    """The alert has failed for hours: its next attempt comes later, and the receiver counts as failing until then."""
    receiver = start_receiver(*[503] * 6, 200)
    AlertStore(lake).record([transition(deployment="hr-leave")], MONDAY - 3 * HOUR)
    sender = Sender(lake, [receiver.settings()])
    for minutes in (150, 149, 148, 146, 138, 90):
        sender.at(MONDAY - timedelta(minutes=minutes))
    assert len(receiver.requests) == 6
    sender.at(MONDAY)
    assert [one["deployment"] for one in of(receiver.requests[6].body)["digest"]["rows"]] == ["hr-leave", "<b>gpt</b>"]
    assert sender.notifier.failing == {"pager": True}
    assert "answered 503" in str(sender.notifier.problem)
    sender.at(MONDAY + HOUR)
    assert len(receiver.requests) == 8
    assert sender.notifier.failing == {"pager": False}
    assert sender.notifier.problem is None


def test_a_digest_waits_as_long_as_planned_when_the_clock_is_set(
    lake: Lake, start_receiver: Callable[..., Any]
) -> None:
    receiver = start_receiver(503, 200)
    sender = Sender(lake, [receiver.settings()])
    sender.at(MONDAY)
    (one,) = sender.notifier._receivers
    one.clock_was_set(HOUR)
    sender.at(MONDAY + 2 * HOUR - timedelta(seconds=1))
    assert len(receiver.requests) == 1
    sender.at(MONDAY + 2 * HOUR)
    assert len(receiver.requests) == 2


def test_many_deployments_are_cut_and_counted() -> None:
    """In chats after 20, in mail after 100; the standard format has all."""
    table = table_of([DigestRow(f"d{n}", requests=1) for n in range(130)], WEEK_BEFORE)
    lines = digest_lines(table)
    assert len(lines) == 1 + 20 + 1
    assert lines[-1] == "110 more deployments are on the overview."
    assert digest_lines(table_of(table.rows[:20], WEEK_BEFORE))[-1].startswith("d")
    mail = digest_mail(table, [], "", URL)
    for words in (mail.text, mail.html):
        assert words.count("1 request") + words.count("of 1<") in (100, 101)
        assert "30 more deployments are on the overview." in words
    assert len(json.loads(SUMMARY_FORMATS["standard"]([], "team", URL, table))["digest"]["rows"]) == 130
    slack = json.loads(SUMMARY_FORMATS["slack"]([], "team", URL, table))
    assert len(slack["blocks"]) < 50
    assert all(len(block["text"]["text"]) <= 3000 for block in slack["blocks"])


def test_a_process_that_was_killed_while_it_sent_holds_a_digest_for_a_quarter_of_an_hour(
    lake: Lake, start_receiver: Callable[..., Any]
) -> None:
    receiver = start_receiver()
    Sender(lake, [receiver.settings()])
    period = DigestPeriod(DigestEvery.WEEKLY, MONDAY.date())
    assert DigestLog(lake).claim("pager", period, MONDAY)
    assert not DigestLog(lake).claim("pager", period, MONDAY + timedelta(seconds=1))
    Sender(lake, [receiver.settings()]).at(MONDAY + CLAIMED_FOR - timedelta(seconds=1))
    assert receiver.requests == []
    Sender(lake, [receiver.settings()]).at(MONDAY + CLAIMED_FOR)
    assert len(receiver.requests) == 1


def test_a_claim_is_of_one(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two that read the table at the same time one is refused."""
    period = DigestPeriod(DigestEvery.WEEKLY, MONDAY.date())
    one, other = DigestLog(lake), DigestLog(lake)
    read = one._table.read

    def read_late(*arguments: Any) -> Any:
        found = read(*arguments)
        assert other.claim("pager", period, MONDAY)
        return found

    monkeypatch.setattr(one._table, "read", read_late)
    assert not one.claim("pager", period, MONDAY)
    assert changes(lake) == ["claimed"]


def test_each_receiver_gets_its_deployments(lake: Lake, start_receiver: Callable[..., Any]) -> None:
    """And no word of others; totals are of its own."""
    receiver = start_receiver()
    hr = receiver.settings("hr").model_copy(update={"deployments": ("hr-*",)})
    Sender(lake, [hr, receiver.settings("all")]).at(MONDAY)
    first, second = (of(one.body)["digest"]["rows"] for one in receiver.requests)
    assert [len(first), len(second)] == [1, 2]
    assert b"gpt" not in receiver.requests[0].body


@pytest.mark.parametrize("form", ["slack", "teams"])
def test_chats_get_a_short_table(lake: Lake, start_receiver: Callable[..., Any], form: str) -> None:
    receiver = start_receiver()
    Sender(lake, [WebhookSettings.model_validate({"url": receiver.url, "format": form})]).at(MONDAY)
    words = receiver.requests[0].body.decode()
    assert "Digest of the week 26 Oct to 1 Nov 2026" in words
    assert "“facts found” 0.50, 0.70 the week before" in words
    assert ":red_circle:" not in words
    assert '"attention"' not in words
    assert form in FORMATS


def test_a_digest_has_the_incidents_that_go_on(lake: Lake, start_receiver: Callable[..., Any]) -> None:
    """Told a minute before or a day: the summary of the day is not sent beside it, but a day later."""
    receiver = start_receiver()
    AlertStore(lake).record([transition(deployment="hr-leave")], MONDAY - HOUR)
    sender = Sender(lake, [receiver.settings()])
    sender.at(MONDAY - timedelta(minutes=1))
    for hours in range(0, 30, 3):
        sender.at(MONDAY + hours * HOUR)
    alert, digest, summary = (of(one.body) for one in receiver.requests)
    assert "digest" not in alert
    assert [one["status"] for one in digest["summary"]] == ["firing"]
    assert digest["status"] == "firing"
    assert "digest" not in summary
    assert len(summary["summary"]) == 1
    rows = [one for one in AlertStore(lake).changes() if one.change == AlertEvent.SUMMARIZED]
    assert [one.changed_at for one in rows] == [MONDAY, MONDAY + 24 * HOUR]


def test_a_digest_by_mail_can_be_read(lake: Lake) -> None:
    """As text and as HTML with styles of its own; no name is markup, and links lead to our pages."""
    with SmtpServer() as server:
        mail = MailSettings.model_validate(
            {"server": "127.0.0.1", "port": server.port, "security": "none", "sender": "a@b.example"}
            | {"receivers": [{"to": ["c@d.example"]}]}
        )
        AlertStore(lake).record([transition(deployment="hr-leave")], MONDAY - HOUR)
        sender = Sender(lake, [], "daily", mail)
        sender.at(MONDAY)
        sender.at(MONDAY + timedelta(minutes=1))
    received = server.received[-1]
    assert received.message["Subject"] == (
        "[dialwatch] Digest of 1 Nov 2026 (UTC): 1 of 2 deployments got worse, 1 incident"
    )
    page, text = received.part("html"), received.part("plain")
    for words in (page, text):
        assert "Incidents that go on" in words
        assert "https://watch.example/incident?id=" in words
    assert "<b>gpt" not in page
    assert "&lt;b&gt;gpt&lt;/b&gt;" in page
    assert "0.50 (was 0.70)" in page
    assert '<a href="https://watch.example/deployment?name=hr-leave"' in page
    assert page.count("<a href=") == page.count('<a href="https://watch.example/')
    assert "<style" not in page
    assert "<b>gpt</b>: 900 requests, 0 % failed" in text


def test_no_digest_is_sent_before_anything_is_known(lake: Lake, start_receiver: Callable[..., Any]) -> None:
    receiver = start_receiver()
    sender = Sender(lake, [receiver.settings()])
    rows, sender.notifier.view = sender.notifier.view, NotificationView()
    sender.at(MONDAY)
    assert receiver.requests == []
    sender.notifier.view = rows
    sender.at(MONDAY + timedelta(minutes=1))
    assert len(receiver.requests) == 1


def test_a_week_that_an_earlier_version_ended_a_day_sooner_is_not_sent_again(
    lake: Lake, start_receiver: Callable[..., Any]
) -> None:
    """In zones far in the east it was of Sunday to Saturday; the digest of the week before that is another one."""
    receiver, log = start_receiver(), DigestLog(lake)
    sunday = DigestPeriod(DigestEvery.WEEKLY, MONDAY.date() - DAY)
    log.note(receiver.settings().name, sunday, DigestEvent.SENT, MONDAY - 12 * HOUR, "200")
    Sender(lake, [receiver.settings()]).at(MONDAY)
    assert receiver.requests == []
    Sender(lake, [receiver.settings()]).at(MONDAY + WEEK)
    assert len(receiver.requests) == 1
