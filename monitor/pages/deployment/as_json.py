"""The page of a deployment as JSON: instants are ISO 8601 in UTC, shares from 0 to 1, points of charts as drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from lake.queries.application_classes import DecidedClass
from lake.spec.alert_vocabulary import AlertEvent, OnsetKind, Tier
from lake.spec.application_classes import ApplicationClass
from lake.spec.schemas import deployment_of
from monitor.alerting.alerts.change import AlertChange
from monitor.detect.limits import LimitReading
from monitor.detect.regression import Reading, SegmentChange, Status
from monitor.detect.stats.client_traffic import Burst
from monitor.detect.stats.unjoined_signals import UnjoinedCounts
from monitor.notify.texts.alert import summary
from monitor.pages.charts import Drawing, MarkKind
from monitor.pages.deployment.failures import FailureCount
from monitor.pages.deployment.judges import Judges
from monitor.pages.deployment.metrics import BAND, MetricView
from monitor.pages.deployment.tools import ToolCount
from monitor.pages.deployment.view import DeploymentView, Totals


@dataclass(frozen=True)
class PointData:
    """One slot of a chart from `since` on: its value and 95 % interval, and how many things it is of."""

    since: datetime
    value: float | None
    low: float | None
    high: float | None
    number: int


@dataclass(frozen=True)
class MarkData:
    """An alert, a release, a changed setting or a silence in a chart."""

    kind: MarkKind
    at: datetime
    until: datetime | None
    text: str


@dataclass(frozen=True)
class LatestConversations:
    """What the detector has in its window; `since` is when a drop began, `since_mean` the mean as it is then.

    `onset` is how it began; if it recurs, `onset_hours` are from and until which hour of the day (UTC).
    `older_version` is the deployment, an older version, whose reference it began with. `while_learning` says that the
    drop began while the reference was learned; then `reference` is the mean before it. `marked_release` is when a
    release was marked, if `reference` is the mean before that.
    """

    conversations: int
    mean: float | None
    low: float | None
    high: float | None
    since: datetime | None
    since_earliest: datetime | None
    since_latest: datetime | None
    onset: OnsetKind | None
    onset_hours: tuple[int, int] | None
    older_version: str | None
    marked_release: datetime | None
    while_learning: bool
    since_mean: float | None
    segments: Sequence[SegmentChange]


@dataclass(frozen=True)
class MetricData:
    """A metric over the period. `small_drop` is a twentieth of its range, and what it takes to be seen.

    `limit` is the worst mean that is accepted, if somebody has set one.
    """

    metric: str
    version: str
    judge: str | None
    status: Status | None
    tier: Tier | None
    scores: int
    mean: float | None
    interval: tuple[float, float] | None
    interval_is: str
    reference: float | None
    limit: float | None
    limit_exceeded: bool
    latest: LatestConversations | None
    small_drop: float | None
    small_drop_conversations: float | None
    small_drop_seconds: float | None
    stopped: str | None
    idle_since: datetime | None
    points: Sequence[PointData]
    marks: Sequence[MarkData]


@dataclass(frozen=True)
class CoverageData:
    """A metric that asks a judge: its scored answers of the period, how many answers there were, and their share."""

    metric: str
    judge: str
    scored: int
    answers: int
    share: float | None


@dataclass(frozen=True)
class JudgesData:
    """What judges were asked; `costs` is by judge, over the period."""

    metrics: Sequence[CoverageData]
    costs: Mapping[str, float]
    cost: Sequence[PointData]


@dataclass(frozen=True)
class SilenceData:
    """A silence that holds back now; null is every deployment, or every metric."""

    deployment: str | None
    metric: str | None
    until: datetime
    comment: str


@dataclass(frozen=True)
class WorstAnswerData:
    """An answer to look at first."""

    response_id: str
    value: float


@dataclass(frozen=True)
class AlertData:
    """A change of an alert."""

    alert_id: str
    metric: str
    change: AlertEvent
    changed_at: datetime
    since: datetime | None
    pages: bool
    summary: str
    worst: Sequence[WorstAnswerData]


@dataclass(frozen=True)
class ClassData:
    """What the application does, by its answers of 7 days, and since when which metrics are scored for that."""

    classes: Sequence[ApplicationClass]
    metrics: Sequence[str]
    chosen_by_the_configuration: bool
    why: str
    since: datetime
    decided_at: datetime
    answers: int
    with_contexts: int
    with_tool_calls: int
    media: int


@dataclass(frozen=True)
class FailureData:
    """How many of what failed, and why; `share` is null where there is nothing that could fail, or nothing is known."""

    kind: str
    reason: str
    number: int | None
    share: float | None
    of: str


@dataclass(frozen=True)
class DeploymentData:
    """A deployment over a period; null for the calls that name none.

    `application_class` is null as long as it is not known.
    """

    deployment: str | None
    days: int
    since: datetime
    until: datetime
    totals: Totals
    traffic: Sequence[PointData]
    application_class: ClassData | None
    metrics: Sequence[MetricData]
    failures: Sequence[FailureData]
    tools: Sequence[ToolCount]
    failed_percent: Sequence[PointData]
    judges: JudgesData
    limits: Mapping[str, LimitReading]
    signals_since_the_lake_began: Mapping[str, int]
    unjoined_signals: UnjoinedCounts | None
    silences: Sequence[SilenceData]
    alerts: Sequence[AlertData]
    bursts: Sequence[Burst]
    """Clients that send many times their usual; without a name for who may not read texts."""


def data_of(view: DeploymentView) -> DeploymentData:
    """Return all figures of the page."""
    period, state = view.period, view.state
    return DeploymentData(
        deployment=deployment_of(view.name),
        days=int(period.days),
        since=period.begin,
        until=period.end,
        totals=view.totals,
        traffic=_points(view.traffic),
        application_class=None if view.decided is None else _class(view.decided),
        metrics=[_metric(one) for one in view.metrics],
        failures=[_failure(one) for one in view.failures.kinds],
        tools=view.tools,
        failed_percent=_points(view.failures.drawing),
        judges=_judges(view.judges),
        limits={kind.value: reading for kind, reading in state.limits.items()},
        signals_since_the_lake_began=state.requests.signals,
        unjoined_signals=view.unjoined,
        silences=[SilenceData(one.deployment, one.metric, one.until, one.comment) for one in view.silences],
        alerts=[_alert(change) for change in state.changes],
        bursts=view.bursts,
    )


def _class(decided: DecidedClass) -> ClassData:
    return ClassData(
        classes=decided.classes,
        metrics=decided.metrics,
        chosen_by_the_configuration=decided.is_chosen,
        why=decided.why,
        since=decided.since,
        decided_at=decided.decided_at,
        **asdict(decided.seen),
    )


def _failure(found: FailureCount) -> FailureData:
    reason = found.reason if found.status is None else f"status {found.status}"
    return FailureData(found.kind, reason, found.number, found.share, found.of)


def _judges(found: Judges) -> JudgesData:
    metrics = [CoverageData(one.metric, one.judge, one.scored, one.answers, one.share) for one in found.metrics]
    return JudgesData(metrics, found.costs, _points(found.cost) if found.cost else [])


def _metric(view: MetricView) -> MetricData:
    reading, mean = view.reading, view.mean
    low = reading.low_mean if reading else None
    delay = reading.small_delay if reading else None
    return MetricData(
        metric=view.metric,
        version=view.version,
        judge=view.judge,
        status=reading.status if reading else None,
        tier=reading.tier if reading else None,
        scores=mean.number if mean else 0,
        mean=mean.value if mean else None,
        interval=mean.interval if mean else None,
        interval_is=BAND,
        reference=reading.reference_mean if reading else None,
        limit=low.limit if low else None,
        limit_exceeded=low is not None and low.is_on,
        latest=_latest(reading) if reading else None,
        small_drop=None if view.scale is None else abs(view.scale.best - view.scale.worst) / 20,
        small_drop_conversations=reading.small_conversations if reading else None,
        small_drop_seconds=delay.total_seconds() if delay else None,
        stopped=view.stopped,
        idle_since=view.idle_since,
        points=_points(view.drawing),
        marks=[MarkData(one.kind, one.at, one.until, one.text) for one in view.drawing.chart.marks],
    )


def _latest(reading: Reading) -> LatestConversations:
    return LatestConversations(
        conversations=reading.observations,
        mean=reading.mean,
        low=reading.mean_lower,
        high=reading.mean_upper,
        since=reading.since,
        since_earliest=reading.since_earliest,
        since_latest=reading.since_latest,
        onset=reading.onset,
        onset_hours=reading.onset_hours,
        older_version=reading.older_version,
        marked_release=reading.marked_release,
        while_learning=reading.while_learning,
        since_mean=reading.since_mean,
        segments=reading.segments,
    )


def _points(drawing: Drawing) -> list[PointData]:
    chart = drawing.chart
    return [PointData(since=chart.begin_of(place), **asdict(point)) for place, point in enumerate(chart.points)]


def _alert(change: AlertChange) -> AlertData:
    return AlertData(
        alert_id=change.alert_id,
        metric=change.key.metric,
        change=AlertEvent(change.change),
        changed_at=change.changed_at,
        since=change.since,
        pages=change.pages,
        summary=summary(change),
        worst=[WorstAnswerData(one.response_id, one.value) for one in change.details.worst],
    )
