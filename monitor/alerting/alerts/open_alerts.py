"""Readings of streams that an open alert keeps regressed, although computed anew they are not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from lake.spec.alert_vocabulary import AlertVerdict
from lake.spec.vocabulary import DISLIKES
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.alerts.learned_anew import with_regression_of
from monitor.alerting.alerts.pending import recorded_at
from monitor.alerting.alerts.rating_onset import with_onset_of
from monitor.detect.regression import Judgement, Reading, Status, StreamKey, Streams

KeptOpen = Callable[[AlertChange, Reading], Reading | None]
"""Gives the reading that an open alert alone keeps regressed; None where it does not."""


def with_open_alerts(
    readings: Mapping[StreamKey, Reading],
    alerts: Iterable[AlertChange],
    streams: Streams,
    kept_without_history: KeptOpen = lambda _, __: None,
) -> Mapping[StreamKey, Reading]:
    """Return the readings; a stream with an open alert is regressed in it as long as quality is still worse.

    With other settings (`batch`, `reference_observations`, `segment_by`), or after a start without the monitor's state,
    streams are computed anew. The batches that an alert was found with may be open again, the reference may be learned
    later, or the evidence may not be enough yet. An open alert has the reference that it was found with. So the latest
    conversations since the alert began are compared with that one, less the present tolerance: as long as they are
    worse, the alert is not over. `kept_without_history` decides on the others.
    """
    found = dict(readings)
    for alert in alerts:
        reading = readings.get(alert.key)
        if reading is None or alert.is_limit:
            continue
        if reading.status is Status.REGRESSED:
            if alert.key.metric == DISLIKES:
                # By when the answers were given; the stream knows when they were rated.
                found[alert.key] = with_onset_of(reading, alert)
            continue
        kept = _not_read_yet(alert, reading) or _still_worse(alert, streams) or kept_without_history(alert, reading)
        if kept is not None:
            found[alert.key] = replace(
                with_onset_of(kept, alert),
                tier=alert.tier,
                marked_release=alert.details.marked_release,
                while_learning=alert.details.while_learning,
                older_version=alert.details.older_version or reading.older_version,
            )
    return found


def recorded_verdicts(
    readings: Mapping[StreamKey, Reading], alerts: Iterable[AlertChange]
) -> Mapping[StreamKey, Judgement]:
    """Return the verdicts that open alerts have recorded, where the stream computed anew has none."""
    return {
        alert.key: Judgement(alert.verdict, can_drift=alert.details.can_drift)
        for alert in alerts
        if alert.verdict not in (None, AlertVerdict.UNDECIDED)
        and (reading := readings.get(alert.key)) is not None
        and reading.kept
    }


def _not_read_yet(alert: AlertChange, reading: Reading) -> Reading | None:
    """Return the reading as the alert has it, where the stream's open batches have what it was found with."""
    if reading.latest is not None and reading.latest >= alert.changed_at:
        return None
    return with_regression_of(alert, reading)


def _still_worse(alert: AlertChange, streams: Streams) -> Reading | None:
    if alert.reference_mean is None:
        return None
    since = alert.since or alert.changed_at
    return streams.still_worse(alert.key, alert.reference_mean, since, recorded_at(alert))
