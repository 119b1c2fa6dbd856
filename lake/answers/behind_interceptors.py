"""Owners of calls to a model behind an interceptor, found by trace, path and time: Core logs no span of that hop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

Key = TypeVar("Key")

LONGEST_CALL = timedelta(hours=1)
"""So long before its child a call may have begun."""
CLOCKS_DIFFER = timedelta(minutes=5)
"""So much the clocks of two Cores may differ, where the log does not say when a call ended."""
SLACK = timedelta(seconds=1)
"""So much they may differ where it does."""


@dataclass(frozen=True, slots=True)
class TracedCall:
    """A call of an application or of a model; `path` is its execution path, None where it is not known.

    `ended_at` is None where the log does not say it, as before Core 2026, and where the call took over an hour.
    """

    trace_id: str
    requested_at: datetime
    path: Sequence[str] | None = None
    ended_at: datetime | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> TracedCall:
        """Take it from a row of `parsed_logs`."""
        at, duration = row["requested_at"], row["duration_ms"]
        # A longer one than `LONGEST_CALL` is no other bound, and a negative one is none.
        is_bound = duration is not None and 0 <= duration <= LONGEST_CALL / timedelta(milliseconds=1)
        ended_at = at + timedelta(milliseconds=duration) if is_bound else None
        return cls(row["trace_id"], at, row["execution_path"], ended_at)


def owners(children: Sequence[TracedCall], calls: Mapping[Key, TracedCall]) -> Iterator[tuple[int, Key]]:
    """Give the place of each child that one call alone can have made, with the key of that call.

    `calls` are all calls of the deployment that the children name as their parent. A call can have made a child of its
    trace that began before the call ended, up to an hour after it began, and whose path begins with its own. Where two
    can have, neither gets it. Nor does the only one where it began after the child, or ended before the child began or
    ended: the parent is then not among the calls. Where the log does not say when a call ended, the hour is its only
    bound: the time of its row is by another clock, which may be off by as much.
    """
    of_trace: dict[str, list[tuple[Key, TracedCall]]] = {}
    for key, call in calls.items():
        of_trace.setdefault(call.trace_id, []).append((key, call))
    for number, child in enumerate(children):
        able = [(key, call) for key, call in of_trace.get(child.trace_id, ()) if _can_have_made(call, child)]
        if len(able) == 1 and _spans(able[0][1], child):
            yield number, able[0][0]


def _can_have_made(call: TracedCall, child: TracedCall) -> bool:
    differ = CLOCKS_DIFFER if call.ended_at is None else SLACK
    if not -differ < child.requested_at - call.requested_at <= LONGEST_CALL:
        return False
    if call.ended_at is not None and child.requested_at - call.ended_at > SLACK:
        return False
    return call.path is None or child.path is None or child.path[: len(call.path)] == call.path


def _spans(call: TracedCall, child: TracedCall) -> bool:
    """Whether the child began and ended within the call, as far as the log says."""
    if call.requested_at > child.requested_at:
        return False
    if call.ended_at is None:
        return True
    # An application ends as soon as its model has; the two may have been timed by different clocks.
    ended_in_time = child.ended_at is None or child.ended_at - call.ended_at <= SLACK
    return child.requested_at <= call.ended_at and ended_in_time
