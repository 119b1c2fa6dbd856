"""Parents of calls to a model behind an interceptor, found by trace, path and time: Core logs no span of that hop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

Key = TypeVar("Key")

LONGEST_CALL = timedelta(hours=1)
"""The most by which a call may begin before its child."""
CLOCKS_DIFFER = timedelta(minutes=5)
"""The most by which the clocks of two Cores may differ, where the log does not say when a call ended."""
SLACK = timedelta(seconds=1)
"""The most by which they may differ where it does."""


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


def parents_of(children: Sequence[TracedCall], calls: Mapping[Key, TracedCall]) -> Iterator[tuple[int, Key]]:
    """Yield the place of each child that exactly one call can have made, with the key of that call.

    `calls` are all calls of the deployment that the children name as their parent. A call can have made a child if both
    are of one trace, the child began before the call ended and at most an hour after the call began, and the child's
    path begins with the call's path. Where two calls can have made a child, it gets no parent. It gets none either
    where the only candidate began after the child, or ended before the child began or ended: the parent is then not
    among the calls. Where the log does not say when a call ended, the hour is the only bound: the time of its row comes
    from another clock, which may be wrong by as much.
    """
    of_trace: dict[str, list[tuple[Key, TracedCall]]] = {}
    for key, call in calls.items():
        of_trace.setdefault(call.trace_id, []).append((key, call))
    for number, child in enumerate(children):
        candidates = [(key, call) for key, call in of_trace.get(child.trace_id, ()) if _can_have_made(call, child)]
        if len(candidates) == 1 and _contains(candidates[0][1], child):
            yield number, candidates[0][0]


def is_direct(path: Sequence[str] | None, parent: str) -> bool:
    """Whether no interceptor stands between a call and its parent, which then has its span, logged or not."""
    return path is not None and list(path[-2:-1]) == [parent]


def _can_have_made(call: TracedCall, child: TracedCall) -> bool:
    differ = CLOCKS_DIFFER if call.ended_at is None else SLACK
    if not -differ < child.requested_at - call.requested_at <= LONGEST_CALL:
        return False
    if call.ended_at is not None and child.requested_at - call.ended_at > SLACK:
        return False
    return call.path is None or child.path is None or child.path[: len(call.path)] == call.path


def _contains(call: TracedCall, child: TracedCall) -> bool:
    """Whether the child began and ended within the call, as far as the log says."""
    if call.requested_at > child.requested_at:
        return False
    if call.ended_at is None:
        return True
    # An application ends as soon as its model has; the two may have been timed by different clocks.
    ended_in_time = child.ended_at is None or child.ended_at - call.ended_at <= SLACK
    return child.requested_at <= call.ended_at and ended_in_time
