"""Health of the monitor and of all parts of dialwatch: is the snapshot fresh, and does every part work?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from monitor.service.health.heartbeat_reader import PartState
from runtime.durations import duration

_STALE_AFTER_REFRESHES = 5
_STALE_AFTER_AT_LEAST = 60.0


@dataclass(frozen=True)
class Health:
    """Whether the figures are fresh, and no part fails. `problems` says in words what is wrong; some do no harm to it.

    `is_fresh` is about the figures alone. `last_refresh_age_seconds` goes by the monotonic clock.
    """

    healthy: bool
    last_refresh_age_seconds: float | None
    problems: tuple[str, ...]
    is_fresh: bool
    parts: tuple[PartState, ...] = ()


def health_of(
    age: float | None, refresh_seconds: float, problems_by_reason: Mapping[str, str], parts: Sequence[PartState]
) -> Health:
    """Return the health from the newest snapshot's age (None for none), the last refresh's problems, and the parts."""
    stale = staleness_of(age, refresh_seconds)
    is_fresh = stale is None and "list_deployments" not in problems_by_reason
    failing = _grouped_by_problem(parts)
    problems = (*([stale] if stale else []), *problems_by_reason.values(), *failing)
    return Health(is_fresh and not failing, age, problems, is_fresh, tuple(parts))


def staleness_of(age: float | None, refresh_seconds: float) -> str | None:
    """Say that the snapshot is old, if it is."""
    limit = max(_STALE_AFTER_AT_LEAST, _STALE_AFTER_REFRESHES * refresh_seconds)
    if age is None:
        return "The lake has not been read yet."
    return f"The last refresh was {duration(age)} ago; more than {duration(limit)}." if age > limit else None


def _grouped_by_problem(parts: Sequence[PartState]) -> list[str]:
    """Problems of parts, one line for all parts of a host with the same problem."""
    places: dict[tuple[str, str], list[str]] = {}
    for part in parts:
        if part.problem is not None:
            names = places.setdefault((part.host, part.problem), [])
            names += [] if part.part in names else [part.part]
    return [f"{', '.join(names)} on {host}: {problem}" for (host, problem), names in places.items()]
