"""Counts of one deployment for its limits, and how its latest requests and calls went."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from lake.spec.alert_vocabulary import LimitKind
from monitor.detect.limits.callers import Callers
from monitor.detect.limits.child_calls import ChildCalls
from monitor.detect.limits.minute_counts import MinuteCounts, MinuteEvents
from monitor.detect.limits.named_minutes import NamedMinutes
from monitor.detect.limits.no_data import RequestTimes
from monitor.detect.stats.requests import failed

_LEAST_EVENTS = 4


@dataclass(frozen=True)
class RecentFailures:
    """Requests and answers of each deployment, and which were bad, with the limits of these shares."""

    shares: Mapping[str, Sequence[tuple[float, MinuteEvents]]]

    def fails_since(self, deployment: str, at: datetime) -> bool:
        """Whether the share of bad ones after a time has reached its limit; not where there were fewer than four."""
        for limit, events in self.shares.get(deployment, ()):
            total, bad = events.after(at)
            if total >= _LEAST_EVENTS and bad >= limit * total:
                return True
        return False


@dataclass
class LimitCounts:
    """Counts of one deployment."""

    minutes: dict[LimitKind, MinuteCounts] = field(default_factory=lambda: defaultdict(MinuteCounts))
    request_times: RequestTimes = field(default_factory=RequestTimes)
    callers: Callers = field(default_factory=Callers)
    tools: NamedMinutes = field(default_factory=NamedMinutes)
    answered_since: datetime | None = None
    """Time of the first request that was answered. Without one silence is none: anybody may try a name once."""

    def hear(self, rows: pa.Table, now: datetime) -> None:
        """Take in when there were requests."""
        answered = pc.min(rows["requested_at"].filter(pa.array(~failed(rows)))).as_py()
        self.answered_since = min(filter(None, (self.answered_since, answered)), default=None)
        self.request_times.add(rows["requested_at"], now)

    def failing(self, kind: LimitKind, limit: float, children: ChildCalls | None) -> Iterator[MinuteCounts]:
        """Yield what a limit looks at: all, and the calls of each tool, or to each deployment, alone."""
        if kind in self.minutes:
            yield self.minutes[kind]
        if kind == LimitKind.TOOL_ERRORS:
            yield from (minutes for _, minutes in self.tools.looked_at(limit))
        if kind == LimitKind.CHILD_ERRORS and children is not None:
            yield from children.to.by_name.values()

    def drop(self, kind: LimitKind) -> None:
        """Forget what is counted for one limit alone."""
        self.minutes.pop(kind, None)
        if kind == LimitKind.TOOL_ERRORS:
            self.tools = NamedMinutes()
        if kind == LimitKind.CHILD_ERRORS:
            self.callers.calls = NamedMinutes()
        if kind == LimitKind.NO_DATA:
            self.request_times, self.answered_since = RequestTimes(), None
