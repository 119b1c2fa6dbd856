"""The overview as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from lake.spec.schemas import deployment_of
from monitor.pages.overview.rows import DeploymentRow, OverviewTable, State
from monitor.pages.overview.strip import Strip
from monitor.pages.overview.worst_metric import WorstMetric


@dataclass(frozen=True)
class OverviewWorst:
    """The metric that stands worst: its mean over the period, and `change`, the mean less the reference."""

    metric: str
    mean: float | None
    reference: float
    change: float | None
    regressed: bool


@dataclass(frozen=True)
class OverviewRow:
    """One deployment; null for the calls that name none. `failures` is by reason, `coverage` from 0 to 1.

    `silent_since` is when the last request came, where that is longer ago than usual: then `state` is that of then.
    """

    deployment: str | None
    state: State
    why: str
    worst: OverviewWorst | None
    requests: int
    answers: int
    failed: int
    failures: Mapping[str, int]
    likes: int
    dislikes: int
    coverage: float | None
    last_scored: datetime | None
    silent_since: datetime | None


@dataclass(frozen=True)
class Overview:
    """How dialwatch is, the rows that fit the query, and sums over all deployments.

    `states` is how many deployments stand how. All but `dialwatch` is null until the lake has been read once.
    """

    dialwatch: Strip
    days: int | None = None
    since: datetime | None = None
    until: datetime | None = None
    deployments: int | None = None
    requests: int | None = None
    states: Mapping[State, int] | None = None
    rows: Sequence[OverviewRow] | None = None


def overview_of(table: OverviewTable | None, strip: Strip) -> Overview:
    """Return the overview; before the first look at the lake without a table."""
    if table is None:
        return Overview(strip)
    return Overview(
        dialwatch=strip,
        days=int(table.period.days),
        since=table.period.begin,
        until=table.period.end,
        deployments=table.deployments,
        requests=table.requests,
        states=table.states,
        rows=[_row(row) for row in table.rows],
    )


def _row(row: DeploymentRow) -> OverviewRow:
    return OverviewRow(
        deployment=deployment_of(row.name),
        state=row.state,
        why=row.why,
        worst=None if row.worst is None else _worst(row.worst),
        requests=row.requests,
        answers=row.answers,
        failed=row.failed,
        failures=row.failures,
        likes=row.likes,
        dislikes=row.dislikes,
        coverage=row.coverage,
        last_scored=row.last_scored,
        silent_since=row.silent_since,
    )


def _worst(worst: WorstMetric) -> OverviewWorst:
    return OverviewWorst(worst.metric, worst.mean, worst.reference, worst.change, worst.is_regressed)
