"""Charts of the metrics of an incident: the days before its onset, and what came after."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from lake.spec.alert_vocabulary import AlertEvent, LimitKind
from lake.spec.metric_names import metric_name, quoted_name
from monitor.alerting.alerts.change import AlertChange
from monitor.detect.stats.means import Mean, mean_of
from monitor.detect.stats.period_sums import DAY_HOURS, HOUR_SECONDS, KEPT_DAYS, KEPT_HOURS, PeriodSums
from monitor.detect.stats.requests import RequestStats
from monitor.detect.stats.scores import MetricStats
from monitor.notify.texts.alert import summary
from monitor.notify.texts.limit import mean_limit
from monitor.pages.charts import ChartOnset, Drawing, Mark, MarkKind, Point, TimeChart, draw
from monitor.pages.filters import first_capital
from monitor.pages.incidents.alert_view import AlertView
from monitor.pages.incidents.finding import FoundIncident

BEFORE, AFTER = timedelta(days=7), timedelta(days=3)
"""Of the period: so long before the onset, and so long after the end."""
_LEAST_BEFORE = timedelta(days=2)
"""Sums by hour are drawn where they reach so far back before the onset, else those by day."""
_LEAST_SPAN = 0.1
"""Of the range of the metric: the axis shows at least this much."""
_HOUR = timedelta(hours=1)
_NOT_SCORED = "Its version of the metric is not scored any more, so that nothing is drawn."


@dataclass(frozen=True)
class MetricChart:
    """The chart of a metric, and what it does not show; None where there is nothing to draw."""

    metric: str
    drawing: Drawing | None
    remark: str = ""


def chart_of(alert: AlertView, found: FoundIncident, key: str) -> MetricChart:
    """Draw the metric of an alert, the mean beyond its limit, or what failed: requests, or calls of tools."""
    if alert.metric == LimitKind.AT_LEAST:
        return _chart_of_mean_limit(alert, found, key)
    if alert.fired.is_limit:
        return _chart_of_limit(alert, found, key)
    stats = found.state.watched.get(alert.metric)
    if stats is None or stats.version != alert.fired.key.metric_version:
        return MetricChart(alert.metric, None, _NOT_SCORED)
    reference = alert.fired.reference_mean
    return _chart_of_means(alert, found, stats, _Line(key, alert.metric, reference), _onset(alert))


def _chart_of_mean_limit(alert: AlertView, found: FoundIncident, key: str) -> MetricChart:
    """Draw the first mean that is beyond its limit, with the limit as a line."""
    means = alert.fired.details.exceeded.means if alert.fired.details.exceeded else ()
    stats = found.state.watched.get(means[0].metric) if means else None
    if stats is None:
        return MetricChart(alert.metric, None, _NOT_SCORED)
    line = _Line(key, means[0].metric, means[0].limit, mean_limit(means[0]))
    chart = _chart_of_means(alert, found, stats, line, None)
    others = ", ".join(quoted_name(one.metric) for one in means[1:])
    remark = f"Drawn is {quoted_name(means[0].metric)}; beyond their limits are also {others}." if others else ""
    return MetricChart(alert.metric, chart.drawing, " ".join(filter(None, (remark, chart.remark))))


@dataclass(frozen=True)
class _Line:
    """The name of a chart, and the value and name of the dashed line in it."""

    key: str
    metric: str
    value: float | None
    name: str = "reference"


def _chart_of_means(
    alert: AlertView, found: FoundIncident, stats: MetricStats, line: _Line, onset: ChartOnset | None
) -> MetricChart:
    period = _period(alert, found, stats.means_by_time)
    chart = TimeChart(
        key=line.key,
        name=first_capital(metric_name(line.metric)),
        begin=period.begin,
        slot=period.slot,
        points=list(_points(stats, period)),
        counted="scores",
        band="mean ± 1.96 standard errors over scores",
        reference=line.value,
        reference_name=line.name,
        least_span=_LEAST_SPAN * abs(stats.scale.best - stats.scale.worst) if stats.scale else 0.0,
        bounds=_bounds(stats),
        marks=tuple(_marks(alert, found)),
        onset=onset,
        is_bad=alert.ended is None,
    )
    return MetricChart(alert.metric, draw(chart), period.remark)


@dataclass(frozen=True)
class _Period:
    first: int
    last: int
    """Hours since 1970."""
    hours: int
    """Of a slot: one of a day or longer is of whole days."""
    remark: str

    @property
    def begin(self) -> datetime:
        return datetime.fromtimestamp(self.first * HOUR_SECONDS, UTC)

    @property
    def slot(self) -> timedelta:
        return self.hours * _HOUR

    def slots_of(self, sums: PeriodSums) -> list[list[float]]:
        if self.hours < DAY_HOURS:
            found = sums.hours.by_slot(self.first, self.last, self.hours)
        else:
            found = sums.days.by_slot(self.first // DAY_HOURS, self.last // DAY_HOURS, self.hours // DAY_HOURS)
        return [list(map(float, row)) for row in found]


def _period(alert: AlertView, found: FoundIncident, sums: PeriodSums) -> _Period:
    onset = alert.fired.details.since_earliest or alert.onset or alert.fired.fired_at
    ended = found.incident.ended_at
    end = min(found.now, ended + AFTER) if ended else found.now
    now, first, last = _hour(found.now), _hour(onset - BEFORE), _hour(end)
    kept = now - KEPT_HOURS + 1
    if _hour(onset - _LEAST_BEFORE) >= kept:
        # No empty slots before the first value.
        known = sums.hours.numbers
        first = min(max(first, kept, int(known[0]) if len(known) else 0), last)
        hours = 1 if last - first < 3 * DAY_HOURS else 3
        return _Period(first, last, hours, "")
    kept_days = (now // DAY_HOURS - KEPT_DAYS + 1) * DAY_HOURS
    if last < kept_days:
        return _Period(kept_days, now, DAY_HOURS, "It is over for more than 90 days: only the last 90 days are drawn.")
    known = sums.days.numbers
    begin = max(first, kept_days, int(known[0]) * DAY_HOURS if len(known) else 0) // DAY_HOURS * DAY_HOURS
    remark = "Sums by day are kept for 90 days: what was before is not drawn." if first < kept_days else ""
    return _Period(min(begin, last), last, DAY_HOURS, remark)


def _hour(at: datetime) -> int:
    return int(at.timestamp()) // HOUR_SECONDS


def _points(stats: MetricStats, period: _Period) -> Iterator[Point]:
    bounds = _bounds(stats) or (-math.inf, math.inf)
    for sums in period.slots_of(stats.means_by_time):
        mean = mean_of(sums)
        yield Point(None) if mean is None else _point(mean, bounds)


def _point(mean: Mean, bounds: tuple[float, float]) -> Point:
    if mean.interval is None:
        return Point(mean.value, number=mean.number)
    low, high = max(mean.interval[0], bounds[0]), min(mean.interval[1], bounds[1])
    return Point(mean.value, low, high, mean.number)


def _bounds(stats: MetricStats) -> tuple[float, float] | None:
    scale = stats.scale
    return (min(scale.worst, scale.best), max(scale.worst, scale.best)) if scale else None


def _onset(alert: AlertView) -> ChartOnset | None:
    details = alert.fired.details
    earliest, latest = details.since_earliest or alert.onset, details.since_latest or alert.onset
    return None if earliest is None or latest is None else ChartOnset(alert.shown_onset, earliest, latest)


def _marks(alert: AlertView, found: FoundIncident) -> Iterator[Mark]:
    mine = (one for one in found.state.changes if one.key == alert.fired.key)
    yield from _alert_marks(mine)
    for release in found.snapshot.releases:
        if release.concerns(found.name, alert.metric):
            yield Mark(MarkKind.RELEASE, release.at, text=release.comment)
    for span in found.snapshot.silenced:
        if span.silence.holds(alert.fired):
            since = span.since or alert.fired.fired_at
            yield Mark(MarkKind.SILENCE, since, max(since, span.silence.until), span.silence.comment)


def _alert_marks(changes: Iterable[AlertChange]) -> Iterator[Mark]:
    for change in changes:
        if change.change == AlertEvent.RESOLVED:
            yield Mark(MarkKind.ENDED, change.changed_at, text=summary(change))
        else:
            yield Mark(MarkKind.PAGE if change.pages else MarkKind.WARNING, change.changed_at, text=summary(change))


def _chart_of_limit(alert: AlertView, found: FoundIncident, key: str) -> MetricChart:
    if alert.metric not in (LimitKind.ERRORS, LimitKind.NO_DATA, LimitKind.TOOL_ERRORS):
        return MetricChart(alert.metric, None, "A limit: its share is counted over the last minutes, and not drawn.")
    requests, is_of_tools = found.state.requests, alert.metric == LimitKind.TOOL_ERRORS
    period = _period(alert, found, requests.by_time)
    totals, failed = _of_tools(requests, period) if is_of_tools else _of_requests(requests, period)
    of = "calls of tools" if is_of_tools else "requests"
    if alert.metric == LimitKind.NO_DATA:
        points, quantity, unit = [Point(total) for total in totals], of, ""
    else:
        points = [
            Point(100 * a / b, number=round(b)) if b else Point(None) for a, b in zip(failed, totals, strict=True)
        ]
        quantity, unit = f"share of failed {of}", " %"
    chart = TimeChart(
        key=key, name=first_capital(metric_name(alert.metric)),
        begin=period.begin, slot=period.slot, points=points, quantity=quantity, unit=unit,
        counted=of if unit else "", marks=tuple(_marks(alert, found)), is_bars=True,
        is_whole=not unit, is_bad=alert.ended is None, decimals=0,
    )  # fmt: skip
    return MetricChart(alert.metric, draw(chart), period.remark)


def _of_requests(requests: RequestStats, period: _Period) -> tuple[list[float], list[float]]:
    """Return the requests of each slot, and those that failed."""
    totals = [sums[0] if sums else 0.0 for sums in period.slots_of(requests.by_time)]
    failed = [0.0] * len(totals)
    for sums in requests.failed_by_time.values():
        failed = [a + (b[0] if b else 0.0) for a, b in zip(failed, period.slots_of(sums), strict=True)]
    return totals, failed


def _of_tools(requests: RequestStats, period: _Period) -> tuple[list[float], list[float]]:
    """Return the calls of tools of each slot of which it is known whether they failed, and those that did."""
    slots = len(period.slots_of(requests.by_time))
    totals, failed = [0.0] * slots, [0.0] * slots
    for tool in requests.tools.values():
        for slot, sums in enumerate(period.slots_of(tool.by_time)):
            if sums:
                errors, ok, _ = sums
                totals[slot] += errors + ok
                failed[slot] += errors
    return totals, failed
