"""The stage that holds back: what is silenced, and what the message of its cause tells."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from lake.spec.alert_vocabulary import AlertEvent
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.alerts.incident_ids import in_order
from monitor.alerting.alerts.pending import held_back
from monitor.alerting.alerts.store import AlertStore
from monitor.alerting.controls.silences import Silence, silence_of
from monitor.alerting.incidents.shared_cause import SharedCause, cause_of
from monitor.detect.limits import FAILURES
from monitor.notify.routing import Routed

_LONGEST = timedelta(days=30)
_OVER_BEFORE = "it was over before its beginning, which was held back, could be sent"


def hold_back(alerts: AlertStore, routed: Routed) -> dict[str, Silence]:
    """Return the silences that hold back pending changes, by change_id, after a row for each says so.

    First what silences ended before the time that their rows say is written, so that it counts also after a restart.
    """
    _record_early_ends(alerts, routed)
    receiver, now = routed.receiver, routed.now
    over = alerts.ended_in_silence(receiver)
    held: dict[str, Silence] = {}
    for change in routed.pending(alerts):
        if change.alert_id in over:
            alerts.record_deliveries([change], receiver, AlertEvent.SILENCED, _OVER_BEFORE, now)
        elif change.change == AlertEvent.FIRING and (silence := _current_silence(change, routed)):
            held[change.change_id] = silence
            alerts.record_silence(change, receiver, silence.reason, now, silence.until)
        elif cause := held_by_cause(change, routed.causes):
            held[change.change_id] = cause
            alerts.record_silence(change, receiver, cause.comment, now, cause.until)
    return held


def is_silenced(change: AlertChange, routed: Routed) -> bool:
    """Whether a silence or the message of its cause holds back an alert that fires."""
    return (_current_silence(change, routed) or held_by_cause(change, routed.causes)) is not None


def held_by_cause(change: AlertChange, causes: Mapping[str, SharedCause]) -> Silence | None:
    """Return a silence of a change that says no more than that what it calls fails; None where it says more.

    It is over, before its time, once the cause is; what fires still is sent then.
    """
    if change.change != AlertEvent.FIRING or not change.is_limit or change.key.metric not in FAILURES:
        return None
    cause = cause_of(change.key.deployment, causes)
    if cause is None:
        return None
    comment = f"told by the incident of {cause.deployment}, which it calls and which fails"
    # The same as long as the alert lasts, so that one row says it.
    until = change.fired_at + _LONGEST
    return Silence(deployment=change.key.deployment, metric=change.key.metric, until=until, comment=comment)


def incidents_told_by_cause(routed: Routed) -> set[str | None]:
    """Return the open incidents of which nothing was sent, and that the incident of what causes them tells."""
    sent = {one.incident_id for one in routed.changes if one.details.receiver == routed.receiver}
    firing: dict[str | None, list[AlertChange]] = {}
    for change in {one.alert_id: one for one in in_order(routed.changes)}.values():
        if change.change == AlertEvent.FIRING and change.incident_id not in sent:
            firing.setdefault(change.incident_id, []).append(change)
    return {
        incident_id for incident_id, mine in firing.items() if all(held_by_cause(one, routed.causes) for one in mine)
    }


def _current_silence(change: AlertChange, routed: Routed) -> Silence | None:
    return silence_of(change, [one for one in routed.view.silences or () if routed.now < one.until])


def _record_early_ends(alerts: AlertStore, routed: Routed) -> None:
    receiver, now = routed.receiver, routed.now
    for change, row in held_back(alerts.changes(), receiver):
        silence = silence_of(change, [one for one in routed.view.silences or () if row.changed_at <= one.until])
        silence = silence or held_by_cause(change, routed.causes)
        ended = silence.until if silence else now  # one that left the configuration says no time
        if row.details.until and ended <= now and ended < row.details.until:
            reason = f"the silence was ended at {ended.isoformat()}, before its time"
            alerts.record_silence(change, receiver, reason, now, ended)
