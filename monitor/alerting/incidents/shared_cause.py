"""Shared causes: a deployment that fails, and those that call it and fail too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import msgspec

from lake.spec.alert_vocabulary import ALERT_STATES, AlertEvent
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.alerts.pending import recorded_at
from monitor.detect.limits import FAILURES

_AHEAD = timedelta(minutes=30)
"""A caller with more traffic may be found so much earlier."""
_BEHIND = timedelta(minutes=30)
"""So long after the cause is over a caller may take to be well again."""
_REMEMBERED = timedelta(days=2)
"""So long after the cause is over the requests of then may still be among the latest of a caller with few of them."""

Callers = Mapping[str, Set[str]]
"""By deployment those that called it lately."""
FailsSince = Callable[[str, datetime], bool]
"""Whether the requests of a deployment fail since a time."""


def fails_always(_: str, __: datetime) -> bool:
    """Return true for each deployment: it is not known that any has recovered."""
    return True


@dataclass(frozen=True)
class SharedCause:
    """A deployment that fails, and those that call it, directly or through others."""

    deployment: str
    callers: frozenset[str]
    failing: frozenset[str]
    """Those of them that fail too, by no other deployment that they call."""


def shared_causes(
    changes: Sequence[AlertChange], callers: Callers, now: datetime, fails_since: FailsSince = fails_always
) -> Mapping[str, SharedCause]:
    """Return the causes by deployment, from the changes of all alerts; only those that others share.

    One that is over is the cause as long as the requests of a caller since then do not fail: at few requests an alert
    lasts for hours after them.
    """
    failing = _failing(changes, now)
    over = {name: end for name, end in _over(changes, now).items() if name not in failing}
    since = {**{name: end.fired_at for name, end in over.items()}, **failing}
    called: dict[str, set[str]] = {}
    for name, by in callers.items():
        for caller in by:
            called.setdefault(caller, set()).add(name)

    def explains(one: str, name: str) -> bool:
        end = over.get(one)
        is_in_time = end is None or since[name] <= end.changed_at + _BEHIND
        is_well = end is None or not fails_since(name, end.changed_at)
        return since[name] >= since[one] - _AHEAD and is_in_time and is_well

    # Who has one broken tool of many may be called, and not fail for that.
    causes = since.keys() - _with_one_broken_tool(changes)
    explained_by = {
        name: {one for one in called.get(name, ()) if one in causes and explains(one, name)} for name in since
    }
    of_root: dict[str, set[str]] = {}
    for name, root in _roots(since, explained_by).items():
        if root != name and name in failing:
            of_root.setdefault(root, set()).add(name)
    return {
        root: SharedCause(root, frozenset(reached(root, callers) - {root}), frozenset(mine))
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
    found: dict[str, datetime] = {}
    for change in _newest(changes):
        if change.change == AlertEvent.FIRING or now - recorded_at(change) < _BEHIND:
            name = change.key.deployment
            found[name] = min(found.get(name, change.fired_at), change.fired_at)
    return found


def _with_one_broken_tool(changes: Sequence[AlertChange]) -> Set[str]:
    """Return the deployments that fail by nothing but one of their tools, looked at alone."""
    newest = _newest(changes)
    others = {change.key.deployment for change in newest if not _is_of_tool_alone(change)}
    return {change.key.deployment for change in newest} - others


def _is_of_tool_alone(change: AlertChange) -> bool:
    exceeded = change.details.exceeded
    return exceeded is not None and exceeded.of_tool_alone


def _over(changes: Sequence[AlertChange], now: datetime) -> Mapping[str, AlertChange]:
    """Return the last ends of failures of deployments that ended in the last two days."""
    ended = [c for c in _newest(changes) if c.change != AlertEvent.FIRING and now - recorded_at(c) < _REMEMBERED]
    return {change.key.deployment: change for change in sorted(ended, key=lambda one: one.changed_at)}


def _newest(changes: Sequence[AlertChange]) -> Iterable[AlertChange]:
    return {
        c.alert_id: c for c in changes if c.change in ALERT_STATES and c.is_limit and c.key.metric in FAILURES
    }.values()


def _roots(since: Mapping[str, datetime], explained_by: Mapping[str, Set[str]]) -> Mapping[str, str]:
    """Return of each failing deployment what it comes from: what explains it, and is explained by nothing else.

    Of those that call each other it is the one that failed first.
    """
    below = {name: reached(name, explained_by) for name in since}
    last = {name for name in since if all(name in below[one] for one in below[name])}
    return {name: min(last & (below[name] | {name}), key=lambda one: (since[one], one)) for name in since}


def reached(name: str, edges: Mapping[str, Set[str]]) -> set[str]:
    """Return all that is reached from a name by one edge or more."""
    found: set[str] = set()
    left = [name]
    while left:
        new = set(edges.get(left.pop(), ())) - found
        found |= new
        left += new
    return found
