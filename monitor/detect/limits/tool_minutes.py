"""Calls of each tool of a deployment by minute, for the last two days: which tool fails, and how often.

Of a turn only some calls count, so that one that calls a failing tool again and again is no outage. The limit on
failing calls looks at the calls of all tools, and at each tool alone: one of many may be broken and hardly move the
share of all.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lake.spec.alert_vocabulary import AlertEvent
from monitor.detect.limits.evidence import last_bad_stretch
from monitor.detect.limits.minute_counts import MinuteCounts, Usual, minute_of
from monitor.detect.limits.results import FailedTool, LastChange, LimitChange, LimitReading
from monitor.detect.limits.shares import ShareLimit

_MOST_TOOLS = 200
"""Tools of a deployment that are counted; a model may make up names."""
_MOST_LOOKED_AT, _LEAST_BAD = 20, 4
"""Tools that are looked at alone, those that failed last, and the minutes with a failed call without which none is."""
_ALL_FAIL = "an alert on the calls of all tools together took its place"
_SECOND = timedelta(seconds=1)
_NEVER = datetime.max.replace(tzinfo=UTC)
MOST_OF_TOOL, _MOST_OF_TURN = 3, 10
"""Calls that count: the last of each tool of a turn, and of a turn in all."""


def counted_calls(calls: pa.Table) -> pa.Table:
    """Return the calls that count, of those with a known result: the last three of each tool of a turn, ten in all.

    Of a turn with more the last one of each tool comes first, so that every tool is seen.
    """
    calls = calls.filter(pc.is_valid(calls["is_error"]))
    from_last: Counter[tuple[int, str]] = Counter()
    found: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    turns, names = calls["turn"].to_pylist(), calls["name"].to_pylist()
    for place in reversed(range(calls.num_rows)):
        key = turns[place], names[place]
        if from_last[key] < MOST_OF_TOOL:
            found[turns[place]].append((from_last[key], -place))
        from_last[key] += 1
    places = [-place for mine in found.values() for _, place in sorted(mine)[:_MOST_OF_TURN]]
    return calls.take(pa.array(sorted(places), pa.int64()))


@dataclass
class ToolMinutes:
    """Calls of each tool by minute, all and failed ones; `usual` are those of tools that nobody called for two days."""

    by_tool: dict[str, MinuteCounts] = field(default_factory=dict)
    usual: dict[str, Usual] = field(default_factory=dict)

    def add(self, calls: pa.Table, now: datetime) -> None:
        """Count calls, as `counted_calls` gives them."""
        for name in sorted(calls["name"].unique().to_pylist()):
            if name in self.by_tool or len(self.by_tool) < _MOST_TOOLS:
                mine = calls.filter(pc.equal(calls["name"], name))
                is_error = np.asarray(mine["is_error"], np.bool_)
                self._counts(name).add(mine["requested_at"], is_error, mine["name"], now)
        for name, counts in list(self.by_tool.items()):
            counts.forget_old(now)
            if not counts.events().total:
                del self.by_tool[name]
                self._keep_usual(name, counts.usual)

    def failed(self, name: str | None, first: int, last: int) -> FailedTool | None:
        """Return how often a tool was called, and failed, from one minute to another, both included."""
        counts = self.by_tool.get(name or "")
        if counts is None:
            return None
        calls, failed = counts.between(first, last)
        return FailedTool(name or "", failed, calls)

    def looked_at(self, limit: float) -> list[tuple[str, MinuteCounts]]:
        """Return the tools that are looked at alone: those whose calls have failed in that share, the latest first.

        One that broke just now comes before those that were broken for longer, and are well again.
        """
        failing = []
        for name, counts in self.by_tool.items():
            events = counts.events()
            last = last_bad_stretch(events.minutes, events.bad / events.totals, limit)
            if counts.bad_minutes >= _LEAST_BAD and last is not None:
                failing.append((-last, -counts.bad_minutes, name, counts))
        return [(name, counts) for *_, name, counts in sorted(failing)[:_MOST_LOOKED_AT]]

    def _keep_usual(self, name: str, usual: Usual) -> None:
        """Keep what is usual of a tool that is not called; where too many are kept that with fewest calls goes."""
        self.usual[name] = usual
        if len(self.usual) > _MOST_TOOLS:
            del self.usual[min(self.usual, key=lambda one: (self.usual[one].total, one))]

    def _counts(self, name: str) -> MinuteCounts:
        if name not in self.by_tool:
            self.by_tool[name] = MinuteCounts()
            self.by_tool[name].usual = self.usual.pop(name, Usual())
        return self.by_tool[name]


def look_at_tools(
    of_all: ShareLimit,
    of_one: ShareLimit,
    minutes: MinuteCounts,
    tools: ToolMinutes,
    last: LastChange | None,
    now: datetime,
) -> tuple[list[LimitChange], LimitReading]:
    """Return what began or ended after the last change: of the calls of all tools, or of one tool alone.

    There is one alert at a time. It is over when that is over with which it began; that of one tool also when the
    calls of all fail, which begins another.
    """
    changes: list[LimitChange] = []
    alone = tools.looked_at(of_one.limit)
    while True:
        looked_at: list[tuple[str | None, MinuteCounts]] = [(None, minutes)]
        if last is None or not last.is_open:
            looked_at += alone
        elif last.tool:
            of_tool = tools.by_tool.get(last.tool, MinuteCounts())
            all_fail, _ = of_all.look(minutes, LastChange(False, last.at), now)
            if ended := _ended_by_all(of_one.look(of_tool, last, now)[0], all_fail):
                changes += [_of_tool(change, last.tool) for change in ended]
                last = LastChange(False, last.at)
            else:
                looked_at = [(last.tool, of_tool)]
        found = [(name, *(of_one if name else of_all).look(counts, last, now)) for name, counts in looked_at]
        name, mine, reading = min(found, key=lambda one: one[1][0].at if one[1] else _NEVER)
        for change in mine:
            changes.append(_of_tool(change, name) if name else _with_tool(change, tools))
            if change.change == AlertEvent.RESOLVED:
                last = LastChange(False, change.at)
                break
        else:
            if not (name and mine):
                return changes, reading
            # Whether the calls of all fail since then.
            last = LastChange(True, mine[-1].at, mine[-1].tier, mine[0].at, name)


def _ended_by_all(mine: Sequence[LimitChange], of_all: Sequence[LimitChange]) -> list[LimitChange]:
    """Return the changes of one tool's open alert up to its end, where the calls of all fail; empty where they do not.

    Nor do they where the tool is well before.
    """
    if not of_all:
        return []
    begin = of_all[0]
    before = [change for change in mine if change.at < begin.at]
    if any(change.change == AlertEvent.RESOLVED for change in before):
        return []
    return [*before, LimitChange(begin.deployment, begin.kind, AlertEvent.RESOLVED, begin.at - _SECOND, _ALL_FAIL)]


def _with_tool(change: LimitChange, tools: ToolMinutes) -> LimitChange:
    """Return the change with how often the tool failed that its window has most of; of an end, while it was bad."""
    details = change.details
    if details is None or details.window_seconds is None:
        return change
    last, seconds = minute_of(change.at), details.window_seconds
    if change.change == AlertEvent.RESOLVED and change.since is not None and details.lasted_seconds:
        seconds = details.lasted_seconds
        last = minute_of(change.since) + int(seconds // 60) - 1
    tool = tools.failed(details.mostly, last - int(seconds // 60) + 1, last)
    return replace(change, details=msgspec.structs.replace(details, tool=tool))


def _of_tool(change: LimitChange, name: str) -> LimitChange:
    """Return the change of a tool that is looked at alone with its name."""
    details = change.details
    if details is None:
        return change
    bad, calls = details.bad, details.requests
    if change.change == AlertEvent.RESOLVED and details.requests_meanwhile:
        bad, calls = details.bad_meanwhile, details.requests_meanwhile
    tool = FailedTool(name, bad or 0, calls or 0)
    details = msgspec.structs.replace(details, tool=tool, mostly=name, of_tool_alone=True)
    return replace(change, details=details)
