"""Receivers of alerts, and the stages that alerts go through on their way to one.

The stages are those of Prometheus' Alertmanager (`notify/notify.go`), which every sender shares:

| stage | what it does | where |
|---|---|---|
| route | takes the alerts that are the receiver's | `routing.py` |
| hold | holds back what is silenced, or what the message of its cause tells | `holding.py` |
| group | makes messages of what belongs together | `messages.py`, for an Alertmanager `alertmanager.py` |
| drop | drops what is no news of its incident to this receiver | the same |
| send | hands a message over; what fails is tried again | `channels.py`, `retries.py` |
| record | writes what came of it | `AlertStore.record_deliveries` |

Each stage gets what the one before it gave, and the `NotificationView` that the monitor handed down.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from lake.spec.alert_vocabulary import AlertEvent
from monitor.alerting.alerts.store import AlertStore
from monitor.notify.routing import Routed, Routing
from monitor.notify.settings import ReceiverSettings
from monitor.notify.view import NotificationView
from runtime.durations import duration
from runtime.outage_lines import OUTAGE

_SENT = (AlertEvent.DELIVERED, AlertEvent.SUMMARIZED)
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReceiverState:
    """How a receiver is: when it was last sent something, what waits for it, and what failed last.

    `failed_attempts` and what failed are of the time since the process began; `last_sent` is by the rows of `alerts`,
    so not of digests without an incident. `waiting` are changes of alerts.
    """

    name: str
    kind: str
    deployments: tuple[str, ...]
    is_failing: bool
    is_gone: bool
    waiting: int
    last_sent: datetime | None
    last_error: datetime | None
    error: str | None
    failed_attempts: int


class Receiver(ABC):
    """One receiver of alerts, and how it takes what it is sent. To be used by one thread at a time."""

    kind: str
    """What it is, in problems and logs."""
    pause: ClassVar[timedelta]
    """How long it is left alone after an error."""

    def __init__(self, settings: ReceiverSettings, alerts: AlertStore, external_url: str = "") -> None:
        """`external_url` is where a person finds our pages."""
        self.settings = settings
        self.routing = Routing(settings)
        self.gone = False
        """Whether it answered 410: it is not asked again until the process ends."""
        self.is_failing = False
        """Whether something waits for the receiver, as it did not take the last message."""
        self.failed_attempts = 0
        """Attempts since the start that did not deliver, or could not be recorded."""
        self.last_error: tuple[datetime, str] | None = None
        """When an attempt last failed since the start, and why."""
        self.problem: str | None = None
        """Why the last attempt did not deliver, or was not recorded, while anything is pending."""
        self._alerts = alerts
        self._external_url = external_url
        self._paused_until: datetime | None = None

    def run_due(self, view: NotificationView, now: datetime) -> datetime | None:
        """Send what is due and record what came of it; returns when the next is due, None if nothing is pending.

        Never raises.
        """
        try:
            return self._send_due(self.routing.route(self._alerts.changes(), view, now))
        except Exception as error:
            return self._pause(str(error), now)

    def clock_was_set(self, by: timedelta) -> None:
        """Wait no longer and no shorter than was planned, although the clock shows another time now."""
        self._paused_until = self._paused_until and self._paused_until + by

    def state(self, view: NotificationView, now: datetime) -> ReceiverState:
        """Say how the receiver is."""
        changes = self._alerts.changes()
        mine = (one for one in changes if one.details.receiver == self.settings.name and one.change in _SENT)
        waiting = self.routing.route(changes, view, now).pending(self._alerts)
        at, error = self.last_error or (None, None)
        return ReceiverState(
            name=self.settings.name,
            kind=self.kind,
            deployments=self.settings.deployments,
            is_failing=self.is_failing,
            is_gone=self.gone,
            waiting=len(waiting),
            last_sent=max((one.changed_at for one in mine), default=None),
            last_error=at,
            error=error,
            failed_attempts=self.failed_attempts,
        )

    @abstractmethod
    def _send_due(self, routed: Routed) -> datetime | None:
        """Take what is the receiver's through the stages after the first; returns when to do so again."""

    def _rests_until(self, now: datetime) -> datetime | None:
        """Return when the receiver may be asked again; None where it may be asked now."""
        return self._paused_until if self._paused_until is not None and now < self._paused_until else None

    def _fail(self, reason: str, now: datetime) -> None:
        self.failed_attempts += 1
        self.last_error = now, reason
        self.problem = f"{self.kind} {self.settings.name}: {reason}"

    def _pause(self, reason: str, now: datetime) -> datetime:
        """Count a failure, and leave the receiver alone for a while; returns until when."""
        self._fail(reason, now)
        self._paused_until = now + self.pause
        text, kind, name = "%s %s is tried again in %s: %s", self.kind.capitalize(), self.settings.name
        logger.warning(text, kind, name, duration(self.pause), reason, extra={OUTAGE: f"webhook {name}"})
        return self._paused_until
