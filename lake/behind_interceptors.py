"""Whose calls to a model behind an interceptor are: Core logs the span of no hop, so trace, path and time must tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

Key = TypeVar("Key")

LONGEST_CALL = timedelta(hours=1)
"""So long before its child a call may have begun."""
CLOCKS_DIFFER = timedelta(minutes=5)
"""So much the clocks of two Cores may differ."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of an application or of a model; `path` is its execution path, None where it is not known."""

    trace_id: str
    requested_at: datetime
    path: Sequence[str] | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Call:
        """Take it from a row of `parsed_logs`."""
        return cls(row["trace_id"], row["requested_at"], row["execution_path"])


def owners(children: Sequence[Call], calls: Mapping[Key, Call]) -> Iterator[tuple[int, Key]]:
    """Give the place of each child that one call alone can have made, with the key of that call.

    `calls` are all calls of the deployment that the children name as their parent. A call can have made a child of its
    trace that began up to an hour later and whose path begins with its own. Where two can have, neither gets it; so it
    is where the only one began after the child, as its parent is then not among the calls.
    """
    of_trace: dict[str, list[tuple[Key, Call]]] = {}
    for key, call in calls.items():
        of_trace.setdefault(call.trace_id, []).append((key, call))
    for number, child in enumerate(children):
        able = [(key, call) for key, call in of_trace.get(child.trace_id, ()) if _can_have_made(call, child)]
        if len(able) == 1 and able[0][1].requested_at <= child.requested_at:
            yield number, able[0][0]


def _can_have_made(call: Call, child: Call) -> bool:
    if not -CLOCKS_DIFFER < child.requested_at - call.requested_at <= LONGEST_CALL:
        return False
    return call.path is None or child.path is None or child.path[: len(call.path)] == call.path
