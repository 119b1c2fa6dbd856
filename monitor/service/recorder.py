"""Recorder of alerts: what detectors and limits found in a refresh is judged and becomes changes of alerts."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

import msgspec

from lake.queries.application_classes import ApplicationClasses
from lake.spec.alert_vocabulary import AlertEvent, LimitKind, Tier
from lake.spec.case_vocabulary import FailedPart
from lake.spec.schemas import UNASSIGNED
from lake.spec.vocabulary import can_drift
from lake.tables.lake import Lake
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.alerts.explainer import Explainer
from monitor.alerting.alerts.judge_wait import with_waiting_pages
from monitor.alerting.alerts.learned_anew import kept_open
from monitor.alerting.alerts.limit_alerts import last_changes
from monitor.alerting.alerts.open_alerts import recorded_verdicts, with_open_alerts
from monitor.alerting.alerts.pending import recorded_at
from monitor.alerting.alerts.store import AlertStore
from monitor.alerting.incidents.incident import Incident
from monitor.detect.causes import AffectedCounts, AroundOnset
from monitor.detect.limits import LastChanges, LimitChange, LimitReading
from monitor.detect.regression import (
    MEASURED,
    UNDECIDED,
    Judgement,
    JudgeReading,
    LowMean,
    Reading,
    Status,
    StreamKey,
    Transition,
    judgement_of,
)
from monitor.service.health.failures import (
    ALERTS_RECORDED,
    CHANGES,
    INCIDENTS_RECORDED,
    JUDGES,
    LIMITS,
    REGRESSIONS,
    STOPPED,
    Failures,
)
from monitor.service.ingest.ingest import Ingest
from monitor.service.snapshot import watched_streams

logger = logging.getLogger(__name__)
_MOMENT = timedelta(microseconds=1)
_MOST_TOLD = 5
"""Streams that an error has stopped, in one problem."""


@dataclass(frozen=True)
class StreamStates:
    """What is known of all streams, those with an open alert included; judgements of those that are regressed."""

    readings: Mapping[StreamKey, Reading] = field(default_factory=dict)
    judgements: Mapping[StreamKey, Judgement] = field(default_factory=dict)


class AlertRecorder:
    """Records the alerts that the detectors and limits of an `Ingest` find.

    A step that fails is counted in `failures`; the others go on.
    """

    def __init__(
        self,
        lake: Lake,
        ingest: Ingest,
        alerts: AlertStore,
        failures: Failures,
        learned_at: Mapping[str, datetime],
        judge_wait: timedelta,
        classes: ApplicationClasses,
    ) -> None:
        """`learned_at` is when the streams of a deployment were last learned without the monitor's state.

        `judge_wait` is how long a page may wait for the judge's anchors.
        """
        self._learned_at = learned_at
        self._judge_wait = judge_wait
        self._classes = classes
        self._explainer = Explainer(lake)
        self._ingest = ingest
        self._alerts = alerts
        self._failures = failures
        self.limit_readings: Mapping[str, Mapping[LimitKind, LimitReading]] = {}
        """By deployment, of the last time that the limits could be checked."""
        self._computed: Mapping[StreamKey, Reading] = {}
        """What the streams say, of when each deployment was last looked at."""
        self.judge_readings: Mapping[StreamKey, JudgeReading] = {}
        """What is known of judges now."""
        self.unfit_limits: tuple[str, ...] = ()
        """The limits of means that are compared with nothing, in words."""

    def record_regressions(self, now: datetime, due: Set[str]) -> StreamStates:
        """Advance the detectors, record the alerts that begin, change or end; return what is known of the streams.

        Those of the deployments in `due`; of the others it is known what they said before.
        """
        streams = self._ingest.streams
        found = self._failures.attempt(REGRESSIONS, lambda: streams.advance(now, due)) or []
        others = {key: reading for key, reading in self._computed.items() if key.deployment not in due}
        mine = self._failures.attempt(REGRESSIONS, partial(streams.readings, due)) or {}
        computed = self._computed = {**others, **mine}
        computed = streams.with_ended_holds(computed, self._told(computed), now)
        found = [*found, *self._after_holds(computed)]
        without_history = partial(self._kept_without_history, now)
        active = partial(with_open_alerts, computed, self._alerts.active(), streams, without_history)
        readings = self._failures.attempt(REGRESSIONS, active) or computed
        readings = {key: reading for key, reading in readings.items() if streams.stopped.takes_rows(key.of_metric)}
        judgements = {k: self._judgement(k, r) for k, r in readings.items() if r.status is Status.REGRESSED}
        judgements |= recorded_verdicts(readings, self._alerts.active())
        self._explainer.begin()
        self._record(found, StreamStates(readings, judgements), now, due)
        return StreamStates(with_waiting_pages(readings, self._alerts.active()), judgements)

    def record_limits(self, now: datetime, due: Set[str]) -> None:
        """Check the limits, those on shares of the deployments in `due`; record the alerts that begin or end."""
        self.judge_readings = self._failures.attempt(JUDGES, self._ingest.judges.readings) or {}
        last = last_changes(self._alerts.changes())
        looked = self._failures.attempt(LIMITS, lambda: self._ingest.limits.look(last, now, due))
        if looked is None:
            return
        changes, self.limit_readings = looked
        latest = {name: state.replays for name, state in self._ingest.deployments.items()}
        changes = [
            *changes,
            *self._ingest.limits.look_at_replays(latest, last),
            *self._of_judges(last, now),
            *self._ingest.limits.look_at_means(self._means(last, now), last, now),
        ]
        found: dict[str, list[LimitChange]] = {}
        for change in changes:
            found.setdefault(change.deployment, []).append(change)
        for deployment, mine in found.items():
            record = partial(self._alerts.record_limits, deployment, mine, now)
            self._failures.attempt(ALERTS_RECORDED, record, f"alerts of {deployment!r}")

    def tell_unfit_limits(self) -> None:
        """Log the limits of means that fit no metric, once; not before all scores were read."""
        states = {name: one for name, one in self._ingest.deployments.items() if name != UNASSIGNED}
        if not all(map(self._ingest.is_complete, states)):
            return
        scales = {name: {metric: one.scale for metric, one in state.watched.items()} for name, state in states.items()}
        found = self._ingest.limits.unfit(scales)
        for one in found:
            if one not in self.unfit_limits:
                logger.warning("%s.", one)
        self.unfit_limits = found

    def tell_stopped(self) -> None:
        """Count and say what an error has stopped, and note what has learned anew."""
        ingest = self._ingest
        ingest.note_relearned()
        told = [
            f"{name} of {deployment!r} {kind.what}: {error!r}"
            for kind in (one.stopped for one in ingest.kinds().values())
            for (deployment, name), error in kind.errors.items()
        ]
        if told:
            more = f"; and {len(told) - _MOST_TOLD} more" if len(told) > _MOST_TOLD else ""
            learns = "What an error stopped learns anew from its rows; an open alert stays open."
            self._failures.add_lasting(STOPPED, f"{'; '.join(told[:_MOST_TOLD])}{more}. {learns}")

    def record_incidents(self) -> Mapping[str, tuple[Incident, ...]]:
        """Write what follows for incidents from the alerts that are recorded; return them by deployment."""
        incidents = self._ingest.incidents.incidents(self._alerts.changes())
        for deployment, mine in incidents.items():
            record = partial(self._ingest.incidents.record, deployment, mine)
            self._failures.attempt(INCIDENTS_RECORDED, record, f"incidents of {deployment!r}")
        return incidents

    def _told(self, readings: Mapping[StreamKey, Reading]) -> Mapping[StreamKey, datetime]:
        """Return when, by the clock, the alerts were first recorded whose pages may be held back."""
        held = {
            alert.alert_id: alert.key
            for alert in self._alerts.active()
            if (reading := readings.get(alert.key)) is not None and reading.page_held_until is not None
        }
        first: dict[StreamKey, datetime] = {}
        for change in self._alerts.changes() if held else ():
            if change.alert_id in held:
                first[change.key] = min(first.get(change.key, recorded_at(change)), recorded_at(change))
        return first

    def _after_holds(self, readings: Mapping[StreamKey, Reading]) -> list[Transition]:
        """Return the pages that a short outage has held back long enough; not while rows are still to be read."""
        return [
            Transition(alert.key, AlertEvent.FIRING, alert.changed_at + _MOMENT, reading, ())
            for alert in self._alerts.active()
            if alert.tier == Tier.WARN
            and alert.details.page_due is None
            and (reading := readings.get(alert.key)) is not None
            if reading.page_held_until is not None and reading.tier == Tier.PAGE
            if self._ingest.is_complete(alert.key.deployment)
        ]

    def _record(self, found: Sequence[Transition], streams: StreamStates, now: datetime, due: Set[str]) -> None:
        """Record what was found and what follows from it, one stage after the other; one that fails stops no other."""
        readings, judgements, alerts = streams.readings, streams.judgements, self._alerts
        judged = [self._with_judgement(one, now) for one in found]
        complete = {name for name in self._ingest.deployments.keys() & due if self._ingest.is_complete(name)}
        newest = self._newest_scores(complete)
        unscored = self._unscored(newest)
        known = {key: reading for key, reading in readings.items() if key in newest and key not in unscored}
        stages: tuple[Callable[[], object], ...] = (
            # With nothing found too: the store still holds what the lake would not take last time.
            partial(alerts.record, judged, now),
            partial(alerts.update_verdicts, judgements, readings, now),
            partial(alerts.raise_overdue, judgements, now),
            partial(alerts.refire, known, judgements, self._ingest.streams.is_worse_since, now),
            partial(alerts.close_obsolete, readings, newest, complete, now, self._ingest.limits.replaced(), unscored),
        )
        for stage in stages:
            self._failures.attempt(ALERTS_RECORDED, stage)

    def _with_judgement(self, transition: Transition, now: datetime) -> Transition:
        """Return a transition with what its alert is to say beside the figures."""
        is_beginning = transition.change == AlertEvent.FIRING
        transition = self._with_onset(transition)
        return replace(
            transition,
            judgement=self._judgement(transition.key, transition.reading),
            failed_parts=self._failed_parts(transition, now) if is_beginning else {},
            around_onset=self._explained(transition, now) if is_beginning else None,
            affected=self._affected(transition, now),
            page_due=self._page_due(transition, now),
        )

    def _newest_scores(self, deployments: Collection[str]) -> Mapping[StreamKey, datetime]:
        """Return the streams of each metric's newest version, with when their newest score was made."""
        return {
            StreamKey(name, metric, scores.version): scores.scored_at
            for name in deployments
            for metric, scores in self._ingest.deployments[name].watched.items()
        }

    def _unscored(self, newest: Mapping[StreamKey, datetime]) -> set[StreamKey]:
        """Return the streams of metrics that are not scored any more, as the application does something else now."""
        classes = self._classes.known
        return {
            key
            for key, scored_at in newest.items()
            if key.deployment in classes and classes[key.deployment].has_ended(key.metric, scored_at)
        }

    def _of_judges(self, last: LastChanges, now: datetime) -> list[LimitChange]:
        found, stopped = self._ingest.limits.look_at_judges(self._judges(now), last), self._ingest.judges.stopped
        # Whether a judge that an error has stopped is as before nobody knows.
        return [one for one in found if one.change == AlertEvent.FIRING or not stopped.of(one.deployment)]

    def _means(self, last: LastChanges, now: datetime) -> Mapping[str, Mapping[str, LowMean]]:
        """Return how means stand to their limits, of complete deployments: else an alert would end.

        One with an open alert has no mean where no metric with a limit is in use any more.
        """
        limits = self._ingest.limits
        low = {
            key: reading.low_mean
            for key, reading in self._computed.items()
            if reading.low_mean is not None and limits.has_mean_limit(key.deployment, key.metric)
        }
        replaced = limits.replaced()
        known = dict(watched_streams(self._ingest.deployments, low, now, replaced))
        for (name, kind), one in last.items():
            state = self._ingest.deployments.get(name)
            if kind == LimitKind.AT_LEAST and one.is_open and state and name not in known:
                used = (
                    metric
                    for metric, scores in state.watched.items()
                    if not scores.is_idle(now, is_replaced=name in replaced)
                )
                if not any(limits.has_mean_limit(name, metric) for metric in used):
                    known[name] = {}
        return {name: mine for name, mine in known.items() if self._ingest.is_complete(name)}

    def _judges(self, now: datetime) -> Mapping[str, Mapping[str, JudgeReading]]:
        """Return what is known of judges, of deployments of which nothing is missing: else an alert would end."""
        replaced = self._ingest.limits.replaced()
        known = watched_streams(self._ingest.deployments, self.judge_readings, now, replaced)
        return {name: mine for name, mine in known.items() if self._ingest.knows_judges(name)}

    def _kept_without_history(self, now: datetime, alert: AlertChange, reading: Reading) -> Reading | None:
        key = alert.key
        learned_at = self._learned_at.get(key.deployment), self._ingest.relearned_at.get(key.of_metric)
        streams, state = self._ingest.streams, self._ingest.deployments.get(key.deployment)
        has_state = all(at is None or recorded_at(alert) >= at for at in learned_at)
        if has_state and not streams.begins_after(key, alert.since or alert.changed_at):
            return None
        # Who marks a release wants it to be compared with what follows.
        if streams.has_release_after(key, recorded_at(alert)):
            return None
        return kept_open(alert, reading, state.watched.get(key.metric) if state else None, now)

    def _failed_parts(self, transition: Transition, now: datetime) -> Mapping[FailedPart, int]:
        state, since = self._ingest.deployments.get(transition.key.deployment), transition.reading.since
        return state.scores.failed_parts(since, min(now, transition.at)) if state and since else {}

    def _with_onset(self, transition: Transition) -> Transition:
        name = transition.key.deployment
        look = partial(self._explainer.with_onset, transition, self._alerts.changes_of(name))
        return self._failures.attempt(CHANGES, look, f"ratings of {name!r}") or transition

    def _explained(self, transition: Transition, now: datetime) -> AroundOnset | None:
        name = transition.key.deployment
        look = partial(
            self._explainer.around, transition, self._alerts.changes_of(name), list(self._ingest.deployments)
        )
        return self._failures.attempt(CHANGES, partial(look, now), f"log of {name!r}")

    def _affected(self, transition: Transition, now: datetime) -> AffectedCounts | None:
        name = transition.key.deployment
        count = partial(self._explainer.affected, transition, self._alerts.changes_of(name), now)
        counts = self._failures.attempt(CHANGES, count, f"log of {name!r}")
        if counts is None or not counts.requests or transition.change == AlertEvent.RESOLVED:
            return counts
        compare = partial(self._explainer.standing_out, transition, now)
        found = self._failures.attempt(CHANGES, compare, f"worst answers of {name!r}")
        refusals = self._failures.attempt(
            CHANGES, partial(self._explainer.refusals, transition, now), f"answers of {name!r}"
        )
        return msgspec.structs.replace(counts, stands_out=found or (), refusals=refusals)

    def _page_due(self, transition: Transition, now: datetime) -> datetime | None:
        """Return until when a page may wait; None where no anchors can decide what changed."""
        can_decide = self._failures.attempt(JUDGES, lambda: self._ingest.judges.can_compare(transition.key))
        return now + self._judge_wait if can_decide and self._judge_wait else None

    def _judgement(self, key: StreamKey, reading: Reading) -> Judgement:
        """Say what has changed; undecided, which may be decided later, where that fails: the alert must not wait."""
        what = f"{key.metric} of {key.deployment!r}"
        return self._failures.attempt(JUDGES, lambda: self._judged(key, reading), what) or UNDECIDED

    def _judged(self, key: StreamKey, reading: Reading) -> Judgement:
        state = self._ingest.deployments.get(key.deployment)
        metric = state.watched.get(key.metric) if state else None
        if metric is not None and not can_drift(metric.judge) and metric.version == key.metric_version:
            return MEASURED
        since = reading.since_latest or reading.since
        return judgement_of(reading, self._ingest.judges.shift(key, since) if since else None)
