"""Query of the overview, as its address says: deployments, order, period; and links to the answers that it counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from urllib.parse import urlencode

from lake.queries.failures import AnswerStatus
from lake.queries.ratings import AnswerRating
from lake.spec.vocabulary import DISLIKES
from monitor.pages.answers.query import AnswerQuery
from monitor.pages.overview.rows import DeploymentRow, State
from monitor.pages.overview.worst_metric import WorstMetric
from monitor.pages.period import Days, PagePeriod


class Column(StrEnum):
    """Columns by which the table can be sorted."""

    STATE = "state"
    NAME = "name"
    CHANGE = "change"
    REQUESTS = "requests"
    FAILURES = "failures"
    DISLIKES = "dislikes"
    SCORED = "scored"
    COVERAGE = "coverage"


_STATES = list(State)
_KEYS: dict[Column, Callable[[DeploymentRow], float | str | None]] = {
    Column.STATE: lambda row: _STATES.index(row.state),
    Column.NAME: lambda row: row.name.casefold(),
    Column.CHANGE: lambda row: None if row.worst is None or row.worst.mean is None else -row.worst.worse_by,
    Column.REQUESTS: lambda row: -row.requests,
    Column.FAILURES: lambda row: -row.failed,
    Column.DISLIKES: lambda row: -row.dislikes,
    Column.SCORED: lambda row: None if row.last_scored is None else row.last_scored.timestamp(),
    Column.COVERAGE: lambda row: row.coverage,
}
"""What a reader looks for comes first: problems, the worst change, most of a count, the oldest score."""


@dataclass(frozen=True)
class OverviewQuery:
    """What the address of the overview says; `state` is None for all states."""

    q: str = ""
    state: State | None = None
    sort: Column = Column.STATE
    reverse: bool = False
    days: Days = Days.WEEK
    renew: bool = True
    """Whether the page renews itself."""

    def chosen(self, rows: Iterable[DeploymentRow]) -> list[DeploymentRow]:
        """Return the rows that fit, in their order; rows without a value in the column are last either way."""
        part, key = self.q.casefold(), _KEYS[self.sort]
        found = [row for row in rows if part in row.name.casefold() and (self.state is None or row.state is self.state)]
        # Sorting is stable: what is alike stays problems first, then by traffic and name.
        found.sort(key=_usual)
        with_value = [row for row in found if key(row) is not None]
        with_value.sort(key=key, reverse=self.reverse)  # type: ignore[arg-type]
        return with_value + [row for row in found if key(row) is None]

    def address(self, path: str = "/") -> str:
        """Return the address that says this; what is as usual is not in it."""
        given = {
            "q": self.q,
            "state": self.state.value if self.state else "",
            "sort": "" if self.sort is Column.STATE else self.sort.value,
            "reverse": "true" if self.reverse else "",
            "days": "" if self.days is Days.WEEK else str(self.days.value),
            "renew": "" if self.renew else "false",
        }
        parameters = urlencode({name: value for name, value in given.items() if value})
        return f"{path}?{parameters}" if parameters else path

    def sorted_by(self, column: Column) -> str:
        """Return the address that sorts by a column, the other way round where it does so already."""
        return replace(self, sort=column, reverse=self.sort is column and not self.reverse).address()

    def over(self, days: Days) -> str:
        """Return the address of another period."""
        return replace(self, days=days).address()

    def renewing(self, renew: bool) -> str:
        """Return the address of the page that renews itself, or does not."""
        return replace(self, renew=renew).address()

    def order_of(self, column: Column) -> str | None:
        """Say for `aria-sort` whether the table is sorted by a column."""
        if self.sort is not column:
            return None
        falls = column in (Column.REQUESTS, Column.FAILURES, Column.DISLIKES)
        return "ascending" if falls is self.reverse else "descending"

    @property
    def is_narrowed(self) -> bool:
        """Whether some deployments may be left out."""
        return bool(self.q or self.state)

    @property
    def everything(self) -> str:
        """Return the address without search and filter."""
        return replace(self, q="", state=None).address()


def _usual(row: DeploymentRow) -> tuple[int, float, int, str]:
    is_problem = row.state in (State.PAGE, State.WARNING)
    worse_by = row.worst.worse_by if is_problem and row.worst else 0.0
    return _STATES.index(row.state), -worse_by, -row.requests, row.name


def failed_answers(row: DeploymentRow, period: PagePeriod) -> str:
    """Return the address of what failed, calls between applications included: the figure counts them, too."""
    return _list(row, period, status=AnswerStatus.FAILED, entries_only=False)


def disliked_answers(row: DeploymentRow, period: PagePeriod) -> str:
    """Return the address of the answers that people disliked."""
    return _list(row, period, rating=AnswerRating.DISLIKED)


def worst_answers(row: DeploymentRow, worst: WorstMetric, period: PagePeriod) -> str:
    """Return the address of the answers with the worst score first; of people's ratings the disliked ones.

    Those of a metric that fell within the period are those since the fall.
    """
    since = worst.since.astimezone(UTC) if worst.since and worst.since > period.begin else None
    fields: dict[str, Any] = {"sort": worst.metric, "order": "desc" if worst.lower_is_better else "asc"}
    if worst.metric == DISLIKES:
        fields = {"rating": AnswerRating.DISLIKED}
    return _list(row, period, since, **fields)


def _list(row: DeploymentRow, period: PagePeriod, since: datetime | None = None, **fields: Any) -> str:
    first = (since or period.begin).date()
    return AnswerQuery(row.name, first, period.end.date(), start_time=since, **fields).address()
