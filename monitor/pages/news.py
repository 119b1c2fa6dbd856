"""News of all deployments: their regressions and the limits that they exceeded, from a snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from lake.spec.alert_vocabulary import AlertEvent
from lake.spec.metric_names import quoted_name
from monitor.alerting.alerts.broken_tool import what_changed
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.incidents.incident import Incident
from monitor.alerting.incidents.related import Related
from monitor.detect.limits import LimitReading
from monitor.detect.regression import UNDECIDED, Judgement, Reading, Status
from monitor.notify.texts.alert import summary, with_affected
from monitor.notify.texts.onset import incident_onset
from monitor.pages.times import Times
from monitor.service.snapshot import DeploymentState, Snapshot

_LATELY = timedelta(days=1)


@dataclass(frozen=True)
class ActiveRegression:
    """A regression that has not ended."""

    deployment: str
    metric: str
    reading: Reading
    judgement: Judgement
    fired: tuple[AlertChange, ...] = ()
    """The alerts of its metric in the deployment's open incident, as they fired."""
    told: AlertChange | None = None
    """The one of them that fires, whose figures are told everywhere; None where there is none."""

    @property
    def what_changed(self) -> str:
        """The judgement in words; where a tool alone is broken it says which."""
        return what_changed(self.judgement.verdict, self.fired)

    @property
    def reference(self) -> float | None:
        """Mean of the reference, of `means_of_fall`."""
        return means_of_fall(self.reading, self.told)[0]

    @property
    def mean(self) -> float | None:
        """Mean since it began, of `means_of_fall`."""
        return means_of_fall(self.reading, self.told)[1]

    @property
    def rose(self) -> bool:
        """Whether higher is worse, and so it rose."""
        return self.reading.lower_is_better

    @property
    def is_of_part(self) -> bool:
        """Whether only a segment got worse, as the mean of all did not."""
        reference = self.reference
        rose = self.mean is not None and reference is not None and self.mean > reference
        return self.reading.most_worsened is not None and rose is not self.rose


@dataclass(frozen=True)
class WorseDeployment:
    """What got worse in a deployment: a sentence for its open incident, and its regressions, at least one.

    `sentence` is that of the messages, of the first alert that fires, a page before a warning; None without an
    incident.
    """

    deployment: str
    incident_id: str | None
    sentence: str | None
    regressions: tuple[ActiveRegression, ...]

    @property
    def fell(self) -> bool:
        """Whether a metric got worse, not only its scores of new traffic."""
        return any(one.reading.new_class is None for one in self.regressions)


@dataclass(frozen=True)
class EndedIncident:
    """An incident that is over: from when to when it was bad, and when its last alert was closed.

    `back_at` is None where nobody can tell whether quality is back.
    """

    incident_id: str
    since: datetime
    back_at: datetime | None
    closed_at: datetime


@dataclass(frozen=True)
class MetricNews:
    """What got worse, and how many metrics are watched; deployments with the most requests first."""

    worse: tuple[WorseDeployment, ...]
    exceeded: tuple[tuple[AlertChange, LimitReading | None], ...]
    """Limits that are exceeded, and how they stand now."""
    watching: int
    learning: int
    stopped: int


def news_of(snapshot: Snapshot) -> MetricNews:
    """Return what got worse in the deployments of a snapshot."""
    ordered = sorted(snapshot.deployments.items(), key=lambda item: (-item[1].requests.total, item[0]))
    readings = [reading for _, state in ordered for reading in state.readings.values()]
    return MetricNews(
        worse=tuple(one for name, state in ordered for one in worse_deployments(name, state)),
        exceeded=tuple((c, _limit_of(c, state)) for _, state in ordered for c in state.exceeded),
        watching=sum(reading.status is Status.WATCHING for reading in readings),
        learning=sum(reading.status is Status.LEARNING for reading in readings),
        stopped=sum(
            len(one) for _, state in ordered for one in (state.stopped, state.stopped_judges, state.stopped_limits)
        ),
    )


def open_incident(state: DeploymentState) -> Incident | None:
    """Return the incident of a deployment that is open."""
    return next((one for one in state.incidents if one.ended_at is None), None)


def just_ended(state: DeploymentState, now: datetime) -> EndedIncident | None:
    """Return the incident of a deployment that ended last, if that was within a day and none is open."""
    if open_incident(state) is not None:
        return None
    ended = [
        EndedIncident(one.incident_id, incident_onset(one), one.back_at, one.ended_at)
        for one in state.incidents
        if one.ended_at is not None and now - one.ended_at < _LATELY
    ]
    return max(ended, key=lambda one: one.closed_at, default=None)


def also_of(snapshot: Snapshot | None, incident_id: str | None) -> tuple[Related, ...]:
    """Return the incidents that may have the same cause as one that is open."""
    mine = next((one for one in snapshot.open_incidents if one.incident_id == incident_id), None) if snapshot else None
    return snapshot.related_to(mine) if snapshot and mine else ()


def sentence_of(incident: Incident) -> str:
    """Say in a line what an incident is: the sentence of its foremost alert, and who is affected.

    Who that is was counted lately, or, where that is not known, when the alert was told.
    """
    foremost = incident.foremost
    if incident.affected_now is None or incident.counted_at is None:
        return summary(foremost)
    return with_affected(foremost, incident.affected_now, incident.counted_at)


def reading_of(change: AlertChange, state: DeploymentState) -> Reading | None:
    """Return how the metric of an alert stands now; None where that version of it is not watched."""
    stats = state.watched.get(change.key.metric)
    if stats is None or stats.version != change.key.metric_version:
        return None
    return state.readings.get(change.key.metric)


def told_alert(metric: str, state: DeploymentState) -> AlertChange | None:
    """Return the alert that fires of a metric's present version, with a mean; None where there is none."""
    incident, stats = open_incident(state), state.watched.get(metric)
    if incident is None or stats is None:
        return None
    of_metric = (one for one in incident.alerts if one.key.metric == metric)
    return next(
        (
            one
            for one in of_metric
            if one.change == AlertEvent.FIRING
            and one.key.metric_version == stats.version
            and one.current_mean is not None
        ),
        None,
    )


def means_of_fall(reading: Reading, told: AlertChange | None) -> tuple[float | None, float | None]:
    """Return the mean of the reference and the mean since a fall, both by the alert that tells it.

    Without one both are of the reading as it is now; of its whole window where no conversation is left since the fall.
    """
    if told is not None:
        return told.reference_mean, told.current_mean
    return reading.reference_mean, reading.mean if reading.since_mean is None else reading.since_mean


def fall_in_brief(metric: str, reading: Reading, state: DeploymentState, times: Times) -> str:
    """Say what happened first, so that a long name never cuts it: fell 0.93 to 0.21 since 20 Nov: “facts found”.

    The means are those of `means_of_fall`.
    """
    before, after = means_of_fall(reading, told_alert(metric, state))
    since = f" since {times.brief_moment(reading.since)}" if reading.since else ""
    if reading.new_class is not None or before is None or after is None:
        return f"got worse{since}: {quoted_name(metric)}"
    verb = "rose" if reading.lower_is_better else "fell"
    return f"{verb} {before:.2f} to {after:.2f}{since}: {quoted_name(metric)}"


def worse_deployments(name: str, state: DeploymentState) -> Iterator[WorseDeployment]:
    """Yield the deployment with its regressions that have not ended; nothing where there are none."""
    incident = open_incident(state)
    fired = incident.fired if incident else ()
    regressed = tuple(
        ActiveRegression(
            name,
            metric,
            reading,
            state.judgements.get(metric, UNDECIDED),
            tuple(one for one in fired if one.key.metric == metric),
            told_alert(metric, state),
        )
        for metric, reading in state.readings.items()
        if reading.status is Status.REGRESSED
    )
    if regressed:
        yield WorseDeployment(
            name,
            incident.incident_id if incident else None,
            sentence_of(incident) if incident else None,
            regressed,
        )


def _limit_of(change: AlertChange, state: DeploymentState) -> LimitReading | None:
    return next((reading for kind, reading in state.limits.items() if kind == change.key.metric), None)
