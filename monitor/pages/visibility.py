"""Visibility: what of a snapshot, and of the health of dialwatch, a reader may see."""

from __future__ import annotations

from dataclasses import replace

from monitor.access.reader import Reader
from monitor.service.health.health import Health
from monitor.service.snapshot import Snapshot

_PROBLEM = "A part of dialwatch does not work. People who may see all deployments see which one."


def snapshot_for(reader: Reader, snapshot: Snapshot | None) -> Snapshot | None:
    """Return the snapshot without the deployments that the reader may not see: as if they did not exist."""
    if snapshot is None or reader.may_see(None):
        return snapshot
    return replace(
        snapshot,
        deployments={name: state for name, state in snapshot.deployments.items() if reader.may_see(name)},
        without_receiver=frozenset(filter(reader.may_see, snapshot.without_receiver)),
        silences=tuple(one for one in snapshot.silences if one.deployment is None or reader.may_see(one.deployment)),
        silenced=tuple(
            one for one in snapshot.silenced if one.silence.deployment is None or reader.may_see(one.silence.deployment)
        ),
        unfit_limits=(),
        releases=tuple(one for one in snapshot.releases if reader.may_see(one.deployment)),
        classes={name: one for name, one in snapshot.classes.items() if reader.may_see(name)},
        callers={
            name: frozenset(filter(reader.may_see, callers))
            for name, callers in snapshot.callers.items()
            if reader.may_see(name)
        },
    )


def health_for(reader: Reader, health: Health) -> Health:
    """Return the health; errors, which may name any deployment, to those alone who may see all."""
    if reader.may_see(None):
        return health
    parts = tuple(replace(part, error=None, problem=part.problem and "it fails") for part in health.parts)
    return replace(health, problems=(_PROBLEM,) if health.problems else (), parts=parts)


def problem_for(reader: Reader | None, problem: str | None) -> str | None:
    """Return a problem in words to who may see all, None for programs of our own; to others that there is one."""
    return problem if problem is None or reader is None or reader.may_see(None) else _PROBLEM
