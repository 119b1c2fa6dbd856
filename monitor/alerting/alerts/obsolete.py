"""Ends of alerts that nothing watches any more, which are no recovery, and alerts that fire again after such an end.

An alert is obsolete where its stream, computed anew as after other settings, has been read past the alert's beginning
and is not regressed or learns anew; where its metric has a newer version; where its application has another class by
now, of which its metric is not scored; and where no score was made, and nothing of the alert recorded, for `IDLE`, or
`REPLACED_IDLE` where another version of the application is in use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from lake.spec.alert_vocabulary import ALERT_STATES, AlertEvent
from monitor.alerting.alerts.change import AlertChange, AlertDetails, digest
from monitor.alerting.alerts.pending import recorded_at
from monitor.detect.regression import UNDECIDED, Judgement, Reading, Status, StreamKey, Transition
from monitor.detect.stats.scores import IDLE, REPLACED_IDLE

IsWorse = Callable[[StreamKey, datetime], bool]
"""Whether what came from a time on says that a stream's regression goes on."""

_MOMENT = timedelta(microseconds=1)


def end_of_obsolete(
    alert: AlertChange,
    reading: Reading | None,
    newest: Mapping[StreamKey, datetime],
    now: datetime,
    replaced_by: str | None = None,
    *,
    is_unscored: bool = False,
) -> AlertChange | None:
    """Return the end of an obsolete alert, dated by the last scores of its stream; None for other alerts.

    `newest` are the streams of each metric's newest version, with when their newest scores were made. `replaced_by` is
    the version of the application that is in use in place of the alert's deployment; `is_unscored` says that the
    metric is not scored of an application of this class.
    """
    latest = reading.latest if reading is not None else None
    reason = _reason_of_stream(alert, reading, newest)
    if reason is not None:
        return _end(alert, reason, latest, now)
    # Where the lake has no score of it any more, the alert itself says until when there were some.
    last_active = max(filter(None, (newest.get(alert.key), latest, recorded_at(alert))))
    if not is_unscored and now - last_active < (IDLE if replaced_by is None else REPLACED_IDLE):
        return None
    since = newest.get(alert.key) or latest or last_active
    reason = f"no longer watched: no score of this metric since {since:%Y-%m-%d %H:%M} UTC, so nothing can tell whether"
    in_use = "" if replaced_by is None else f"; requests go to {replaced_by}"
    in_use = "; it is not scored of what the application does now" if is_unscored else in_use
    return _end(alert, f"{reason} quality is back{in_use}", latest, now, last_active)


def refired(
    changes: Sequence[AlertChange],
    readings: Mapping[StreamKey, Reading],
    judgements: Mapping[StreamKey, Judgement],
    is_worse: IsWorse,
) -> list[Transition]:
    """Return the regressions whose alert ended because no scores came, and whose scores since are no better."""
    last = {change.key: change for change in changes if change.change in ALERT_STATES}
    return [
        Transition(key, AlertEvent.FIRING, reading.latest, reading, (), judgements.get(key, UNDECIDED))
        for key, end in last.items()
        if end.details.idle_since is not None and (reading := readings.get(key)) is not None
        if reading.status is Status.REGRESSED and reading.latest is not None and reading.latest > end.changed_at
        if is_worse(key, end.changed_at + _MOMENT)
    ]


def _reason_of_stream(alert: AlertChange, reading: Reading | None, newest: Mapping[StreamKey, datetime]) -> str | None:
    if alert.key not in newest and any(_metric(key) == _metric(alert.key) for key in newest):
        return "the metric has a new version"
    if reading is None or reading.latest is None or reading.latest < alert.changed_at:
        return None
    if reading.status is Status.LEARNING:
        learns = "the stream learns its reference anew, so nothing can tell whether quality is back"
        return f"no longer watched: {learns}"
    if reading.status is Status.WATCHING:
        return "computed anew from the scores, with the settings of now, this is no regression"
    return None


def _metric(key: StreamKey) -> tuple[str, str]:
    return key.deployment, key.metric


def _end(
    alert: AlertChange, reason: str, latest: datetime | None, now: datetime, idle_since: datetime | None = None
) -> AlertChange:
    # After what it ends, also where the table gives both in another order.
    soonest = alert.changed_at + _MOMENT
    return AlertChange(
        change_id=digest(alert.alert_id, AlertEvent.RESOLVED),
        alert_id=alert.alert_id,
        key=alert.key,
        change=AlertEvent.RESOLVED,
        changed_at=max(soonest, latest) if latest is not None else soonest,
        since=alert.since,
        reference_mean=alert.reference_mean,
        reason=reason,
        verdict=alert.verdict,
        details=AlertDetails(fired_at=alert.fired_at, tier=alert.details.tier, recorded_at=now, idle_since=idle_since),
    )
