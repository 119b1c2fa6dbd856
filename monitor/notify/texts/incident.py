"""Incident notes: what a message says of the incident that its alerts belong to."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from lake.spec.alert_vocabulary import AlertEvent, AlertVerdict, Tier
from lake.spec.metric_names import quoted_name
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.incidents.related import Related, Relation
from monitor.alerting.incidents.state import IncidentState
from monitor.notify.texts.link import link_to, link_to_incident
from monitor.notify.texts.plain import one_line
from monitor.notify.users_words import UsersWords

_MOST_ALSO = 5
"""Other incidents in a line."""


class IncidentMetric(msgspec.Struct, frozen=True, rename="camel"):
    """A metric or limit of an incident, and whether it still fires."""

    metric: str
    status: str
    alert_id: str


class AlsoIncident(msgspec.Struct, frozen=True, rename="camel"):
    """Another incident that may have the same cause; `relation` is what it is to the one that the message is of."""

    id: str
    deployment: str
    relation: Relation
    words: str
    """The relation in words, behind the name of the deployment."""
    metrics: tuple[str, ...]


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
    also: tuple[AlsoIncident, ...] = ()
    """Others that may have the same cause; absent where there is none."""
    users_words: UsersWords | None = None
    """What users wrote; absent but in messages of receivers that may have texts."""


def severity_of(tier: Tier) -> str:
    """Return the word for a tier in messages and labels, as users of Prometheus know it."""
    return tier if tier == Tier.PAGE else "warning"


def urgency_of(severity: str) -> str:
    """Return the word for a severity in sentences."""
    return "urgent" if severity == Tier.PAGE else severity


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


def also_of(related: Iterable[Related], is_named: Callable[[str], bool]) -> tuple[AlsoIncident, ...]:
    """Return what a message says of related incidents: of deployments that its receiver is for, or that these call."""
    return tuple(
        AlsoIncident(one.incident.incident_id, one.incident.deployment, one.relation, one.words, one.metrics)
        for one in related
        if one.relation == Relation.CALLED or is_named(one.incident.deployment)
    )


def also_lines(note: IncidentNote) -> list[str]:
    """Say in a line which other incidents may have the same cause; nothing where there is none."""
    if not note.also:
        return []
    shown = [
        f"{', '.join(map(quoted_name, one.metrics))} of {one.deployment}, {one.words}" for one in note.also[:_MOST_ALSO]
    ]
    more = [f"{len(note.also) - _MOST_ALSO} more"] if len(note.also) > _MOST_ALSO else []
    return [one_line(f"Also: {'; '.join([*shown, *more])}")]


def main_link(note: IncidentNote | None, deployment: str, external_url: str) -> str:
    """Return where a message leads: to the page of its incident, or without one to that of the deployment."""
    return note.link if note and note.link else link_to(deployment, external_url)


def incident_line(note: IncidentNote) -> str:
    """Say in one line which metrics an incident has, and where its page is."""
    metrics = ", ".join(
        quoted_name(one.metric) if one.status == AlertEvent.FIRING else f"{quoted_name(one.metric)} (over)"
        for one in note.metrics
    )
    return one_line(f"Incident: {metrics}" + (f"; {note.link}" if note.link else ""))


def note_lines(note: IncidentNote) -> tuple[str, ...]:
    """Return what a chat shows of an incident: the line of its metrics, others of its cause, and what users wrote."""
    return (incident_line(note), *also_lines(note), *(note.users_words.lines if note.users_words else ()))
