"""Messages that are held back because those of a deployment that is called tell the same."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from lake.spec.vocabulary import AlertEvent
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.controls.silences import Silence
from monitor.alerting.incidents.shared_cause import FAILURES, SharedCause, cause_of

_LONGEST = timedelta(days=30)


def held_by_cause(change: AlertChange, causes: Mapping[str, SharedCause]) -> Silence | None:
    """Give a silence of a change that says no more than that what it calls fails; None where it says more.

    It is over, before its time, once the cause is; what fires still is sent then.
    """
    if change.change != AlertEvent.FIRING or not change.is_floor or change.key.metric not in FAILURES:
        return None
    cause = cause_of(change.key.deployment, causes)
    if cause is None:
        return None
    comment = f"told by the incident of {cause.deployment}, which it calls and which fails"
    # The same as long as the alert lasts, so that one row says it.
    until = change.fired_at + _LONGEST
    return Silence(deployment=change.key.deployment, metric=change.key.metric, until=until, comment=comment)
