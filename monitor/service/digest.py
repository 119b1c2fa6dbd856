"""Rows of a digest, from what the monitor knows of each deployment; and the same from a lake, without a monitor."""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta

import pyarrow.dataset as ds
from msgspec import structs

from lake.spec.deployment_families import Families
from lake.spec.schemas import ANCHORS, PARSED_LOGS, SCORES, UNASSIGNED, USER_SIGNALS
from lake.spec.service_vocabulary import ServicePart, ServiceState
from lake.store.store_errors import log_failure
from lake.tables.lake import Lake
from monitor.alerting.incidents.incident import Incident
from monitor.alerting.incidents.log import read_incidents
from monitor.detect.stats.collector_stats import CollectorStats
from monitor.detect.stats.judge_costs import JUDGE_COST_COLUMNS
from monitor.detect.stats.means import Mean, mean_of
from monitor.detect.stats.period_sums import KEPT_DAYS, PeriodSums
from monitor.detect.stats.requests import LOG_COLUMNS
from monitor.detect.stats.scores import SCORE_COLUMNS, MetricStats
from monitor.detect.stats.sums import ROUGH_PER_UNIT
from monitor.notify.digest.log import DigestLog, DigestPlan
from monitor.notify.digest.table import DigestEvery, DigestPeriod, DigestRow, Quality
from monitor.service.health.heartbeat_reader import PartState
from monitor.service.snapshot import DeploymentState
from monitor.settings import MonitorSettings

_EPOCH = date(1970, 1, 1)
_LATE = timedelta(hours=1)
_BEYOND_CHANCE = 2.0
"""Standard errors of a difference."""
_RATING_COLUMNS = ("signal", "origin", "signaled_at")
logger = logging.getLogger(__name__)


def digest_rows(
    deployments: Mapping[str, DeploymentState], families: Families, period: DigestPeriod
) -> tuple[DigestRow, ...]:
    """Return a row of each deployment that had a request, a rating or an incident in the period.

    One that cannot be worked out says so, and costs no other its row.
    """
    first_days = {name: day for name, state in deployments.items() if (day := _first_day(state)) is not None}
    rows = []
    for name, state in deployments.items():
        if name == UNASSIGNED:
            continue
        try:
            row = _row(name, state, period)
            is_new = row is not None and _is_new_version(name, first_days, families, period)
        except Exception as error:
            log_failure(logger, error, "The row of %r in the digest cannot be worked out", name)
            row, is_new = DigestRow(name, is_missing=True), False
        if row is not None:
            rows.append(structs.replace(row, is_new_version=is_new))
    return tuple(rows)


def digest_plan(settings: MonitorSettings, lake: Lake) -> DigestPlan | None:
    """Return when digests are sent; None for never."""
    if settings.digest == "off":
        return None
    return DigestPlan(DigestEvery(settings.digest), DigestLog(lake), settings.time_zone, settings.currency)


def complete_until(collector: CollectorStats, parts: Iterable[PartState]) -> datetime | None:
    """Return up to when the tables have all rows, where a collector or an evaluator is late; None where none is.

    One is late whose last step went well long ago, or was none, and so is a collector whose lines are an hour old.
    """
    late = [
        one.last_success or one.since
        for one in parts
        if one.part in (ServicePart.COLLECTOR, ServicePart.EVALUATOR) and one.state != ServiceState.RUNNING
    ]
    lag = timedelta(seconds=collector.lag_seconds or 0.0)
    if collector.newest_batch is not None and lag > _LATE:
        late.append(collector.newest_batch - lag)
    return min(late, default=None)


def read_states(lake: Lake, period: DigestPeriod) -> dict[str, DeploymentState]:
    """Read from a lake what the rows of a digest need; nothing is written."""
    since = period.end - timedelta(days=KEPT_DAYS)
    recent, lately = ds.field("date") >= since, ds.field("date") >= period.before
    incidents: dict[str, list[Incident]] = {}
    for one in read_incidents(lake):
        incidents.setdefault(one.deployment, []).append(one)
    found = {}
    for name in lake.deployments():
        if name is None:
            continue
        state = DeploymentState(incidents=tuple(incidents.get(name, ())))
        state = state.with_logs(lake.table(PARSED_LOGS, name).read(LOG_COLUMNS, recent))
        state = state.with_signals(lake.table(USER_SIGNALS, name).read(_RATING_COLUMNS, lately))
        state = state.with_scores(lake.table(SCORES, name).read(SCORE_COLUMNS, lately))
        found[name] = state.with_anchors(lake.table(ANCHORS, name).read(JUDGE_COST_COLUMNS, lately))
    return found


def _first_day(state: DeploymentState) -> int | None:
    """Return the day of its first request; None where there is none, or that cannot be worked out: its row says so."""
    with contextlib.suppress(Exception):
        days = state.requests.by_time.days.numbers
        return int(days[0]) if len(days) else None
    return None


def _row(name: str, state: DeploymentState, period: DigestPeriod) -> DigestRow | None:
    requests, _, _, _, entry = _total(state.requests.by_time, period) or (0.0,) * 5
    likes, dislikes = _total(state.requests.rated_by_time, period) or (0.0, 0.0)
    incidents = _incidents(state.incidents, period)
    if not (requests or likes or dislikes or incidents):
        return None
    failed = sum(number for sums in state.requests.failed_by_time.values() for number in _total(sums, period))
    paid = (number for sums in state.judge_costs.by_time.values() for number in _total(sums, period))
    return DigestRow(
        deployment=name,
        quality=_quality(state.scores.metrics, period),
        incidents=len(incidents),
        open_incidents=sum(one.ended_at is None for one in incidents),
        requests=int(requests),
        failed=int(failed),
        likes=int(likes),
        dislikes=int(dislikes),
        cost=entry / ROUGH_PER_UNIT,
        judge_cost=sum(paid) / ROUGH_PER_UNIT,
    )


def _incidents(incidents: Iterable[Incident], period: DigestPeriod) -> list[Incident]:
    """Return those that were open in the period."""
    begin, end = period.times
    return [one for one in incidents if one.opened_at < end and (one.ended_at is None or one.ended_at >= begin)]


def _quality(metrics: Mapping[str, MetricStats], period: DigestPeriod) -> Quality | None:
    """Return the metric that got worse most, by its noise; of none that can be compared the one with most scores."""
    found = [one for name, scores in metrics.items() if (one := _of_metric(name, scores, period)) is not None]
    if not found:
        return None
    return max(found, key=lambda one: (one[1].before is not None, one[0], one[1].number, one[1].metric))[1]


def _of_metric(name: str, scores: MetricStats, period: DigestPeriod) -> tuple[float, Quality] | None:
    """Return how many standard errors a metric is worse, and what to say of it."""
    now = mean_of(_total(scores.means_by_time, period))
    if now is None or scores.scale is None:
        return None
    before = mean_of(scores.means_by_time.days.total(_day(period.before), _day(period.begin) - 1))
    if before is None or before.error is None or now.error is None:
        return 0.0, Quality(name, now.value, now.number)
    worse_by = _worse_by(before, now, is_reversed=scores.scale.is_reversed)
    change = "worse" if worse_by >= _BEYOND_CHANCE else "better" if worse_by <= -_BEYOND_CHANCE else "same"
    return worse_by, Quality(name, now.value, now.number, before.value, change)


def _worse_by(before: Mean, now: Mean, *, is_reversed: bool) -> float:
    fell = now.value - before.value if is_reversed else before.value - now.value
    error = math.hypot(before.error or 0.0, now.error or 0.0)
    if not error:
        return math.copysign(math.inf, fell) if fell else 0.0
    return fell / error


def _is_new_version(name: str, first_days: Mapping[str, int], families: Families, period: DigestPeriod) -> bool:
    first = first_days.get(name)
    if first is None or not _day(period.begin) <= first < _day(period.end):
        return False
    older: Sequence[str] = families.older(name, first_days.keys() - {name})
    return any(first_days[one] < first for one in older)


def _total(sums: PeriodSums, period: DigestPeriod) -> tuple[float, ...]:
    return sums.days.total(_day(period.begin), _day(period.end) - 1)


def _day(day: date) -> int:
    return (day - _EPOCH).days
