"""Incidents as JSON: the same that the pages show. Instants are ISO 8601 in UTC."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from lake.queries.affected import Affected, StandsOut
from lake.queries.comments import Comment
from lake.queries.tool_errors import ToolError
from lake.queries.worst_answers.answer_words import AnswerWords
from lake.spec.alert_vocabulary import AlertVerdict, Tier
from monitor.alerting.incidents.incident import Acknowledgement
from monitor.alerting.incidents.related import Relation
from monitor.detect.regression import Release
from monitor.pages.charts import HistogramChart, Point
from monitor.pages.incidents.alert_view import AlertView
from monitor.pages.incidents.changes_view import ChangesView
from monitor.pages.incidents.commands import Commands
from monitor.pages.incidents.evidence import OnsetEvidence, Pair, Sample
from monitor.pages.incidents.finding import FoundIncident
from monitor.pages.incidents.log_rows import LogRow, Told
from monitor.pages.incidents.metric_charts import MetricChart
from monitor.pages.incidents.view import IncidentView


@dataclass(frozen=True)
class IncidentRow:
    """An incident in the list.

    `since` is when it began and `back_at` when quality was most likely back, null while it is open and where nobody can
    tell. Its alerts have times of their own: `opened_at` is when it was found, `ended_at` when the last one was closed,
    and `seconds` are between these, or until now.
    """

    incident_id: str
    deployment: str
    open: bool
    tier: Tier
    verdict: AlertVerdict | None
    metrics: Sequence[str]
    since: datetime
    back_at: datetime | None
    opened_at: datetime
    ended_at: datetime | None
    seconds: int
    acknowledged: Acknowledgement | None
    recovering_since: datetime | None


@dataclass(frozen=True)
class IncidentList:
    """Open incidents, and those that ended in the last 30 days."""

    incidents: Sequence[IncidentRow]


@dataclass(frozen=True)
class AlertOfIncident:
    """An alert of an incident; `details` are those of its row in `alerts`."""

    alert_id: str
    metric: str
    metric_version: str
    firing: bool
    page: bool
    verdict: AlertVerdict | None
    summary: str
    lines: Sequence[str]
    how_sure: str
    look_first: Sequence[str]
    what_to_do: Sequence[str]
    """What else to do of a limit; both are empty of an alert that is over."""
    fired_at: datetime
    ended_at: datetime | None
    since: datetime | None
    reference_mean: float | None
    current_mean: float | None
    details: Mapping[str, Any]


@dataclass(frozen=True)
class ChartOfMetric:
    """Points of a chart from `begin` on, one each `slot_seconds`; null where there is nothing to draw."""

    metric: str
    remark: str
    begin: datetime | None
    slot_seconds: int | None
    points: Sequence[Point] | None


@dataclass(frozen=True)
class EvidenceData:
    """Scores before and since the onset, and the worst answers, each beside a good earlier one to a like question."""

    metric: str
    before: Sample
    after: Sample
    histogram: HistogramChart | None
    worst: Sequence[Pair]
    words: AnswerWords | None
    """Words that tell the worst answers from good ones; null for who may not read texts."""
    stands_out: Sequence[StandsOut]
    """Project, language or document that the worst answers have more often than good ones; a document has a name for
    who may read texts."""


@dataclass(frozen=True)
class SilencedTime:
    """A silence of the deployment; null is every deployment, or every metric, or an unknown beginning."""

    deployment: str | None
    metric: str | None
    since: datetime | None
    until: datetime
    comment: str


@dataclass(frozen=True)
class AlsoIncident:
    """Another incident that may have the same cause; `relation` is what it is to the one that is shown."""

    relation: Relation
    incident: IncidentRow


@dataclass(frozen=True)
class IncidentData(IncidentRow):
    """All that the page of an incident shows."""

    alerts: Sequence[AlertOfIncident]
    charts: Sequence[ChartOfMetric]
    changes: ChangesView | None
    evidence: EvidenceData | None
    affected: Affected | None
    comments: Sequence[Comment]
    tool_error: ToolError | None
    """The last error of the tool that fails, if an alert names one; null for who may not read texts."""
    silences: Sequence[SilencedTime]
    still_rings: Sequence[str] | None
    """Metrics and limits whose alerts fire and are held back by no silence; null where the lake cannot be read."""
    releases: Sequence[Release]
    told: Sequence[Told] | None
    log: Sequence[LogRow]
    commands: Commands
    also: Sequence[AlsoIncident]
    """Others that may have the same cause."""
    earlier: Sequence[IncidentRow]
    others_open: Sequence[IncidentRow]


def list_data(incidents: Iterable[FoundIncident]) -> IncidentList:
    """Return the rows of the list."""
    return IncidentList([_row(one) for one in incidents])


def incident_data(
    view: IncidentView, earlier: Iterable[FoundIncident], others: Iterable[FoundIncident]
) -> IncidentData:
    """Return the contents of the page of an incident."""
    read, snapshot, name = view.read, view.found.snapshot, view.found.name
    silenced = [one for one in snapshot.silenced if one.silence.deployment in (None, name)]
    return IncidentData(
        **vars(_row(view.found)),
        alerts=[_alert(one) for one in view.alerts],
        charts=[_chart(one) for one in view.charts],
        changes=view.changes,
        evidence=_evidence(read.evidence) if read and read.evidence else None,
        affected=read.affected if read else None,
        comments=read.comments if read else (),
        tool_error=read.tool_error if read else None,
        silences=[
            SilencedTime(one.silence.deployment, one.silence.metric, one.since, one.silence.until, one.silence.comment)
            for one in silenced
        ],
        still_rings=read.still_rings(view.found) if read else None,
        releases=[one for one in snapshot.releases if one.deployment == name],
        told=view.told if read else None,
        log=view.log,
        commands=view.commands,
        also=[AlsoIncident(one.relation, _row(FoundIncident(one.incident, snapshot))) for one in view.also],
        earlier=[_row(one) for one in earlier],
        others_open=[_row(one) for one in others],
    )


def _row(found: FoundIncident) -> IncidentRow:
    incident = found.incident
    return IncidentRow(
        incident_id=incident.incident_id,
        deployment=incident.deployment,
        open=found.is_open,
        tier=incident.tier,
        verdict=incident.verdict,
        metrics=found.metrics,
        since=found.since,
        back_at=found.back_at,
        opened_at=incident.opened_at,
        ended_at=incident.ended_at,
        seconds=int(found.lasted.total_seconds()),
        acknowledged=incident.acknowledged,
        recovering_since=incident.recovering_since,
    )


def _alert(alert: AlertView) -> AlertOfIncident:
    fired = alert.fired
    return AlertOfIncident(
        alert_id=fired.alert_id,
        metric=alert.metric,
        metric_version=fired.key.metric_version,
        firing=alert.ended is None,
        page=fired.pages,
        verdict=fired.verdict,
        summary=alert.sentence,
        lines=alert.lines,
        how_sure=alert.sureness,
        look_first=alert.look_first,
        what_to_do=alert.what_to_do,
        fired_at=fired.fired_at,
        ended_at=alert.ended.changed_at if alert.ended else None,
        since=fired.since,
        reference_mean=fired.reference_mean,
        current_mean=fired.current_mean,
        details=msgspec.to_builtins(fired.details),
    )


def _chart(chart: MetricChart) -> ChartOfMetric:
    drawn = chart.drawing.chart if chart.drawing else None
    return ChartOfMetric(
        metric=chart.metric,
        remark=chart.remark,
        begin=drawn.begin if drawn else None,
        slot_seconds=int(drawn.slot.total_seconds()) if drawn else None,
        points=drawn.points if drawn else None,
    )


def _evidence(found: OnsetEvidence) -> EvidenceData:
    histogram = found.histogram.histogram if found.histogram else None
    return EvidenceData(found.metric, found.before, found.after, histogram, found.pairs, found.words, found.stands_out)
