"""The deployments of a snapshot: what was ingested of each, with its readings, judgements and alerts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from lake import ALERT_STATES, Floor
from monitor.alerts.change import AlertChange
from monitor.floors import FloorReading
from monitor.incidents.incident import Incident
from monitor.ingest.ingest import Ingest
from monitor.recorder import StreamStates
from monitor.regression import JudgeReading, StreamKey
from monitor.snapshot import DeploymentState

T = TypeVar("T")


def published_deployments(
    ingest: Ingest,
    streams: StreamStates,
    judges: Mapping[StreamKey, JudgeReading],
    floors: Mapping[str, Mapping[Floor, FloorReading]],
    changes: Sequence[AlertChange],
    incidents: Mapping[str, tuple[Incident, ...]],
    now: datetime,
) -> dict[str, DeploymentState]:
    """Give the state of each deployment to publish, by name; `changes` are those of all alerts, oldest first."""
    of_deployment: dict[str, list[AlertChange]] = {}
    for change in reversed(changes):
        if change.change in ALERT_STATES:
            of_deployment.setdefault(change.key.deployment, []).append(change)
    readings, judgements = _watched(ingest, streams.readings, now), _watched(ingest, streams.judgements, now)
    judge_readings = _watched(ingest, judges, now)
    stopped = _watched(ingest, {key: repr(error) for key, error in ingest.streams.stopped.items()}, now)
    return {
        name: replace(
            ingest.deployments[name],
            readings=readings.get(name, {}),
            floors=floors.get(name, {}),
            changes=tuple(of_deployment.get(name, ())),
            incidents=incidents.get(name, ()),
            judges=judge_readings.get(name, {}),
            judgements=judgements.get(name, {}),
            stopped=stopped.get(name, {}),
            idle=_idle(ingest.deployments[name], now),
        )
        for name in sorted(ingest.deployments)
    }


def _idle(state: DeploymentState, now: datetime) -> Mapping[str, datetime]:
    return {metric: scores.scored_at for metric, scores in state.watched.items() if scores.is_idle(now)}


def _watched(ingest: Ingest, streams: Mapping[StreamKey, T], now: datetime) -> Mapping[str, Mapping[str, T]]:
    """By deployment and metric, of the version that was scored last, and lately: all else is over."""
    chosen: dict[str, dict[str, T]] = {}
    for key, found in streams.items():
        state = ingest.deployments.get(key.deployment)
        metric = state.watched.get(key.metric) if state else None
        if metric is not None and metric.version == key.metric_version and not metric.is_idle(now):
            chosen.setdefault(key.deployment, {})[key.metric] = found
    return chosen
