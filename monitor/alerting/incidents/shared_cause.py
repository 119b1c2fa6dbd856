"""Shared causes: a deployment that fails, and those that call it and fail too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import msgspec

from lake.spec.alert_vocabulary import ALERT_STATES, AlertEvent, LimitKind
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
    calls_fail: frozenset[str] = frozenset()
    """Those of them that answer themselves, while their calls fail."""

    @property
    def held(self) -> frozenset[str]:
        """Those of them that have no message of their own."""
        return self.failing | self.calls_fail


def shared_causes(
    changes: Sequence[AlertChange], callers: Callers, now: datetime, fails_since: FailsSince = fails_always
) -> Mapping[str, SharedCause]:
    """Return the causes by deployment, from the changes of all alerts; only those that others share.

    One that is over is the cause as long as the requests of a caller since then do not fail: at few requests an alert
    lasts for hours after them.
    """
    alerts = _newest(changes)
    failing, callees = _failing(alerts, now), _failing_callees(alerts, now)
    over = {name: end for name, end in _over(alerts, now).items() if name not in failing}
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

    # Who has one broken tool of many, or calls what fails, may be called, and not fail for that.
    causes = since.keys() - _answering(alerts, now)
    explained_by = {
        name: {one for one in _may_explain(name, called, callees) if one in causes and explains(one, name)}
        for name in since
    }
    of_root: dict[str, set[str]] = {}
    for name, root in _roots(since, explained_by).items():
        if root != name and name in failing:
            of_root.setdefault(root, set()).add(name)
    return {
        root: SharedCause(
            root,
            frozenset(reached(root, callers) - {root}),
            frozenset(mine - callees.keys()),
            frozenset(mine & callees.keys()),
        )
        for root, mine in of_root.items()
    }


def cause_of(deployment: str, causes: Mapping[str, SharedCause]) -> SharedCause | None:
    """Return why a deployment fails; None where that is no other one."""
    return next((cause for cause in causes.values() if deployment in cause.held), None)


def with_failing_callers(
    change: AlertChange, causes: Mapping[str, SharedCause], is_named: Callable[[str], bool]
) -> AlertChange:
    """Return the change of a failing deployment's limit with how many of those that call it fail too, or their calls.

    Only those that `is_named` lets through are given by name.
    """
    cause, exceeded = causes.get(change.key.deployment), change.details.exceeded
    if cause is None or exceeded is None or change.change != AlertEvent.FIRING or change.key.metric not in FAILURES:
        return change
    named, calls_of = (tuple(sorted(filter(is_named, some))) for some in (cause.failing, cause.calls_fail))
    told = msgspec.structs.replace(
        exceeded,
        callers=len(cause.callers),
        failing_callers=named,
        unnamed_failing_callers=len(cause.failing) - len(named),
        failed_calls_of=calls_of,
        unnamed_failed_calls_of=len(cause.calls_fail) - len(calls_of),
    )
    return replace(change, details=msgspec.structs.replace(change.details, exceeded=told))


def _may_explain(name: str, called: Mapping[str, Set[str]], callees: Mapping[str, Set[str]]) -> Set[str]:
    """Return what may be why a deployment fails: all that it calls, or, where that is known, what fails for it."""
    mine = called.get(name, set())
    return mine & callees[name] if callees.get(name) else mine


def _failing(alerts: Sequence[AlertChange], now: datetime) -> Mapping[str, datetime]:
    """Return since when deployments fail, or failed until lately, by the times of the requests."""
    found: dict[str, datetime] = {}
    for change in _lately(alerts, now, _BEHIND):
        name = change.key.deployment
        found[name] = min(found.get(name, change.fired_at), change.fired_at)
    return found


def _failing_callees(alerts: Sequence[AlertChange], now: datetime) -> Mapping[str, Set[str]]:
    """Return the deployments that fail by nothing but calls to others, each with those to which most failed."""
    found: dict[str, set[str]] = {}
    lately = _lately(alerts, now, _BEHIND)
    for change in lately:
        callee = change.details.exceeded.callee if change.details.exceeded else None
        found.setdefault(change.key.deployment, set()).update([callee.name] if callee else ())
    others = {one.key.deployment for one in lately if one.key.metric != LimitKind.CHILD_ERRORS}
    return {name: mine for name, mine in found.items() if name not in others}


def _answering(alerts: Sequence[AlertChange], now: datetime) -> Set[str]:
    """Return the deployments that fail by nothing but calls to others, or one of their tools, looked at alone."""
    mine: dict[str, list[AlertChange]] = {}
    for change in _lately(alerts, now, _REMEMBERED):
        mine.setdefault(change.key.deployment, []).append(change)
    return {name for name, every in mine.items() if all(map(_is_of_calls, _lately(every, now, _BEHIND) or every))}


def _is_of_calls(change: AlertChange) -> bool:
    exceeded = change.details.exceeded
    return change.key.metric == LimitKind.CHILD_ERRORS or (exceeded is not None and exceeded.of_tool_alone)


def _over(alerts: Sequence[AlertChange], now: datetime) -> Mapping[str, AlertChange]:
    """Return the last ends of failures of deployments that ended in the last two days."""
    ended = [one for one in _lately(alerts, now, _REMEMBERED) if one.change != AlertEvent.FIRING]
    return {change.key.deployment: change for change in sorted(ended, key=lambda one: one.changed_at)}


def _lately(alerts: Sequence[AlertChange], now: datetime, past: timedelta) -> list[AlertChange]:
    """Return those that fire, or were over for less than that."""
    return [one for one in alerts if one.change == AlertEvent.FIRING or now - recorded_at(one) < past]


def _newest(changes: Sequence[AlertChange]) -> list[AlertChange]:
    """Return the last change of each alert of failures."""
    alerts = {c.alert_id: c for c in changes if c.change in ALERT_STATES and c.is_limit and c.key.metric in FAILURES}
    return list(alerts.values())


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
