"""Incidents as JSON: the same that the pages show."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from monitor.pages.incidents.alert_view import AlertView
from monitor.pages.incidents.finding import Found
from monitor.pages.incidents.metric_charts import MetricChart
from monitor.pages.incidents.view import IncidentView


def list_as_json(incidents: Iterable[Found]) -> dict[str, Any]:
    """Give the rows of the list."""
    return {"incidents": [_row(one) for one in incidents]}


def incident_as_json(view: IncidentView, earlier: Iterable[Found], others: Iterable[Found]) -> dict[str, Any]:
    """Give the contents of the page of an incident."""
    read = view.read
    evidence = read.evidence if read else None
    return _row(view.found) | {
        "alerts": [_alert(one) for one in view.alerts],
        "charts": [_chart(one) for one in view.charts],
        "evidence": evidence
        and {
            "metric": evidence.metric,
            "before": evidence.before,
            "after": evidence.after,
            "histogram": evidence.histogram and evidence.histogram.histogram,
            "worst": evidence.pairs,
        },
        "silences": [one for one in view.found.snapshot.silenced if one.silence.deployment in (None, view.found.name)],
        "releases": [one for one in view.found.snapshot.releases if one.deployment == view.found.name],
        "told": view.told if read else None,
        "log": view.log,
        "commands": view.commands,
        "earlier": [_row(one) for one in earlier],
        "others_open": [_row(one) for one in others],
    }


def _row(found: Found) -> dict[str, Any]:
    incident = found.incident
    return {
        "incident_id": incident.incident_id,
        "deployment": incident.deployment,
        "open": found.is_open,
        "tier": incident.tier,
        "verdict": incident.verdict,
        "metrics": found.metrics,
        "opened_at": incident.opened_at,
        "ended_at": incident.ended_at,
        "seconds": int(found.lasted.total_seconds()),
        "acknowledged": incident.acknowledged,
    }


def _alert(alert: AlertView) -> dict[str, Any]:
    fired = alert.fired
    return {
        "alert_id": fired.alert_id,
        "metric": alert.metric,
        "metric_version": fired.key.metric_version,
        "firing": alert.ended is None,
        "page": fired.pages,
        "verdict": fired.verdict,
        "summary": alert.summary,
        "lines": alert.lines,
        "how_sure": alert.sureness,
        "fired_at": fired.fired_at,
        "ended_at": alert.ended and alert.ended.changed_at,
        "since": fired.since,
        "reference_mean": fired.reference_mean,
        "current_mean": fired.current_mean,
        "details": fired.details,
    }


def _chart(chart: MetricChart) -> dict[str, Any]:
    drawn = chart.drawing.chart if chart.drawing else None
    return {
        "metric": chart.metric,
        "remark": chart.remark,
        "begin": drawn and drawn.begin,
        "slot_seconds": drawn and int(drawn.slot.total_seconds()),
        "points": drawn and drawn.points,
    }
