"""Times of an incident in their order: when quality fell, when alerts fired, and when people were told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from lake.spec.vocabulary import AlertEvent
from monitor.pages.incidents.alert_view import AlertView
from monitor.pages.incidents.finding import Found
from monitor.pages.incidents.log_rows import Told


@dataclass(frozen=True)
class Moment:
    """Something that happened; `metric` is the one that it is of, `is_bad` where somebody may not have heard."""

    at: datetime
    text: str
    metric: str | None = None
    is_bad: bool = False


def moments_of(found: Found, chosen: AlertView, received: Sequence[Told]) -> tuple[Moment, ...]:
    """Give the times, the earliest first; `chosen` is the alert whose fall is meant."""
    return tuple(sorted(_moments(found, chosen, received), key=lambda one: one.at))


def _moments(found: Found, chosen: AlertView, received: Sequence[Told]) -> Iterator[Moment]:
    fired = chosen.fired
    if not fired.is_floor and chosen.onset is not None:
        yield Moment(chosen.onset, "quality most likely began to fall, by", chosen.metric)
    opened = found.incident.opened_at
    yield Moment(opened, "first alert fired: the incident began")
    if fired.fired_at != opened:
        yield Moment(fired.fired_at, "alert fired, on", chosen.metric)
    pages = [one.changed_at for one in found.state.changes if one.alert_id == fired.alert_id and one.pages]
    if pages and min(pages) > fired.fired_at:
        yield Moment(min(pages), "alert became a page, on", chosen.metric)
    if found.incident.recovering_since is not None:
        yield Moment(found.incident.recovering_since, "most of the fall is gone: it recovers")
    yield from map(_message, received)


def _message(one: Told) -> Moment:
    if one.outcome in (AlertEvent.DELIVERED, AlertEvent.SUMMARIZED):
        return Moment(one.at, f"latest message sent to {one.receiver}")
    if one.outcome == AlertEvent.SILENCED:
        return Moment(one.at, f"latest message to {one.receiver} was held back by a silence")
    return Moment(one.at, f"{one.receiver} could not be told", is_bad=True)
