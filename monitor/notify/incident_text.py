"""Incident notes: what a message says of the incident that its alerts belong to."""

from __future__ import annotations

import msgspec

from lake.spec.alert_vocabulary import AlertEvent, AlertVerdict, Tier
from lake.spec.metric_names import metric_name
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.incidents.state import IncidentState
from monitor.notify.link import link_to, link_to_incident
from monitor.notify.plain_text import one_line
from monitor.notify.users_words import UsersWords


class IncidentMetric(msgspec.Struct, frozen=True, rename="camel"):
    """A metric or limit of an incident, and whether it still fires."""

    metric: str
    status: str
    alert_id: str


class IncidentNote(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """An incident as a message shows it."""

    id: str
    status: str
    """`resolved` once all of its alerts are over."""
    severity: str
    verdict: AlertVerdict | None
    metrics: tuple[IncidentMetric, ...]
    """In the order in which they joined."""
    link: str | None
    """Where its page is; null where nobody said where our pages are."""
    users_words: UsersWords | None = None
    """What users wrote; absent but in messages of receivers that may have texts."""


def severity_of(tier: Tier) -> str:
    """Return the word for a tier in messages and labels, as users of Prometheus know it."""
    return tier if tier == Tier.PAGE else "warning"


def tier_of(change: AlertChange) -> str:
    """Return the word for the tier of one alert."""
    return severity_of(Tier.PAGE if change.pages else Tier.WARN)


def note_of(incident_id: str, state: IncidentState, external_url: str) -> IncidentNote:
    """Return what there is to say of an incident."""
    return IncidentNote(
        id=incident_id,
        status=AlertEvent.FIRING if state.is_open else AlertEvent.RESOLVED,
        severity=severity_of(state.tier),
        verdict=state.verdict,
        metrics=tuple(IncidentMetric(c.key.metric, c.change, c.alert_id) for c in state.alerts.values()),
        link=link_to_incident(incident_id, external_url) or None,
    )


def main_link(note: IncidentNote | None, deployment: str, external_url: str) -> str:
    """Return where a message leads: to the page of its incident, or without one to that of the deployment."""
    return note.link if note and note.link else link_to(deployment, external_url)


def incident_line(note: IncidentNote) -> str:
    """Say in one line which metrics an incident has, and where its page is."""
    metrics = ", ".join(
        metric_name(one.metric) if one.status == AlertEvent.FIRING else f"{metric_name(one.metric)} (over)"
        for one in note.metrics
    )
    return one_line(f"Incident: {metrics}" + (f"; {note.link}" if note.link else ""))


def note_lines(note: IncidentNote) -> tuple[str, ...]:
    """Return what a chat shows of an incident: the line of its metrics, and what users wrote."""
    return (incident_line(note), *(note.users_words.lines if note.users_words else ()))
