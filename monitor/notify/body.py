"""The body of a webhook: Alertmanager's shape, version 4, with our own `data` beside it."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from monitor.alert_change import AlertChange, WorstAnswer
from monitor.notify.text import description, summary

ALERT_NAME = "DialwatchRegression"
_NEVER = datetime(1, 1, 1, tzinfo=UTC)


class Alert(msgspec.Struct, frozen=True, rename="camel"):
    """One alert as Alertmanager writes it; `ends_at` is the year 1 while it is firing."""

    status: str
    labels: dict[str, str]
    annotations: dict[str, str]
    starts_at: datetime
    ends_at: datetime
    generator_url: str = msgspec.field(name="generatorURL")
    fingerprint: str


class Mean(msgspec.Struct, frozen=True):
    """A mean score; the 95 % interval is null for the reference."""

    mean: float | None
    lower: float | None = None
    upper: float | None = None


class Data(msgspec.Struct, frozen=True):
    """What Alertmanager's shape has no place for. Ids and numbers only, never the text of a user."""

    change_id: str
    alert_id: str
    deployment: str
    metric: str
    metric_version: str
    before: Mean
    after: Mean
    since: datetime | None
    changed_at: datetime
    log_evidence: float | None
    log_threshold: float | None
    worst: tuple[WorstAnswer, ...]


class Body(msgspec.Struct, frozen=True, rename="camel"):
    """One change of one alert (https://prometheus.io/docs/alerting/latest/configuration/#webhook_config)."""

    group_key: str
    status: str
    receiver: str
    group_labels: dict[str, str]
    common_labels: dict[str, str]
    common_annotations: dict[str, str]
    external_url: str = msgspec.field(name="externalURL")
    alerts: list[Alert]
    data: Data
    version: str = "4"
    truncated_alerts: int = 0


def webhook_body(change: AlertChange, receiver: str, external_url: str) -> bytes:
    """Give the JSON to send to `receiver` for a `firing` or `resolved` change; `external_url` is where our pages are.

    The same change always gives the same bytes.
    """
    key = change.key
    group = {"alertname": ALERT_NAME, "deployment": key.deployment}
    labels = group | {"metric": key.metric, "metric_version": key.metric_version}
    annotations = {"summary": summary(change), "description": description(change, external_url)}
    alert = Alert(
        status=change.change,
        labels=labels,
        annotations=annotations,
        starts_at=change.fired_at,
        ends_at=change.changed_at if change.change == "resolved" else _NEVER,
        generator_url=external_url,
        fingerprint=change.alert_id[:16],
    )
    body = Body(
        group_key="{}:{" + ", ".join(f"{name}={_quoted(value)}" for name, value in group.items()) + "}",
        status=change.change,
        receiver=receiver,
        group_labels=group,
        common_labels=labels,
        common_annotations=annotations,
        external_url=external_url,
        alerts=[alert],
        data=_data(change),
    )
    return msgspec.json.encode(body)


def _data(change: AlertChange) -> Data:
    return Data(
        change_id=change.change_id,
        alert_id=change.alert_id,
        deployment=change.key.deployment,
        metric=change.key.metric,
        metric_version=change.key.metric_version,
        before=Mean(change.reference_mean),
        after=Mean(change.current_mean, change.current_lower, change.current_upper),
        since=change.since,
        changed_at=change.changed_at,
        log_evidence=change.log_evidence,
        log_threshold=change.log_threshold,
        worst=change.details.worst,
    )


def _quoted(value: str) -> str:
    return msgspec.json.encode(value).decode()
