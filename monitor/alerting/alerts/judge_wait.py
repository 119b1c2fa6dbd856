"""Pages of metrics that have a judge: each waits, for a bounded time, for what the judge's anchors say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

import msgspec

from lake.spec.alert_vocabulary import AlertEvent, AlertVerdict, Tier
from monitor.alerting.alerts.change import AlertChange, digest
from monitor.detect.regression import Judgement, Reading, StreamKey

_MOMENT = timedelta(microseconds=1)


def held(change: AlertChange, until: datetime | None) -> AlertChange:
    """Return a change that would be a page as a warning that becomes one at `until`, while nothing is decided.

    What is no page, and what is decided, stays as it is; so does everything where `until` is None.
    """
    is_undecided = change.verdict in (None, AlertVerdict.UNDECIDED)
    if until is None or change.change != AlertEvent.FIRING or change.tier != Tier.PAGE or not is_undecided:
        return change
    details = msgspec.structs.replace(change.details, tier=Tier.WARN, page_due=until)
    reason = f"{change.reason}; until {until.isoformat()} it waits for the judge's anchors"
    # Another one than that of the page that may follow.
    return replace(change, change_id=digest(change.change_id, Tier.WARN), details=details, reason=reason)


def decided(change: AlertChange) -> AlertChange:
    """Return a change with a verdict as the page that it was to be, where one waits; `pages` says whether it wakes."""
    if change.details.page_due is None or change.verdict in (None, AlertVerdict.UNDECIDED):
        return change
    return replace(change, details=msgspec.structs.replace(change.details, tier=Tier.PAGE, page_due=None))


def overdue(alert: AlertChange, judgement: Judgement | None, now: datetime) -> AlertChange | None:
    """Return the page of an open alert that has waited long enough; None where none waits, or its time has not come.

    None too as long as the judge's change explains what fell: `judgement` is the present one.
    """
    due = alert.details.page_due
    if due is None or now < due or (judgement is not None and judgement.is_explained):
        return None
    return replace(
        alert,
        change_id=digest(alert.alert_id, AlertEvent.FIRING, Tier.PAGE),
        changed_at=alert.changed_at + _MOMENT,
        reason="the evidence is that of an urgent alert, and the judge's anchors have not decided so far what changed",
        details=msgspec.structs.replace(alert.details, tier=Tier.PAGE, page_due=None, recorded_at=now),
    )


def with_waiting_pages(
    readings: Mapping[StreamKey, Reading], alerts: Iterable[AlertChange]
) -> Mapping[StreamKey, Reading]:
    """Return the readings; a stream whose page waits is a warning."""
    waiting = {alert.key for alert in alerts if alert.details.page_due is not None}
    if not waiting:
        return readings
    return {
        key: replace(reading, tier=Tier.WARN) if key in waiting and reading.tier else reading
        for key, reading in readings.items()
    }
