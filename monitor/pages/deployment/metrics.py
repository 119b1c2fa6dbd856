"""Metrics of a deployment over a period, problems first, each with its chart."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from lake.spec.alert_vocabulary import Tier
from lake.spec.metric_names import metric_name
from monitor.detect.regression import UNDECIDED, Judgement, JudgeReading, Reading, Scale, Status
from monitor.detect.stats.means import Mean, mean_of
from monitor.detect.stats.scores import MetricStats
from monitor.notify.texts.onset import likely_onset
from monitor.pages.charts import ChartOnset, Drawing, Point, TimeChart, draw
from monitor.pages.deployment.marks import marks_of
from monitor.pages.filters import first_capital, score, whole
from monitor.pages.period import PagePeriod
from monitor.service.snapshot import Snapshot
from runtime.durations import duration

BAND = "mean ± 1.96 standard errors over scores"
_LEAST_SPAN = 0.1
"""Of the metric's range: noise must not fill the chart."""


@dataclass(frozen=True)
class MetricView:
    """One metric: `mean` is that of the period, `reading` what its detector knows now.

    `since_mean` is the mean of the scores since a regression that is active; None where there is none.
    """

    metric: str
    version: str
    judge: str | None
    scale: Scale | None
    mean: Mean | None
    since_mean: Mean | None
    reading: Reading | None
    anchors: JudgeReading | None
    judgement: Judgement
    stopped: str | None
    """The error for which it is not watched."""
    judge_stopped: str | None
    """The error for which its judge is not watched."""
    idle_since: datetime | None
    """When the last score was made, where that is too long ago for it to be watched."""
    power: str
    drawing: Drawing

    @property
    def can_be_watched(self) -> bool:
        """Whether a detector knows what would be worse."""
        return self.scale is not None

    @property
    def tenth(self) -> float:
        """A tenth of the metric's range."""
        return abs(self.scale.best - self.scale.worst) / 10 if self.scale else 0.0

    @property
    def worsening(self) -> str:
        """Word for a change to the worse."""
        return _worsening(self.scale) if self.scale else "drop"

    @property
    def mix(self) -> float | None:
        """What another mix of traffic has changed the mean by; None where that is less than a 50th of the range."""
        mix = self.reading.mix if self.reading else None
        return mix if mix is not None and abs(mix) >= self.tenth / 5 else None

    @property
    def regressed(self) -> bool:
        """Whether a regression is active."""
        reading = self.reading
        return reading is not None and reading.status is Status.REGRESSED and reading.new_class is None

    @property
    def change(self) -> float | None:
        """Mean of the period less the reference; None where either is not known."""
        reference = self.reading.reference_mean if self.reading else None
        return None if self.mean is None or reference is None else self.mean.value - reference

    @property
    def worse_by(self) -> float:
        """Part of the range by which the mean is worse than the reference; below 0 where better."""
        if self.change is None or self.scale is None:
            return 0.0
        return -self.change / (self.scale.best - self.scale.worst)

    @property
    def order(self) -> tuple[bool, bool, bool, bool, bool, float, str]:
        """Problems first, urgent ones before others, then what stands worst; last what is not scored any more."""
        drifted, is_idle = self.anchors is not None and self.anchors.active, self.idle_since is not None
        is_urgent = self.regressed and self.reading is not None and self.reading.tier == Tier.PAGE
        return (
            not is_urgent,
            not self.regressed,
            self.stopped is None,
            not drifted,
            is_idle,
            -self.worse_by,
            self.metric,
        )


def metrics_of(name: str, snapshot: Snapshot, period: PagePeriod) -> tuple[MetricView, ...]:
    """Return all metrics of a deployment that have scores, problems first.

    Not those that are not scored any more, and have no score in the period, since the application has another class.
    """
    decided = snapshot.classes.get(name)
    found = [
        _view(name, metric, scores, snapshot, period, f"metric-{number}")
        for number, (metric, scores) in enumerate(snapshot.deployments[name].watched.items(), 1)
    ]
    shown = (
        one
        for one in found
        if decided is None
        or one.mean is not None
        or one.idle_since is None
        or not decided.has_ended(one.metric, one.idle_since)
    )
    return tuple(sorted(shown, key=lambda one: one.order))


def _view(name: str, metric: str, scores: MetricStats, snapshot: Snapshot, period: PagePeriod, key: str) -> MetricView:
    state = snapshot.deployments[name]
    reading = state.readings.get(metric)
    since = likely_onset(reading) if reading and reading.status is Status.REGRESSED else None
    return MetricView(
        metric=metric,
        version=scores.version,
        judge=scores.judge,
        scale=scores.scale,
        mean=mean_of(scores.means_by_time.total(period.first, period.last)),
        since_mean=None if since is None else period.mean_since(scores.means_by_time, since),
        reading=reading,
        anchors=state.judges.get(metric),
        judgement=state.judgements.get(metric, UNDECIDED),
        stopped=state.stopped.get(metric),
        judge_stopped=state.stopped_judges.get(metric),
        idle_since=state.idle.get(metric),
        power=power_words(reading, scores.scale),
        drawing=draw(_chart(name, metric, scores, reading, snapshot, period, key)),
    )


def _chart(
    name: str,
    metric: str,
    scores: MetricStats,
    reading: Reading | None,
    snapshot: Snapshot,
    period: PagePeriod,
    key: str,
) -> TimeChart:
    scale = scores.scale
    bounds = None if scale is None else (min(scale.worst, scale.best), max(scale.worst, scale.best))
    slots = scores.means_by_time.by_slot(period.first, period.last, period.slot_hours).tolist()
    is_learning = reading is not None and reading.status is Status.LEARNING
    return TimeChart(
        key=key,
        name=first_capital(metric_name(metric)),
        begin=period.begin,
        slot=period.slot,
        points=[_point(mean_of(sums), bounds) for sums in slots],
        counted="scores",
        band=BAND,
        reference=reading.reference_mean if reading else None,
        reference_name="reference so far" if is_learning else "reference",
        least_span=0.0 if bounds is None else _LEAST_SPAN * (bounds[1] - bounds[0]),
        bounds=bounds,
        marks=marks_of(name, metric, snapshot, period),
        onset=_onset(reading, period),
        is_bad=reading is not None and reading.status is Status.REGRESSED,
    )


def _point(mean: Mean | None, bounds: tuple[float, float] | None) -> Point:
    if mean is None:
        return Point(None)
    low, high = mean.interval or (None, None)
    if bounds and low is not None and high is not None:
        low, high = max(low, bounds[0]), min(high, bounds[1])
    return Point(mean.value, low, high, mean.number)


def _onset(reading: Reading | None, period: PagePeriod) -> ChartOnset | None:
    """Return where a drop began, unless that was before the period."""
    if reading is None or reading.status is not Status.REGRESSED:
        return None
    earliest, latest = reading.since_earliest or reading.since, reading.since_latest or reading.since
    if earliest is None or latest is None or latest < period.begin or earliest > period.end + timedelta(hours=1):
        return None
    return ChartOnset(likely_onset(reading), earliest, latest)


def power_words(reading: Reading | None, scale: Scale | None) -> str:
    """Say after how many conversations, and how long, such a drop is seen, or why that is not known."""
    if reading is None or scale is None:
        return "Not watched: no drop of it is seen."
    drop = f"{_worsening(scale)} of {abs(scale.best - scale.worst) / 20:.3g}"
    if reading.status is Status.LEARNING:
        until = f", in about {duration(reading.learning_left)}" if reading.learning_left else ""
        return f"Until the reference is learned{until}, no {drop} is seen; a larger fall before is told then."
    if reading.status is Status.REGRESSED:
        return f"How soon a {drop} is seen is known again once the regression is over."
    if not reading.can_fire:
        return f"Too bad to get worse: no {drop} is seen."
    if reading.small_conversations is None or reading.small_delay is None:
        return f"A {drop} is too small to be told from chance: it would not be seen. {_larger(reading, scale)}"
    number = _rounded(reading.small_conversations)
    return (
        f"A {drop} is seen after about {whole(number)} conversation{'s' if number != 1 else ''}: "
        f"at the present traffic about {duration(reading.small_delay)}."
    )


def _worsening(scale: Scale) -> str:
    return "rise" if scale.is_reversed else "drop"


def _larger(reading: Reading, scale: Scale) -> str:
    word = _worsening(scale)
    if reading.smallest_drop is not None:
        return f"The smallest {word} that would be seen within a week is about {reading.smallest_drop:.2g}."
    if reading.delay is not None:
        tenth = score(abs(scale.best - scale.worst) / 10)
        return f"No {word} would be seen within a week; one of {tenth} takes about {duration(reading.delay)}."
    return f"At the present traffic no {word} would be seen within a week."


def _rounded(number: float) -> int:
    """Two digits: it is a rule of thumb."""
    return max(1, int(float(f"{number:.2g}")))
