"""Log of an incident: what became of it, who took note of it, what was sent to whom; and its times in brief."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import pyarrow.dataset as ds

from lake.spec.alert_vocabulary import AlertEvent, IncidentEvent, SilenceEvent, Tier
from lake.spec.metric_names import quoted_name
from lake.spec.schemas import ALERTS
from lake.tables.lake import Lake
from monitor.alerting.alerts.broken_tool import what_changed
from monitor.alerting.alerts.change import AlertChange, from_row
from monitor.alerting.controls.silences import SilenceChange
from monitor.alerting.incidents.change import IncidentChange
from monitor.alerting.incidents.incident import Incident
from monitor.notify.texts.alert import summary
from monitor.notify.texts.plain import time as plain_time
from monitor.pages.incidents.alert_view import AlertView
from monitor.pages.incidents.finding import FoundIncident

MOST = 200
"""Rows of the log on the page: the latest."""
_COLUMNS = [field.name for field in ALERTS.schema if field.name not in ("segment",)]
_SENT: Mapping[str, str] = {
    AlertEvent.DELIVERED: "sent to",
    AlertEvent.UNDELIVERABLE: "could not be sent to",
    AlertEvent.SUMMARIZED: "in the summary of the day to",
    AlertEvent.SILENCED: "held back from",
}


@dataclass(frozen=True)
class LogRow:
    """Something that happened, in words; `what` is a word to look for, `is_bad` where somebody may not have heard."""

    at: datetime
    event: str
    text: str
    what: str | None = None
    who: str | None = None
    comment: str | None = None
    is_bad: bool = False


@dataclass(frozen=True)
class Told:
    """A receiver, and how the last message to it went."""

    receiver: str
    at: datetime
    outcome: str
    reason: str


def read_deliveries(lake: Lake, deployment: str | None, incident: Incident) -> list[AlertChange]:
    """Read the rows that say what was sent about the alerts of an incident, the latest first."""
    ids = [one.alert_id for one in incident.alerts]
    where = ds.field("alert_id").isin(ids) & ds.field("change").isin([*_SENT])
    rows = lake.table(ALERTS, deployment).read(_COLUMNS, where).to_pylist()
    return sorted(map(from_row, rows), key=lambda one: one.changed_at, reverse=True)


def told(deliveries: Sequence[AlertChange]) -> tuple[Told, ...]:
    """Return the last message to each receiver."""
    last: dict[str, AlertChange] = {}
    for one in deliveries:
        last.setdefault(one.details.receiver or "a receiver", one)
    return tuple(Told(name, one.changed_at, one.change, one.reason or "") for name, one in sorted(last.items()))


def log_of(
    incident: Incident,
    changes: Sequence[AlertChange],
    deliveries: Sequence[AlertChange],
    silences: Sequence[LogRow] = (),
) -> tuple[LogRow, ...]:
    """Return the log, the latest first; `changes` are those of the deployment's alerts."""
    by_id = {one.change_id: one for one in changes}
    metrics = {one.alert_id: one.key.metric for one in incident.alerts}
    rows = [_of_incident(one, metrics, incident.fired) for one in incident.changes]
    rows += [_of_delivery(one, by_id.get(one.delivery_of or "")) for one in deliveries]
    rows += silences
    # Of one time the last row is the latest.
    return tuple(sorted(rows, key=lambda row: row.at)[::-1])


def log_of_silences(
    changes: Sequence[SilenceChange], deployment: str, metrics: Sequence[str], began: datetime, until: datetime
) -> list[LogRow]:
    """Return what became of the silences that held while an incident lasted; `until` is its end, or now."""
    ended = {one.silence_id: one for one in reversed(changes) if one.change == SilenceEvent.ENDED}
    rows = []
    for one in changes:
        is_of_it = one.deployment in (None, deployment) and one.metric in (None, *metrics)
        end = ended.get(one.silence_id)
        ends_at = one.until if end is None else min(one.until, end.changed_at)
        if one.change != SilenceEvent.ADDED or not is_of_it or one.changed_at > until or ends_at < began:
            continue
        what = quoted_name(one.metric) if one.metric else "all alerts"
        text = f"of {what}, until {plain_time(one.until)}"
        rows.append(LogRow(one.changed_at, f"silence {one.silence_id}", text, who=one.who, comment=one.comment or None))
        if ends_at > until:
            continue
        if end is not None and end.changed_at < one.until:
            text = f"of {what}, before its time"
            rows.append(LogRow(end.changed_at, f"silence {one.silence_id} ended", text, who=end.who))
        else:
            rows.append(LogRow(one.until, f"silence {one.silence_id} ended", f"of {what}, as it was set"))
    return rows


def _of_incident(change: IncidentChange, metrics: Mapping[str, str], fired: Sequence[AlertChange]) -> LogRow:
    # What joined later is not what this row was about.
    mine = [one for one in fired if one.alert_id == change.alert_id]
    metric = metrics.get(change.alert_id or "")
    texts: Mapping[IncidentEvent, str] = {
        IncidentEvent.OPENED: f"as {'urgent' if change.tier == Tier.PAGE else 'a warning'}, with the alert on",
        IncidentEvent.JOINED: "one more alert, on",
        IncidentEvent.RAISED: "from a warning to urgent, by the alert on",
        IncidentEvent.VERDICT_CHANGED: f"{what_changed(change.verdict, mine)}; by the alert on",
        IncidentEvent.LIMIT_ADDED: "one more mean is worse than its limit, by the alert on",
        IncidentEvent.ENDED: "its last alert is over, that on",
    }
    is_bad = change.change in (IncidentEvent.OPENED, IncidentEvent.RAISED)
    event = str(change.change).replace("_", " ")
    text = texts.get(change.change, "")
    # By the times of the answers, as everywhere on the page: an end is told at one time alone.
    return LogRow(change.changed_at, event, text, metric, change.who, change.comment or None, is_bad)


def _of_delivery(row: AlertChange, about: AlertChange | None) -> LogRow:
    text = summary(about) if about else f"a message on {quoted_name(row.key.metric)}"
    said = f"{_SENT.get(row.change, row.change)} {row.details.receiver or 'a receiver'}"
    return LogRow(row.changed_at, said, text, comment=row.reason, is_bad=row.change == AlertEvent.UNDELIVERABLE)


@dataclass(frozen=True)
class IncidentMoment:
    """Something that happened; `metric` is the one that it is of, `is_bad` where somebody may not have heard."""

    at: datetime
    text: str
    metric: str | None = None
    is_bad: bool = False


def moments_of(found: FoundIncident, chosen: AlertView, received: Sequence[Told]) -> tuple[IncidentMoment, ...]:
    """Return the times, the earliest first; `chosen` is the alert whose fall is meant."""
    return tuple(sorted(_moments(found, chosen, received), key=lambda one: one.at))


def _moments(found: FoundIncident, chosen: AlertView, received: Sequence[Told]) -> Iterator[IncidentMoment]:
    fired = chosen.fired
    if found.is_open and chosen.shown_onset is not None:
        began = "it began, as seen in" if fired.is_limit else "quality most likely began to fall, as seen in"
        yield IncidentMoment(chosen.shown_onset, began, chosen.metric)
    if not found.is_open:
        yield IncidentMoment(found.since, "it most likely began")
    opened = found.incident.opened_at
    yield IncidentMoment(opened, "found: first alert fired")
    if fired.fired_at != opened:
        yield IncidentMoment(fired.fired_at, "alert fired, on", chosen.metric)
    pages = [one.changed_at for one in found.state.changes if one.alert_id == fired.alert_id and one.pages]
    if pages and min(pages) > fired.fired_at:
        yield IncidentMoment(min(pages), "alert became urgent, on", chosen.metric)
    if found.back_at is not None:
        yield IncidentMoment(found.back_at, "quality was most likely back")
    if found.incident.ended_at is not None:
        yield IncidentMoment(found.incident.ended_at, "closed: last alert over")
    if found.incident.recovering_since is not None:
        yield IncidentMoment(found.incident.recovering_since, "most of the fall is gone: it recovers")
    yield from map(_message, received)


def _message(one: Told) -> IncidentMoment:
    if one.outcome in (AlertEvent.DELIVERED, AlertEvent.SUMMARIZED):
        return IncidentMoment(one.at, f"latest message sent to {one.receiver}")
    if one.outcome == AlertEvent.SILENCED:
        why = f": {one.reason}" if one.reason else " by a silence"
        return IncidentMoment(one.at, f"latest message to {one.receiver} was held back{why}")
    return IncidentMoment(one.at, f"no message reached {one.receiver}", is_bad=True)
