"""Grouping of changes into messages: one for all metrics of an incident that change together."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.alerts.pending import recorded_at


@dataclass(frozen=True)
class WebhookMessage:
    """Changes of one incident, all `firing` or all `resolved`, of regressions or of floors; at least one."""

    changes: tuple[AlertChange, ...]
    ready_at: datetime
    """When it may be sent: nothing can join it any more."""

    @property
    def newest(self) -> tuple[AlertChange, ...]:
        """The last change of each alert: the contents of the message."""
        return tuple({change.alert_id: change for change in self.changes}.values())

    @property
    def deployment(self) -> str:
        """The deployment that its alerts are of."""
        return self.changes[0].key.deployment

    @property
    def incident_id(self) -> str | None:
        """The incident that its alerts belong to."""
        return self.changes[0].incident_id

    @property
    def message_id(self) -> str:
        """The webhook-id: the change's id, or a digest of the ids where there are several."""
        ids = [change.change_id for change in self.changes]
        return ids[0] if len(ids) == 1 else hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest()[:32]


def messages(changes: Sequence[AlertChange], window: timedelta) -> list[WebhookMessage]:
    """Group changes: those of one incident and kind that were recorded within `window` of the first are a message.

    The window is [first, first + window), by the clock, and holds the first's own instant also where `window` is 0;
    the message is ready when it has passed. Messages come in the order of their first changes. What is settled leaves
    whole messages out, so that the others, and their ids, are the same after a restart.
    """
    groups: list[list[AlertChange]] = []
    open_groups: dict[tuple[str, str | None, str, bool], list[AlertChange]] = {}
    for change in sorted(changes, key=lambda change: (recorded_at(change), change.changed_at, change.change_id)):
        of = (change.key.deployment, change.incident_id, change.change, change.is_floor)
        group = open_groups.get(of)
        if group is not None and _belongs(change, group[0], window):
            group.append(change)
        else:
            open_groups[of] = [change]
            groups.append(open_groups[of])
    return [WebhookMessage(tuple(group), recorded_at(group[0]) + window) for group in groups]


def _belongs(change: AlertChange, first: AlertChange, window: timedelta) -> bool:
    after = recorded_at(change) - recorded_at(first)
    return after < window or not after
