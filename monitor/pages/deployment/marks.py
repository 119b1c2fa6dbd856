"""Marks of the charts of a deployment: alerts, releases, changed settings and sampling, and silences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from lake.spec.alert_vocabulary import AlertEvent
from monitor.alerting.alerts.change import AlertChange
from monitor.notify.texts.alert import summary
from monitor.notify.texts.link import incident_page
from monitor.notify.texts.plain import percent
from monitor.pages.charts import Mark, MarkKind
from monitor.pages.period import PagePeriod
from monitor.service.snapshot import DeploymentState, Snapshot

_LEAST_OF_A_DAY = 30
"""Scores; of fewer the share of the answers that they are of may be chance."""
_DAYS, _TIMES = 4, 1.5
"""On so many days the share is so many times that of all days before, or less: load and weekends change it too."""


def marks_of(name: str, metric: str, snapshot: Snapshot, period: PagePeriod) -> tuple[Mark, ...]:
    """Return what happened to a metric in the period."""
    found = [
        *_alerts(snapshot.deployments[name], lambda change: not change.is_limit and change.key.metric == metric),
        *_releases(name, metric, snapshot),
        *_settings(snapshot.deployments[name]),
        *_sampling(snapshot.deployments[name], metric),
        *_silences(name, metric, snapshot, period),
    ]
    return tuple(mark for mark in found if (mark.until or mark.at) >= period.begin)


def limit_marks_of(name: str, kind: str, snapshot: Snapshot, period: PagePeriod) -> tuple[Mark, ...]:
    """Return the alerts of a limit in the period."""
    found = _alerts(snapshot.deployments[name], lambda change: change.is_limit and change.key.metric == kind)
    return tuple(mark for mark in found if mark.at >= period.begin)


def _alerts(state: DeploymentState, is_meant: Callable[[AlertChange], bool]) -> Iterator[Mark]:
    known = {one.incident_id for one in state.incidents}
    for change in state.changes:
        if is_meant(change):
            firing = MarkKind.PAGE if change.pages else MarkKind.WARNING
            kind = firing if change.change == AlertEvent.FIRING else MarkKind.ENDED
            address = incident_page(change.incident_id) if change.incident_id in known else None
            yield Mark(kind, change.changed_at, text=summary(change), address=address)


def _releases(name: str, metric: str, snapshot: Snapshot) -> Iterator[Mark]:
    for one in snapshot.releases:
        if one.concerns(name, metric):
            yield Mark(MarkKind.RELEASE, one.at, text=one.comment)


def _settings(state: DeploymentState) -> Iterator[Mark]:
    for one in state.setting_changes.found:
        yield Mark(MarkKind.SETTING, one.at, text=one.what)


def _sampling(state: DeploymentState, metric: str) -> Iterator[Mark]:
    """Yield the days from which on another share is scored of the answers that the metric is for."""
    days = state.watched[metric].means_by_time.days
    # The first two sums are the scores and their weights, which are the answers that they stand for.
    bins = zip(days.numbers.tolist(), days.sums.tolist(), strict=True)
    shares = [(day, sums[0] / sums[1]) for day, sums in bins if sums[0] >= _LEAST_OF_A_DAY]
    marked = 0
    for place in range(_DAYS, len(shares) - _DAYS + 1):
        before = [share for _, share in shares[place - _DAYS : place]]
        since = [share for _, share in shares[place : place + _DAYS]]
        is_other = min(since) > _TIMES * max(before) or _TIMES * max(since) < min(before)
        if is_other and place >= marked:
            marked = place + _DAYS
            at = datetime.fromtimestamp(0, UTC) + timedelta(days=shares[place][0])
            text = f"about {percent(since[-1])} of the answers are scored from this day on, {percent(before[0])} before"
            yield Mark(MarkKind.SETTING, at, text=text)


def _silences(name: str, metric: str, snapshot: Snapshot, period: PagePeriod) -> Iterator[Mark]:
    for span in snapshot.silenced:
        silence = span.silence
        if silence.deployment in (None, name) and silence.metric in (None, metric):
            since = span.since or period.begin
            yield Mark(MarkKind.SILENCE, since, max(since, silence.until), text=silence.comment)
