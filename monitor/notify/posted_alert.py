"""The one alert that an Alertmanager has of an incident."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from lake.spec.alert_vocabulary import AlertEvent
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.alerts.pending import recorded_at
from monitor.alerting.incidents.state import IncidentState, state_of
from monitor.notify.formats.standard import labels_of
from monitor.notify.texts.alert import description, summary
from monitor.notify.texts.incident import incident_line, main_link, note_of, severity_of


class PostedAlert(msgspec.Struct, frozen=True, rename="camel"):
    """An alert as `POST /api/v2/alerts` takes it."""

    labels: dict[str, str]
    annotations: dict[str, str]
    starts_at: datetime
    ends_at: datetime
    generator_url: str = msgspec.field(name="generatorURL")


def posted_alerts(changes: Sequence[AlertChange], external_url: str, unless_sent_again: datetime) -> list[PostedAlert]:
    """Return the alert of one incident, from the changes of its alerts in their order.

    Its labels are those of the alert that opened the incident, with the incident's id and severity. By its labels it
    is another alert with another severity: the one that it had before is given too, as over. While the incident is
    open the alert ends at `unless_sent_again`.
    """
    state = state_of(changes)
    left = _left_severities(changes)
    left[severity_of(state.tier)] = unless_sent_again if state.is_open else recorded_at(changes[-1])
    opener = next((change for change in changes if change.change == AlertEvent.FIRING), changes[0])
    return [_posted(opener, state, severity, end, external_url) for severity, end in left.items()]


def _left_severities(changes: Sequence[AlertChange]) -> dict[str, datetime]:
    """Return when, by the clock, the incident last had each severity."""
    left, state = {}, IncidentState()
    for change in changes:
        if state.is_open:
            left[severity_of(state.tier)] = recorded_at(change)
        state = state.with_change(change)
    return left


def _posted(
    opener: AlertChange, state: IncidentState, severity: str, ends_at: datetime, external_url: str
) -> PostedAlert:
    told = state.foremost or state.alerts[opener.alert_id]
    words, note = description(told, external_url), None
    labels = labels_of(opener) | {"severity": severity}
    if opener.incident_id is not None:
        labels["incident"] = opener.incident_id
        note = note_of(opener.incident_id, state, external_url)
        words += f"\n{incident_line(note)}"
    return PostedAlert(
        labels=labels,
        annotations={"summary": summary(told), "description": words},
        starts_at=opener.fired_at,
        # An end before the beginning is refused, and the beginning is an event time: it may be ahead of the clock.
        ends_at=max(ends_at, opener.fired_at),
        generator_url=main_link(note, opener.key.deployment, external_url),
    )
