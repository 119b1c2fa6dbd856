"""Which incident an alert belongs to: the one that is open in its deployment, else one that it opens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from lake import ALERT_STATES, AlertEvent
from monitor.alerts.change import AlertChange, digest
from monitor.alerts.pending import recorded_at


def with_incident_ids(known: Sequence[AlertChange], new: Sequence[AlertChange]) -> list[AlertChange]:
    """Give the new changes of one deployment with the ids of their incidents; those known have theirs.

    An alert that fires while another is open joins its incident, else it opens one, whose id is made of its own. A
    change that has an id keeps it: only rows of earlier versions and changes that are not recorded yet have none.
    """
    incidents = {c.alert_id: c.incident_id for c in (*known, *new) if c.incident_id is not None}
    over = {change.alert_id for change in known if change.change == AlertEvent.RESOLVED}
    is_open = {c.alert_id: incidents[c.alert_id] for c in known if c.change == AlertEvent.FIRING}
    for alert_id in over & is_open.keys():
        del is_open[alert_id]
    for change in in_order(new):
        alert_id = change.alert_id
        if alert_id not in incidents:
            incidents[alert_id] = next(reversed(is_open.values()), None) or digest("incident", alert_id)
        if change.change == AlertEvent.RESOLVED:
            over.add(alert_id)
            is_open.pop(alert_id, None)
        elif alert_id not in over:
            is_open[alert_id] = incidents[alert_id]
    return [replace(c, incident_id=incidents[c.alert_id]) if c.alert_id in incidents else c for c in new]


def in_order(changes: Sequence[AlertChange]) -> list[AlertChange]:
    """Give the changes that begin or end alerts in the order in which they were found."""
    return sorted((change for change in changes if change.change in ALERT_STATES), key=_found)


def _found(change: AlertChange) -> tuple[datetime, datetime, str]:
    return recorded_at(change), change.changed_at, change.change_id
