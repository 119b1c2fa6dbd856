"""Incidents in the lake: listed and acknowledged."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import typer

from dialwatch.actions.console import print_list
from dialwatch.actions.open_lake import open_filled
from dialwatch.config import Settings
from dialwatch.times import format_time
from lake import AlertEvent
from monitor.incidents.incident import Incident
from monitor.incidents.log import IncidentLog, read_incidents

_SHOWN = 12
"""Characters of an id that are shown, and enough to name it."""


def show(settings: Settings, deployment: str | None, *, everything: bool) -> None:
    """List the incidents that are open, or all of them, the newest first."""
    found = [
        one
        for one in read_incidents(open_filled(settings))
        if deployment in (None, one.deployment) and (everything or one.ended_at is None)
    ]
    if not found:
        typer.echo("there is no incident" if everything else "no incident is open")
        return
    head = ("id", "deployment", "opened", "ended", "tier", "verdict", "metrics", "acknowledged by")
    print_list(head, [_row(one) for one in found])


def acknowledge(settings: Settings, written_id: str, who: str | None, comment: str, now: datetime) -> None:
    """Acknowledge an incident; raises BadParameter where none that is open has this id."""
    lake = open_filled(settings)
    incident = _chosen(read_incidents(lake), written_id)
    IncidentLog(lake).acknowledge(incident, who, comment, now)
    by = f" by {who}" if who else ""
    typer.echo(f"incident {incident.incident_id[:_SHOWN]} of {incident.deployment} is acknowledged{by}")


def _chosen(incidents: Sequence[Incident], written_id: str) -> Incident:
    found = [one for one in incidents if written_id and one.incident_id.startswith(written_id)]
    if len(found) > 1:
        raise typer.BadParameter(f"{len(found)} incidents begin with {written_id!r}: give more of it", param_hint="ID")
    if not found:
        there = ", ".join(one.incident_id[:_SHOWN] for one in incidents if one.ended_at is None) or "none"
        raise typer.BadParameter(f"there is no incident {written_id!r}; open ones: {there}", param_hint="ID")
    if found[0].ended_at is not None:
        ended = format_time(found[0].ended_at)
        raise typer.BadParameter(f"incident {written_id} was over at {ended}", param_hint="ID")
    return found[0]


def _row(incident: Incident) -> tuple[str, ...]:
    metrics = [
        alert.key.metric if alert.change == AlertEvent.FIRING else f"{alert.key.metric} (over)"
        for alert in incident.alerts
    ]
    return (
        incident.incident_id[:_SHOWN],
        incident.deployment,
        format_time(incident.opened_at),
        format_time(incident.ended_at) if incident.ended_at else "",
        incident.tier,
        incident.verdict or "",
        ", ".join(metrics),
        (incident.acknowledged.who or "somebody") if incident.acknowledged else "",
    )
