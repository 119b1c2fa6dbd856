"""Incident ids of alerts: that of the incident that is open in the deployment, else of one that the alert opens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from lake.spec.alert_vocabulary import ALERT_STATES, AlertEvent, AlertVerdict
from monitor.alerting.alerts.change import AlertChange, digest
from monitor.alerting.alerts.pending import recorded_at


def with_incident_ids(known: Sequence[AlertChange], new: Sequence[AlertChange]) -> list[AlertChange]:
    """Return the new changes of one deployment with the ids of their incidents; those known have theirs.

    An alert that fires while another is open joins its incident, else it opens one, whose id is made of its own. A
    judge that changed joins only an incident that says so already, and one that it opens is joined only by alerts that
    say the same: who reads of the one need not be told of the other, and what else gets worse is told apart. A change
    that has an id keeps it: only rows of earlier versions and changes that are not recorded yet have none.
    """
    incidents = {c.alert_id: c.incident_id for c in (*known, *new) if c.incident_id is not None}
    over = {change.alert_id for change in known if change.change == AlertEvent.RESOLVED}
    firing = {c.alert_id: c for c in in_order(known) if c.change == AlertEvent.FIRING and c.alert_id not in over}
    for change in in_order(new):
        alert_id = change.alert_id
        if alert_id not in incidents:
            incidents[alert_id] = _joined(change, firing, incidents) or digest("incident", alert_id)
        if change.change == AlertEvent.RESOLVED:
            over.add(alert_id)
            firing.pop(alert_id, None)
        elif alert_id not in over:
            firing[alert_id] = change
    return [replace(c, incident_id=incidents[c.alert_id]) if c.alert_id in incidents else c for c in new]


def _joined(change: AlertChange, firing: Mapping[str, AlertChange], incidents: Mapping[str, str]) -> str | None:
    """Return the incident that a new alert joins; None where there is none."""
    of_judges = {incidents[one.alert_id] for one in firing.values() if one.is_judge_drift}
    others = [one for one in firing.values() if not one.is_judge_drift]
    if change.is_judge_drift:
        others = [one for one in others if one.verdict in (AlertVerdict.JUDGE, AlertVerdict.BOTH)]
    elif not others and change.verdict == AlertVerdict.JUDGE:
        return next(iter(of_judges), None)
    return next((incidents[one.alert_id] for one in reversed(others)), None)


def in_order(changes: Sequence[AlertChange]) -> list[AlertChange]:
    """Return the changes that begin or end alerts in the order in which they were found."""
    return sorted((change for change in changes if change.change in ALERT_STATES), key=_found)


def _found(change: AlertChange) -> tuple[datetime, datetime, str]:
    return recorded_at(change), change.changed_at, change.change_id
