"""View of what else changed around an onset, as the page of an incident says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from monitor.alerting.alerts.change import AlertChange
from monitor.detect.causes import AroundOnset, FoundChange, words_of


@dataclass(frozen=True)
class ChangeLine:
    """A change and its words; times in them are of UTC."""

    text: str
    feature: str
    subject: str
    at: datetime
    earliest: datetime
    latest: datetime
    """Interval of `at`, about 95 %."""
    before: float
    after: float
    size: float
    """From 0 to 1."""
    p_value: float
    """Corrected for all features that were compared."""

    @classmethod
    def of(cls, one: FoundChange, since: datetime | None) -> ChangeLine:
        """Take it from a change of an alert that began at `since`."""
        return cls(
            words_of([one], since), one.feature, one.subject, one.at, one.earliest, one.latest, one.before, one.after,
            one.size, one.p_value,
        )  # fmt: skip


@dataclass(frozen=True)
class ChangesView:
    """The changes, the most likely cause first; `answers` is how many were compared."""

    answers: int
    since: datetime | None
    lines: Sequence[ChangeLine]

    @classmethod
    def of(cls, around: AroundOnset, alert: AlertChange) -> ChangesView:
        """Take them from an alert."""
        lines = [ChangeLine.of(change, alert.since) for change in around.changes]
        return cls(around.answers, alert.since, lines)
