"""Contents of the page of an incident: what the snapshot knows, and what was read of the lake for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from lake.queries.affected import Affected, affected
from lake.queries.comments import Comment, newest_comments, with_questions
from lake.queries.tool_errors import ToolError, last_tool_error
from lake.spec.alert_vocabulary import OnsetKind, SilenceEvent
from lake.spec.schemas import deployment_of
from lake.spec.vocabulary import DISLIKES
from lake.tables.lake import Lake
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.controls.releases import read_releases
from monitor.alerting.controls.silences import (
    Silence,
    SilenceChange,
    read_silence_changes,
    read_silences,
)
from monitor.alerting.incidents.related import Related
from monitor.alerting.incidents.shared_cause import reached
from monitor.detect.causes import AroundOnset, TextDifference, differences
from monitor.detect.regression import Release
from monitor.notify.texts.alert import failed_often
from monitor.pages.answers.query import MOST_DAYS
from monitor.pages.incidents.alert_view import AlertView, alerts_of
from monitor.pages.incidents.changes_view import ChangesView
from monitor.pages.incidents.commands import Commands, commands_of, metric_option
from monitor.pages.incidents.evidence import DAYS, OnsetEvidence, read_evidence
from monitor.pages.incidents.finding import FoundIncident
from monitor.pages.incidents.log_rows import (
    IncidentMoment,
    LogRow,
    Told,
    log_of,
    log_of_silences,
    moments_of,
    read_deliveries,
    told,
)
from monitor.pages.incidents.metric_charts import MetricChart, chart_of
from monitor.pages.news import sentence_of
from monitor.service.monitor import Monitor

MOST_COMMENTS = 5
BEFORE_LIMIT = timedelta(hours=1)


_MOST_CALLERS = 10
"""Deployments whose requests are counted."""


@dataclass(frozen=True)
class CallerRequests:
    """What people asked a deployment that calls the one of the incident."""

    name: str
    affected: Affected


@dataclass(frozen=True)
class Read:
    """What was read of the lake."""

    evidence: OnsetEvidence | None
    affected: Affected
    callers: Sequence[CallerRequests]
    """Where no person asked it itself: the deployments that call it, those with the most requests first."""
    comments: Sequence[Comment]
    """The newest ones on dislikes since it began; empty for who may not read texts."""
    differences: Sequence[TextDifference]
    """Of system prompts and tools; empty for who may not read texts."""
    deliveries: Sequence[AlertChange]
    silences: Sequence[HeldBack]
    accepted: Mapping[int, Release]
    """Levels of its metrics that were accepted since it began, by the ids of the marks."""
    silence_log: Sequence[LogRow] = ()
    """What became of the silences that held meanwhile."""
    tool_error: ToolError | None = None
    """The last error of the tool that its alert names; None for who may not read texts."""

    def still_rings(self, found: FoundIncident) -> tuple[str, ...]:
        """Return the metrics and limits whose alerts fire and are held back by no silence."""
        firing = dict.fromkeys(one.key.metric for one in found.firing)
        return tuple(one for one in firing if not any(held.silence.metric in (None, one) for held in self.silences))

    @property
    def silences_all(self) -> bool:
        """Whether a silence holds for every alert of the deployment."""
        return any(held.silence.metric is None for held in self.silences)


@dataclass(frozen=True)
class IncidentView:
    """All that the page shows; `read` is None where the lake could not be read."""

    found: FoundIncident
    alerts: tuple[AlertView, ...]
    chosen: AlertView
    """Whose chart is large, and whose answers are shown."""
    charts: tuple[MetricChart, ...]
    """That of the chosen alert first."""
    log: tuple[LogRow, ...]
    told: tuple[Told, ...]
    moments: tuple[IncidentMoment, ...]
    commands: Commands
    read: Read | None

    @property
    def sentence(self) -> str:
        """What the incident is, in a line: that of its messages."""
        return sentence_of(self.found.incident)

    @property
    def look_first(self) -> tuple[str, ...]:
        """What to look at first, each once: for limits, and for one metric, one with failed parts if there is one."""
        of_limits = [one for one in self.alerts if one.fired.is_limit]
        of_metrics = [one for one in self.alerts if not one.fired.is_limit]
        # What several metrics suggest repeats itself: the foremost one is enough.
        foremost = sorted(of_metrics, key=lambda one: not failed_often(one.fired))[:1]
        return looks_once(look for one in (*of_limits, *foremost) for look in one.look_first)

    @property
    def what_to_do(self) -> tuple[str, ...]:
        """What else to do, each once."""
        return tuple(dict.fromkeys(one for alert in self.alerts for one in alert.what_to_do))

    @property
    def metric_option(self) -> str | None:
        """How a command names the metric of the chosen alert; None where it takes no such name."""
        return metric_option(self.chosen.metric)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names to choose from in the forms, in place of the whole incident: that of the chosen alert first."""
        return tuple(dict.fromkeys((self.chosen.metric, *self.found.metrics)))

    def rings_beside(self, metric: str) -> tuple[str, ...]:
        """Return the metrics and limits that fire and would not be held back if `metric` were silenced as well.

        Where the lake could not be read no silence is known.
        """
        rings = self.read.still_rings(self.found) if self.read else [one.key.metric for one in self.found.firing]
        return tuple(one for one in dict.fromkeys(rings) if one != metric)

    @property
    def also(self) -> tuple[Related, ...]:
        """Other incidents that may have the same cause."""
        return self.found.snapshot.related_to(self.found.incident)

    @property
    def changes(self) -> ChangesView | None:
        """What else changed around the onset; None where that was not looked for."""
        found = changes_of(self.found)
        return ChangesView.of(*found) if found else None

    @property
    def release_at(self) -> str:
        """The onset, as a browser's field of date and time writes it."""
        at = self.chosen.onset or self.found.incident.opened_at
        return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M}"

    @property
    def counted_since(self) -> datetime | None:
        """Since when those who asked are counted, as exact as an onset is known."""
        counted = self.read.affected.since if self.read else None
        if counted is None or counted == began_of(self.chosen, self.found):
            # A limit may not know when it began: then it is counted from a time before its alert.
            return (self.chosen.shown_onset or counted) if self.found.is_open else self.found.since
        return counted

    @property
    def comparison(self) -> str | None:
        """Address of the answers before the onset beside those since; None of what has no scores."""
        onset = self.chosen.onset
        if self.chosen.fired.is_limit or onset is None or self.chosen.metric == DISLIKES:
            return None
        first, last = (one.astimezone(UTC) for one in (onset, self.found.until))
        fields = {
            "deployment": self.found.name,
            "metric": self.chosen.metric,
            "onset": f"{first:%Y-%m-%dT%H:%MZ}",
            "after_until": min(last, first + timedelta(days=MOST_DAYS - 1)).date(),
        }
        return f"/compare?{urlencode(fields, errors='replace')}"

    @property
    def tool(self) -> str | None:
        """The tool that fails, by the chosen alert."""
        return tool_of(self.chosen)

    @property
    def callee(self) -> str | None:
        """The deployment that fails for this one, by the chosen alert; None where the reader may not see it."""
        exceeded = self.chosen.fired.details.exceeded
        name = exceeded.callee.name if exceeded is not None and exceeded.callee is not None else None
        return name if name in self.found.snapshot.deployments else None

    @property
    def can_learn(self) -> bool:
        """Whether a regression of it still fires: a new level is accepted where quality is not back."""
        return any(not one.fired.is_limit and one.ended is None for one in self.alerts)


def looks_once(looks: Iterable[str]) -> tuple[str, ...]:
    """Return places to look at, each once: also one that an earlier sentence ends with is not repeated."""
    found: list[str] = []
    for look in looks:
        if not any(one.lower().endswith(look.lower()) for one in found):
            found.append(look)
    return tuple(found)


def chosen_of(alerts: Sequence[AlertView], metric: str) -> AlertView:
    """Return the alert that is asked for by its metric, else the first."""
    return next((one for one in alerts if one.metric == metric), alerts[0])


def older_version_of(chosen: AlertView) -> str | None:
    """Return the older version with which the first answers of a new one are compared; None of any other onset."""
    details = chosen.fired.details
    return details.older_version if details.onset == OnsetKind.RELEASE else None


def read_for(
    monitor: Monitor, found: FoundIncident, chosen: AlertView, older_version: str | None, *, with_texts: bool
) -> Read:
    """Read what the page shows beside the snapshot; `older_version` is one that the reader may see, or None."""
    lake, name = monitor.lake, deployment_of(found.name)
    since, until = _period(chosen, found)
    ended = found.incident.ended_at or monitor.now()
    silence_changes = read_silence_changes(lake)
    asked = affected(lake, name, since, until)
    return Read(
        evidence=read_evidence(lake, chosen, found, older_version, with_texts=with_texts),
        affected=asked,
        callers=() if asked.requests else _asked_through(lake, found, since, until),
        comments=with_questions(lake, name, newest_comments(lake, name, since, until, MOST_COMMENTS))
        if with_texts
        else (),
        differences=_differences(lake, found) if with_texts else (),
        deliveries=read_deliveries(lake, name, found.incident),
        silences=silences_of(monitor, found, silence_changes),
        accepted=_accepted(lake, found),
        silence_log=log_of_silences(silence_changes, found.name, found.metrics, found.incident.opened_at, ended),
        tool_error=_tool_error(monitor, found) if with_texts else None,
    )


def _asked_through(lake: Lake, found: FoundIncident, since: datetime, until: datetime) -> Sequence[CallerRequests]:
    """Count what people asked those that call a deployment, directly or through others."""
    names = sorted(reached(found.name, found.snapshot.callers) - {found.name})[:_MOST_CALLERS]
    counted = (CallerRequests(one, affected(lake, deployment_of(one), since, until)) for one in names)
    return sorted((one for one in counted if one.affected.requests), key=lambda one: -one.affected.requests)


def _tool_error(monitor: Monitor, found: FoundIncident) -> ToolError | None:
    alert = next((one for one in alerts_of(found) if tool_of(one) is not None), None)
    if alert is None:
        return None
    since, until = _period(alert, found)
    return last_tool_error(monitor.lake, deployment_of(found.name), tool_of(alert) or "", since, until)


def tool_of(alert: AlertView) -> str | None:
    """Return the tool that an alert names; None where it is of no tool."""
    exceeded = alert.fired.details.exceeded
    return exceeded.tool.name if exceeded is not None and exceeded.tool is not None else None


def _accepted(lake: Lake, found: FoundIncident) -> Mapping[int, Release]:
    marks = read_releases(lake)
    return {
        number: one
        for number, one in marks.valid.items()
        if one.deployment == found.name
        and one.metric in (None, *found.metrics)
        and marks.changed.get(number, one.at) >= found.incident.opened_at
    }


def changes_of(found: FoundIncident) -> tuple[AroundOnset, AlertChange] | None:
    """Return what changed around the onset, with the alert that says it: the first one that was looked at."""
    looked = ((one.details.around_onset, one) for one in found.incident.alerts)
    return next(((around, one) for around, one in looked if around is not None), None)


def _period(chosen: AlertView, found: FoundIncident) -> tuple[datetime, datetime]:
    """Return since and until when people are counted and comments are read: of a long incident its last 7 days.

    Of one that is over it is the time in which it was bad, whichever alert is chosen: that is what messages of ends
    count.
    """
    until = found.until
    return max(min(began_of(chosen, found), until), until - DAYS), until


def began_of(chosen: AlertView, found: FoundIncident) -> datetime:
    """Return since when people are counted: since the chosen alert's onset, of one that is over since the earliest."""
    opened = found.incident.opened_at

    def since(change: AlertChange) -> datetime:
        # A limit is exceeded by what came before its alert, also where it does not say since when.
        return change.since or (opened - BEFORE_LIMIT if change.is_limit else opened)

    return since(chosen.fired) if found.is_open else min(map(since, found.incident.alerts))


def _differences(lake: Lake, found: FoundIncident) -> Sequence[TextDifference]:
    changes = changes_of(found)
    return differences(lake, found.name, changes[0].changes) if changes else ()


def view_of(found: FoundIncident, metric: str, read: Read | None) -> IncidentView:
    """Return the contents; `metric` is the one whose chart is large, the first where there is no such alert."""
    alerts = alerts_of(found)
    chosen = chosen_of(alerts, metric)
    newest: dict[str, AlertView] = {}
    for one in (chosen, *alerts):
        newest.setdefault(one.metric, one)
    charts = (chart_of(one, found, f"metric-{number}") for number, one in enumerate(newest.values(), 1))
    deliveries = read.deliveries if read else ()
    received = told(deliveries)
    return IncidentView(
        found=found,
        alerts=alerts,
        chosen=chosen,
        charts=tuple(charts),
        log=log_of(found.incident, found.state.changes, deliveries, read.silence_log if read else ()),
        told=received,
        moments=moments_of(found, chosen, received),
        commands=commands_of(
            found.incident.incident_id, found.name, None, None if chosen.fired.is_limit else chosen.onset
        ),
        read=read,
    )


@dataclass(frozen=True)
class HeldBack:
    """A silence that holds, with its id and who made it; one of the configuration has neither."""

    silence: Silence
    number: int | None
    who: str | None = None

    @property
    def is_of_deployment(self) -> bool:
        """Whether it is of one deployment alone, so that who may act on that may end it."""
        return self.number is not None and self.silence.deployment is not None


def silences_of(monitor: Monitor, found: FoundIncident, changes: Sequence[SilenceChange]) -> list[HeldBack]:
    """Return the silences of the incident's alerts that hold now, the one that ends last first.

    `changes` are all of silences: they say who made them.
    """
    who = {one.silence_id: one.who for one in changes if one.change == SilenceEvent.ADDED}
    configured = [HeldBack(one, None) for one in monitor.settings.silences]
    added = [HeldBack(one, number, who.get(number)) for number, one in read_silences(monitor.lake).items()]
    holding = [one for one in (*configured, *added) if monitor.now() < one.silence.until and _holds(one.silence, found)]
    return sorted(holding, key=lambda one: one.silence.until, reverse=True)


def _holds(silence: Silence, found: FoundIncident) -> bool:
    return silence.deployment in (None, found.name) and silence.metric in (None, *found.metrics)
