"""Limit on the calls that a deployment makes to others, through DIAL Core, and that fail: of all, and of one alone.

The rows of such calls lie at the deployment that is called, and so do their counts (`Callers`). An application for
which alone a call fails, as its key or its parameters are wrong, hardly moves the share of all requests there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

import msgspec

from monitor.detect.limits.callers import Callers
from monitor.detect.limits.minute_counts import KEPT, MinuteCounts
from monitor.detect.limits.named_minutes import NamedMinutes, look_at_each
from monitor.detect.limits.results import FailedCallee, LastChange, LimitChange, LimitReading
from monitor.detect.limits.shares import ShareLimit


@dataclass(frozen=True)
class ChildCalls:
    """Calls that one deployment made: to each other one by minute. `is_known` is false where some may be missing."""

    to: NamedMinutes = field(default_factory=NamedMinutes)
    is_known: bool = True


def child_calls(callers: Iterable[tuple[str, Callers, bool]]) -> Mapping[str, ChildCalls]:
    """Return the calls of each deployment that calls others, from the callers of each that is called.

    With these comes whether the calls to it are all counted.
    """
    found: defaultdict[str, NamedMinutes] = defaultdict(NamedMinutes)
    unknown: set[str] = set()
    for called, mine, is_known in callers:
        for name, minutes in mine.calls.by_name.items():
            found[name].by_name[called] = minutes
        unknown.update(() if is_known else mine.latest)
    return {name: ChildCalls(found[name], name not in unknown) for name in {*found, *unknown}}


def look_at_child_calls(
    check: Callable[..., ShareLimit], calls: ChildCalls, last: LastChange | None, now: datetime
) -> tuple[list[LimitChange], LimitReading]:
    """Return what began or ended after the last change: of all calls, or of those to one deployment alone.

    Where the calls are not known, nothing says that an open alert is over.
    """
    is_open = last is not None and last.is_open
    each = calls.to.by_name
    is_missing = not each or bool(last and last.tool and last.tool not in each)
    if not calls.is_known or (last is not None and is_open and is_missing and now - last.at < KEPT):
        return [], LimitReading(is_open, limit=check().limit)
    minutes = MinuteCounts.of_all(each)
    changes, reading = look_at_each(check(), check(one_of_many=True), minutes, calls.to, last, now)
    return [_with_callee(change) for change in changes], reading


def _with_callee(change: LimitChange) -> LimitChange:
    """Return the change with what is called in place of a tool."""
    details = change.details
    if details is None or details.tool is None:
        return change
    callee = FailedCallee(details.tool.name, details.tool.failed, details.tool.calls)
    return replace(change, details=msgspec.structs.replace(details, tool=None, callee=callee))
