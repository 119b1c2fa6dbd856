"""The formats of webhook bodies: standard, Slack and Teams."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from monitor.alerts.change import AlertChange
from monitor.notify.formats.slack import slack_body
from monitor.notify.formats.standard import webhook_body
from monitor.notify.formats.teams import teams_body

BodyFormat = Callable[[Sequence[AlertChange], str, str], bytes]
"""Gives the body of a message: (changes of one deployment, all `firing` or all `resolved`; receiver's name; URL of our
pages, empty for none)."""

FORMATS: Mapping[str, BodyFormat] = {"standard": webhook_body, "slack": slack_body, "teams": teams_body}
"""By the value of `monitor.webhooks.format`. `alertmanager` is none of them: it has a protocol of its own."""

__all__ = ["FORMATS", "BodyFormat", "webhook_body"]
