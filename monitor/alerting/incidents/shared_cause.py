"""Shared causes: a deployment that fails, and those that call it and fail too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import msgspec

from lake.spec.vocabulary import ALERT_STATES, AlertEvent, LimitKind
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.alerts.pending import recorded_at

FAILURES = frozenset((LimitKind.ERRORS, LimitKind.EMPTY_ANSWERS))
"""Limits that a failing deployment exceeds, and whoever calls it."""
_AHEAD = timedelta(minutes=30)
"""A caller with more traffic may be found so much earlier."""
_BEHIND = timedelta(minutes=30)
"""So long after the cause is over a caller may take to be well again."""

Callers = Mapping[str, Set[str]]
"""By deployment those that called it lately."""


@dataclass(frozen=True)
class SharedCause:
    """A deployment that fails, and those that call it, directly or through others."""

    deployment: str
    callers: frozenset[str]
    failing: frozenset[str]
    """Those of them that fail too, by no other deployment that they call."""


def shared_causes(changes: Sequence[AlertChange], callers: Callers, now: datetime) -> Mapping[str, SharedCause]:
    """Return the causes by deployment, from the changes of all alerts; only those that others share."""
    failing = _failing(changes, now)
    called: dict[str, set[str]] = {}
    for name, by in callers.items():
        for caller in by:
            called.setdefault(caller, set()).add(name)
    of_root: dict[str, set[str]] = {}
    for name, root in _roots(failing, called).items():
        if root != name:
            of_root.setdefault(root, set()).add(name)
    return {
        root: SharedCause(root, frozenset(_reached(root, callers) - {root}), frozenset(mine))
        for root, mine in of_root.items()
    }


def cause_of(deployment: str, causes: Mapping[str, SharedCause]) -> SharedCause | None:
    """Return why a deployment fails; None where that is no other one."""
    return next((cause for cause in causes.values() if deployment in cause.failing), None)


def with_failing_callers(
    change: AlertChange, causes: Mapping[str, SharedCause], is_named: Callable[[str], bool]
) -> AlertChange:
    """Return the change of a failing deployment's limit with how many of those that call it fail too.

    Only those that `is_named` lets through are given by name.
    """
    cause, exceeded = causes.get(change.key.deployment), change.details.exceeded
    if cause is None or exceeded is None or change.change != AlertEvent.FIRING or change.key.metric not in FAILURES:
        return change
    named = tuple(sorted(filter(is_named, cause.failing)))
    told = msgspec.structs.replace(
        exceeded,
        callers=len(cause.callers),
        failing_callers=named,
        unnamed_failing_callers=len(cause.failing) - len(named),
    )
    return replace(change, details=msgspec.structs.replace(change.details, exceeded=told))


def _failing(changes: Sequence[AlertChange], now: datetime) -> Mapping[str, datetime]:
    """Return since when deployments fail, or failed until lately, by the times of the requests."""
    newest = {c.alert_id: c for c in changes if c.change in ALERT_STATES and c.is_limit and c.key.metric in FAILURES}
    found: dict[str, datetime] = {}
    for change in newest.values():
        if change.change == AlertEvent.FIRING or now - recorded_at(change) < _BEHIND:
            name = change.key.deployment
            found[name] = min(found.get(name, change.fired_at), change.fired_at)
    return found


def _roots(failing: Mapping[str, datetime], called: Mapping[str, Set[str]]) -> Mapping[str, str]:
    """Return of each failing deployment what it comes from: what it calls, fails, and calls nothing else that fails.

    Of those that call each other it is the one that failed first.
    """
    direct = {
        name: {one for one in called.get(name, ()) if one in failing and at >= failing[one] - _AHEAD}
        for name, at in failing.items()
    }
    below = {name: _reached(name, direct) for name in failing}
    last = {name for name in failing if all(name in below[one] for one in below[name])}
    return {name: min(last & (below[name] | {name}), key=lambda one: (failing[one], one)) for name in failing}


def _reached(name: str, edges: Mapping[str, Set[str]]) -> set[str]:
    """Return all that is reached from a name by one edge or more."""
    found: set[str] = set()
    left = [name]
    while left:
        new = set(edges.get(left.pop(), ())) - found
        found |= new
        left += new
    return found
