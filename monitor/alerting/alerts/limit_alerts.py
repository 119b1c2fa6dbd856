"""Changes of alerts, made from limits that begin or end."""

from __future__ import annotations

from collections.abc import Sequence, Set
from datetime import datetime
from typing import cast

import msgspec

from lake.spec.alert_vocabulary import ALERT_STATES, LIMIT_VERSION, AlertEvent, AlertVerdict, LimitKind, Tier
from monitor.alerting.alerts.change import AlertChange, AlertDetails, digest
from monitor.detect.limits import LastChange, LastChanges, LimitChange, LimitDetails
from monitor.detect.regression import StreamKey


def changes_of_limits(known: Sequence[AlertChange], found: Sequence[LimitChange], now: datetime) -> list[AlertChange]:
    """Return what limits found and is new after the changes that are known, as changes of alerts.

    A limit fires where it does not fire already and later than its last change, and is over only where it fires. It
    fires again where a warning becomes a page, and one on means where it names one that its alert has not named.
    """
    last = {change.key: change for change in known if change.change in ALERT_STATES}
    changes: list[AlertChange] = []
    for one in found:
        key = StreamKey(one.deployment, one.kind, LIMIT_VERSION)
        before = last.get(key)
        opened = before if before is not None and before.change == AlertEvent.FIRING else None
        is_in_turn = before is None or before.changed_at < one.at
        is_turn = (opened is None) is (one.change == AlertEvent.FIRING)
        more = _news_of(one, opened, [*known, *changes]) if opened else frozenset()
        if (is_turn or more) and is_in_turn:
            last[key] = _change(one, key, opened, now, more)
            changes.append(last[key])
    return changes


def last_changes(changes: Sequence[AlertChange]) -> LastChanges:
    """Return whether each limit fires, since when, and as what: an end comes after the page of what was raised.

    Rows of versions that had no tiers were told as loudly as a page is: nothing raises them.
    """
    return {
        (change.key.deployment, cast(LimitKind, change.key.metric)): LastChange(
            change.change == AlertEvent.FIRING,
            change.changed_at,
            change.details.tier or Tier.PAGE,
            change.fired_at,
            _tool_alone(change.details.exceeded),
        )
        for change in changes
        if change.is_limit and change.change in ALERT_STATES
    }


def _tool_alone(details: LimitDetails | None) -> str | None:
    one = (details.tool or details.callee) if details and details.of_tool_alone else None
    return one.name if one else None


def _news_of(found: LimitChange, opened: AlertChange, changes: Sequence[AlertChange]) -> frozenset[str]:
    """Return what an open alert has not said so far: means, or that it is a page."""
    if found.change != AlertEvent.FIRING:
        return frozenset()
    raised = frozenset([Tier.PAGE]) if (opened.tier, found.tier) == (Tier.WARN, Tier.PAGE) else frozenset()
    return raised | (_means_of(found.details) - _named(opened, changes))


def _named(opened: AlertChange, changes: Sequence[AlertChange]) -> frozenset[str]:
    """Return the means that an open alert has named so far."""
    mine = (one.details.exceeded for one in changes if one.alert_id == opened.alert_id)
    return frozenset().union(*map(_means_of, mine))


def _means_of(details: LimitDetails | None) -> frozenset[str]:
    return frozenset(one.metric for one in details.means) if details else frozenset()


def _change(
    found: LimitChange, key: StreamKey, opened: AlertChange | None, now: datetime, more: Set[str]
) -> AlertChange:
    """Return the change; `more` is what an open alert says for the first time."""
    fired_at = opened.fired_at if opened else found.at
    is_judge = found.kind == LimitKind.JUDGE_DRIFT
    tier = Tier.WARN if is_judge else found.tier
    if opened is not None and opened.tier == Tier.PAGE:
        tier = Tier.PAGE
    alert_id = opened.alert_id if opened else digest(found.deployment, found.kind, LIMIT_VERSION, fired_at.isoformat())
    return AlertChange(
        change_id=digest(alert_id, found.change, *sorted(more)),
        alert_id=alert_id,
        key=key,
        change=found.change,
        changed_at=found.at,
        since=opened.since if opened else found.since,
        current_mean=found.details.share if found.details else None,
        reason=found.reason,
        # A judge that changed is no outage of what people use.
        verdict=AlertVerdict.JUDGE if is_judge else None,
        details=AlertDetails(
            fired_at=fired_at,
            tier=tier,
            recorded_at=now,
            exceeded=_with_whole_length(found, opened),
            back_since=found.back_at,
        ),
    )


def _with_whole_length(end: LimitChange, opened: AlertChange | None) -> LimitDetails | None:
    """Return the details of a change; an end of which too little is kept has its length by what is recorded."""
    details = end.details
    if details is None or end.back_at is None or opened is None or opened.since is None:
        return details
    if details.lasted_seconds is None or details.bad_meanwhile is not None:
        return details
    return msgspec.structs.replace(details, lasted_seconds=(end.back_at - opened.since).total_seconds())
