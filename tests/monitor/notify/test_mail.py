"""Mail to receivers: over a real SMTP server, from alerts to what a mail client shows."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lake.spec.schemas import ALERTS
from lake.tables.lake import Lake
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.alerts.store import AlertStore
from monitor.alerting.incidents.incident import incidents_of
from monitor.detect.regression import StreamKey
from monitor.notify import mail as mail_module
from monitor.notify.delivery import DeliveryOutcome
from monitor.notify.formats.mail import Mail, alert_mail, subject, text_mail
from monitor.notify.mail import MailServer
from monitor.notify.notifier import Notifier
from monitor.notify.settings import MailSettings
from monitor.notify.view import NotificationView
from monitor.settings import MonitorSettings
from tests.kafka.certificates import write_certificates
from tests.monitor.notify.smtp_server import SmtpServer
from tests.monitor.notify.test_messages import change
from tests.monitor.notify.test_notifier import START, transition

NOW = START + timedelta(hours=2)
URL = "https://watch.example/"
LOCAL = ["127.0.0.1"]
MAIL = Mail("a subject", "a text", "<p>a text</p>")


@pytest.fixture
def certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A certificate for 127.0.0.1 of an authority that clients of this test trust."""
    write_certificates(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    return tmp_path / "server.pem"


@pytest.fixture
def server(certificate: Path) -> Iterator[SmtpServer]:
    with SmtpServer(certificate=certificate, login=("dialwatch", "pässword")) as server:
        yield server


def settings(server: SmtpServer, **more: Any) -> MailSettings:
    given: dict[str, Any] = {
        "server": "127.0.0.1",
        "port": server.port,
        "sender": "dialwatch@example.com",
        "receivers": [{"name": "team", "to": ["one@example.com", "two@example.com"]}],
    }
    return MailSettings.model_validate(given | more)


def logged_in(server: SmtpServer, **more: Any) -> MailSettings:
    return settings(server, user="dialwatch", password="pässword", **more)


def send(given: MailSettings, mail: Mail = MAIL, **options: Any) -> Any:
    to = given.receivers[0].to
    return MailServer(given, options.pop("internal_hosts", LOCAL), **options).send(mail, to, "id-1", NOW)


def test_an_alert_is_one_mail_to_all_addresses(lake: Lake, server: SmtpServer) -> None:
    """Over TLS and logged in, with words as text and as HTML; the end of the incident is in the same thread."""
    alerts = AlertStore(lake)
    alerts.record([transition(deployment="apps/rag")], NOW)
    sender = Notifier([], alerts, URL, mail=logged_in(server), internal_hosts=LOCAL)
    sender.run_due(NOW)
    (mail,) = server.received
    assert (mail.encrypted, mail.user, mail.sender) == (True, "dialwatch", "dialwatch@example.com")
    assert mail.to == ["one@example.com", "two@example.com"]
    message = mail.message
    assert message["To"] == "one@example.com, two@example.com"
    assert message["From"] == "dialwatch@example.com"
    assert message["Subject"].startswith("[dialwatch] warning: apps/rag: “m” ")
    assert message["Auto-Submitted"] == "auto-generated"
    (row,) = lake.table(ALERTS, "apps/rag").read(["incident_id"]).slice(0, 1).to_pylist()
    page = f"https://watch.example/incident?id={row['incident_id']}"
    for part in (mail.part("plain"), mail.part("html")):
        assert "Where: deployment apps/rag" in part
        assert page in part
    assert f'<a href="{page}"' in mail.part("html")
    assert {row["change"] for row in lake.table(ALERTS, "apps/rag").read().to_pylist()} == {"firing", "delivered"}
    alerts.record([transition("resolved", 30, "apps/rag")], NOW + timedelta(days=1))
    sender.run_due(NOW + timedelta(days=1))
    end = server.received[1].message
    assert end["Subject"].startswith("[dialwatch] over: apps/rag: “m”: ")
    assert end["References"] == message["References"] is not None
    assert end["Message-ID"] != message["Message-ID"]


def test_a_mail_that_fails_is_tried_again_under_its_id(lake: Lake, server: SmtpServer) -> None:
    """As webhooks are; health says so meanwhile, and names the receiver."""
    alerts = AlertStore(lake)
    alerts.record([transition()], NOW)
    server.behaviour.replies["AFTER"] = ["451 later", "421 busy"]
    sender = Notifier([], alerts, URL, mail=logged_in(server), internal_hosts=LOCAL)
    due = sender.run_due(NOW)
    assert due is not None
    assert sender.failing == {"team": True}
    assert str(sender.problem) == "mail receiver team: answered 451 (later)"
    again = sender.run_due(due)
    assert again is not None
    sender.run_due(again)
    assert (sender.failing, sender.problem, sender.failed_attempts) == ({"team": False}, None, 2)
    assert len({one.message["Message-ID"] for one in server.received}) == 1
    sender.run_due(again + timedelta(hours=1))
    assert len(server.received) == 3


def test_each_receiver_gets_its_deployments(lake: Lake, server: SmtpServer) -> None:
    """Beside webhooks; names are of one receiver each."""
    alerts = AlertStore(lake)
    alerts.record([transition(deployment="hr-leave"), transition(deployment="gpt")], NOW)
    receivers = [
        {"name": "hr", "to": ["hr@example.com"], "deployments": ["hr-*"]},
        {"name": "all", "to": ["all@example.com"]},
    ]
    mail = logged_in(server, receivers=receivers)
    Notifier([], alerts, URL, mail=mail, internal_hosts=LOCAL).run_due(NOW)
    told = sorted((one.to[0], one.message["Subject"].split(": ")[1]) for one in server.received)
    assert told == [("all@example.com", "gpt"), ("all@example.com", "hr-leave"), ("hr@example.com", "hr-leave")]
    twice = mail.model_copy(update={"receivers": mail.receivers[:1] * 2})
    with pytest.raises(ValueError, match="receiver name 'hr' is used twice"):
        Notifier([], alerts, URL, mail=twice)


def test_what_goes_on_is_mailed_too(lake: Lake, server: SmtpServer) -> None:
    alerts = AlertStore(lake)
    alerts.record([transition()], NOW)
    view = NotificationView(open_incidents=incidents_of(alerts.changes()))
    sender = Notifier([], alerts, URL, mail=logged_in(server), view=view, internal_hosts=LOCAL)
    for day in (0, 1):
        sender.run_due(NOW + timedelta(days=day))
    summary = server.received[-1]
    assert summary.message["Subject"] == "[dialwatch] 1 incident goes on, and nobody has acknowledged it"
    assert '<a href="https://watch.example/incidents"' in summary.part("html")


@pytest.mark.parametrize("security", ["starttls", "tls", "none"])
def test_a_mail_goes_by_every_kind_of_encryption(certificate: Path, security: str) -> None:
    with SmtpServer(certificate=certificate, tls_first=security == "tls") as server:
        attempt = send(settings(server, security=security))
    assert attempt.outcome is DeliveryOutcome.DELIVERED
    assert attempt.reason == "accepted by 127.0.0.1"
    assert [one.encrypted for one in server.received] == [security != "none"]


def test_nothing_is_sent_in_the_clear(tmp_path: Path, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither to a server that offers no encryption, nor to one whose certificate nobody vouches for."""
    with SmtpServer(certificate=certificate, offers_starttls=False, login=("dialwatch", "pässword")) as server:
        attempt = send(logged_in(server))
        assert attempt.outcome is DeliveryOutcome.FAILED
        assert "check monitor.mail.security" in attempt.reason
        assert not {"AUTH", "MAIL"}.intersection(server.verbs)
    (tmp_path / "other").mkdir()
    write_certificates(tmp_path / "other")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "other" / "ca.pem"))
    for first in (False, True):
        with SmtpServer(certificate=certificate, tls_first=first) as server:
            attempt = send(settings(server, security="tls" if first else "starttls"))
            assert (attempt.outcome, server.received) == (DeliveryOutcome.FAILED, [])
            assert "CERTIFICATE_VERIFY_FAILED" in attempt.reason


def test_a_log_in_that_is_refused_is_told_without_the_password(server: SmtpServer) -> None:
    attempt = send(settings(server, user="dialwatch", password="wrong-secret"))
    assert attempt.reason == (
        "answered 535 (who are you): the log-in is refused: check monitor.mail.user and password_file"
    )
    assert "wrong-secret" not in repr(attempt)


def test_a_mail_that_one_address_refuses_is_delivered_to_the_others(server: SmtpServer) -> None:
    """It is not sent again, which would be twice to them; if all refuse, it has failed."""
    server.behaviour.refused = {"two@example.com"}
    attempt = send(logged_in(server))
    assert attempt.outcome is DeliveryOutcome.DELIVERED
    assert "but not for two@example.com: answered 550 (no such person)" in attempt.reason
    assert server.received[0].to == ["one@example.com"]
    server.behaviour.refused = {"one@example.com", "two@example.com"}
    attempt = send(logged_in(server))
    assert (attempt.outcome, len(server.received)) == (DeliveryOutcome.FAILED, 1)
    assert "one@example.com: answered 550" in attempt.reason


def test_a_server_that_is_slow_ends_with_its_time(certificate: Path) -> None:
    """However its bytes come."""
    with SmtpServer(certificate=certificate, drip_seconds=0.05) as server:
        began = time.monotonic()
        attempt = send(settings(server), seconds=0.5)
        assert time.monotonic() - began < 5
    assert (attempt.outcome, attempt.reason) == (DeliveryOutcome.FAILED, "no answer within 0.5 s")


@pytest.mark.parametrize("slow", ["name", "connection"])
def test_a_server_that_is_reached_late_ends_with_its_time(
    certificate: Path, monkeypatch: pytest.MonkeyPatch, slow: str
) -> None:
    """The time is over before there is a connection that could be ended; then it drips."""
    place = {"name": "checked_addresses", "connection": "socket.create_connection"}[slow]
    prompt = {"name": mail_module.checked_addresses, "connection": socket.create_connection}[slow]

    def late(*asked: Any) -> Any:
        time.sleep(0.5)
        return prompt(*asked)

    monkeypatch.setattr(f"monitor.notify.mail.{place}", late)
    found = []
    with SmtpServer(certificate=certificate, drip_seconds=0.05) as server:
        thread = threading.Thread(target=lambda: found.append(send(settings(server), seconds=0.3)), daemon=True)
        thread.start()
        thread.join(5)
        assert not thread.is_alive()
    assert [(one.outcome, one.reason) for one in found] == [(DeliveryOutcome.FAILED, "no answer within 0.3 s")]


def test_who_we_are_is_not_asked_of_the_dns(server: SmtpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A resolver that hangs would hold the message longer than its time."""
    asked: list[str] = []
    monkeypatch.setattr(socket, "getfqdn", lambda *_: str(asked.append("a name")))
    assert send(logged_in(server)).outcome is DeliveryOutcome.DELIVERED
    assert asked == []


def test_all_addresses_have_one_time(server: SmtpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the first ones took is not there for the next; none is asked when it is over."""
    waits, passed = list[float](), [0.0]

    def silent(_: Any, timeout: float) -> None:
        waits.append(timeout)
        passed[0] += 0.2
        raise TimeoutError

    monkeypatch.setattr("monitor.notify.mail.time", SimpleNamespace(monotonic=lambda: passed[0]))

    monkeypatch.setattr("monitor.notify.mail.checked_addresses", lambda *_: ["127.0.0.1"] * 9)
    monkeypatch.setattr("monitor.notify.mail.socket.create_connection", silent)
    assert send(settings(server), seconds=0.5).reason == "no answer within 0.5 s"
    assert len(waits) == 3
    assert waits == pytest.approx([0.5, 0.3, 0.1])


def test_a_server_that_greets_with_no_or_hangs_up_gets_nothing(server: SmtpServer) -> None:
    """And its words are told without signs that steer a terminal."""
    server.behaviour.replies["GREETING"] = ["554 go\x1baway"]
    attempt = send(logged_in(server))
    assert attempt.reason == "answered 554 (go away): the server refuses the mail: ask who runs it"
    assert server.received == []
    with SmtpServer() as gone:
        given = settings(gone, security="none")
    attempt = send(given)
    assert attempt.outcome is DeliveryOutcome.FAILED
    assert "ConnectionRefusedError" in attempt.reason


def test_a_goodbye_that_fails_sends_nothing_twice(server: SmtpServer) -> None:
    server.behaviour.replies["QUIT"] = ["500 what"]
    assert send(logged_in(server)).outcome is DeliveryOutcome.DELIVERED


def test_a_server_in_an_own_network_is_named(server: SmtpServer) -> None:
    attempt = send(logged_in(server), internal_hosts=[])
    assert attempt.outcome is DeliveryOutcome.FAILED
    assert "127.0.0.1 is at 127.0.0.1, which is loopback" in attempt.reason
    assert server.verbs == []


def test_a_try_out_sends_no_mail(server: SmtpServer) -> None:
    assert MailServer(logged_in(server), LOCAL).try_out().reason == "answers and takes the log-in"
    server.behaviour.login = ("dialwatch", "secret")
    given = settings(server, user="dialwatch", password="secret")
    assert MailServer(given, LOCAL).try_out().reason == "answers and takes the log-in"
    assert MailServer(settings(server), LOCAL).try_out().reason == "answers"
    assert server.received == []
    assert "MAIL" not in server.verbs


def named(firing: AlertChange, name: str) -> AlertChange:
    return replace(firing, key=StreamKey(name, f"metric {name}", "1"), reason=name)


@example(name="=?utf-8?q?bot=0D=0ABcc:_evil=40x.org?=")
@example(name="=?utf-8?q?=0D=0A=0D=0Aa_body?=")
@example(name="=?utf-8?q?=ff=fe?= é")
@example(name="==??utf-8?b?DQpCY2M6IGE=?==?utf-8?q?=0Aa?=")
@given(name=st.text("\r\n\x00\u2028\u202e<>&\"'@:;,=?_ab ü\ud83d", max_size=80))
def test_no_name_is_a_header_or_markup(name: str) -> None:
    """Not by breaks, nor by encoded words; half a character is a question mark."""
    changes = [named(change(1, 0), name + "\r\nBcc: spy@example.com\r\n\r\n<script>")]
    mail = alert_mail(changes, URL)
    with SmtpServer() as server:
        attempt = send(settings(server, security="none"), mail)
    assert attempt.outcome is DeliveryOutcome.DELIVERED
    (received,) = server.received
    message = received.message
    assert received.to == ["one@example.com", "two@example.com"]
    assert sorted(message.keys()) == sorted(
        ["From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "MIME-Version", "Content-Type"]
    )
    assert max(map(len, received.data.split(b"\r\n"))) <= 998
    assert "\n" not in str(message["Subject"])
    page = received.part("html")
    assert "<script" not in page
    assert page.count("<a href=") == page.count('<a href="https://watch.example/')
    assert "Where: deployment " in received.part("plain")


def test_a_subject_is_one_line() -> None:
    assert subject("a\r\nBcc: spy@example.com\u2028\ud83d") == "[dialwatch] a  Bcc: spy@example.com ?"


def test_a_mail_whose_subject_cannot_be_written_is_sent_under_a_plain_one() -> None:
    """What it says is in its text; to try it again would not help."""
    for wrong in ("\ud83d", "a\r\nBcc: spy@example.com"):
        with SmtpServer() as server:
            attempt = send(settings(server, security="none"), replace(MAIL, subject=wrong))
        assert attempt.outcome is DeliveryOutcome.DELIVERED
        (received,) = server.received
        assert received.message["Subject"] == "[dialwatch] a message"
        assert received.message["Bcc"] is None
        assert "a text" in received.part("plain")


def test_a_mail_has_bounds() -> None:
    """A long name cuts the subject, and thousands of lines end."""
    mail = text_mail("x" * 5000, ["y" * 5000] * 1000, f"{URL}incidents", URL)
    assert len(mail.subject) == 200
    assert len(mail.text) < 500_000


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"user": "a"}, "a user without a password"),
        ({"user": "a", "password": "b", "security": "none"}, "its password unencrypted"),
        ({"sender": "Dialwatch <a@b.example>"}, "no address of mail"),
        ({"sender": "a@b.example\nBcc: c@d.example"}, "no address of mail"),
        ({"receivers": [{"to": ["a@b.example, c@d.example"]}]}, "no address of mail"),
        ({"receivers": [{"to": ["ä@b.example"]}]}, "no address of mail"),
        ({"receivers": [{"to": []}]}, "at least 1"),
        ({"receivers": []}, "at least 1"),
    ],
)
def test_settings_that_cannot_work_are_refused(wrong: dict[str, Any], words: str) -> None:
    right = {"server": "mail.example.com", "sender": "a@b.example", "receivers": [{"to": ["c@d.example"]}]}
    MailSettings.model_validate(right)
    with pytest.raises(ValueError, match=words):
        MailSettings.model_validate(right | wrong)


def test_ports_follow_the_encryption_and_none_is_for_own_machines() -> None:
    right = {"server": "Mail.example.com", "sender": "a@b.example", "receivers": [{"to": ["c@d.example"]}]}
    ports = {
        kind: MailSettings.model_validate(right | {"security": kind}).port_number
        for kind in ("starttls", "tls", "none")
    }
    assert ports == {"starttls": 587, "tls": 465, "none": 25}
    assert MailSettings.model_validate(right | {"port": 2525}).port_number == 2525
    plain = {"mail": right | {"security": "none"}}
    with pytest.raises(ValueError, match="mail would be sent unencrypted"):
        MonitorSettings.model_validate(plain)
    MonitorSettings.model_validate(plain | {"internal_hosts": ["mail.example.com"]})
