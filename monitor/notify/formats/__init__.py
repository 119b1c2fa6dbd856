"""The formats of webhook bodies: standard, Slack and Teams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from monitor.alerting.alerts.change import AlertChange
from monitor.notify.formats.slack import slack_body
from monitor.notify.formats.standard import webhook_body
from monitor.notify.formats.teams import teams_body
from monitor.notify.texts.incident import IncidentNote


class BodyFormat(Protocol):
    """Gives the body of a message."""

    def __call__(
        self, changes: Sequence[AlertChange], receiver: str, external_url: str, incident: IncidentNote | None = None, /
    ) -> bytes:
        """Return the body for changes of one deployment, all `firing` or all `resolved`, and the receiver's name.

        `external_url` is where our pages are, empty for nowhere; `incident` is what to say of their incident.
        """


FORMATS: Mapping[str, BodyFormat] = {"standard": webhook_body, "slack": slack_body, "teams": teams_body}
"""By the value of `monitor.webhooks.format`. `alertmanager` is none of them: it has a protocol of its own."""

__all__ = ["FORMATS", "BodyFormat", "webhook_body"]
