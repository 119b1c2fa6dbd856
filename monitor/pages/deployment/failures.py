"""Failure kinds of a deployment over a period, as its limits know them: errors, empty answers, refusals, unscored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lake.spec.alert_vocabulary import LimitKind
from lake.spec.metric_names import quoted_name
from lake.spec.vocabulary import REFUSAL
from monitor.detect.stats.means import mean_of
from monitor.detect.stats.period_sums import PeriodSums
from monitor.notify.texts.http_status import status_words
from monitor.pages.charts import Drawing, Point, TimeChart, draw
from monitor.pages.deployment.marks import limit_marks_of
from monitor.pages.period import PagePeriod
from monitor.service.snapshot import DeploymentState, Snapshot

_MOST_TOOLS = 5
"""Those that failed most often; all are in the table of tools."""


@dataclass(frozen=True)
class FailureCount:
    """How many of what failed, and why; `share` is None where there is nothing that could fail, or nothing is known.

    `status` is the HTTP status of failed requests, 400 or more; None where they had none, and of other kinds.
    """

    kind: str
    reason: str
    number: int | None
    share: float | None
    of: str
    status: int | None = None

    @property
    def why(self) -> str:
        """The reason in words: HTTP 400 (bad request)."""
        return self.reason if self.status is None else status_words(str(self.status))


@dataclass(frozen=True)
class FailuresView:
    """All kinds, and the share of failed requests over time."""

    kinds: tuple[FailureCount, ...]
    drawing: Drawing


def failures_of(name: str, snapshot: Snapshot, period: PagePeriod) -> FailuresView:
    """Return the failures of a deployment."""
    state = snapshot.deployments[name]
    kinds = [
        *_errors(state, period), *_tool_errors(state, period), *_refusals(state, period), *_unscored(state, period)
    ]  # fmt: skip
    return FailuresView(tuple(kinds), draw(_chart(name, snapshot, period)))


def _errors(state: DeploymentState, period: PagePeriod) -> Iterable[FailureCount]:
    requests = int((*state.requests.by_time.total(period.first, period.last), 0)[0])
    for reason, number in _by_reason(state.requests.failed_by_time, period).items():
        status = int(reason) if reason.isdecimal() else None
        share = number / requests if requests else None
        yield FailureCount("errors", reason, number, share, f"{requests:,} requests", status)


def _tool_errors(state: DeploymentState, period: PagePeriod) -> Iterable[FailureCount]:
    counts = {
        tool: one.by_time.total(period.first, period.last) or (0.0,) * 3 for tool, one in state.requests.tools.items()
    }
    known = int(sum(errors + ok for errors, ok, _ in counts.values()))
    failed = {tool: int(errors) for tool, (errors, *_) in counts.items() if errors}
    for tool, number in sorted(failed.items(), key=lambda one: (-one[1], one[0]))[:_MOST_TOOLS]:
        yield FailureCount("calls of tools", tool, number, number / known, f"{known:,} calls of tools")


def _refusals(state: DeploymentState, period: PagePeriod) -> Iterable[FailureCount]:
    scores = state.scores.metrics.get(REFUSAL)
    found = mean_of(scores.means_by_time.total(period.first, period.last)) if scores else None
    if found is not None and found.value > 0:
        of = f"{found.number:,} answers that the metric {quoted_name(REFUSAL)} scored"
        yield FailureCount("refusals", "", round(found.value * found.number), found.value, of)


def _unscored(state: DeploymentState, period: PagePeriod) -> Iterable[FailureCount]:
    reasons = _by_reason(state.scores.unscored_by_time, period)
    scored = sum(
        int(number)
        for metric in state.scores.metrics.values()
        for number in metric.scored_by_time.total(period.first, period.last)
    )
    tried = scored + sum(reasons.values())
    for reason, number in reasons.items():
        words = reason.replace("_", " ")
        yield FailureCount("unscored", words, number, number / tried, f"{tried:,} evaluations")


def _by_reason(found: Mapping[str, PeriodSums], period: PagePeriod) -> dict[str, int]:
    """Return the numbers of the period, most first."""
    numbers = {
        reason: int(number)
        for reason, sums in found.items()
        for number in sums.total(period.first, period.last)
        if number
    }
    return dict(sorted(numbers.items(), key=lambda one: (-one[1], one[0])))


def _chart(name: str, snapshot: Snapshot, period: PagePeriod) -> TimeChart:
    state = snapshot.deployments[name]
    slots = (period.first, period.last, period.slot_hours)
    every = [int(row[0]) if row else 0 for row in state.requests.by_time.by_slot(*slots).tolist()]
    bad = [0] * len(every)
    for sums in state.requests.failed_by_time.values():
        bad = [old + int(row[0]) for old, row in zip(bad, sums.by_slot(*slots).tolist(), strict=True)]
    reading = state.limits.get(LimitKind.ERRORS)
    limit = 100 * reading.limit if reading and reading.limit is not None else None
    is_exceeded = limit is not None and any(e and 100 * b / e >= limit for e, b in zip(every, bad, strict=True))
    return TimeChart(
        key="failed",
        name="Failed requests",
        begin=period.begin,
        slot=period.slot,
        points=[Point(100 * b / e if e else None, number=e) for e, b in zip(every, bad, strict=True)],
        quantity="share that failed",
        unit=" %",
        counted="requests",
        reference=limit if is_exceeded else None,
        reference_name="limit of a window",
        least_span=1.0,
        bounds=(0.0, 100.0),
        begins_at_zero=True,
        marks=limit_marks_of(name, LimitKind.ERRORS, snapshot, period),
        is_bad=bool(reading and reading.active),
        decimals=1,
    )
