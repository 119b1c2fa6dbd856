"""Tools that a deployment's turns called over a period: how often, how often that failed, and the answers of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lake.spec.vocabulary import FailureKind
from monitor.detect.stats.tools import LONGEST_NAME, OTHERS, UNNAMED
from monitor.pages.answers.query import AnswerQuery
from monitor.pages.period import PagePeriod
from monitor.service.snapshot import DeploymentState


@dataclass(frozen=True)
class ToolCount:
    """Calls of a tool: all, those that failed, and those of which nothing says whether they did.

    `share` is that of the failed ones among those of which it is known, None where it is of none. `answers` is the
    address of the answers in which it failed, or of those that called it where it never did; None where the tool has no
    name to search by.
    """

    tool: str
    calls: int
    errors: int
    unknown: int
    share: float | None
    answers: str | None


def tools_of(name: str, state: DeploymentState, period: PagePeriod) -> tuple[ToolCount, ...]:
    """Return the tools that were called in the period: those that failed most often first, then those called most."""
    found = [
        _count(name, tool, sums, period)
        for tool, stats in state.requests.tools.items()
        if any(sums := stats.by_time.total(period.first, period.last))
    ]
    return tuple(sorted(found, key=lambda one: (-one.errors, -one.calls, one.tool)))


def _count(name: str, tool: str, sums: Sequence[float], period: PagePeriod) -> ToolCount:
    errors, ok, unknown = map(int, sums)
    known = errors + ok
    is_searchable = tool not in (UNNAMED, OTHERS) and len(tool) < LONGEST_NAME
    failure = FailureKind.TOOL_ERROR if errors else None
    query = AnswerQuery(name, period.begin.date(), period.end.date(), tool=tool, failure=failure)
    share, answers = errors / known if known else None, query.address() if is_searchable else None
    return ToolCount(tool, known + unknown, errors, unknown, share, answers)
