"""Channels: how the messages to one receiver are formed and handed over, as webhooks or as mail."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import httpcore

from monitor.alerting.alerts.change import AlertChange
from monitor.notify.delivery import Attempt, post_signed
from monitor.notify.digest.table import DigestTable
from monitor.notify.formats import FORMATS
from monitor.notify.formats.daily_summary import SUMMARY_FORMATS, Incidents, lines, page_of_incidents, title
from monitor.notify.formats.digest_mail import digest_mail
from monitor.notify.formats.mail import alert_mail, text_mail
from monitor.notify.mail import MailServer
from monitor.notify.settings import MailReceiverSettings, ReceiverSettings, WebhookSettings
from monitor.notify.texts.incident import IncidentNote


class Channel(Protocol):
    """What a sender hands its messages to. Each method makes one attempt; it may raise what forming a message does."""

    kind: str
    """What the receiver is, in problems and logs."""

    @property
    def settings(self) -> ReceiverSettings:
        """Settings of the receiver."""

    def send_alerts(
        self, changes: Sequence[AlertChange], message_id: str, now: datetime, incident: IncidentNote | None = None
    ) -> Attempt:
        """Send changes of one deployment, all `firing` or all `resolved`, with what there is to say of their incident.

        `message_id` is the same whenever the message is sent again.
        """

    def send_summary(
        self, incidents: Incidents, message_id: str, now: datetime, digest: DigestTable | None = None
    ) -> Attempt:
        """Send the incidents that go on, and the table of a digest where it is one."""


class WebhookChannel:
    """Posts messages to an address, each in the receiver's format and signed."""

    kind = "webhook"

    def __init__(self, settings: WebhookSettings, pool: httpcore.ConnectionPool, external_url: str = "") -> None:
        """`external_url` is where a person finds our pages."""
        self.settings = settings
        self._pool = pool
        self._external_url = external_url

    def send_alerts(
        self, changes: Sequence[AlertChange], message_id: str, now: datetime, incident: IncidentNote | None = None
    ) -> Attempt:
        """Post changes of one deployment."""
        body = FORMATS[self.settings.format](changes, self.settings.name, self._external_url, incident)
        return post_signed(self._pool, self.settings, message_id, body, now)

    def send_summary(
        self, incidents: Incidents, message_id: str, now: datetime, digest: DigestTable | None = None
    ) -> Attempt:
        """Post the incidents that go on, and a digest."""
        body = SUMMARY_FORMATS[self.settings.format](incidents, self.settings.name, self._external_url, digest)
        return post_signed(self._pool, self.settings, message_id, body, now)


class MailChannel:
    """Mails messages to the addresses of a receiver."""

    kind = "mail receiver"

    def __init__(self, settings: MailReceiverSettings, server: MailServer, external_url: str = "") -> None:
        """`external_url` is where a person finds our pages."""
        self.settings = settings
        self._server = server
        self._external_url = external_url

    def send_alerts(
        self, changes: Sequence[AlertChange], message_id: str, now: datetime, incident: IncidentNote | None = None
    ) -> Attempt:
        """Mail changes of one deployment; mails of one incident are one thread."""
        return self._server.send(alert_mail(changes, self._external_url, incident), self.settings.to, message_id, now)

    def send_summary(
        self, incidents: Incidents, message_id: str, now: datetime, digest: DigestTable | None = None
    ) -> Attempt:
        """Mail the incidents that go on, and a digest."""
        url = self._external_url
        if digest is None:
            mail = text_mail(title(incidents), lines(incidents), page_of_incidents(url), url)
        else:
            mail = digest_mail(digest, lines(incidents), url, url)
        return self._server.send(mail, self.settings.to, message_id, now)
