"""Metrics of the health of dialwatch's parts, of the last refresh's age, of the monitor's failures and audit log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client.core import Metric

from lake.spec.service_vocabulary import ServiceState
from monitor.access.audit import AuditLog
from monitor.access.wrong_tokens import WrongTokens
from monitor.exporter.metric_families import counter, gauge
from monitor.service.health.health import Health
from monitor.service.health.heartbeat_reader import PartState


def health_metrics(health: Health) -> Iterator[Metric]:
    """Yield the health of parts and the age of the last refresh; a part that was stopped has no series."""
    by_place: dict[tuple[str, ...], list[PartState]] = {}
    for part in health.parts:
        if part.state != ServiceState.STOPPED:
            by_place.setdefault((part.part, part.host), []).append(part)
    yield gauge(
        "dialwatch_part_healthy",
        "1 where a part is at work, 0 where it fails or gives no heartbeat any more: collector, evaluator, upkeep, "
        "webhooks or monitor, by the host that it runs on.",
        ((place, float(all(one.healthy for one in found))) for place, found in by_place.items()),
        "part",
        "host",
    )
    yield gauge(
        "dialwatch_part_last_success_timestamp_seconds",
        "When all that the part does last went well, by its host's clock, in seconds since 1970.",
        (
            (place, max(one.last_success.timestamp() for one in found if one.last_success))
            for place, found in by_place.items()
            if any(one.last_success for one in found)
        ),
        "part",
        "host",
    )
    yield gauge(
        "dialwatch_monitor_refresh_age_seconds",
        "Seconds since the monitor last looked at the lake, whatever its clock was set to.",
        [((), health.last_refresh_age_seconds)],
    )


def failure_metrics(failures: Mapping[str, int]) -> Metric:
    """Return the counter of the monitor's own failures, from numbers by reason."""
    return counter(
        "dialwatch_monitor_failures_total",
        "What went wrong in the monitor since it started, by the step that failed; its log says more.",
        (((reason,), number) for reason, number in sorted(failures.items())),
        "reason",
    )


def wrong_token_metric(wrong_tokens: WrongTokens) -> Metric:
    """Return the counter of tokens that opened no page."""
    numbers = {"wrong": wrong_tokens.wrong, "too_many": wrong_tokens.refused}
    return counter(
        "dialwatch_refused_tokens_total",
        "Tokens that opened no page since the start: wrong, or not looked at, as too many wrong ones came from the "
        "address.",
        (((reason,), number) for reason, number in numbers.items()),
        "reason",
    )


def audit_metrics(audit: AuditLog) -> Iterator[Metric]:
    """Yield the rows of `_audit` that wait for the lake, and those that were lost."""
    yield gauge("dialwatch_audit_waiting_rows", "Rows of _audit that are not in the lake yet.", [((), audit.waiting)])
    yield counter(
        "dialwatch_audit_lost_rows_total",
        "Rows of _audit that were lost since the start, as too many waited for the lake.",
        [((), audit.lost)],
    )
