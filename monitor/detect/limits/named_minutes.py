"""Calls by minute of each of several, by name: the tools or deployments that one calls, or those that call it.

A limit on calls that fail looks at all of them together, and at each name alone: one of many may be broken and hardly
move the share of all.
"""

from __future__ import annotations

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
"""Names that are looked at alone, those that failed last, and the minutes with a failed call without which none is."""
_ALL_FAIL = "an alert on all calls together took its place"
_SECOND = timedelta(seconds=1)
_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass
class NamedMinutes:
    """Calls of each name by minute, all and failed ones; `usual` are those of names without a call for two days."""

    by_name: dict[str, MinuteCounts] = field(default_factory=dict)
    usual: dict[str, Usual] = field(default_factory=dict)

    def add(self, calls: pa.Table, now: datetime, most: int = _MOST_TOOLS) -> None:
        """Count calls (`name`, `requested_at`, `is_error`) of at most so many names.

        Why one failed is its `why`, and without that column its name.
        """
        why = "why" if "why" in calls.column_names else "name"
        calls, begin = calls.sort_by("name"), 0
        for counted in pc.value_counts(calls["name"]).to_pylist():
            name, mine = counted["values"], calls.slice(begin, counted["counts"])
            begin += counted["counts"]
            if name in self.by_name or len(self.by_name) < most:
                is_error = np.asarray(mine["is_error"], np.bool_)
                self._counts(name).add(mine["requested_at"], is_error, mine[why], now)
        for name, counts in list(self.by_name.items()):
            counts.forget_old(now)
            if not counts.events().total:
                del self.by_name[name]
                self._keep_usual(name, counts.usual, most)

    def failed(self, name: str | None, first: int, last: int) -> FailedTool | None:
        """Return how often a name was called, and failed, from one minute to another, both included."""
        counts = self.by_name.get(name or "")
        if counts is None:
            return None
        calls, failed = counts.between(first, last)
        return FailedTool(name or "", failed, calls)

    def looked_at(self, limit: float) -> list[tuple[str, MinuteCounts]]:
        """Return the names that are looked at alone: those whose calls have failed in that share, the latest first.

        One that broke just now comes before those that were broken for longer, and are well again.
        """
        failing = []
        for name, counts in self.by_name.items():
            events = counts.events()
            last = last_bad_stretch(events.minutes, events.bad / events.totals, limit)
            if counts.bad_minutes >= _LEAST_BAD and last is not None:
                failing.append((-last, -counts.bad_minutes, name, counts))
        return [(name, counts) for *_, name, counts in sorted(failing)[:_MOST_LOOKED_AT]]

    def _keep_usual(self, name: str, usual: Usual, most: int) -> None:
        """Keep what is usual of a name without calls; where too many are kept that with fewest calls goes."""
        self.usual[name] = usual
        if len(self.usual) > most:
            del self.usual[min(self.usual, key=lambda one: (self.usual[one].total, one))]

    def _counts(self, name: str) -> MinuteCounts:
        if name not in self.by_name:
            self.by_name[name] = MinuteCounts()
            self.by_name[name].usual = self.usual.pop(name, Usual())
        return self.by_name[name]


def look_at_each(
    of_all: ShareLimit,
    of_one: ShareLimit,
    minutes: MinuteCounts,
    each: NamedMinutes,
    last: LastChange | None,
    now: datetime,
) -> tuple[list[LimitChange], LimitReading]:
    """Return what began or ended after the last change: of all calls, or of those of one name alone.

    There is one alert at a time. It is over when that is over with which it began; that of one name also when the
    calls of all fail, which begins another. The name is the `tool` of the changes.
    """
    changes: list[LimitChange] = []
    # Where there is one name, all calls are its own.
    alone = each.looked_at(of_one.limit) if len(each.by_name) > 1 else []
    while True:
        looked_at: list[tuple[str | None, MinuteCounts]] = [(None, minutes)]
        if last is None or not last.is_open:
            looked_at += alone
        elif last.tool:
            of_name = each.by_name.get(last.tool, MinuteCounts())
            all_fail, _ = of_all.look(minutes, LastChange(False, last.at), now)
            if ended := _ended_by_all(of_one.look(of_name, last, now)[0], all_fail):
                changes += [_of_tool(change, last.tool) for change in ended]
                last = LastChange(False, last.at)
            else:
                looked_at = [(last.tool, of_name)]
        found = [(name, *(of_one if name else of_all).look(counts, last, now)) for name, counts in looked_at]
        name, mine, reading = min(found, key=lambda one: one[1][0].at if one[1] else _NEVER)
        for change in mine:
            changes.append(_of_tool(change, name) if name else _with_tool(change, each))
            if change.change == AlertEvent.RESOLVED:
                last = LastChange(False, change.at)
                break
        else:
            if not (name and mine):
                return changes, reading
            # Whether the calls of all fail since then.
            last = LastChange(True, mine[-1].at, mine[-1].tier, mine[0].at, name)


def _ended_by_all(mine: Sequence[LimitChange], of_all: Sequence[LimitChange]) -> list[LimitChange]:
    """Return the changes of one name's open alert up to its end, where the calls of all fail; empty where they do not.

    Nor do they where its calls are well before.
    """
    if not of_all:
        return []
    begin = of_all[0]
    before = [change for change in mine if change.at < begin.at]
    if any(change.change == AlertEvent.RESOLVED for change in before):
        return []
    return [*before, LimitChange(begin.deployment, begin.kind, AlertEvent.RESOLVED, begin.at - _SECOND, _ALL_FAIL)]


def _with_tool(change: LimitChange, each: NamedMinutes) -> LimitChange:
    """Return the change with how often the name failed that its window has most of; of an end, while it was bad."""
    details = change.details
    if details is None or details.window_seconds is None:
        return change
    last, seconds = minute_of(change.at), details.window_seconds
    if change.change == AlertEvent.RESOLVED and change.since is not None and details.lasted_seconds:
        seconds = details.lasted_seconds
        last = minute_of(change.since) + int(seconds // 60) - 1
    first = last - int(seconds // 60) + 1
    tool = each.failed(details.mostly, first, last)
    mostly = each.by_name[tool.name].most_frequent_reason(first, last) if tool else details.mostly
    return replace(change, details=msgspec.structs.replace(details, tool=tool, mostly=mostly))


def _of_tool(change: LimitChange, name: str) -> LimitChange:
    """Return the change of a name that is looked at alone with it."""
    details = change.details
    if details is None:
        return change
    bad, calls = details.bad, details.requests
    if change.change == AlertEvent.RESOLVED and details.requests_meanwhile:
        bad, calls = details.bad_meanwhile, details.requests_meanwhile
    tool = FailedTool(name, bad or 0, calls or 0)
    details = msgspec.structs.replace(details, tool=tool, of_tool_alone=True)
    return replace(change, details=details)
