"""The metric of a deployment that stands worst against its reference, with its trend over a period."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from monitor.alerting.alerts.change import is_page
from monitor.detect.regression import UNDECIDED, Reading, Scale, Status
from monitor.detect.stats.means import mean_of
from monitor.detect.stats.period_sums import PeriodSums
from monitor.detect.stats.scores import MetricStats
from monitor.notify.texts.onset import likely_onset
from monitor.pages.charts.small import height_of, line
from monitor.pages.news import told_alert
from monitor.pages.period import PagePeriod
from monitor.service.snapshot import DeploymentState


@dataclass(frozen=True)
class WorstMetric:
    """The metric that stands worst against its reference; `mean` and `trend` are of the period, None without a score.

    `worse_by` is the part of the metric's range by which the mean is worse than the reference, below 0 where better.
    """

    metric: str
    reference: float
    mean: float | None
    worse_by: float
    is_regressed: bool
    is_learning: bool
    trend: Trend | None
    lower_is_better: bool = False
    since_mean: float | None = None
    """Mean of the scores since a regression began, from the first whole hour on; None without one."""
    told_mean: float | None = None
    """The mean since it began by its alert; None without one."""
    latest_mean: float | None = None
    """Mean of the latest conversations, which the state is of; None where a regression is told."""
    is_page: bool = False
    """Whether its regression is urgent."""
    since: datetime | None = None
    """When its regression began; None without one."""

    @property
    def change(self) -> float | None:
        """Mean of the period less the reference."""
        return None if self.mean is None else self.mean - self.reference

    @property
    def change_words(self) -> str:
        """The change with its sign, and without one where it is nothing."""
        words = f"{self.change or 0:+.2f}"
        return words[1:] if words in ("+0.00", "-0.00") else words


def worst_of(deployment: DeploymentState, period: PagePeriod) -> WorstMetric | None:
    """Return the regressed metric that fell most, of urgent ones if there are any; else the one that stands worst."""
    watched = deployment.watched
    found = [
        one
        for metric, reading in deployment.readings.items()
        if (one := _standing(metric, reading, deployment, period)) is not None
    ]
    worst = max(
        found, key=lambda one: (one.is_regressed, one.is_page, one.mean is not None, one.worse_by), default=None
    )
    return worst and _with_trend(worst, watched[worst.metric], period)


def _standing(metric: str, reading: Reading, deployment: DeploymentState, period: PagePeriod) -> WorstMetric | None:
    scores = deployment.watched[metric]
    reference, scale = reading.reference_mean, scores.scale
    if reference is None or scale is None:
        return None
    found = mean_of(scores.means_by_time.total(period.first, period.last))
    mean = None if found is None else found.value
    worse_by = 0.0 if mean is None else float(scale.quality(reference) - scale.quality(mean))
    is_regressed, is_learning = reading.status is Status.REGRESSED, reading.status is Status.LEARNING
    since = likely_onset(reading) if is_regressed else None
    found_since = period.mean_since(scores.means_by_time, since) if since and reading.new_class is None else None
    since_mean = None if found_since is None else found_since.value
    verdict = deployment.judgements.get(metric, UNDECIDED).verdict
    told = told_alert(metric, deployment) if is_regressed else None
    return WorstMetric(
        metric, reference, mean, worse_by, is_regressed, is_learning, None, reading.lower_is_better, since_mean,
        latest_mean=None if is_regressed else reading.mean, is_page=is_regressed and is_page(reading.tier, verdict),
        since=since, told_mean=told.current_mean if told else None,
    )  # fmt: skip


def _with_trend(worst: WorstMetric, scores: MetricStats, period: PagePeriod) -> WorstMetric:
    if scores.scale is None:
        return worst
    return replace(worst, trend=trend_of(scores.means_by_time, worst.reference, scores.scale, period))


_LEAST_HEIGHT = 0.1
"""Of the metric's range: noise must not fill the chart."""


@dataclass(frozen=True)
class Trend:
    """Path data of the line, the height of the reference in the same chart, and what the chart shows in words."""

    path: str
    reference_height: float
    text: str


def trend_of(means: PeriodSums, reference: float, scale: Scale, period: PagePeriod) -> Trend | None:
    """Return the trend; None where the period has no score."""
    slots = means.by_slot(period.first, period.last, period.slot_hours).tolist()
    found = map(mean_of, slots)
    values = [None if one is None else one.value for one in found]
    known = [value for value in values if value is not None]
    if not known:
        return None
    low, high = _ends([*known, reference], abs(scale.best - scale.worst) * _LEAST_HEIGHT)
    path = line([None if value is None else (value - low) / (high - low) for value in values])
    return Trend(path, height_of((reference - low) / (high - low)), _words(known, reference, period))


def _ends(values: Sequence[float], least: float) -> tuple[float, float]:
    low, high = min(values), max(values)
    missing = max(0.0, least - (high - low)) / 2
    return low - missing, high + missing


def _words(known: Sequence[float], reference: float, period: PagePeriod) -> str:
    return (
        f"Mean over {period.days.words}: first {known[0]:.2f}, last {known[-1]:.2f}, "
        f"lowest {min(known):.2f}, highest {max(known):.2f}; reference {reference:.2f}"
    )
