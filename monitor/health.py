"""Whether what the monitor shows is fresh."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from monitor.snapshot import Snapshot

_STALE_AFTER_REFRESHES = 5
_STALE_AFTER_AT_LEAST = timedelta(minutes=1)


@dataclass(frozen=True)
class Health:
    """Whether the figures are fresh. `problems` says in words what is wrong; some do not make it unhealthy."""

    healthy: bool
    last_refresh_age_seconds: float | None
    problems: tuple[str, ...]


def health_of(
    snapshot: Snapshot | None, now: datetime, refresh_seconds: float, problems_by_reason: Mapping[str, str]
) -> Health:
    """Judge the newest snapshot, if any, by its age and by the problems of the last refresh."""
    limit = max(_STALE_AFTER_AT_LEAST, _STALE_AFTER_REFRESHES * timedelta(seconds=refresh_seconds))
    age, problems = None if snapshot is None else now - snapshot.taken_at, tuple(problems_by_reason.values())
    if age is None:
        return Health(False, None, ("The lake has not been read yet.", *problems))
    if age > limit:
        stale = f"The last refresh was {age.total_seconds():.0f} s ago; more than {limit.total_seconds():.0f} s."
        return Health(False, age.total_seconds(), (stale, *problems))
    return Health("list_deployments" not in problems_by_reason, age.total_seconds(), problems)
