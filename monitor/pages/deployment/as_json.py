"""The page of a deployment as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi.encoders import jsonable_encoder

from lake import UNASSIGNED
from monitor.alerts.change import AlertChange
from monitor.notify.alert_text import summary
from monitor.pages.charts import Drawing, Mark
from monitor.pages.deployment.metrics import BAND, MetricView
from monitor.pages.deployment.view import DeploymentView


def as_json(view: DeploymentView) -> dict[str, Any]:
    """Give all figures of the page; instants are ISO 8601 in UTC, shares from 0 to 1, points of charts as drawn."""
    period, state = view.period, view.state
    found = {
        "deployment": None if view.name == UNASSIGNED else view.name,
        "days": int(period.days),
        "since": period.begin,
        "until": period.end,
        "totals": asdict(view.totals),
        "traffic": _points(view.traffic),
        "metrics": [_metric(one) for one in view.metrics],
        "failures": [asdict(one) for one in view.failures.kinds],
        "failed_percent": _points(view.failures.drawing),
        "judges": {
            "metrics": [asdict(one) | {"share": one.share} for one in view.judges.metrics],
            "costs": view.judges.costs,
            "cost": _points(view.judges.cost) if view.judges.cost else [],
        },
        "limits": {floor.value: asdict(reading) for floor, reading in state.floors.items()},
        "signals_since_the_lake_began": state.requests.signals,
        "silences": [one.model_dump() for one in view.silences],
        "alerts": [_alert(change) for change in state.changes],
    }
    return dict(jsonable_encoder(found))


def _metric(view: MetricView) -> dict[str, Any]:
    reading, mean = view.reading, view.mean
    latest = reading and {
        "conversations": reading.observations,
        "mean": reading.mean,
        "low": reading.mean_lower,
        "high": reading.mean_upper,
        "since": reading.since,
        "since_mean": reading.since_mean,
        "segments": [asdict(one) for one in reading.segments],
    }
    return {
        "metric": view.metric,
        "version": view.version,
        "judge": view.judge,
        "status": reading and reading.status,
        "tier": reading and reading.tier,
        "scores": mean.number if mean else 0,
        "mean": mean and mean.value,
        "interval": mean and mean.interval,
        "interval_is": BAND,
        "reference": reading and reading.reference_mean,
        "latest": latest,
        "small_drop": None if view.scale is None else abs(view.scale.best - view.scale.worst) / 20,
        "small_drop_conversations": reading and reading.small_conversations,
        "small_drop_seconds": reading and reading.small_delay and reading.small_delay.total_seconds(),
        "stopped": view.stopped,
        "idle_since": view.idle_since,
        "points": _points(view.drawing),
        "marks": [_mark(mark) for mark in view.drawing.chart.marks],
    }


def _points(drawing: Drawing) -> list[dict[str, Any]]:
    chart = drawing.chart
    return [{"since": chart.begin_of(place)} | asdict(point) for place, point in enumerate(chart.points)]


def _mark(mark: Mark) -> dict[str, Any]:
    return {"kind": mark.kind, "at": mark.at, "until": mark.until, "text": mark.text}


def _alert(change: AlertChange) -> dict[str, Any]:
    return {
        "alert_id": change.alert_id,
        "metric": change.key.metric,
        "change": change.change,
        "changed_at": change.changed_at,
        "since": change.since,
        "pages": change.pages,
        "summary": summary(change),
        "worst": [{"response_id": one.response_id, "value": one.value} for one in change.details.worst],
    }
