"""Rows of the overview: of each deployment its state, worst metric, traffic, failures, dislikes and coverage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from lake.queries.application_classes import DecidedClass
from lake.spec.deployment_families import Families
from lake.spec.metric_names import quoted_name
from lake.spec.schemas import UNASSIGNED
from monitor.alerting.alerts.change import is_page
from monitor.detect.regression import UNDECIDED, Reading, Status
from monitor.pages.filters import progress
from monitor.pages.news import EndedIncident, fall_in_brief, just_ended
from monitor.pages.overview.worst_metric import WorstMetric, worst_of
from monitor.pages.period import PagePeriod
from monitor.pages.times import IN_UTC, Times
from monitor.service.snapshot import DeploymentState

_MOST_REASONS = 3
"""In a row."""


class State(StrEnum):
    """How a deployment stands; the order is that of the table, problems first."""

    PAGE = "page"
    WARNING = "warning"
    LEARNING = "learning"
    IMPROVED = "improved"
    FINE = "fine"
    NOT_WATCHED = "not watched"
    NO_DATA = "no data"

    @property
    def words(self) -> str:
        """As people read it: a page is what they look at, and requests are data, too."""
        return {State.PAGE: "urgent", State.NO_DATA: "no scores"}.get(self, self.value)


_PROBLEMS = (State.PAGE, State.WARNING)


@dataclass(frozen=True)
class DeploymentRow:
    """One deployment. Counts are of the period; `failures` is by reason, most first.

    `coverage` is the share of the period's answers that the evaluator has scored by the metric that has most scores;
    None where there was no answer.
    """

    name: str
    state: State
    why: str
    worst: WorstMetric | None
    requests: int
    answers: int
    failures: Mapping[str, int]
    likes: int
    dislikes: int
    coverage: float | None
    last_scored: datetime | None
    failed_tools: int = 0
    """Calls of tools that failed: no request failed for these."""
    ended: EndedIncident | None = None
    """The incident that ended last, within the last day, where none is open."""
    silent_since: datetime | None = None
    """When the last request came, where that is longer ago than usual: the state is that of then."""
    other_versions: tuple[DeploymentRow, ...] = ()
    """Other versions of the application, the newest first, that have no row of their own."""

    @property
    def is_silent(self) -> bool:
        """Whether that no request comes is to be said in place of the state, which is no problem."""
        return self.silent_since is not None and self.state not in _PROBLEMS

    @property
    def failed(self) -> int:
        """All that failed."""
        return sum(self.failures.values())

    @property
    def reasons(self) -> list[tuple[str, int]]:
        """The most frequent reasons, and all others as one."""
        every = list(self.failures.items())
        if len(every) <= _MOST_REASONS:
            return every
        shown = every[: _MOST_REASONS - 1]
        return [*shown, ("others", self.failed - sum(number for _, number in shown))]

    @property
    def coverage_words(self) -> str:
        """The coverage in per cent; 100 only where it is all, and 0 only where it is none."""
        if self.coverage is None:
            return "–"
        percent = 100 * self.coverage
        if 0 < percent < 1:
            return "< 1 %"
        return f"{int(percent)} %"

    @property
    def has_name(self) -> bool:
        """Whether it is a deployment: calls that name none have a row, too."""
        return self.name != UNASSIGNED


@dataclass(frozen=True)
class OverviewTable:
    """The table: the rows that fit the query, and sums over all that the reader may see."""

    period: PagePeriod
    rows: Sequence[DeploymentRow]
    deployments: int
    requests: int
    states: dict[State, int]


def by_application(rows: Sequence[DeploymentRow], families: Families) -> list[DeploymentRow]:
    """Return the rows, of an application's versions one: that of the newest one with requests.

    A version with a problem keeps its row.
    """
    of_name = {row.name: row for row in rows}
    found = dict(of_name)
    for members in families.of(of_name):
        newest_first = [of_name[name] for name in reversed(members)]
        shown = next((row for row in newest_first if row.requests), newest_first[0])
        others = tuple(row for row in newest_first if row is not shown and row.state not in _PROBLEMS)
        found[shown.name] = replace(shown, other_versions=others)
        for row in others:
            del found[row.name]
    return list(found.values())


def row_of(
    name: str,
    deployment: DeploymentState,
    period: PagePeriod,
    times: Times = IN_UTC,
    decided: DecidedClass | None = None,
) -> DeploymentRow:
    """Work out the row of one deployment; `decided` is what it does, as far as that is known."""
    requests, first, last = deployment.requests, period.first, period.last
    every, answers = _counts(requests.by_time.total(first, last)[:2])
    likes, dislikes = _counts(requests.rated_by_time.total(first, last))
    failures = {
        reason: int(number)
        for reason, sums in requests.failed_by_time.items()
        for number in sums.total(first, last)
        if number
    }
    worst = worst_of(deployment, period)
    without_scores = _why_without_scores(every, answers, period)
    state, why = _state_of(deployment, times, worst.metric if worst else "", without_scores)
    silent = deployment.silent_since if every else None
    if silent is not None:
        why = _of_then(state, why, times.brief_moment(silent))
    if state in (State.NO_DATA, State.NOT_WATCHED) and every and decided is not None and not decided.metrics:
        state, why = State.NOT_WATCHED, "only its limits: no metric is scored of it"
    return DeploymentRow(
        name=name,
        state=state,
        why=why,
        worst=worst,
        requests=every,
        answers=answers,
        failures=dict(sorted(failures.items(), key=lambda one: (-one[1], one[0]))),
        likes=likes,
        dislikes=dislikes,
        coverage=_coverage(deployment, period, answers),
        last_scored=deployment.scores.last_scored_at,
        failed_tools=_failed_tools(deployment, period),
        ended=just_ended(deployment, period.end),
        silent_since=silent,
    )


def _failed_tools(deployment: DeploymentState, period: PagePeriod) -> int:
    totals = (one.by_time.total(period.first, period.last) for one in deployment.requests.tools.values())
    return int(sum(sums[0] for sums in totals if sums))


def _counts(totals: tuple[float, ...]) -> tuple[int, int]:
    first, second = totals or (0.0, 0.0)
    return int(first), int(second)


def _coverage(deployment: DeploymentState, period: PagePeriod, answers: int) -> float | None:
    if not answers:
        return None
    scored = (
        number
        for metric in deployment.scores.metrics.values()
        for number in metric.scored_by_time.total(period.first, period.last)
    )
    return min(1.0, max(scored, default=0.0) / answers)


def _state_of(deployment: DeploymentState, times: Times, worst: str, without_scores: str) -> tuple[State, str]:
    """Return the state and its reason, in words for the page; of regressions that of the `worst` metric comes first.

    `without_scores` is the reason where there are no scores.
    """
    pages, warnings, stopped = (
        list(some)
        for some in (_pages(deployment, times, worst), _warnings(deployment, times, worst), _stopped(deployment))
    )
    if pages or warnings or stopped:
        worse = _first([*pages, *warnings])
        return (State.PAGE if pages else State.WARNING), "; ".join([*worse, *stopped])
    readings = deployment.readings.values()
    watching = [one for one in readings if one.status is Status.WATCHING and one.can_fire]
    learning = [one for one in readings if one.status is Status.LEARNING]
    better = [metric for metric, one in deployment.readings.items() if one in watching and one.improved]
    if better:
        return State.IMPROVED, ", ".join(map(quoted_name, better))
    if watching:
        more = f", {len(learning)} learning" if learning else ""
        return State.FINE, f"{len(watching)} watched{more}"
    if learning:
        furthest = max(learning, key=_learned)
        return State.LEARNING, progress(furthest)
    if deployment.watched:
        return State.NOT_WATCHED, "no metric that can get worse has scores of the last 4 weeks"
    return State.NO_DATA, without_scores


def _why_without_scores(requests: int, answers: int, period: PagePeriod) -> str:
    if not requests:
        return f"no request in {period.days.words}"
    if not answers:
        return "it gave no answer to a person, and only these are scored"
    return "the evaluator has not scored its answers yet"


def _of_then(state: State, why: str, silent: str) -> str:
    """Return the reason of a state that is of the time before the requests stopped."""
    if state in _PROBLEMS:
        return f"{why}; no request since {silent}"
    return f"since {silent}; before that: {state.words}, {why}"


def _first(problems: Sequence[str]) -> Sequence[str]:
    more = len(problems) - 1
    return [*problems[:1], f"{more} more"] if more > 0 else problems


def _learned(reading: Reading) -> float:
    return reading.reference_observations / max(1, reading.reference_needed)


def _regressed(deployment: DeploymentState, times: Times, worst: str, *, paging: bool) -> Iterator[str]:
    for metric, reading in sorted(deployment.readings.items(), key=lambda one: one[0] != worst):
        verdict = deployment.judgements.get(metric, UNDECIDED).verdict
        if reading.status is Status.REGRESSED and is_page(reading.tier, verdict) is paging:
            yield fall_in_brief(metric, reading, deployment, times)


def _pages(deployment: DeploymentState, times: Times, worst: str) -> Iterator[str]:
    yield from _regressed(deployment, times, worst, paging=True)
    yield from (_limit(change.key.metric) for change in deployment.exceeded if change.pages)


def _warnings(deployment: DeploymentState, times: Times, worst: str) -> Iterator[str]:
    yield from _regressed(deployment, times, worst, paging=False)
    yield from (_limit(change.key.metric) for change in deployment.exceeded if not change.pages)
    yield from (
        f"the judge of {quoted_name(metric)} drifted" for metric, judge in deployment.judges.items() if judge.active
    )


def _stopped(deployment: DeploymentState) -> Iterator[str]:
    yield from (f"{quoted_name(metric)} stopped by an error" for metric in deployment.stopped)
    yield from (f"the judge of {quoted_name(metric)} stopped by an error" for metric in deployment.stopped_judges)
    yield from (f"limit {quoted_name(kind)} stopped by an error" for kind in deployment.stopped_limits)


def _limit(kind: str) -> str:
    return f"limit exceeded: {quoted_name(kind)}"
