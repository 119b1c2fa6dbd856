"""The changes of alerts that are still to be sent to a receiver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from lake.spec.alert_vocabulary import ALERT_STATES, AlertEvent
from monitor.alerting.alerts.change import AlertChange

_RECENT = timedelta(days=1)
_TRIED = timedelta(days=4)
"""Longer than the tries of a message, which then is given up."""


def pending(changes: Sequence[AlertChange], receiver: str, now: datetime) -> list[AlertChange]:
    """Return the changes that were neither delivered to this receiver nor given up, in the order of `changes`.

    An alert that is over is not sent to a new receiver: only to one that was sent its beginning, or where it ended,
    by the clock and in event time, within the last day. A receiver that was sent anything of the deployment before is
    not new to alerts that ended since, as long as that was found within a day. Neither is one that was sent anything
    of another one, for as long as messages are tried: an older one was of a deployment that it was not for.

    The beginning of an alert that a silence holds back is still pending. If the alert was over before the silence,
    only its end is pending, until that has a row `silenced` too: see `ended_in_silence`. Nor is the beginning pending
    once the alert's end was sent.
    """
    mine = [change for change in changes if change.details.receiver == receiver]
    settled = {change.delivery_of for change in mine if change.change != AlertEvent.SILENCED}
    known_since: dict[str | None, datetime] = {}
    for change in mine:
        for of in (change.key.deployment, None):
            known_since[of] = min(known_since.get(of, change.changed_at), change.changed_at)
    ends = {change.alert_id: change for change in changes if change.change == AlertEvent.RESOLVED}
    touched = {change.alert_id for change in mine}
    history = {
        alert_id for alert_id, end in ends.items() if alert_id not in touched and not _is_recent(end, known_since, now)
    }
    # A silence that outlasted the alert, or an end that was sent: what was held back is not sent any more.
    over = ended_in_silence(changes, receiver) | {a for a, end in ends.items() if end.change_id in settled}
    settled |= {c.delivery_of for c in mine if c.change == AlertEvent.SILENCED and c.alert_id in over}
    return [
        change
        for change in changes
        if change.change in ALERT_STATES and change.change_id not in settled and change.alert_id not in history
    ]


def ended_in_silence(changes: Sequence[AlertChange], receiver: str) -> set[str]:
    """Return the ids of alerts that were over before the silence that kept them from the receiver."""
    mine = [change for change in changes if change.details.receiver == receiver]
    sent = {change.alert_id for change in mine if change.change != AlertEvent.SILENCED}
    # The last row counts: a silence may have been ended early.
    until = {
        c.alert_id: c.details.until for c in mine if c.change == AlertEvent.SILENCED and c.details.until is not None
    }
    return {
        change.alert_id
        for change in changes
        if change.change == AlertEvent.RESOLVED
        and change.alert_id not in sent
        and change.alert_id in until
        and recorded_at(change) < until[change.alert_id]
    }


def held_back(changes: Sequence[AlertChange], receiver: str) -> list[tuple[AlertChange, AlertChange]]:
    """Return the changes that a silence kept from the receiver, each with the last row that says until when.

    Those whose alert was over before the silence are left out: that is settled.
    """
    mine = [change for change in changes if change.details.receiver == receiver]
    over = {change.alert_id for change in mine if change.change == AlertEvent.SILENCED and change.details.until is None}
    last = {c.delivery_of: c for c in mine if c.change == AlertEvent.SILENCED and c.details.until is not None}
    return [(c, last[c.change_id]) for c in changes if c.change_id in last and c.alert_id not in over]


def recorded_at(change: AlertChange) -> datetime:
    """When the row of the change was made, by the clock; where that is not known, when it happened."""
    return change.details.recorded_at or change.changed_at


def _is_recent(end: AlertChange, known_since: Mapping[str | None, datetime], now: datetime) -> bool:
    """Whether an end of which the receiver has no row is news to it, by since when it knows each deployment or any."""
    recorded = recorded_at(end)
    since = known_since.get(end.key.deployment) or (known_since.get(None) if now - recorded < _TRIED else None)
    if since is not None and recorded >= since:
        return recorded - end.changed_at <= _RECENT
    return now - min(recorded, end.changed_at) <= _RECENT
