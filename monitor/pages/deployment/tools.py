"""Tools that a deployment's turns called over a period: how often, how often that failed, how long, and the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lake.queries.tool_times import ToolTime
from lake.spec.tool_names import LONGEST_NAME, UNNAMED
from lake.spec.vocabulary import FailureKind
from monitor.detect.stats.tools import OTHERS
from monitor.pages.answers.query import AnswerQuery
from monitor.pages.period import PagePeriod
from monitor.service.snapshot import DeploymentState


@dataclass(frozen=True)
class ToolCount:
    """Calls of a tool: all, those that failed, and those of which nothing says whether they did.

    `share` is that of the failed ones among those of which it is known, None where it is of none. `answers` is the
    address of the answers in which it failed, or of those that called it where it never did; None where the tool has no
    name to search by. `median_ms` is how long its newest calls took, `timed` of how many of them it is the median; None
    and 0 where no line of the tool was found, or none could be read.
    """

    tool: str
    calls: int
    errors: int
    unknown: int
    share: float | None
    answers: str | None
    median_ms: float | None = None
    timed: int = 0


def tools_of(name: str, state: DeploymentState, period: PagePeriod) -> tuple[ToolCount, ...]:
    """Return the tools that were called in the period: those that failed most often first, then those called most."""
    found = [
        _count(name, tool, sums, period)
        for tool, stats in state.requests.tools.items()
        if any(sums := stats.by_time.total(period.first, period.last))
    ]
    return tuple(sorted(found, key=lambda one: (-one.errors, -one.calls, one.tool)))


def with_times(tools: Sequence[ToolCount], times: Mapping[str, ToolTime]) -> tuple[ToolCount, ...]:
    """Return the tools with how long they took, of those of which it is known."""
    return tuple(
        replace(one, median_ms=found.median_ms, timed=found.calls) if (found := times.get(one.tool)) else one
        for one in tools
    )


def _count(name: str, tool: str, sums: Sequence[float], period: PagePeriod) -> ToolCount:
    errors, ok, unknown = map(int, sums)
    known = errors + ok
    is_searchable = tool not in (UNNAMED, OTHERS) and len(tool) < LONGEST_NAME
    failure = FailureKind.TOOL_ERROR if errors else None
    query = AnswerQuery(name, period.begin.date(), period.end.date(), tool=tool, failure=failure)
    share, answers = errors / known if known else None, query.address() if is_searchable else None
    return ToolCount(tool, known + unknown, errors, unknown, share, answers)
