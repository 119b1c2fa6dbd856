"""The deployments of a snapshot: what was ingested of each, with its readings, judgements and alerts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from lake.spec.vocabulary import ALERT_STATES, LimitKind
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.incidents.incident import Incident
from monitor.detect.limits import LimitReading
from monitor.detect.regression import JudgeReading, StreamKey
from monitor.service.ingest.ingest import Ingest
from monitor.service.recorder import StreamStates
from monitor.service.snapshot import DeploymentState, watched_streams


def published_deployments(
    ingest: Ingest,
    streams: StreamStates,
    judges: Mapping[StreamKey, JudgeReading],
    limits: Mapping[str, Mapping[LimitKind, LimitReading]],
    changes: Sequence[AlertChange],
    incidents: Mapping[str, tuple[Incident, ...]],
    now: datetime,
) -> dict[str, DeploymentState]:
    """Return the state of each deployment to publish, by name; `changes` are those of all alerts, oldest first."""
    of_deployment: dict[str, list[AlertChange]] = {}
    for change in reversed(changes):
        if change.change in ALERT_STATES:
            of_deployment.setdefault(change.key.deployment, []).append(change)
    replaced = ingest.limits.replaced()
    readings, judgements = (
        watched_streams(ingest.deployments, streams.readings, now, replaced),
        watched_streams(ingest.deployments, streams.judgements, now, replaced),
    )
    judge_readings = watched_streams(ingest.deployments, judges, now, replaced)
    return {
        name: replace(
            ingest.deployments[name],
            readings=readings.get(name, {}),
            limits=limits.get(name, {}),
            changes=tuple(of_deployment.get(name, ())),
            incidents=incidents.get(name, ()),
            judges=judge_readings.get(name, {}),
            judgements=judgements.get(name, {}),
            stopped=_in_words(ingest.streams.stopped.of(name)),
            stopped_judges=_in_words(ingest.judges.stopped.of(name)),
            stopped_limits=_in_words(ingest.limits.stopped.of(name)),
            idle=_idle(ingest.deployments[name], now, is_replaced=name in replaced),
        )
        for name in sorted(ingest.deployments)
    }


def _in_words(errors: Mapping[str, Exception]) -> Mapping[str, str]:
    return {name: repr(error) for name, error in errors.items()}


def _idle(state: DeploymentState, now: datetime, *, is_replaced: bool) -> Mapping[str, datetime]:
    idle = (one for one in state.watched.items() if one[1].is_idle(now, is_replaced=is_replaced))
    return {metric: scores.scored_at for metric, scores in idle}
