"""Text that the chat formats share: the title, the mark of good or bad news, and the text of one change."""

from __future__ import annotations

from collections.abc import Sequence

from lake.spec.alert_vocabulary import AlertEvent, AlertVerdict
from monitor.alerting.alerts.change import AlertChange
from monitor.notify.texts.alert import description, summary
from monitor.notify.texts.plain import one_line


def title(changes: Sequence[AlertChange]) -> str:
    """Say in one line what the message is about."""
    if len(changes) == 1:
        return summary(changes[0])
    if changes[0].change == AlertEvent.FIRING:
        if all(change.verdict == AlertVerdict.JUDGE for change in changes):
            name = one_line(changes[0].key.deployment)
            return f"{name}: the judge of {len(changes)} metrics changed, not the application"
        first = next((change for change in changes if change.pages), changes[0])
        return f"{summary(first)}. {_more(changes)}"
    name = one_line(changes[0].key.deployment)
    if changes[0].is_limit:
        return f"{name}: {len(changes)} limits are kept again"
    return f"{name}: {_ended(changes)}"


def mark(changes: Sequence[AlertChange], bad: str, good: str, neither: str) -> str:
    """Return the mark of what the changes are: bad, good, or neither where an alert ended without a recovery."""
    if changes[0].change == AlertEvent.FIRING:
        return bad
    return neither if any(change.ended_without_recovery for change in changes) else good


def text_of(change: AlertChange, changes: Sequence[AlertChange], external_url: str) -> str:
    """Return the description; among others its summary goes before it."""
    words = description(change, external_url)
    return words if len(changes) == 1 else f"{summary(change)}\n{words}"


def _more(changes: Sequence[AlertChange]) -> str:
    others, by_judge = len(changes) - 1, sum(change.verdict == AlertVerdict.JUDGE for change in changes)
    one, many = ("limit is exceeded", "limits are exceeded") if changes[0].is_limit else ("metric", "metrics")
    more = f"{others} more {one if others == 1 else many}"
    if not changes[0].is_limit:
        more += " got worse"
    return more + (f", {by_judge} of all by a changed judge alone" if by_judge else "")


def _ended(changes: Sequence[AlertChange]) -> str:
    withdrawn = sum(change.ended_without_recovery for change in changes)
    if not withdrawn:
        return f"{len(changes)} metrics are well again"
    return f"{len(changes)} alerts are over, {withdrawn} of them without a recovery"
