"""Contents of a deployment's page, and what got worse in all deployments, made from a snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from lake import AlertEvent, Floor, Signal, asks_llm
from monitor.alerts.change import AlertChange
from monitor.floors import REFUSAL, FloorReading
from monitor.pages.charts.small import TimeAxis, axis_of, bars, height_of, line
from monitor.regression import UNDECIDED, Judgement, JudgeReading, Reading, Scale, Status, StreamKey
from monitor.snapshot import DeploymentState, Snapshot
from monitor.stats.scores import MetricStats
from monitor.stats.timeline import Timeline


@dataclass(frozen=True)
class MetricRow:
    """One metric of a deployment. `trend` is path data; `reference_height` stands in the same chart."""

    metric: str
    reading: Reading | None
    version: str
    judge: str | None
    scale: Scale | None
    trend: str
    reference_height: float | None
    anchors: JudgeReading | None
    judgement: Judgement
    stopped: str | None
    """The error for which it is no longer watched."""
    idle_since: datetime | None
    """When the last score was made, where that is too long ago for it to be watched."""

    @property
    def can_be_watched(self) -> bool:
        """Whether a detector knows what would be worse."""
        return self.scale is not None

    @property
    def tenth(self) -> float:
        """A tenth of the metric's range."""
        return abs(self.scale.best - self.scale.worst) / 10 if self.scale else 0.0

    @property
    def mix(self) -> float | None:
        """What another mix of traffic has changed the mean by; None where that is less than a 50th of the range."""
        mix = self.reading.mix if self.reading else None
        return mix if mix is not None and abs(mix) >= self.tenth / 5 else None

    @property
    def regressed(self) -> bool:
        """Whether a regression is active."""
        return self.reading is not None and self.reading.status is Status.REGRESSED


@dataclass(frozen=True)
class Card:
    """One deployment."""

    name: str
    state: DeploymentState
    rows: tuple[MetricRow, ...]
    answers: str
    busiest: int

    @property
    def regressions(self) -> tuple[ActiveRegression, ...]:
        """Those that have not ended."""
        return tuple(_regressions(self.name, self.state))

    @property
    def worst(self) -> Sequence[AlertChange]:
        """The newest change of each alert that fires and names answers."""
        newest: dict[StreamKey, AlertChange] = {}
        for change in self.state.changes:
            newest.setdefault(change.key, change)
        return [one for one in newest.values() if one.change == AlertEvent.FIRING and one.details.worst]

    @property
    def not_measured(self) -> Mapping[Floor, str]:
        """Limits of what nothing measures, and why."""
        metrics = self.state.scores.metrics
        found: dict[Floor, str] = {}
        if REFUSAL not in metrics:
            found[Floor.REFUSALS] = f"no score of the metric {REFUSAL}"
        if not any(asks_llm(scores.judge) for scores in metrics.values()):
            found[Floor.UNSCORED] = "no score of a judge"
        return found

    @property
    def urgent(self) -> bool:
        """Whether any metric has an active regression, or a limit is passed."""
        return bool(self.regressions or self.state.passed)

    @property
    def other_signals(self) -> Mapping[str, int]:
        """All signals that are neither a like nor a dislike."""
        signals = self.state.requests.signals
        return {name: number for name, number in signals.items() if name not in (Signal.LIKE, Signal.DISLIKE)}


@dataclass(frozen=True)
class ActiveRegression:
    """A regression that has not ended."""

    deployment: str
    metric: str
    reading: Reading
    judgement: Judgement

    @property
    def mean(self) -> float | None:
        """Mean since the regression began, or of the whole window where no conversation is left from then."""
        return self.reading.mean if self.reading.since_mean is None else self.reading.since_mean

    @property
    def rose(self) -> bool:
        """Whether higher is worse, and so it rose."""
        return self.reading.lower_is_better

    @property
    def is_of_part(self) -> bool:
        """Whether only a segment got worse, as the mean of all did not."""
        reference = self.reading.reference_mean
        rose = self.mean is not None and reference is not None and self.mean > reference
        return self.reading.most_worsened is not None and rose is not self.rose

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """95 % interval of `mean`."""
        if self.reading.since_mean is None:
            return self.reading.mean_lower, self.reading.mean_upper
        return self.reading.since_lower, self.reading.since_upper


@dataclass(frozen=True)
class News:
    """What got worse, and how many metrics are watched; deployments with the most requests first."""

    regressions: tuple[ActiveRegression, ...]
    passed: tuple[tuple[AlertChange, FloorReading | None], ...]
    """Limits that are passed, and how they stand now."""
    watching: int
    learning: int
    stopped: int


def news_of(snapshot: Snapshot) -> News:
    """Give what got worse in the deployments of a snapshot."""
    ordered = sorted(snapshot.deployments.items(), key=lambda item: (-item[1].requests.total, item[0]))
    readings = [reading for _, state in ordered for reading in state.readings.values()]
    return News(
        regressions=tuple(one for name, state in ordered for one in _regressions(name, state)),
        passed=tuple((c, _floor_of(c, state)) for _, state in ordered for c in state.passed),
        watching=sum(reading.status is Status.WATCHING for reading in readings),
        learning=sum(reading.status is Status.LEARNING for reading in readings),
        stopped=sum(len(state.stopped) for _, state in ordered),
    )


def card_of(name: str, state: DeploymentState) -> tuple[Card, TimeAxis | None]:
    """Work out the card of one deployment alone, and the axis of its charts."""
    axis = axis_of(_timelines({name: state}))
    return _card(name, state, axis), axis


def _regressions(name: str, state: DeploymentState) -> Iterator[ActiveRegression]:
    for metric, reading in state.readings.items():
        if reading.status is Status.REGRESSED:
            yield ActiveRegression(name, metric, reading, state.judgements.get(metric, UNDECIDED))


def _floor_of(change: AlertChange, state: DeploymentState) -> FloorReading | None:
    return next((reading for floor, reading in state.floors.items() if floor == change.key.metric), None)


def _timelines(deployments: Mapping[str, DeploymentState]) -> Iterator[Timeline]:
    for state in deployments.values():
        yield state.requests.answers_over_time
        for scores in state.watched.values():
            yield scores.values_over_time


def _card(name: str, state: DeploymentState, axis: TimeAxis | None) -> Card:
    answers = [weight for weight, _ in axis.sums(state.requests.answers_over_time)] if axis else []
    rows = tuple(_row(metric, scores, state, axis) for metric, scores in state.watched.items())
    return Card(name, state, rows, bars(answers), int(max(answers, default=0)))


def _row(metric: str, scores: MetricStats, state: DeploymentState, axis: TimeAxis | None) -> MetricRow:
    sums = axis.sums(scores.values_over_time) if axis else []
    reading = state.readings.get(metric)
    reference = reading.reference_mean if reading else None
    return MetricRow(
        metric=metric,
        reading=reading,
        version=scores.version,
        judge=scores.judge,
        scale=scores.scale,
        trend=line([value / weight if weight else None for weight, value in sums]),
        reference_height=None if reference is None else height_of(reference),
        anchors=state.judges.get(metric),
        judgement=state.judgements.get(metric, UNDECIDED),
        stopped=state.stopped.get(metric),
        idle_since=state.idle.get(metric),
    )
