"""One alert of an incident as its page says it: the message's text, how sure that is, and the segments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from lake.spec.alert_vocabulary import AlertEvent, Tier
from monitor.alerting.alerts.change import AlertChange
from monitor.detect.regression import Reading, SegmentChange, Status
from monitor.notify.texts.alert import (
    HOW_SURE,
    IF_MEANT,
    LOOK_FIRST,
    WORST_SINCE,
    description,
    look_first,
    summary,
    what_happened,
)
from monitor.notify.texts.limit import WHAT_TO_DO, limit_look, limit_what_to_do
from monitor.notify.texts.onset import likely_onset
from monitor.notify.texts.plain import time
from monitor.pages.filters import first_capital
from monitor.pages.incidents.finding import FoundIncident
from monitor.pages.news import reading_of

_MOST_SEGMENTS = 8
_LARGEST = 690.0
"""Of a natural logarithm, so that its power is a number."""


@dataclass(frozen=True)
class AlertView:
    """An alert: its last change that fired, and that which ended it; None where it still fires."""

    fired: AlertChange
    ended: AlertChange | None
    reading: Reading | None
    """Of the same metric and version now; None where it is not watched."""

    @property
    def metric(self) -> str:
        """The metric, or the limit."""
        return self.fired.key.metric

    @property
    def sentence(self) -> str:
        """What happened, in a line, as its message says it."""
        return what_happened(self.ended or self.fired)

    @property
    def look_first(self) -> tuple[str, ...]:
        """What to look at first, as the message says it; nothing where it is over."""
        if self.ended:
            return ()
        return (limit_look(self.fired),) if self.fired.is_limit else look_first(self.fired)

    @property
    def what_to_do(self) -> tuple[str, ...]:
        """What else to do of a limit, as the message says it; nothing where it is over."""
        if self.ended or not self.fired.is_limit:
            return ()
        return tuple(filter(None, [limit_what_to_do(self.fired)]))

    @property
    def lines(self) -> list[str]:
        """The text of the message without its links, and without what the page says elsewhere."""
        elsewhere = (*_LINKS, *(() if self.ended and self.fired.is_limit else (HOW_SURE,)))
        told = [line for line in self._told if not line.startswith((*elsewhere, *((IF_MEANT,) if self.ended else ())))]
        return [summary(self.fired), *told] if self.ended else told

    @cached_property
    def _told(self) -> list[str]:
        return description(self.fired, "").splitlines()

    @property
    def sureness(self) -> str:
        """How sure it is: what the message promises, and how far the evidence is above what is needed."""
        if self.ended and self.fired.is_limit:
            return ""
        promised = next((line.removeprefix(HOW_SURE) for line in self._told if line.startswith(HOW_SURE)), "")
        return f"{first_capital(promised)} {self._evidence}".strip()

    @property
    def _evidence(self) -> str:
        """How far the evidence is above what an urgent alert needs, where that is known and it is one, or a warning."""
        change, reading = self.fired, self.reading
        evidence, thresholds = change.log_evidence, [("a warning", change.log_threshold)]
        if change.tier == Tier.PAGE and change.details.log_page_threshold is not None:
            thresholds.insert(0, ("an urgent alert", change.details.log_page_threshold))
        if not self.ended and reading is not None and reading.status is Status.REGRESSED:
            evidence, thresholds = reading.log_evidence, [("a warning", reading.log_threshold)]
            if change.tier == Tier.PAGE:
                thresholds.insert(0, ("an urgent alert", reading.log_page_threshold))
        if change.is_limit or evidence is None:
            return ""
        for needs, threshold in thresholds:
            if threshold is not None and 0 <= evidence - threshold < math.inf:
                factor = math.exp(min(_LARGEST, evidence - threshold))
                return f"The evidence {'was' if self.ended else 'is'} {_times(factor)} what {needs} needs."
        return ""

    @property
    def drop(self) -> str:
        """How large the change was when it was told, and at least (90 % interval); empty where that is not known."""
        details = self.fired.details
        if details.drop is None or details.drop_lower is None:
            return ""
        return (
            f"By {time(self.fired.changed_at)} the mean was {details.drop:.2f} worse than the reference, surely "
            f"{max(details.drop_lower, 0.0):.2f} or more."
        )

    @property
    def onset(self) -> datetime | None:
        """When it most likely began."""
        return self.fired.since

    @property
    def shown_onset(self) -> datetime | None:
        """The same, as exact as it is known."""
        return likely_onset(self.fired)

    @property
    def segments(self) -> tuple[SegmentChange, ...]:
        """The segments of the traffic with the greatest part in the change, the greatest first."""
        sign = 1 if self.fired.details.lower_is_better else -1
        ordered = sorted(self.fired.details.segments, key=lambda one: sign * one.within, reverse=True)
        return tuple(ordered[:_MOST_SEGMENTS])

    @property
    def more_segments(self) -> int:
        """How many segments are left out."""
        return len(self.fired.details.segments) - len(self.segments)


_LINKS = ("Look at: ", WORST_SINCE, LOOK_FIRST, WHAT_TO_DO)


def alerts_of(found: FoundIncident) -> tuple[AlertView, ...]:
    """Return the alerts of an incident: first those that fire, pages before warnings, regressions before limits."""
    views = []
    for newest in found.incident.alerts:
        is_over = newest.change == AlertEvent.RESOLVED
        # The newest first.
        fired = next(
            (one for one in found.state.changes if one.alert_id == newest.alert_id and one.change == AlertEvent.FIRING),
            newest,
        )
        views.append(AlertView(fired, newest if is_over else None, reading_of(newest, found.state)))
    return tuple(sorted(views, key=lambda one: (one.ended is not None, not one.fired.pages, one.fired.is_limit)))


def _times(factor: float) -> str:
    if factor < 1.5:
        return "just"
    return f"{factor:,.0f} times" if factor < 1e6 else "more than a million times"
