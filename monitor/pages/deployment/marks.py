"""Marks of the charts of a deployment: alerts, releases, changed settings and silences."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lake.spec.alert_vocabulary import AlertEvent
from monitor.alerting.alerts.change import AlertChange
from monitor.notify.alert_text import summary
from monitor.notify.link import incident_page
from monitor.pages.charts import Mark, MarkKind
from monitor.pages.period import PagePeriod
from monitor.service.snapshot import DeploymentState, Snapshot


def marks_of(name: str, metric: str, snapshot: Snapshot, period: PagePeriod) -> tuple[Mark, ...]:
    """Return what happened to a metric in the period."""
    found = [
        *_alerts(snapshot.deployments[name], lambda change: not change.is_limit and change.key.metric == metric),
        *_releases(name, metric, snapshot),
        *_settings(snapshot.deployments[name]),
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


def _silences(name: str, metric: str, snapshot: Snapshot, period: PagePeriod) -> Iterator[Mark]:
    for span in snapshot.silenced:
        silence = span.silence
        if silence.deployment in (None, name) and silence.metric in (None, metric):
            since = span.since or period.begin
            yield Mark(MarkKind.SILENCE, since, max(since, silence.until), text=silence.comment)
