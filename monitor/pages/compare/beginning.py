"""Beginning of the page that compares answers: what it compares where its address says nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from lake.spec.alert_vocabulary import LimitKind, Tier
from monitor.alerting.incidents.incident import Incident
from monitor.notify.texts.onset import incident_onset
from monitor.pages.answers.addresses import Visible
from monitor.pages.compare.query import Between
from monitor.service.snapshot import DeploymentState

_LATELY = timedelta(days=7)


@dataclass(frozen=True)
class Beginning:
    """Fields of the form, and why these: the incident whose onset divides the periods; None where no incident does."""

    fields: Mapping[str, str]
    incident: Incident | None = None
    since: datetime | None = None
    """Its onset; None where cases that were asked again got worse answers, and so two runs are compared."""
    is_chosen: bool = False
    """Whether the deployment was named."""


def beginning_of(seen: Visible, named: str = "") -> Beginning | None:
    """Return what who was woken wants to see, of one deployment or of all; None where none has scores.

    It is the newest incident that is open, an urgent one before others, else the one that ended last within 7 days.
    Without one it is the last week of the deployment with most answers.
    """
    states = {named: seen.states[named]} if named else seen.states
    incident = max(_incidents(states.values(), seen.now), key=_rank, default=None)
    if incident is not None:
        return _of_incident(incident, seen)
    scored = {name: state for name, state in states.items() if state.scores.metrics}
    if not scored:
        return None
    chosen = max(scored, key=lambda name: scored[name].requests.answers)
    return Beginning({"deployment": chosen}, is_chosen=bool(named))


def _incidents(states: Iterable[DeploymentState], now: datetime) -> Iterator[Incident]:
    for state in states:
        for one in state.incidents:
            if one.ended_at is None or now - one.ended_at < _LATELY:
                yield one


def _rank(incident: Incident) -> tuple[bool, bool, datetime]:
    if incident.ended_at is not None:
        return False, False, incident.ended_at
    return True, incident.tier is Tier.PAGE, incident.opened_at


def _of_incident(incident: Incident, seen: Visible) -> Beginning:
    if incident.foremost.key.metric == LimitKind.REPLAY:
        return Beginning({"deployment": incident.deployment, "between": Between.REPLAYS}, incident)
    since = incident_onset(incident).astimezone(UTC).replace(second=0, microsecond=0)
    fields = {
        "deployment": incident.deployment,
        "metric": _metric_of(incident, seen.states[incident.deployment]),
        "onset": since.strftime("%Y-%m-%dT%H:%MZ"),
    }
    if incident.ended_at is not None:
        fields["after_until"] = (incident.back_at or incident.ended_at).astimezone(UTC).date().isoformat()
    return Beginning(fields, incident, since)


def _metric_of(incident: Incident, state: DeploymentState) -> str:
    """Return the metric of the foremost alert; of a limit, which no answer has a score of, the next that has one."""
    named = (one.key.metric for one in (incident.foremost, *incident.alerts))
    return next((one for one in named if one in state.scores.metrics), "")
