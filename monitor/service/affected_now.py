"""Counts of who is affected by the open incidents by now, made again while requests come, once a minute at most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from msgspec import structs

from lake.queries.refusals import refused_answers
from lake.spec.schemas import deployment_of
from lake.tables.lake import Lake
from monitor.alerting.alerts.explainer import LONGEST_COUNTED, count_affected
from monitor.alerting.incidents.incident import Incident
from monitor.detect.causes import AffectedCounts, RefusalCounts
from monitor.service.health.failures import Failures
from monitor.service.snapshot import DeploymentState

COUNTED = "count_affected"
"""The step of a refresh that counts."""
_EVERY = timedelta(minutes=1)
_MOST_AT_ONCE = 5
"""Incidents that one refresh counts: each is a read of the log."""


@dataclass(frozen=True)
class _Counted:
    """Counts of an incident, and the requests of its deployment that were known then; None where the read failed."""

    at: datetime
    requests: int
    counts: AffectedCounts | None


class AffectedNow:
    """The counts of the open incidents, and when they were made."""

    def __init__(self, lake: Lake, failures: Failures) -> None:
        self._lake, self._failures = lake, failures
        self._counted: dict[str, _Counted] = {}

    def count(
        self, incidents: Mapping[str, tuple[Incident, ...]], states: Mapping[str, DeploymentState], now: datetime
    ) -> None:
        """Count for the open incidents of deployments that have further requests by their states."""
        opened = {one.incident_id: one for mine in incidents.values() for one in mine if one.ended_at is None}
        self._counted = {name: known for name, known in self._counted.items() if name in opened}
        asked = {one.deployment for one in opened.values()} & states.keys()
        requests = {name: states[name].requests.total for name in asked}
        old = sorted((one for one in opened.values() if self._is_old(one, requests, now)), key=self._counted_at)
        for one in old[:_MOST_AT_ONCE]:
            found = self._failures.attempt(COUNTED, partial(self._count, one, now), one.deployment)
            self._counted[one.incident_id] = _Counted(now, requests.get(one.deployment, 0), found)

    def added_to(self, incidents: Iterable[Incident]) -> tuple[Incident, ...]:
        """Return the incidents with their counts; those of which none is known have those of their alerts alone."""
        return tuple(self._with_counts(one) for one in incidents)

    def _is_old(self, incident: Incident, requests: Mapping[str, int], now: datetime) -> bool:
        known = self._counted.get(incident.incident_id)
        if known is None:
            return True
        is_same = known.counts is not None and known.requests == requests.get(incident.deployment, 0)
        return not is_same and now - known.at >= _EVERY

    def _counted_at(self, incident: Incident) -> tuple[bool, datetime]:
        known = self._counted.get(incident.incident_id)
        return known is not None, known.at if known else incident.opened_at

    def _with_counts(self, incident: Incident) -> Incident:
        known = self._counted.get(incident.incident_id)
        if known is None or known.counts is None:
            return incident
        return replace(incident, affected_now=known.counts, counted_at=known.at)

    def _count(self, incident: Incident, now: datetime) -> AffectedCounts | None:
        alert = incident.foremost
        if alert.since is None:
            return None
        counts, told = count_affected(self._lake, incident.deployment, alert.since, now), alert.details.affected
        if told is None or told.refusals is None:
            return counts
        since = max(alert.since, now - LONGEST_COUNTED)
        refused = refused_answers(self._lake, deployment_of(incident.deployment), since, now)
        before = told.refusals.refusals_before, told.refusals.answers_before
        return structs.replace(counts, refusals=RefusalCounts(*refused, *before))
