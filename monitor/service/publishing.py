"""The deployments of a snapshot: what was ingested of each, with its readings, judgements and alerts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from lake.queries.application_classes import DecidedClass
from lake.spec.alert_vocabulary import ALERT_STATES, LimitKind
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.incidents.incident import Incident
from monitor.detect.limits import LimitReading
from monitor.detect.regression import JudgeReading, StreamKey
from monitor.service.ingest.ingest import Ingest
from monitor.service.recorder import StreamStates
from monitor.service.snapshot import DeploymentState, watched_streams

T = TypeVar("T")


class PublishedDeployments:
    """The states of deployments as they were published last: only those that may have changed are made anew."""

    def __init__(self, ingest: Ingest) -> None:
        self._ingest = ingest
        self._sources: dict[str, DeploymentState] = {}
        """What was ingested of each when its state was made."""
        self._classes: dict[str, DecidedClass | None] = {}
        self._states: dict[str, DeploymentState] = {}

    def renewed(
        self,
        streams: StreamStates,
        judges: Mapping[StreamKey, JudgeReading],
        limits: Mapping[str, Mapping[LimitKind, LimitReading]],
        changes: Sequence[AlertChange],
        incidents: Mapping[str, tuple[Incident, ...]],
        classes: Mapping[str, DecidedClass],
        due: Set[str],
        now: datetime,
    ) -> dict[str, DeploymentState]:
        """Return the state of each deployment to publish, by name; `changes` are those of all alerts, oldest first.

        Those in `due` are made anew, and the others where something else of them has changed.
        """
        of_deployment: dict[str, list[AlertChange]] = {}
        for change in reversed(changes):
            if change.change in ALERT_STATES:
                of_deployment.setdefault(change.key.deployment, []).append(change)
        known = self._ingest.deployments
        followed: dict[str, dict[str, Any]] = {
            name: {
                "limits": limits.get(name, {}),
                "changes": tuple(of_deployment.get(name, ())),
                "incidents": incidents.get(name, ()),
            }
            for name in known
        }
        anew = {
            name
            for name in known
            if name in due
            or self._has_changed(name, followed[name])
            or self._classes.get(name) is not classes.get(name)
        }
        replaced = self._ingest.limits.replaced()
        idle = {name: _idle(known[name], classes.get(name), now, is_replaced=name in replaced) for name in anew}

        def watched(of_streams: Mapping[StreamKey, T]) -> Mapping[str, Mapping[str, T]]:
            mine = {
                key: one
                for key, one in of_streams.items()
                if key.deployment in anew and key.metric not in idle[key.deployment]
            }
            return watched_streams(known, mine, now, replaced)

        readings, judgements, judge_readings = watched(streams.readings), watched(streams.judgements), watched(judges)
        for name in anew:
            self._sources[name], self._classes[name] = known[name], classes.get(name)
            self._states[name] = replace(
                known[name],
                **followed[name],
                readings=readings.get(name, {}),
                judges=judge_readings.get(name, {}),
                judgements=judgements.get(name, {}),
                stopped=_in_words(self._ingest.streams.stopped.of(name)),
                stopped_judges=_in_words(self._ingest.judges.stopped.of(name)),
                stopped_limits=_in_words(self._ingest.limits.stopped.of(name)),
                idle=idle[name],
            )
        return {name: self._states[name] for name in sorted(known)}

    def _has_changed(self, name: str, followed: Mapping[str, object]) -> bool:
        state = self._states.get(name)
        if state is None or self._sources[name] is not self._ingest.deployments[name]:
            return True
        return any(getattr(state, field) != value for field, value in followed.items())


def _in_words(errors: Mapping[str, Exception]) -> Mapping[str, str]:
    return {name: repr(error) for name, error in errors.items()}


def _idle(
    state: DeploymentState, decided: DecidedClass | None, now: datetime, *, is_replaced: bool
) -> Mapping[str, datetime]:
    return {
        metric: scores.scored_at
        for metric, scores in state.watched.items()
        if scores.is_idle(now, is_replaced=is_replaced)
        or (decided is not None and decided.has_ended(metric, scores.scored_at))
    }
